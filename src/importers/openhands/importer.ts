import { basename, dirname, join } from "node:path";
import type { JsonValue } from "../../core/message.ts";
import { type JsonFile, jsonAt, jsonFilesIn } from "../beside.ts";
import { itemsOf, readConversations } from "../conversations.ts";
import type { Element } from "../document-scanner.ts";
import { headElements, readElements } from "../documents.ts";
import { isEventFile } from "../files.ts";
import type { Importer, ImportFile } from "../importer.ts";
import type { DamagedLine, JsonObject } from "../lines.ts";
import type { SessionFacts } from "../translator.ts";
import { listOf, objectOf, saidOf, stringOf } from "../values.ts";
import { actionReader, isAction } from "./action.ts";
import { eventReader, isEvent } from "./event.ts";

/** What an event names that follows no other. */
const ROOT = "__root__";

/**
 * Reads what OpenHands keeps and exports: lists of events, alone or as the `history` of an object, and events on lines; or a stored
 * conversation, which has a file for each event (`~/.openhands/conversations/<id>/events/event-00000-<id>.json`, and
 * `~/.openhands/sessions/<id>/events/0.json` of older versions). The file of the first event stands for all of them.
 */
export const openhands: Importer = {
  name: "openhands",

  detect(head) {
    const elements = headElements(head);
    const fields: JsonObject = {};
    for (const { key, value } of elements) if (key !== undefined) fields[key] = value;
    return (
      isTelling(fields) ||
      elements.some(({ key, value }) => (key === undefined || key === "history") && isTelling(value))
    );
  },

  async *read(file) {
    /** The id of the event before, which those of older versions follow. */
    let newest: string | null = null;
    const [readEvent, readAction] = [eventReader(), actionReader()];
    yield* readConversations(file, {
      name: "openhands",
      elements: isEventFile(file.path) ? eventsBeside(file) : readElements(file),
      messageOf: itemsOf(undefined, "history"),
      about: (fields) => aboutOf(file.path, fields),
      linkOf: ({ kind, id, parent_id }) => {
        if (kind === undefined) return undefined;
        const after = parent_id === ROOT ? null : (stringOf(parent_id) ?? newest);
        newest = String(id);
        return { key: newest, after };
      },
      entriesOf: (message) => (stringOf(message.value.kind) ? readEvent(message) : readAction(message)),
    });
  },
};

function isTelling(value: JsonValue): boolean {
  const event = objectOf(listOf(value)[0]);
  return isEvent(event) || isAction(event);
}

/** Yields the events of a stored conversation in order. */
async function* eventsBeside({ path }: ImportFile): AsyncGenerator<Element | DamagedLine> {
  const folder = dirname(path);
  const files = await jsonFilesIn(folder, (name) => isEventFile(join(folder, name)));
  const lineOf = ({ name }: JsonFile) => Number(/\d+/.exec(name)) + 1;
  for (const { name, ...found } of files.sort((a, b) => lineOf(a) - lineOf(b))) {
    const line = lineOf({ name });
    if (found.problem !== undefined) yield { line, problem: `${name}: ${found.problem}` };
    else yield { line, document: 0, key: undefined, value: found.value! };
  }
}

/** Returns what is known of a session: by the fields beside its events, or by the files beside those of its events. */
function aboutOf(path: string, fields: JsonObject): Partial<SessionFacts> {
  const { instance_id, metadata } = fields;
  const { agent_class, llm_config } = objectOf(metadata);
  if (!isEventFile(path)) {
    const model = objectOf(llm_config).model;
    const externalId = stringOf(instance_id);
    return { ...(externalId && { externalId }), metadata: saidOf({ agent: agent_class, model }) };
  }
  const conversation = dirname(dirname(path));
  const { id, agent, workspace } = objectOf(jsonAt(join(conversation, "base_state.json")));
  const { conversation_id, title, selected_repository } = objectOf(jsonAt(join(conversation, "metadata.json")));
  const folder = stringOf(objectOf(workspace).working_dir);
  const { model } = objectOf(objectOf(agent).llm);
  return {
    externalId: stringOf(id) ?? stringOf(conversation_id) ?? basename(conversation),
    folder,
    title: stringOf(title),
    metadata: saidOf({ cwd: folder, model, repository: selected_repository }),
  };
}
