import { StoreError } from "../../core/errors.ts";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import type { JsonValue, Message, Part, Role } from "../../core/message.ts";
import type { SessionSettings } from "../../core/options.ts";
import { baseNameOf } from "../../core/project.ts";
import { heldTime } from "../../core/times.ts";
import type { Entry, Item, Path, Repositories, SessionRow, Unreadable } from "../../store/index.ts";

export type { Unreadable } from "../../store/index.ts";

/** Few messages are in memory at the same time, because each may have megabytes. */
const PAGE_MESSAGES = 50;

/** The line of a session. It comes before the lines of its messages, and has no `role`. */
export interface ExportedSession {
  session: string;
  /** The name of its project. A folder of this machine means nothing elsewhere. */
  project?: string;
  title?: string;
  /** The program that the session was imported from, and the session's id there. */
  source?: string;
  externalId?: string;
  /** The id of the session that started or forked this one. For a fork, `forkSeq` is the last seq that the two share. */
  parent?: string;
  forkSeq?: number;
  /** Unix milliseconds. */
  createdAt: number;
  settings: SessionSettings;
  metadata?: Record<string, JsonValue>;
}

/** The line of a message, as `append` takes it. */
export interface ExportedMessage {
  session: string;
  /** Counted from 0. A missing number means that the message was forgotten or cannot be read. */
  seq: number;
  role: Role;
  /** The text of a message that is one plain text. Other messages have `parts`. */
  content?: string;
  parts?: Part[];
  name?: string;
  id?: string;
  /** Unix milliseconds. */
  createdAt: number;
  pinned?: true;
  metadata?: Record<string, JsonValue>;
}

/** The line of an entry. Its place among the messages of its session is that of its line. */
export interface ExportedEntry {
  session: string;
  entry: JsonValue;
  id?: string;
  /** Unix milliseconds. */
  createdAt: number;
}

/** The line of an item. It comes after all sessions, and has a value or bytes. */
export interface ExportedItem {
  namespace: string[];
  key: string;
  value?: JsonValue;
  /** In base64. */
  bytes?: string;
  /** The id of the session that the item belongs to. */
  session?: string;
  /** Unix milliseconds. */
  createdAt: number;
  updatedAt: number;
}

export type ExportLine = ExportedSession | ExportedMessage | ExportedEntry | ExportedItem;

export interface ExportOptions {
  /** True for the lines of a file that `importRows` takes. False by default. */
  rows?: boolean;
  /** The ids of the sessions; by default all. Items that belong to none of these are then left out. */
  sessions?: readonly string[];
  /** Called for each session, message and item that cannot be read. Without this function, the first of them throws. */
  onUnreadable?: (unreadable: Unreadable) => void;
  /**
   * With `rows`: true to give this store ids of its own from now on, which no other store gives. Sessions that begin later can then be
   * imported by every store. False by default.
   */
  ownIds?: boolean;
}

/**
 * Yields the lines of the neutral format, one object each: a session, then its messages and entries in order, then the next
 * session, and items at the end. A session comes after the one that started it. Derived data is not exported. If a session itself cannot be read, its messages
 * are exported without its line.
 *
 * Memory does not grow with the history. Between two lines, others can write to the store. Messages that they append to a session
 * after its line are not exported.
 *
 * @throws {StoreError} `SESSION_NOT_FOUND` before the first line; `STORE_CORRUPT` if `onUnreadable` is not given.
 */
export function* exportLines(repositories: Repositories, options: ExportOptions): Generator<ExportLine> {
  const { database, sessions, messages, factRows } = repositories;
  tolerating(repositories, options, "", () => factRows.assertWhole(), undefined);
  for (const { id, row } of sessionsInOrder(repositories, options)) {
    if (row !== undefined && database.read(() => sessions.byId(id)) === undefined) continue; // forgotten meanwhile
    const ends = database.read(() =>
      readablePath(repositories, id, options).map(({ sessionId, seqFirst, seqLast }) => {
        return { sessionId, seqFirst, seqLast: Math.min(seqLast, messages.lastSeq(sessionId)?.seq ?? -1) };
      }),
    );
    if (row !== undefined) yield sessionLine(row);
    const entries = row === undefined ? [] : readableEntries(repositories, id, options);
    const waiting = entries[Symbol.iterator]();
    let next = waiting.next();
    // A fork is exported whole: another store need not have what it shares.
    for (const { sessionId, seqFirst, seqLast } of ends) {
      for (let first = seqFirst; first <= seqLast; ) {
        const places = database.read(() => messages.seqsFrom(sessionId, first, PAGE_MESSAGES));
        const seqs = places.map(({ seq }) => seq).filter((seq) => seq <= seqLast);
        for (const message of readable(repositories, sessionId, seqs, options)) {
          for (; !next.done && next.value.beforeSeq <= message.seq; next = waiting.next())
            yield entryLine(id, next.value);
          yield messageLine(message, id);
        }
        if (places.length < PAGE_MESSAGES) break;
        first = places.at(-1)!.seq + 1;
      }
    }
    for (; !next.done; next = waiting.next()) yield entryLine(id, next.value);
  }
  yield* itemLines(repositories, options);
}

/** Returns the path of a session. If a fork does not say what it shares, the path is its own messages. */
function readablePath(repositories: Repositories, id: string, options: ExportOptions): Path {
  const { MAX_SAFE_INTEGER: last } = Number;
  const own: Path = [{ sessionId: id, seqFirst: 0, seqLast: last, logPosition: last }];
  return tolerating(repositories, options, id, () => repositories.paths.of(id), own);
}

/** Returns what is read. If it is damaged, says so and returns something else, or throws. @param what  What is damaged. */
function tolerating<T>(
  { database }: Repositories,
  { onUnreadable }: ExportOptions,
  sessionId: string,
  read: () => T,
  otherwise: T,
  what = "",
): T {
  try {
    return database.read(read);
  } catch (error) {
    if (!StoreError.is(error, "STORE_CORRUPT") || onUnreadable === undefined) throw error;
    onUnreadable({ sessionId, reason: what + error.details.reason });
    return otherwise;
  }
}

/** After a damaged entry, the other entries of the session are left out. */
function* readableEntries(repositories: Repositories, sessionId: string, options: ExportOptions): Generator<Entry> {
  for (let after = 0; ; ) {
    const read = (): Entry[] => repositories.entries.after(sessionId, after, PAGE_MESSAGES);
    const page = tolerating(repositories, options, sessionId, read, []);
    yield* page;
    if (page.length < PAGE_MESSAGES) return;
    after = page.at(-1)!.position;
  }
}

function* itemLines(repositories: Repositories, options: ExportOptions): Generator<ExportedItem> {
  const { database, items } = repositories;
  const wanted = options.sessions && new Set(options.sessions);
  for (let offset = 0; ; offset += PAGE_LIMIT_MAX) {
    const ids = database.read(() => items.ids([], { limit: PAGE_LIMIT_MAX, offset, descending: false }));
    for (const id of ids) {
      const item = tolerating(repositories, options, "", () => items.find(id), undefined, `item ${id}: `);
      const isWanted = item !== undefined && (wanted === undefined || wanted.has(item.session ?? ""));
      if (isWanted) yield itemLine(item);
    }
    if (ids.length < PAGE_LIMIT_MAX) return;
  }
}

/** A session to export. A damaged one has no row. */
interface AskedSession {
  id: string;
  row?: SessionRow;
}

/** Returns the sessions with these ids, oldest first, but parents before their children. */
export function sessionsInOrder(repositories: Repositories, options: ExportOptions): AskedSession[] {
  const { database, sessions } = repositories;
  const named = (id: string): SessionRow => {
    const row = sessions.byId(id);
    if (row === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: id });
    return row;
  };
  // In one snapshot, a session that is listed and has no row is damaged, and not forgotten meanwhile.
  const rowOf = options.sessions === undefined ? (id: string) => sessions.known(id) : named;
  const asked = database.read(() =>
    (options.sessions ?? sessions.ids()).map((id) => {
      return tolerating(repositories, options, id, (): AskedSession => ({ id, row: rowOf(id) }), { id });
    }),
  );
  const waiting = new Map(asked.map((session) => [session.id, session]));
  const ordered: AskedSession[] = [];
  const take = (session: AskedSession): void => {
    if (!waiting.delete(session.id)) return;
    const parent = waiting.get(session.row?.parentSessionId ?? "");
    if (parent !== undefined) take(parent);
    ordered.push(session);
  };
  for (const session of asked) take(session);
  return ordered;
}

/** Returns the messages with these seqs. In a damaged file, it reads one message at a time and skips the damaged ones. */
function readable(
  repositories: Repositories,
  sessionId: string,
  seqs: readonly number[],
  options: ExportOptions,
): Message[] {
  const { database, messages } = repositories;
  const [first, last] = [seqs[0], seqs.at(-1)];
  if (first === undefined || last === undefined) return [];
  try {
    const found = database.read(() => messages.range(sessionId, first, last));
    if (found.length === seqs.length) return found;
    const reason = `of ${seqs.length} messages that its index names, ${found.length} are there`;
    throw new StoreError("STORE_CORRUPT", { path: database.path, reason });
  } catch (error) {
    if (!StoreError.is(error, "STORE_CORRUPT") || options.onUnreadable === undefined) throw error;
    if (seqs.length > 1) return seqs.flatMap((seq) => readable(repositories, sessionId, [seq], options));
    options.onUnreadable({ sessionId, seq: first, reason: error.details.reason });
    return [];
  }
}

function sessionLine(row: SessionRow): ExportedSession {
  return {
    session: row.id,
    createdAt: heldTime(row.createdAtMs),
    settings: row.settings,
    ...(row.project !== null && { project: baseNameOf(row.project) }),
    ...(row.title !== null && { title: row.title }),
    ...(row.source !== null && { source: row.source }),
    ...(row.externalId !== null && { externalId: row.externalId }),
    ...(row.parentSessionId !== null && { parent: row.parentSessionId }),
    ...(row.forkSeq !== null && { forkSeq: row.forkSeq }),
    ...(row.metadata !== null && { metadata: row.metadata }),
  };
}

function entryLine(session: string, { value, id, createdAtMs }: Entry): ExportedEntry {
  return { session, entry: value, ...(id !== undefined && { id }), createdAt: heldTime(createdAtMs) };
}

function itemLine({ namespace, key, value, session, createdAtMs, updatedAtMs }: Item): ExportedItem {
  return {
    ...{ namespace, key },
    ...(value instanceof Uint8Array ? { bytes: Buffer.from(value).toString("base64") } : { value }),
    ...(session !== undefined && { session }),
    createdAt: heldTime(createdAtMs),
    updatedAt: heldTime(updatedAtMs),
  };
}

function messageLine(message: Message, session: string): ExportedMessage {
  const { seq, role, parts, createdAtMs, name, externalId, pinned, metadata } = message;
  const [part, ...others] = parts;
  const isPlain = part?.type === "text" && others.length === 0 && Object.keys(part).length === 2;
  const createdAt = heldTime(createdAtMs);
  // Field by field, because spreads take V8 a twelfth of an export.
  const line: ExportedMessage = isPlain
    ? { session, seq, role, content: part.text, createdAt }
    : { session, seq, role, parts, createdAt };
  if (name !== undefined) line.name = name;
  if (externalId !== undefined) line.id = externalId;
  // `append` itself pins system messages, and results of pinned calls.
  if (pinned && (role === "user" || role === "assistant")) line.pinned = pinned;
  if (metadata !== undefined) line.metadata = metadata;
  return line;
}
