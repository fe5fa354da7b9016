import type { JsonValue, Part } from "../core/message.ts";
import { itemsOf, type ListedMessage, readConversations } from "./conversations.ts";
import { headElements } from "./documents.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { functionCallOf, resultTextOf } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import type { JsonObject } from "./lines.ts";
import { listOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/**
 * Reads trajectories of SWE-agent, `*.traj`: what the model got and said, in `history`. A demonstration is marked, because it comes from
 * another session. They have no times.
 */
export const sweAgent: Importer = {
  name: "swe-agent",

  detect(head) {
    return headElements(head).some(({ key, value }) => {
      const { action, observation, role, content } = objectOf(value);
      if (key === "trajectory") return typeof action === "string" && typeof observation === "string";
      const isMessage = stringOf(role) !== undefined && content !== undefined;
      return key === "history" && isMessage && ("agent" in objectOf(value) || "message_type" in objectOf(value));
    });
  },

  read(file) {
    /** The call that the next observation answers, if the model wrote it as text. */
    let open: string | undefined;
    const entriesOf = ({ line, id, value }: ListedMessage): MessageEntry[] | string => {
      const { role, content, thought, action, tool_calls, tool_call_ids, is_demo, message_type, thinking_blocks } =
        value;
      const texts = textsOf(content);
      const words: Part[] = texts.map((text) => ({ type: "text", text }));
      const add = (speaker: "system" | "user" | "assistant" | "tool", parts: Part[]): MessageEntry[] =>
        parts.length === 0 ? [] : [messageEntry(line, speaker, id, parts, undefined)];
      if (is_demo === true || message_type === "demonstration") return add("user", injected(words));
      if (role === "system") return add(role, words);
      if (role === "assistant") {
        const calls = objectsOf(tool_calls).map(functionCallOf);
        open = undefined;
        if (calls.length === 0 && stringOf(action) !== undefined) {
          open = `action-${id}`;
          calls.push({ type: "tool_call", toolCallId: open, name: "bash", args: { command: action as string } });
        }
        const thoughts = objectsOf(thinking_blocks).flatMap(({ thinking, signature }): Part[] =>
          typeof thinking === "string" ? [{ type: "reasoning", text: thinking, ...saidOf({ signature }) }] : [],
        );
        const spoken = stringOf(thought);
        return add(role, [
          ...thoughts,
          ...(spoken === undefined ? words : [{ type: "text" as const, text: spoken }]),
          ...calls,
        ]);
      }
      if (role !== "user" && role !== "tool") return `unknown role: ${JSON.stringify(role ?? null)}`;
      const toolCallId = stringOf(listOf(tool_call_ids)[0]) ?? open;
      open = undefined;
      if (toolCallId === undefined) return add("user", words);
      return add("tool", [{ type: "tool_result", toolCallId, content: texts.join("\n") || resultTextOf(content) }]);
    };
    const about = ({ environment }: JsonObject) => ({ metadata: saidOf({ environment }) });
    return readConversations(file, { name: "swe-agent", messageOf: itemsOf("history"), about, entriesOf });
  },
};

function textsOf(content: JsonValue | undefined): string[] {
  return listOf(content).flatMap((block) => stringOf(block) ?? stringOf(objectOf(block).text) ?? []);
}
