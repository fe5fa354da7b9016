import type { JsonValue } from "../../core/message.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { timeOf } from "./line.ts";

/** Longest JSON of one field of a `toolUseResult` that is kept, in UTF-16 units. */
const RESULT_FIELD_CHARS_MAX = 300;

/**
 * What a line says beside its content, under the line's own names: `cwd`, `gitBranch`, `version`, `requestId`,
 * `parentUuid`, `isMeta`, `isCompactSummary`, `message: { id, model, usage, stop_reason }`, … and whatever later
 * versions add. Left out is what the message or its session says already (its id, time, role, content and session) and
 * what is null.
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
 * The short fields of a `toolUseResult`. It repeats a tool result for the program's own display: file contents,
 * patches, output, the whole edited file, together 40 % of a transcript. Only its short fields say what the result does
 * not: an exit code's meaning, whether the user changed an edit, a subagent's id and cost.
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
