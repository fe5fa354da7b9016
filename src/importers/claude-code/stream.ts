import type { DamagedLine, JsonLine, JsonObject, Pause } from "../lines.ts";
import { objectOf, objectsOf, stringOf } from "../values.ts";

/**
 * Returns true for a line of `claude --output-format stream-json` that shows the format: a message, or the result of a run.
 * Programs that imitate the format leave out these ids.
 */
export function isStreamLine({ type, session_id, uuid, parent_tool_use_id, message, subtype }: JsonObject): boolean {
  if (!stringOf(session_id)) return false;
  if (type === "result") return stringOf(subtype) !== undefined && uuid !== undefined;
  const isMessage = type === "user" || type === "assistant";
  return isMessage && parent_tool_use_id !== undefined && objectOf(message).content !== undefined;
}

/** Lines about the run, not the conversation. Pieces of a message come before the whole message. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "auth_status",
  "control_cancel_request",
  "control_request",
  "control_response",
  "keep_alive",
  "prompt_suggestion",
  "rate_limit_event",
  "stream_event",
  "tool_progress",
  "tool_use_summary",
]);

/** Yields the lines of a stream as a transcript has them, and any other line as it is. */
export async function* transcriptLines(
  lines: AsyncIterable<JsonLine | DamagedLine | Pause>,
): AsyncGenerator<JsonLine | DamagedLine | Pause> {
  /** What the model has said since the newest result. */
  let said = "";
  for await (const found of lines) {
    if (!("value" in found) || !stringOf(found.value.session_id) || found.value.sessionId !== undefined) {
      yield found;
      continue;
    }
    const { type, message, result } = found.value;
    if (BOOKKEEPING.has(type)) continue;
    if (type === "result") {
      const answer = stringOf(result);
      // A command of the program gives a result without a message.
      if (answer !== undefined && !said.includes(answer.trim()))
        yield { ...found, value: answered(found.value, answer) };
      said = "";
      continue;
    }
    if (type === "assistant")
      said += objectsOf(objectOf(message).content)
        .map(({ text }) => `${text ?? ""}\n`)
        .join("");
    yield { ...found, value: transcriptLine(found.value) };
  }
}

function transcriptLine(line: JsonObject): JsonObject {
  const { session_id, parent_tool_use_id, tool_use_result, isSynthetic, ...fields } = line;
  const told: JsonObject = { ...fields, sessionId: session_id! };
  const agent = stringOf(parent_tool_use_id);
  if (agent !== undefined) Object.assign(told, { isSidechain: true, agentId: agent });
  if (tool_use_result !== undefined) told.toolUseResult = tool_use_result;
  if (isSynthetic !== undefined) told.isMeta = isSynthetic;
  if (line.type === "system" && line.subtype === "compact_boundary") told.content ??= "Conversation compacted";
  return told;
}

function answered({ session_id, uuid, subtype, is_error }: JsonObject, text: string): JsonObject {
  const message = { role: "assistant", content: [{ type: "text", text }] };
  return {
    type: "assistant",
    sessionId: session_id!,
    uuid: uuid ?? null,
    message,
    subtype: subtype!,
    is_error: is_error!,
  };
}
