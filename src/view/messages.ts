import { verdictText } from "../core/verdicts.ts";
import type { Message, Part, Store } from "../index.ts";
import type { MembersAnswer, MessagesAnswer, OutlineAnswer, ViewMessage, ViewPart } from "./api.ts";
import { RefusedRequest } from "./refusal.ts";
import type { Query } from "./requests.ts";
import { isOfSession, sql } from "./sql.ts";

/** Longer strings of a part are cut. A person opens the whole one with `/api/part`. */
const STRING_CHARS_MAX = 20_000;
/** A page with this many characters is full, even if it has few messages. */
const PAGE_CHARS_MAX = 1_000_000;
/** The characters that each string keeps in a message that is larger than a page. */
const CROWDED_CHARS_MAX = 200;

/** Images that cannot hold a script. Other files are downloads. */
const SHOWN_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export function outlineOf(store: Store, session: string, seqFrom: number, limit: number): OutlineAnswer {
  store.resume(session);
  // SQLite makes the columns: a third of the time of as many rows.
  const [row] = store.query(sql`
    SELECT json_group_array(seq) AS seqs, group_concat(substr(role, 1, 1), '') AS roles,
      json_group_array(token_count) AS token_counts, json_group_array(turn_seq) AS turn_seqs,
      json_group_array(created_at_ms) AS times, json_group_array(seq) FILTER (WHERE pinned = 1) AS pinned,
      group_concat(CASE WHEN is_summary THEN 'c' ELSE coalesce(deed, '-') END, '') AS deeds
    FROM (
      SELECT seq, role, token_count, turn_seq, created_at_ms, pinned,
        instr(coalesce(metadata, ''), '"isCompactSummary":true') > 0 AS is_summary,
        (SELECT CASE WHEN max(outcome = 'failed') THEN 'f' WHEN max(kind IN ('edit', 'write')) THEN 'w'
          WHEN max(kind = 'run') THEN 'x' ELSE 'r' END FROM actions WHERE message_id = messages.id HAVING count(*) > 0) AS deed
      FROM messages
      WHERE ${isOfSession(store, session)} AND seq >= ${seqFrom} ORDER BY seq LIMIT ${limit})`);
  const numbers = (name: string): number[] => JSON.parse(String(row![name]));
  const seqs = numbers("seqs");
  return {
    seqs,
    roles: String(row!.roles ?? ""),
    deeds: String(row!.deeds ?? ""),
    tokenCounts: numbers("token_counts"),
    turnSeqs: numbers("turn_seqs"),
    createdAtMs: numbers("times"),
    pinned: numbers("pinned"),
    next: seqs.length < limit ? null : seqs.at(-1)! + 1,
  };
}

export function messagesPage(store: Store, sessionId: string, seqFrom: number, limit: number): MessagesAnswer {
  const session = store.resume(sessionId);
  const messages: ViewMessage[] = [];
  const room = new Room();
  let next: number | null = seqFrom;
  // Each message may have megabytes, so few are read at a time.
  while (next !== null && messages.length < limit && (room.left > 0 || messages.length === 0)) {
    const count = Math.min(READ_AT_ONCE, limit - messages.length);
    const read = session.messages({ seqFrom: next, limit: count });
    next = read.length < count ? null : read.at(-1)!.seq + 1;
    for (const message of read) {
      if (room.left <= 0 && messages.length > 0) {
        next = message.seq;
        break;
      }
      messages.push(viewMessage(message, room));
    }
  }
  const statement = sql`
    SELECT seq, role, text, token_count, created_at_ms, parts FROM messages
    WHERE ${isOfSession(store, sessionId)} AND seq >= ${seqFrom} ORDER BY seq LIMIT ${limit}`;
  return { messages, next, sql: statement };
}

const READ_AT_ONCE = 10;

export function membersOf(store: Store, { root, level, offset, limit = 50 }: Query<"/api/members">): MembersAnswer {
  const target = /^\d+$/.test(root) ? Number(root) : root;
  const { place: _, ...page } = store.expand(target, {
    ...(level !== undefined && { level }),
    ...(offset !== undefined && { offset }),
    limit,
  });
  const room = new Room();
  return { ...page, members: page.members.map((message) => viewMessage(message, room)) };
}

/** The characters that are left in a page. */
class Room {
  left = PAGE_CHARS_MAX;

  take(text: string): { text: string; isCut: boolean; charCount: number } {
    const charsMax = this.left > 0 ? STRING_CHARS_MAX : CROWDED_CHARS_MAX;
    const isCut = text.length > charsMax;
    const shown = isCut ? text.slice(0, charsMax) : text;
    this.left -= shown.length;
    return { text: shown, isCut, charCount: text.length };
  }
}

export function viewMessage(message: Message, room = new Room()): ViewMessage {
  const { id, sessionId, seq, role, name, parts, tokenCount, createdAtMs, stepId, turnSeq, pinned, metadata } = message;
  const cut = cutStrings(metadata ?? null, room);
  return {
    id,
    session: sessionId,
    seq,
    role,
    name: name ?? null,
    parts: parts.map((part, index) => viewPart(part, `${index}`, id, room)),
    tokenCount,
    createdAtMs,
    stepId,
    turnSeq,
    pinned,
    metadata: cut.value as ViewMessage["metadata"],
    verdict: message.verdict === undefined ? null : verdictText(message.verdict),
  };
}

function viewPart(part: Part, path: string, messageId: number, room: Room): ViewPart {
  const shared = { path, isInjected: part.injected === true };
  switch (part.type) {
    case "text":
    case "reasoning":
      return { ...shared, type: part.type, ...room.take(part.text) };
    case "tool_call": {
      const { value: args, ...rest } = cutStrings(part.args ?? null, room);
      return { ...shared, type: part.type, toolCallId: part.toolCallId, name: part.name, args, ...rest };
    }
    case "tool_result": {
      const { toolCallId, name = null, isError = false, content } = part;
      const contents: ViewPart[] =
        typeof content === "string"
          ? [{ ...shared, type: "text", ...room.take(content) }]
          : content.map((inner, index) => viewPart(inner, `${path}.${index}`, messageId, room));
      return { ...shared, type: part.type, toolCallId, name, isError, content: contents };
    }
    case "file": {
      const { mediaType, name = null, data, url = null } = part;
      const href = data === undefined ? null : `/api/part?message=${messageId}&path=${path}`;
      const byteLength = data === undefined ? 0 : Math.floor((data.length * 3) / 4);
      const shownUrl = url === null ? null : room.take(url).text;
      return { ...shared, type: part.type, mediaType, name, byteLength, href, url: shownUrl };
    }
    case "data": {
      const { value: data, ...rest } = cutStrings(part.data ?? null, room);
      return { ...shared, type: part.type, data, ...rest };
    }
  }
}

/** Cuts the strings inside JSON. JSON that is too large to be shown becomes the beginning of its text. */
function cutStrings(value: unknown, room: Room): { value: unknown; isCut: boolean; charCount: number } {
  const whole = JSON.stringify(value) ?? "null";
  if (whole.length <= STRING_CHARS_MAX && room.left > 0) {
    room.left -= whole.length;
    return { value, isCut: false, charCount: whole.length };
  }
  let isCut = false;
  const shortened = JSON.parse(whole, (_key, inner: unknown) => {
    if (typeof inner !== "string") return inner;
    const taken = room.take(inner);
    isCut ||= taken.isCut;
    return taken.text;
  });
  const text = JSON.stringify(shortened);
  if (text.length <= 4 * STRING_CHARS_MAX) return { value: shortened, isCut, charCount: whole.length };
  return { value: room.take(text).text, isCut: true, charCount: whole.length };
}

export interface PartContent {
  type: string;
  isDownload: boolean;
  bytes: Buffer;
}

/** Returns the whole of one part. @throws {RefusedRequest} if there is none at the path. */
export function partContent(store: Store, messageId: number, path: string): PartContent {
  const { members } = store.expand(messageId, { level: "step", limit: 10_000 });
  const message = members.find(({ id }) => id === messageId);
  const part = message && partAt(message, path);
  if (part === undefined) throw new RefusedRequest(404, "PART_NOT_FOUND", "The message has no such part.");
  if (part.type !== "file") {
    return { type: "text/plain; charset=utf-8", isDownload: false, bytes: Buffer.from(textOfPart(part)) };
  }
  const mediaType = part.mediaType.toLowerCase();
  const isShown = SHOWN_TYPES.has(mediaType);
  const type = isShown ? mediaType : "application/octet-stream";
  return { type, isDownload: !isShown, bytes: Buffer.from(part.data ?? "", "base64") };
}

/** @param path  As `ViewPart.path`. */
export function partAt({ parts }: Message, path: string): Part | undefined {
  const [index, inner] = path.split(".").map(Number);
  const outer = parts[index!];
  if (inner === undefined) return outer;
  return outer?.type === "tool_result" && typeof outer.content !== "string" ? outer.content[inner] : undefined;
}

/** Returns the whole text of a part. */
export function textOfPart(part: Exclude<Part, { type: "file" }>): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool_call":
      return JSON.stringify(part.args ?? null, undefined, 2);
    case "tool_result":
      return typeof part.content === "string" ? part.content : JSON.stringify(part.content, undefined, 2);
    case "data":
      return JSON.stringify(part.data ?? null, undefined, 2);
  }
}
