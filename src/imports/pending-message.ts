import { isDeepStrictEqual } from "node:util";
import { digestOf } from "../core/digest.ts";
import { StoreError } from "../core/errors.ts";
import { type JsonValue, type Part, parseMessage, type ToolResultPart } from "../core/message.ts";
import { nameInSession, OPENING_MESSAGES, OPENING_ROLES, originKeys } from "../core/remembered.ts";
import { textOf } from "../core/text.ts";
import type { IncomingMessage } from "../session/moving/intake.ts";
import type { ReadEvent } from "./import-reader.ts";
import { Redactor } from "./redaction/redact.ts";

/** A message that was read and is not in the store yet. */
export type PendingMessage = Extract<ReadEvent, { kind: "message" | "restored" }> & {
  /** The id of the message that has grown, if this is what it has grown by. */
  growthOf?: string;
  /** If the store has the message, or parts of it, under earlier ids: those ids. One is the message's id now. */
  storedIds?: readonly string[];
};

const redactor = new Redactor({ keepSecrets: false });

/** Returns the parts without secrets, because an earlier import with another setting may have kept or replaced them. */
function withoutSecrets(parts: readonly Part[]): readonly Part[] {
  return redactor.redacted(parts);
}

/**
 * Returns true if the parts differ at most in secrets, and in what only one of them tells of the output of a tool: the agent may
 * keep it in another file, which it writes later or deletes.
 */
export function haveSameContent(stored: readonly Part[], parts: readonly Part[]): boolean {
  const [ours, theirs] = [stored, parts].map(withoutSecrets) as [Part[], Part[]];
  return isDeepStrictEqual(asFarAs(ours, theirs), asFarAs(theirs, ours));
}

/**
 * Returns what a message says beyond its beginning, which is stored; undefined if it begins in another way. A text may have grown by lines:
 * an agent may have stopped, or a file may have been copied, in the middle of it.
 *
 * @param isToldAgain  True if the stored parts come from another telling of the message. It may lack parts and details.
 */
export function growthBeyond(
  stored: readonly Part[],
  parts: readonly Part[],
  isToldAgain: boolean,
): Part[] | undefined {
  const isSame = isToldAgain ? saysTheSame : (one: Part, other: Part) => haveSameContent([one], [other]);
  const rest = [...parts];
  for (const part of stored) {
    const at = rest.findIndex((other) => isSame(part, other) || moreLinesOf(part, other) !== undefined);
    if (at === -1 || (at > 0 && !isToldAgain)) return undefined;
    const found = rest[at]!;
    rest.splice(at, 1, ...(isSame(part, found) ? [] : [moreLinesOf(part, found)!]));
  }
  return rest;
}

function saysTheSame(one: Part, other: Part): boolean {
  const keyOf = (part: Part): unknown => {
    if (part.type === "text" || part.type === "reasoning") return [part.type, part.text.trim()];
    return part.type === "tool_call" || part.type === "tool_result" ? [part.type, part.toolCallId] : part;
  };
  return isDeepStrictEqual(...(withoutSecrets([one, other]).map(keyOf) as [unknown, unknown]));
}

/** Returns the lines by which a text has grown; undefined if it changed in another way. */
function moreLinesOf(stored: Part, part: Part): Part | undefined {
  // Secrets stay as they were imported now, unless the earlier import has treated them in another way.
  for (const [ours, theirs] of [[stored, part], withoutSecrets([stored, part])] as [Part, Part][]) {
    if (ours.type !== "text" && ours.type !== "reasoning") return undefined;
    if (theirs.type !== ours.type || !theirs.text.startsWith(`${ours.text}\n`)) continue;
    return { ...part, text: theirs.text.slice(ours.text.length).replace(/^\s*\n/, "") } as Part;
  }
  return undefined;
}

/** Cuts each result to the blocks that the result in its place has too, and takes over from that one whether the tool failed. */
function asFarAs(parts: readonly Part[], others: readonly Part[]): readonly Part[] {
  return parts.map((part, index) => {
    const other = others[index];
    if (part.type !== "tool_result" || other?.type !== "tool_result") return part;
    const content = blocksOf(part).slice(0, Math.max(1, blocksOf(other).length));
    return { ...part, content, isError: other.isError ?? part.isError };
  });
}

function blocksOf({ content }: ToolResultPart): Exclude<ToolResultPart["content"], string> {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

export function incomingOf(event: PendingMessage): IncomingMessage {
  const { message, growthOf } = event;
  const seq = event.kind === "restored" ? event.seq : undefined;
  const prepared = event.kind === "message" ? event.prepared : undefined;
  const name = nameInSession(message.id, seq);
  const metadata = message.metadata as Record<string, JsonValue> | undefined;
  const origins = originKeys({ externalId: message.id, createdAtMs: timeOf(event), metadata });
  return { message, prepared, seq, name, role: message.role, digest: () => digestOfEvent(event), origins, growthOf };
}

/** Undefined if the file gives no time that the store can hold. */
function timeOf({ message: { createdAt } }: PendingMessage): number | undefined {
  const ms = Math.trunc(typeof createdAt === "string" ? Date.parse(createdAt) : Number(createdAt));
  return Number.isNaN(ms) ? undefined : ms;
}

/** @throws {StoreError} `MESSAGE_INVALID`. */
function digestOfEvent(event: PendingMessage): Buffer {
  const prepared = event.kind === "message" ? event.prepared : undefined;
  return prepared?.digest ?? digestOf(parseMessage(event.message));
}

/** Returns the text of a message without injected parts. @throws {StoreError} `MESSAGE_INVALID`. */
function textOfEvent(event: PendingMessage): string {
  const prepared = event.kind === "message" ? event.prepared : undefined;
  return prepared?.text ?? textOf(parseMessage(event.message).parts);
}

/** Adds the digest of a message if it belongs to the beginning of its session. */
export function noteOpening(opening: Buffer[], event: PendingMessage): void {
  if (opening.length === OPENING_MESSAGES || !OPENING_ROLES.includes(event.message.role)) return;
  try {
    if (textOfEvent(event) === "") return;
    opening.push(digestOfEvent(event));
  } catch (error) {
    if (!StoreError.is(error, "MESSAGE_INVALID")) throw error; // the store will refuse it, and the report will say so
  }
}
