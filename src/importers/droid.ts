import { basename } from "node:path";
import { fromAnthropic } from "../adapters/anthropic.ts";
import { jsonAt } from "./beside.ts";
import { adapted, entriesOf, type MessageEntry, messageEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, millisecondsOf, objectOf, saidOf, stringOf } from "./values.ts";

const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "agent_turn_outcome",
  "session_end",
  "session_settings",
  "todo_state",
]);

/** Reads the sessions of Factory's Droid: `~/.factory/sessions/<folder>/<session>.jsonl`. Their messages are Anthropic's. */
export const droid: Importer = {
  name: "droid",
  isFollowable: true,

  detect(head) {
    return headObjects(head).some(
      ({ type, id, cwd, title }) =>
        type === "session_start" && stringOf(id) !== undefined && (stringOf(cwd) ?? stringOf(title)) !== undefined,
    );
  },

  read: (file) => new DroidTranslator(file).translate(readJsonLines(file)),
};

class DroidTranslator extends Translator<JsonLine> {
  #start: JsonObject = {};

  protected override read({ value: record, line }: JsonLine): MessageEntry[] | string | undefined {
    const { type } = record;
    if (type === "session_start") {
      if (Object.keys(this.#start).length === 0) this.#start = record;
      return;
    }
    if (type === "message") return messagesOf(record, line);
    if (type === "compaction_state") return summaryOf(record, line);
    return BOOKKEEPING.has(type) ? undefined : `unknown type of record: ${JSON.stringify(type ?? null)}`;
  }

  protected override session(): SessionFacts {
    const { id, cwd, title, sessionTitle, callingSessionId, version } = this.#start;
    const { model } = objectOf(jsonAt(this.file.path.replace(/\.jsonl$/, ".settings.json")));
    return {
      externalId: stringOf(id) ?? basename(this.file.path, ".jsonl"),
      source: "droid",
      parentExternalId: stringOf(callingSessionId),
      isSubagent: stringOf(callingSessionId) !== undefined,
      folder: stringOf(cwd),
      title: stringOf(sessionTitle) ?? stringOf(title),
      metadata: saidOf({ cwd, version, model }),
    };
  }
}

function messagesOf(record: JsonObject, line: number): MessageEntry[] | string {
  const { message, timestamp } = record;
  if (!isObject(message)) return "message: expected an object";
  const { role, content, visibility, modelId, model } = message;
  const said = adapted(() => fromAnthropic({ role, content } as never));
  if (typeof said === "string") return said;
  // What only one of the two sees, the program wrote.
  const isOfProgram = typeof visibility === "string" && visibility !== "both";
  const marked = said.map((one) => (one.role === "user" && isOfProgram ? { ...one, parts: injected(one.parts) } : one));
  const id = stringOf(record.id) ?? derivedId(record);
  return entriesOf(marked, line, id, millisecondsOf(timestamp), saidOf({ model: modelId ?? model, visibility }));
}

/** Returns the summary that took the place of the messages up to another one. */
function summaryOf(record: JsonObject, line: number): MessageEntry[] {
  const { summaryText, anchorMessage, timestamp, id } = record;
  if (!stringOf(summaryText)) return [];
  const about = { isCompactSummary: true, ...saidOf({ keptFrom: objectOf(anchorMessage).id }) };
  const entryId = stringOf(id) ?? derivedId(record);
  const parts = [{ type: "text" as const, text: summaryText as string }];
  return [messageEntry(line, "user", entryId, parts, millisecondsOf(timestamp), about)];
}
