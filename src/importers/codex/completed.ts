import type { JsonValue } from "../../core/message.ts";
import type { JsonObject } from "../lines.ts";
import { objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

/** Completed items whose outcome stands in an item of the model, or that say nothing of the conversation. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "ContextCompaction",
  "ImageGeneration",
  "ImageView",
  "Sleep",
  "SubAgentActivity",
  "WebSearch",
]);

/**
 * What an `item_completed` event tells, as the events by which older versions told the same: since rollouts are read in
 * pages, this one event stands in place of them all.
 *
 * @returns undefined for a kind of item that is not known.
 */
export function eventsOfCompleted(item: JsonObject): JsonObject[] | undefined {
  const { type, id = null, content, text } = item;
  switch (type) {
    case "UserMessage": {
      const inputs = objectsOf(content);
      const words = inputs.flatMap((input) => (input.type === "text" ? (stringOf(input.text) ?? []) : []));
      const images = inputs.flatMap((input) => (input.type === "image" ? (stringOf(input.image_url) ?? []) : []));
      const others = inputs.filter((input) => input.type !== "text" && input.type !== "image");
      return [{ type: "user_message", id, message: words.join(""), images, others }];
    }
    case "HookPrompt":
      return textsOf(item.fragments).map((message) => ({ type: "user_message", id, message }));
    case "AgentMessage":
      return textsOf(content).map((message) => ({ type: "agent_message", id, message }));
    case "Plan":
      return stringOf(text) === undefined ? [] : [{ type: "agent_message", id, message: text! }];
    case "Reasoning":
      return [...textsOf(item.summary_text), ...textsOf(item.raw_content)].map((thought) => {
        return { type: "agent_reasoning", id, text: thought };
      });
    case "CommandExecution":
      return callEnd("exec_command_end", item);
    case "FileChange":
      return callEnd("patch_apply_end", item);
    case "McpToolCall":
    case "DynamicToolCall":
    case "CollabAgentToolCall": {
      const { error, result, content_items: items, agents_states: states, ...about } = item;
      const told = result ?? items ?? objectOf(error).message ?? error ?? states ?? null;
      return callEnd(type === "McpToolCall" ? "mcp_tool_call_end" : "tool_call_end", { ...about, result: told });
    }
    default:
      return BOOKKEEPING.has(type) ? [] : undefined;
  }
}

/** What a call came to; nothing yet where it has not ended. */
function callEnd(type: string, { type: _, id = null, status = null, ...rest }: JsonObject): JsonObject[] {
  const isFailed = status === "failed" || status === "declined";
  return [saidOf({ type, call_id: id, ...rest, status, success: isFailed ? false : null })];
}

/** Texts, each for itself or in an object. A text alone stands for a list of one. */
function textsOf(value: JsonValue | undefined): string[] {
  const list = Array.isArray(value) ? value : [value ?? null];
  return list.flatMap((item) => stringOf(item) ?? stringOf(objectOf(item).text) ?? []);
}
