import type { JsonValue } from "../../core/message.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { timeOf } from "./line.ts";

/** The longest field of a `toolUseResult` that is kept, in UTF-16 units of its JSON. */
const RESULT_FIELD_CHARS_MAX = 300;

/**
 * Returns what a line says besides its content, under the line's own names: `cwd`, `gitBranch`, `version`, `requestId`,
 * `parentUuid`, `isMeta`, `isCompactSummary`, `message: { id, model, usage, stop_reason }`, … and whatever later versions add.
 * Left out are nulls and what the message or its session already says: id, time, role, content and session.
 */
export function metadataOf(line: JsonObject): JsonObject {
  const { type, uuid, timestamp, message, attachment, content, toolUseResult, ...about } = line;
  const { sessionId, agentId, isSidechain, userType, ...metadata } = about;
  if (type !== "user" && type !== "assistant") metadata.type = type as JsonValue;
  if (timestamp !== undefined && timeOf(line) === undefined) metadata.timestamp = timestamp;
  if (isObject(message)) {
    const { role: _role, content: _content, type: _type, ...rest } = message;
    if (Object.keys(rest).length > 0) metadata.message = withoutNulls(rest);
  }
  const result = shortFieldsOf(toolUseResult);
  if (result !== undefined) metadata.toolUseResult = result;
  return withoutNulls(metadata);
}

/**
 * Returns the short fields of a `toolUseResult`. It repeats a tool result for display (file contents, patches, output), which
 * makes up 40 % of a transcript. Only its short fields say something new, such as the meaning of an exit code, whether the
 * user changed an edit, or the id and cost of a subagent.
 */
function shortFieldsOf(toolUseResult: JsonValue | undefined): JsonObject | undefined {
  if (!isObject(toolUseResult)) return undefined;
  const short = Object.entries(toolUseResult).filter(
    ([, value]) => JSON.stringify(value).length <= RESULT_FIELD_CHARS_MAX,
  );
  return short.length === 0 ? undefined : Object.fromEntries(short);
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}
