import type { JsonValue, Part } from "../../core/message.ts";
import { type ListedMessage, timeOf } from "../conversations.ts";
import { type MessageEntry, messageEntry, resultEntry } from "../entry.ts";
import {
  callPart,
  filePartOf,
  functionCallOf,
  resultContentOf,
  resultPart,
  resultTextOf,
  thoughtParts,
} from "../file-parts.ts";
import { injected } from "../injected.ts";
import type { JsonObject } from "../lines.ts";
import { listOf, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

/** Events about the program. */
const BOOKKEEPING =
  /^(?:Condensation(?:Request|SummaryEvent)|Conversation(?:Error|StateUpdate)Event|HookExecutionEvent|InterruptEvent|LLMCompletionLogEvent|PauseEvent|StreamingDeltaEvent|TokenEvent)$/;

/** Results that repeat what their call says. */
const REPEATED: ReadonlySet<unknown> = new Set(["FinishObservation", "ThinkObservation"]);

const SOURCES: ReadonlySet<unknown> = new Set(["agent", "environment", "hook", "user"]);

export function isEvent({ kind, id, source, timestamp }: JsonObject): boolean {
  return (
    /(?:Event|Observation|^Condensation\w*)$/.test(String(kind)) && SOURCES.has(source) && Boolean(id && timestamp)
  );
}

/** Returns a function that reads events as OpenHands has had since its version 1: each has a `kind`. */
export function eventReader(): (message: ListedMessage) => MessageEntry[] | string {
  const replies = new Map<unknown, object>();
  return ({ line, id, value }) => {
    const { kind, source, tool_call_id, llm_response_id, tool_call } = value;
    const time = timeOf(value);
    const toolCallId = stringOf(tool_call_id) ?? id;
    const result = (parts: Part[], isError: unknown): MessageEntry[] => {
      const facts = { isError: isError === true || undefined };
      return [resultEntry(line, id, resultPart(toolCallId, resultContentOf(parts), facts), time)];
    };
    switch (kind) {
      case "SystemPromptEvent":
        return [
          messageEntry(line, "system", id, contentOf([value.system_prompt!, value.dynamic_context ?? null]), time),
        ];
      case "MessageEvent": {
        const { role, content, reasoning_content, thinking_blocks } = objectOf(value.llm_message);
        const said = [...thoughtsOf(reasoning_content, thinking_blocks), ...contentOf(content)];
        const added = injected(contentOf(value.extended_content));
        const parts = [...(role === "user" && source !== "user" ? injected(said) : said), ...added];
        if (role !== "user" && role !== "assistant" && role !== "system")
          return `unknown role: ${JSON.stringify(role ?? null)}`;
        return parts.length === 0 ? [] : [messageEntry(line, role, id, parts, time)];
      }
      case "ActionEvent": {
        const { id: callId, name, arguments: given } = objectOf(tool_call);
        const call = functionCallOf({
          id: callId ?? toolCallId,
          function: saidOf({ name: name ?? value.tool_name, arguments: given }),
        });
        const words = [...thoughtsOf(value.reasoning_content, value.thinking_blocks), ...contentOf(value.thought)];
        const parts = [...words, ...spokenOf(call)];
        const reply = replies.get(llm_response_id) ?? {};
        replies.set(llm_response_id, reply);
        return [{ ...messageEntry(line, "assistant", id, parts, time), reply }];
      }
      case "ObservationEvent": {
        const { kind: type, content, output, is_error } = objectOf(value.observation);
        return REPEATED.has(type) ? [] : result(contentOf(content ?? output), is_error);
      }
      case "UserRejectObservation":
        return result(contentOf(value.rejection_reason), true);
      case "AgentErrorEvent":
        return result(contentOf(value.error), true);
      case "ACPToolCallEvent": {
        if (value.status !== "completed" && value.status !== "failed") return [];
        const call = callPart(toolCallId, stringOf(value.title) ?? "tool", value.raw_input, value);
        const shown = resultTextOf(value.raw_output ?? value.content);
        return [messageEntry(line, "assistant", id, [call], time), ...result(contentOf(shown), value.is_error)];
      }
      case "Condensation": {
        const summary = contentOf(value.summary);
        return summary.length === 0 ? [] : [messageEntry(line, "user", id, summary, time, { isCompactSummary: true })];
      }
      default:
        return BOOKKEEPING.test(String(kind)) ? [] : `unknown kind of event: ${JSON.stringify(kind)}`;
    }
  };
}

/** Returns the words of a call that only says something, or the call. */
export function spokenOf(call: Part): Part[] {
  const { message, thought } = objectOf(call.args as JsonValue);
  if (call.name === "finish" && stringOf(message)) return [{ type: "text", text: message as string }];
  if (call.name === "think" && stringOf(thought)) return [{ type: "reasoning", text: thought as string }];
  return [call];
}

function thoughtsOf(reasoning: JsonValue | undefined, blocks: JsonValue | undefined): Part[] {
  const texts = stringOf(reasoning) ? [reasoning] : objectsOf(blocks).map(({ thinking }) => thinking);
  return texts.flatMap((text) => thoughtParts(text));
}

function contentOf(content: JsonValue | undefined): Part[] {
  return listOf(content).flatMap((block): Part[] => {
    const text = typeof block === "string" ? block : objectOf(block).text;
    if (stringOf(text)) return [{ type: "text", text: text as string }];
    return listOf(objectOf(block).image_urls).map((url) => filePartOf(String(url), "image/*"));
  });
}
