import { digestOf } from "../core/digest.ts";
import type { Message } from "../core/message.ts";
import { isPath } from "../core/project.ts";
import { itemsForHub, type SessionEvent, type SessionHead } from "../session/moving/copies.ts";
import { forgottenOnHubIn, type HubNotes, hubNotesOf, type Repositories } from "../store/index.ts";
import { digestOfHead, encodeBody, type HubMessage, type HubPath } from "./log.ts";
import type { SessionRow } from "./rows.ts";

/** A push sends at most so many events at once, and stops after about so many characters of them. */
const BATCH = { events: 500, chars: 2_000_000 };
const PAGE = 50;

/** What a session has after a place of its path. */
export interface Unsent {
  events: SessionEvent[];
  /** The messages among them, and the time of the newest. */
  messageCount: number;
  lastAtMs: number | undefined;
  /** What is noted when the hub has them. */
  notes: Pick<HubNotes, "lastId" | "entryId">;
  isLast: boolean;
}

/** A place in a session: the seq of the next message, and the last message and the newest entry before it. */
export interface Place {
  seq: number;
  lastId: number;
  entryId: number;
}

/**
 * Returns the place up to which the hub has a session; undefined if what it has is no longer the beginning of the path, because the
 * session went back.
 */
export function placeSent(repositories: Repositories, sessionId: string): Place | undefined {
  const { database, messages } = repositories;
  return database.read(() => {
    const { lastId = 0, entryId = 0, isStale } = hubNotesOf(repositories, sessionId);
    if (lastId === 0) return { seq: 0, lastId, entryId: isStale ? 0 : entryId };
    const seq = messages.byId(lastId)?.seq;
    // The ids of a path rise, so everything before this message is what it was.
    const isThere = seq !== undefined && messages.range(sessionId, seq, seq)[0]?.id === lastId;
    return isThere && !isStale ? { seq: seq + 1, lastId, entryId } : undefined;
  });
}

/** Reads the next events after a place, from one snapshot. It costs what they are, whatever the session's length. */
export function unsentFrom(repositories: Repositories, sessionId: string, { seq, ...end }: Place): Unsent {
  const { database, messages, entries } = repositories;
  return database.read(() => {
    const events: SessionEvent[] = [];
    const notes = { ...end };
    const waiting = entries.after(sessionId, end.entryId, BATCH.events);
    const areAll = waiting.length < BATCH.events;
    let [chars, messageCount, next] = [0, 0, 0];
    let lastAtMs: number | undefined;
    let isEnd = false;
    const isFull = (): boolean => events.length >= BATCH.events || chars >= BATCH.chars;
    // What is longer than a batch goes alone.
    const hasRoom = (length: number): boolean => !isFull() && (events.length === 0 || chars + length <= BATCH.chars);
    /** Returns false if some are left for the next batch. */
    const addEntries = (until: number): boolean => {
      for (; next < waiting.length && waiting[next]!.beforeSeq <= until; next += 1) {
        const event = entryEvent(waiting[next]!);
        const { length } = JSON.stringify(event);
        if (!hasRoom(length)) return false;
        events.push(event);
        notes.entryId = waiting[next]!.position;
        chars += length;
      }
      return true;
    };
    for (let first = seq; !isEnd; ) {
      const page = messages.range(sessionId, first, Number.MAX_SAFE_INTEGER, PAGE);
      for (const message of page) {
        const areAdded = addEntries(message.seq);
        const length = lengthOf(message);
        const isEnough = !areAdded || !hasRoom(length) || (!areAll && next === waiting.length);
        if (isEnough) return { events, messageCount, lastAtMs, notes, isLast: false };
        events.push({ message: messageEvent(message) });
        notes.lastId = message.id;
        messageCount += 1;
        lastAtMs = message.createdAtMs;
        chars += length;
      }
      isEnd = page.length < PAGE;
      first = (page.at(-1)?.seq ?? 0) + 1;
    }
    addEntries(Number.MAX_SAFE_INTEGER);
    return { events, messageCount, lastAtMs, notes, isLast: areAll && next === waiting.length };
  });
}

function lengthOf({ parts, metadata }: Message): number {
  let length = metadata === undefined ? 0 : JSON.stringify(metadata).length;
  for (const part of parts) {
    if (part.type === "text" || part.type === "reasoning") length += part.text.length;
    else length += JSON.stringify(part).length;
  }
  return length;
}

function messageEvent(message: Message): Extract<SessionEvent, { message: unknown }>["message"] {
  const { role, parts, name, externalId, metadata, createdAtMs, pinned } = message;
  return {
    ...{ role, parts, createdAtMs },
    ...(name !== undefined && { name }),
    ...(externalId !== undefined && { id: externalId }),
    ...(metadata !== undefined && { metadata }),
    // `append` itself pins system messages, and results of pinned calls.
    ...(pinned && (role === "user" || role === "assistant") && { pinned }),
  };
}

function entryEvent({ value, id, createdAtMs }: { value: unknown; id?: string; createdAtMs: number }): SessionEvent {
  return { entry: { value, createdAtMs, ...(id !== undefined && { id }) } } as SessionEvent;
}

/** The title, the settings and the items of a session as the hub gets them, and a digest of them. */
export function headIn(repositories: Repositories, sessionId: string): { head: SessionHead; digest: string } {
  const { database, sessions } = repositories;
  return database.read(() => {
    const row = sessions.known(sessionId);
    const { title, settings, metadata, source, forkSeq, createdAtMs, parentSessionId } = row;
    const parent =
      parentSessionId === null ? null : (hubNotesOf(repositories, parentSessionId).name ?? parentSessionId);
    const head = {
      title,
      settings,
      metadata: withoutFolders(metadata),
      source,
      parent,
      forkSeq,
      createdAtMs,
      items: itemsForHub(repositories, sessionId),
    };
    return { head, digest: digestOfHead(head) };
  });
}

/** What is noted of a head that the hub has: the title and the items, and the project, which is beside them on the hub. */
export function headNote(digest: string, project: string): string {
  return `${digest} ${project}`;
}

/** Leaves out folders of this machine, such as where an agent worked. */
function withoutFolders(metadata: SessionHead["metadata"]): SessionHead["metadata"] {
  return JSON.parse(JSON.stringify(metadata), (_, value: unknown) => {
    if (typeof value === "string" && isPath(value)) return undefined;
    return Array.isArray(value) ? value.filter(() => true) : value; // what was left out is a hole
  });
}

export function bodyOfHead({ head }: { head: SessionHead }): Buffer {
  return encodeBody(head);
}

/** The messages of a session's path with their digests, in order. It reads all of them. */
export function* pathOf(
  { database, messages }: Repositories,
  sessionId: string,
): Generator<{ id: number; seq: number; digest: string }> {
  for (let first = 0; ; ) {
    const page = database.read(() => messages.range(sessionId, first, Number.MAX_SAFE_INTEGER, PAGE));
    for (const message of page) yield { id: message.id, seq: message.seq, digest: digestOf(message).toString("hex") };
    if (page.length < PAGE) return;
    first = page.at(-1)!.seq + 1;
  }
}

/** How far a session and its path on the hub are the same. */
export interface CommonPlace {
  count: number;
  place: Place;
  notes: Pick<HubNotes, "lastId" | "entryId">;
  /** True if the store has messages after them. */
  hasMore: boolean;
  entryCount: number;
  /** True for a message of the path that was forgotten here. */
  isForgotten(message: HubMessage): boolean;
}

/**
 * Compares a session with its path on the hub. If messages were forgotten here, the hub's are passed over that the store has had, or
 * that are the forgotten ones.
 */
export function commonPlace(
  repositories: Repositories,
  sessionId: string,
  row: Pick<SessionRow, "sessionNo">,
  path: HubPath,
): CommonPlace {
  const { database, entries } = repositories;
  const { isStale, sessionNo, length = 0 } = database.read(() => hubNotesOf(repositories, sessionId));
  const isForgottenHere = database.read(() => forgottenOnHubIn(repositories, sessionId));
  const wasHad = ({ at }: { at: number }): boolean => isStale === true && sessionNo === row.sessionNo && at < length;
  const isForgotten = ({ event, digest }: HubMessage): boolean => {
    const said = { createdAtMs: event.message.createdAtMs, digest: Buffer.from(digest, "hex") };
    return isStale === true && database.read(() => isForgottenHere(said));
  };
  let [count, seq, lastId] = [0, 0, 0];
  let hasMore = false;
  for (const own of pathOf(repositories, sessionId)) {
    let next = count;
    for (let one = path.messages[next]; one !== undefined && one.digest !== own.digest; one = path.messages[next]) {
      if (!wasHad(one) && !isForgotten(one)) break;
      next += 1;
    }
    hasMore = path.messages[next]?.digest !== own.digest;
    if (hasMore) break;
    count = next + 1;
    [seq, lastId] = [own.seq + 1, own.id];
  }
  count = Math.max(count, path.messages.filter(wasHad).length);
  let entryCount = 0;
  let entryId = 0;
  const there = path.entries.filter(({ after }) => after <= count).length;
  for (let isLast = false; !isLast; ) {
    const page = database.read(() => entries.after(sessionId, entryId, 100));
    for (const { position, beforeSeq } of page) {
      isLast = beforeSeq > seq || entryCount === there;
      if (isLast) break;
      entryCount += 1;
      entryId = position;
    }
    isLast ||= page.length < 100;
  }
  entryCount = Math.max(entryCount, path.entries.filter(wasHad).length);
  return { count, place: { seq, lastId, entryId }, notes: { lastId, entryId }, hasMore, entryCount, isForgotten };
}
