import type { JsonValue, Role } from "../core/message.ts";
import { assistantPartsOf, contentPartsOf, resultPartOf } from "./codex/content.ts";
import { type ListedMessage, readConversations, timeOf } from "./conversations.ts";
import { headElements } from "./documents.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { dataPartOf } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import type { JsonObject } from "./lines.ts";
import { objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

const ROLES: Readonly<Record<string, Role>> = { system: "system", developer: "system", user: "user" };

const BLOCKS: ReadonlySet<unknown> = new Set(["input_text", "output_text", "input_image", "input_file", "refusal"]);

/**
 * Reads items of OpenAI's Responses API: a list of them, a request with `input`, a response with `output`, or any of these on each
 * line, as OpenAI's agents and conversations keep them.
 */
export const openaiResponses: Importer = {
  name: "openai-responses",

  detect: (head) => headElements(head).some(({ key, value }) => isTelling(objectOf(itemOf(key, value)))),

  read(file) {
    let reply: object = {};
    const entriesOf = ({ line, id, value }: ListedMessage, fields: JsonObject): MessageEntry[] | string => {
      const { type = "message", role, content } = value;
      const time = timeOf(value);
      const result = resultPartOf(value);
      if (result === undefined && (type !== "message" || role === "assistant")) {
        const isCall = typeof type === "string" && type.endsWith("_call");
        const parts = assistantPartsOf({ ...value, type }) ?? (isCall ? [dataPartOf(value)] : undefined);
        if (parts === undefined) return `unknown type of item: ${JSON.stringify(type)}`;
        const about = saidOf({ model: fields.model, phase: value.phase });
        return [{ ...messageEntry(line, "assistant", id, parts, time, about), reply }];
      }
      reply = {};
      if (result !== undefined) return [messageEntry(line, "tool", id, [result], time)];
      const speaker = typeof role === "string" && Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
      if (speaker === undefined) return `unknown role: ${JSON.stringify(role ?? null)}`;
      return [messageEntry(line, speaker, id, contentPartsOf(content), time)];
    };
    const about = ({ model }: JsonObject) => ({ metadata: saidOf({ model }) });
    return readConversations(file, { name: "openai-responses", messageOf: itemOf, about, entriesOf });
  },
};

function itemOf(key: string | undefined, value: JsonValue): JsonValue | undefined {
  if (key === "input" && typeof value === "string") return { role: "user", content: value };
  return key === undefined || key === "input" || key === "output" ? value : undefined;
}

/** Returns true for an item that no other format has. Grok and Roo Code have its thoughts, too. */
function isTelling({ type, role, content, call_id }: JsonObject): boolean {
  if (type === "function_call" || type === "function_call_output") return stringOf(call_id) !== undefined;
  const isMessage = (type === undefined || type === "message") && stringOf(role) !== undefined;
  return isMessage && objectsOf(content).some((block) => BLOCKS.has(block.type));
}
