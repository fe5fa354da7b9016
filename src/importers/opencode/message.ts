import type { DataPart, FilePart, JsonValue, Part, TextPart } from "../../core/message.ts";
import { type Draft, draftOf } from "../draft.ts";
import { dataPartOf, filePartOf, resultTextOf } from "../file-parts.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { draftsOfTurn, type StepItem } from "../steps.ts";
import { millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

/** Parts about the program: states of the working tree, and attempts that a later part repeats. */
const BOOKKEEPING_PARTS: ReadonlySet<unknown> = new Set(["patch", "retry", "snapshot", "step-finish"]);

/** A message as opencode keeps it, its parts in order. */
export interface StoredMessage {
  id: string;
  info: JsonObject;
  parts: readonly JsonObject[];
}

/**
 * The messages in one of opencode's. Its assistant's message holds calls with their results; a summary of its own
 * compaction is marked `isCompactSummary`, the prompt that asked for it holds a `compaction` part.
 *
 * @param line  Where it stands, for reports.
 * @param isFinished  Nothing will be written any more: what has begun is whole.
 * @returns `isUnfinished` where words are left out that are still being written: they come with the next reading, when they are whole.
 */
export function draftsOf(
  { id, info, parts }: StoredMessage,
  line: number,
  isFinished: boolean,
): { drafts: Draft[]; warnings: string[]; isUnfinished: boolean } {
  const { role, time, sessionID: _session, id: _id, summary, system: _system, tools: _tools, ...rest } = info;
  const { created, completed } = objectOf(time);
  const metadata = saidOf(rest);
  if (role === "assistant" && summary === true) metadata.isCompactSummary = true;
  const about = { createdAt: millisecondsOf(created), metadata };
  const told = parts.filter(({ type }) => !BOOKKEEPING_PARTS.has(type));
  if (role === "user") {
    const words = told.map(plainPartOf);
    return {
      drafts: words.length > 0 ? [draftOf(line, role, id, words, about)] : [],
      warnings: [],
      isUnfinished: false,
    };
  }
  if (role !== "assistant")
    return {
      drafts: [],
      warnings: [`role: expected user or assistant, got ${JSON.stringify(role ?? null)}`],
      isUnfinished: false,
    };
  const isWritten = isFinished || completed !== undefined || info.error !== undefined;
  const whole = told.filter((part) => isWritten || !isOpen(part));
  const isUnfinished = whole.length < told.length;
  return { drafts: draftsOfTurn(line, id, whole.map(itemOf), about), warnings: [], isUnfinished };
}

/** Words that have begun and not ended. */
function isOpen({ type, time }: JsonObject): boolean {
  return (type === "text" || type === "reasoning") && isObject(time) && time.end === undefined;
}

function itemOf(part: JsonObject): StepItem {
  const { type, text, callID, tool, state, ...fields } = part;
  if (type === "step-start") return "end";
  if (type === "reasoning" && typeof text === "string") return { part: { type, ...aboutOf(fields), text } };
  if (type !== "tool" || !stringOf(callID) || !stringOf(tool)) return { part: plainPartOf(part) };
  const { status, input, output, error, attachments } = objectOf(state);
  const toolCallId = callID as string;
  const name = tool as string;
  const call: Part = { type: "tool_call", toolCallId, name, args: input ?? {} };
  if (status === "error") {
    const content = resultTextOf(error);
    return { part: call, result: { type: "tool_result", toolCallId, name, content, isError: true } };
  }
  if (status !== "completed") return { part: call };
  const files = objectsOf(attachments).map(plainPartOf);
  const words = resultTextOf(output);
  const content = files.length === 0 ? words : [{ type: "text" as const, text: words }, ...files];
  return { part: call, result: { type: "tool_result", toolCallId, name, content } };
}

function plainPartOf(part: JsonObject): TextPart | FilePart | DataPart {
  const { type, text, url, mime, filename, ...fields } = part;
  if (type === "text" && typeof text === "string") return { type, ...aboutOf(fields), text };
  if (type === "file" && typeof url === "string") {
    return filePartOf(url, stringOf(mime), saidOf({ ...aboutOf(fields), name: filename ?? null }));
  }
  return dataPartOf(saidOf({ type: type as JsonValue, ...(text === undefined ? {} : { text }), ...fields }));
}

/** What a part says beside its content: not when it was written, which grows, nor where it is kept. */
function aboutOf({ id: _, sessionID: _s, messageID: _m, time: _t, metadata: _d, ...rest }: JsonObject): JsonObject {
  return saidOf(rest);
}
