import { basename, dirname, join } from "node:path";
import { fromGemini } from "../adapters/gemini.ts";
import { textAt } from "./beside.ts";
import { itemsOf, type ListedMessage, readConversations } from "./conversations.ts";
import { headElements } from "./documents.ts";
import { adapted, type MessageEntry, messageEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import type { JsonObject } from "./lines.ts";
import type { SessionFacts } from "./translator.ts";
import { derivedId, objectOf, objectsOf, stringOf } from "./values.ts";

const ROLES: ReadonlySet<unknown> = new Set(["user", "model", "function"]);

const PART_FIELDS = ["text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode"];

/**
 * Reads contents of the Gemini API: a list of them, a request with `contents`, or either on each line. `/chat save` of Gemini CLI
 * writes such a list, or an object with it in `history`, to `checkpoint-<tag>.json`. A chat that is saved again under its tag may
 * be another one, so a content is known by itself and by those before it.
 */
export const gemini: Importer = {
  name: "gemini",

  detect(head) {
    for (const { key, value } of headElements(head)) if (isContent(objectOf(contentOf(key, value)))) return true;
    return false;
  },

  read(file) {
    let past = "";
    const entriesOf = ({ line, value }: ListedMessage): MessageEntry[] | string => {
      past = derivedId(past, value);
      return entriesWith(past, line, value);
    };
    const about = () => checkpointAt(file.path);
    return readConversations(file, { name: "gemini", messageOf: contentOf, entriesOf, about });
  },
};

const contentOf = itemsOf(undefined, "contents", "history");

/** Parts of other formats have a type or a kind. */
function isContent({ role, parts }: JsonObject): boolean {
  const known = objectsOf(parts);
  const isPart = ({ type, kind, ...part }: JsonObject) =>
    type === undefined && kind === undefined && PART_FIELDS.some((field) => part[field] !== undefined);
  return ROLES.has(role) && known.length > 0 && known.every(isPart);
}

function entriesWith(id: string, line: number, value: JsonObject): MessageEntry[] | string {
  const said = adapted(() => fromGemini(value as unknown as Parameters<typeof fromGemini>[0]));
  if (typeof said === "string") return said;
  return said.map(({ role, parts, metadata }) => {
    const isResult = role === "tool" && said.length > 1;
    return messageEntry(line, role, isResult ? `${id}:result` : id, parts, undefined, metadata);
  });
}

/** Returns the title and the folder of a chat that Gemini CLI saved, `~/.gemini/tmp/<project>/checkpoint-<tag>.json`. */
function checkpointAt(path: string): Partial<SessionFacts> {
  const [, tag] = /^checkpoint-(.+)\.json$/.exec(basename(path)) ?? [];
  return tag === undefined
    ? {}
    : { title: tag, folder: stringOf(textAt(join(dirname(path), ".project_root"))?.trim()) };
}
