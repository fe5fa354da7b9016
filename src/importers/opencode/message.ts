import type { DataPart, FilePart, Part, TextPart } from "../../core/message.ts";
import { dropUsage, type MessageEntry, messageEntry, resultEntry } from "../entry.ts";
import { dataPartOf, filePartOf, resultTextOf } from "../file-parts.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

/** Parts about the program: states of the working tree, and attempts that a later part repeats. */
const BOOKKEEPING_PARTS: ReadonlySet<unknown> = new Set(["patch", "retry", "snapshot", "step-finish"]);

export interface StoredMessage {
  /** The line in an export, or the row id in a database. */
  line: number;
  id: string;
  info: JsonObject;
  parts: readonly JsonObject[];
}

interface StoredEntries {
  entries: MessageEntry[];
  problem?: string;
  /** True if words are left out because they are still being written. */
  isUnfinished?: boolean;
}

/** A message of the assistant holds its calls and results. A summary made at a compaction is marked `isCompactSummary`. */
export function entriesOf({ line, id, info, parts }: StoredMessage, isFinished: boolean): StoredEntries {
  const { role, time, sessionID: _session, id: _id, summary, system: _system, tools: _tools, ...rest } = info;
  const { created, completed } = objectOf(time);
  const metadata = saidOf(rest);
  if (role === "assistant" && summary === true) metadata.isCompactSummary = true;
  const createdAt = millisecondsOf(created);
  const said = parts.filter(({ type }) => !BOOKKEEPING_PARTS.has(type));
  if (role === "user") {
    const words = said.map((part) =>
      part.synthetic === true ? { ...plainPartOf(part), injected: true } : plainPartOf(part),
    );
    return { entries: words.length > 0 ? [messageEntry(line, role, id, words, createdAt, metadata)] : [] };
  }
  if (role !== "assistant") {
    return { entries: [], problem: `role: expected user or assistant, got ${JSON.stringify(role ?? null)}` };
  }
  const isWritten = isFinished || completed !== undefined || info.error !== undefined;
  const whole = said.filter((part) => isWritten || !isOpen(part));
  return {
    entries: turnEntries(line, id, whole.map(itemOf), createdAt, metadata),
    isUnfinished: whole.length < said.length,
  };
}

/** A part of a turn, with the result if it is a call; or the end of a model call. */
type TurnItem = { part: Part; result?: Part } | "end";

/**
 * Returns a message for each part of a turn, so that a growing turn keeps its messages. A thought is joined to the part after it.
 * The second message is called `<id>/1`, a result `<id>:<toolCallId>`. The last one tells the usage.
 */
function turnEntries(
  line: number,
  id: string,
  items: readonly TurnItem[],
  createdAt: number | undefined,
  metadata: JsonObject,
): MessageEntry[] {
  const entries: MessageEntry[] = [];
  let reply = {};
  let thoughts: Part[] = [];
  let count = 0;
  function add(parts: Part[]): string {
    const partId = count === 0 ? id : `${id}/${count}`;
    count++;
    const entry = messageEntry(line, "assistant", partId, parts, createdAt, metadata);
    entry.reply = reply;
    entries.push(entry);
    return partId;
  }
  for (const item of items) {
    if (item === "end") {
      reply = {};
      continue;
    }
    if (item.part.type === "reasoning") {
      thoughts.push(item.part);
      continue;
    }
    const partId = add([...thoughts, item.part]);
    thoughts = [];
    if (item.result !== undefined) entries.push(resultEntry(line, partId, item.result, createdAt));
  }
  if (thoughts.length > 0) add(thoughts);
  for (const entry of entries.filter(({ message }) => message.role === "assistant").slice(0, -1)) dropUsage(entry);
  return entries;
}

/** Returns true for words that have begun and not ended. */
function isOpen({ type, time }: JsonObject): boolean {
  return (type === "text" || type === "reasoning") && isObject(time) && time.end === undefined;
}

function itemOf(part: JsonObject): TurnItem {
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
    return filePartOf(url, stringOf(mime), saidOf({ ...aboutOf(fields), name: filename }));
  }
  return dataPartOf(saidOf({ type, text, ...fields }));
}

/** Returns the fields of a part without its content, its times, which change, and the ids of its owners. */
function aboutOf({ id: _, sessionID: _s, messageID: _m, time: _t, metadata: _d, ...rest }: JsonObject): JsonObject {
  return saidOf(rest);
}
