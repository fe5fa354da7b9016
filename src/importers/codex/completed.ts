import type { JsonValue } from "../../core/message.ts";
import type { JsonObject } from "../lines.ts";
import { objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

/** Completed items whose outcome is in an item of the model, or that say nothing about the conversation. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "ContextCompaction",
  "ImageGeneration",
  "ImageView",
  "Sleep",
  "SubAgentActivity",
  "WebSearch",
]);

/**
 * Converts an `item_completed` event to the events that older versions wrote instead.
 *
 * @returns undefined for an unknown kind of item.
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

/** Returns the event for the end of a call. */
function callEnd(type: string, { type: _, id = null, status = null, ...rest }: JsonObject): JsonObject[] {
  const isFailed = status === "failed" || status === "declined";
  return [saidOf({ type, call_id: id, ...rest, status, success: isFailed ? false : null })];
}

/** Returns the texts in a list of texts or objects with a `text`. One text is a list of one. */
function textsOf(value: JsonValue | undefined): string[] {
  const list = Array.isArray(value) ? value : [value ?? null];
  return list.flatMap((item) => stringOf(item) ?? stringOf(objectOf(item).text) ?? []);
}
