import type { PoolClient } from "pg";
import { DamageError } from "../core/damage.ts";
import { StoreError } from "../core/errors.ts";
import type { HubConnection } from "./connection.ts";
import { indexedMessage } from "./indexed-message.ts";
import { LoadedSegment } from "./loaded-segment.ts";
import { type HubPlace, insertRows } from "./places.ts";
import { ROLES, wordsOf } from "./rows.ts";
import { decodeSegment, type EncodedSegment, type IndexChange, mergeSegments, segmentOf, wordsIn } from "./segment.ts";

/** This many segments of a level become one. */
const MERGED = 32;

/** Segments of at least this many messages are not merged any further, unless some of their messages were removed. */
const MESSAGES_MAX = 32_768;

/** The messages of segments that stay in memory. Each takes about 200 bytes. */
const KEPT_MESSAGES_MAX = 2_000_000;

/** Adds the messages of a push to the index, in its transaction. */
export async function changeIndex(client: PoolClient, place: HubPlace, change: IndexChange): Promise<void> {
  const { added, removed = [], forgottenSessions = [] } = change;
  if (added.length + removed.length + forgottenSessions.length === 0) return;
  await insertSegment(client, place, segmentOf(change));
}

async function insertSegment(client: PoolClient, { place, team }: HubPlace, encoded: EncodedSegment): Promise<void> {
  const { messages, forgottenSessions } = decodeSegment(encoded.head);
  if (messages.length + forgottenSessions.length === 0) return;
  const hasGone = forgottenSessions.length > 0 || messages.some(({ net }) => net !== 1);
  const { rows } = await client.query<{ segment: number }>(
    "INSERT INTO coppice.segments (place, team, level, has_gone, head) VALUES ($1, $2, $3, $4, $5) RETURNING segment",
    [place, team, levelOf(messages.length), hasGone, encoded.head],
  );
  const { segment } = rows[0]!;
  const buckets = encoded.buckets.map((body, bucket) => ({ place, segment, bucket, team, body }));
  await insertRows(client, "buckets", buckets);
}

function levelOf(messageCount: number): number {
  return Math.floor(Math.log(Math.max(1, messageCount)) / Math.log(MERGED));
}

/** The segments that searches have read. They never change, so they stay in memory. */
export class KeptSegments {
  readonly #messagesMax: number;
  readonly #kept = new Map<number, LoadedSegment>();

  constructor(messagesMax = KEPT_MESSAGES_MAX) {
    this.#messagesMax = messagesMax;
  }

  /** Returns the segments of a project, or of all. @param damaged  Gets the numbers of those that cannot be read. They are left out. */
  async of(client: PoolClient, project: string | undefined, damaged: Set<number>): Promise<LoadedSegment[]> {
    const kept = new Map(this.#kept); // another search may empty the other map meanwhile
    const { rows } = await client.query<{ place: number; segment: number; head: Buffer | null }>(
      `SELECT s.place, s.segment, CASE WHEN s.segment = ANY ($2::bigint[]) THEN NULL ELSE s.head END AS head
       FROM coppice.places p JOIN coppice.segments s ON s.place = p.place
       WHERE $1::text IS NULL OR p.project = $1 ORDER BY s.place, s.segment`,
      [project ?? null, [...kept.keys()]],
    );
    const loaded = rows.flatMap(({ place, segment, head }) => {
      if (damaged.has(segment)) return [];
      if (head === null) return kept.get(segment)!;
      const decoded = unlessDamaged(() => decodeSegment(head));
      if (decoded === undefined) damaged.add(segment);
      return decoded === undefined ? [] : new LoadedSegment(place, segment, decoded);
    });
    const own = new Map(loaded.map((segment) => [segment.number, segment]));
    if (messageCountOf(new Map([...this.#kept, ...own])) > this.#messagesMax) this.#kept.clear();
    if (messageCountOf(own) <= this.#messagesMax) for (const [number, segment] of own) this.#kept.set(number, segment);
    return loaded;
  }
}

function messageCountOf(segments: ReadonlyMap<number, LoadedSegment>): number {
  let count = 0;
  for (const { segment } of segments.values()) count += segment.messages.length;
  return count;
}

/** All conditions are on numbers: under row-level security, Postgres uses an index for no others. */
export const BUCKETS = `SELECT b.segment, b.bucket, b.body
  FROM unnest($1::bigint[], $2::bigint[], $3::integer[]) AS wanted (place, segment, bucket)
  JOIN coppice.buckets b ON b.place = wanted.place AND b.segment = wanted.segment AND b.bucket = wanted.bucket`;

export interface BucketKey {
  place: number;
  segment: number;
  bucket: number;
}

type BucketRow = Omit<BucketKey, "place"> & { body: Buffer };

export async function bucketsNamed(client: PoolClient, keys: readonly BucketKey[]): Promise<BucketRow[]> {
  const { rows } = await client.query<BucketRow>(BUCKETS, [
    keys.map(({ place }) => place),
    keys.map(({ segment }) => segment),
    keys.map(({ bucket }) => bucket),
  ]);
  return rows;
}

/** Returns what `read` returns; undefined if it finds bytes that are damaged. */
function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    return undefined;
  }
}

export interface MergeReport {
  /** Segments that were merged, and those that they have become. */
  mergedCount: number;
  madeCount: number;
  /** Segments that were damaged. They were made again from the messages. */
  damagedCount: number;
}

/**
 * Merges small segments, removes the words of forgotten messages from the index, and repairs damaged segments. Any number of
 * keepers may run at once, and they may end at any time.
 *
 * @param checked  The numbers of segments that were read before. They are not read again to see whether they are damaged.
 */
export async function keepIndex(
  connection: HubConnection,
  checked: Set<number>,
  signal?: AbortSignal,
): Promise<MergeReport> {
  const report = { mergedCount: 0, madeCount: 0, damagedCount: 0 };
  const { rows: places } = await connection.transaction((client) =>
    client.query<HubPlace>("SELECT place, team FROM coppice.places ORDER BY place"),
  );
  for (const place of places) {
    const repair = async (sound: Set<number>): Promise<void> => {
      const damaged = await damagedIn(connection, place, sound, signal);
      if (damaged.length === 0) return;
      // One snapshot: it has a concurrent push either in both the segments and the messages, or in neither.
      const again = (client: PoolClient): Promise<number> => indexAgain(client, place, damaged);
      report.damagedCount += await connection.transaction(again, signal, "REPEATABLE READ");
    };
    await repair(checked);
    for (;;) {
      try {
        const count = await connection.transaction((client) => mergeSome(client, place), signal);
        if (count === 0) break;
        report.mergedCount += count;
        report.madeCount += 1;
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        await repair(new Set());
      }
    }
  }
  return report;
}

/** Reads the segments of a place, except those that are known to be sound. @returns the numbers of damaged ones. */
async function damagedIn(
  connection: HubConnection,
  { place }: HubPlace,
  sound: Set<number>,
  signal: AbortSignal | undefined,
): Promise<number[]> {
  const numbers = (client: PoolClient) =>
    client.query<{ segment: number }>("SELECT segment FROM coppice.segments WHERE place = $1", [place]);
  const { rows } = await connection.transaction(numbers, signal);
  const damaged: number[] = [];
  for (const { segment } of rows) {
    if (sound.has(segment)) continue;
    const check = (client: PoolClient): Promise<boolean> => isSound(client, place, segment);
    if (await connection.transaction(check, signal, "REPEATABLE READ")) sound.add(segment);
    else damaged.push(segment);
  }
  return damaged;
}

/** Returns false if any bytes of a segment are damaged. It may have been merged meanwhile. */
async function isSound(client: PoolClient, place: number, number: number): Promise<boolean> {
  const { rows } = await client.query<{ head: Buffer }>(
    "SELECT head FROM coppice.segments WHERE place = $1 AND segment = $2",
    [place, number],
  );
  if (rows.length === 0) return true;
  const segment = unlessDamaged(() => decodeSegment(rows[0]!.head));
  if (segment === undefined) return false;
  const buckets = segment.buckets ?? (await bucketsOf(client, place, number));
  const lists = unlessDamaged(() =>
    // Lists are checked when they are read.
    buckets.map((bucket) => Array.from(wordsIn(bucket, segment.messages.length), ({ list }) => list.counts)),
  );
  return lists?.length === segment.firstWords.length;
}

/** Messages that are read at once to be indexed again. */
const INDEXED_AT_ONCE = 500;

/**
 * Makes the index of a place again, from its messages. Messages that cannot be read have no words.
 *
 * @returns how many of the damaged segments were still there.
 */
async function indexAgain(client: PoolClient, place: HubPlace, damaged: readonly number[]): Promise<number> {
  const { rows: segments } = await client.query<{ segment: number }>(
    "SELECT segment FROM coppice.segments WHERE place = $1 ORDER BY segment FOR UPDATE",
    [place.place],
  );
  const numbers = segments.map(({ segment }) => segment);
  const count = damaged.filter((segment) => numbers.includes(segment)).length;
  if (count === 0) return 0;
  await client.query("SELECT coppice.delete_segments($1, $2)", [place.place, numbers]);
  for (let after = [0, 0]; ; ) {
    const { rows } = await client.query<MessageRow>(
      `SELECT session_no AS "sessionNo", message_id AS id, seq, role, token_count AS "tokenCount",
         created_at_ms AS "createdAtMs", body
       FROM coppice.messages WHERE place = $1 AND branch IS NULL AND (session_no, message_id) > ($2, $3)
       ORDER BY session_no, message_id LIMIT ${INDEXED_AT_ONCE}`,
      [place.place, ...after],
    );
    const last = rows.at(-1);
    if (last === undefined) return count;
    const added = rows.flatMap(({ body, role, sessionNo, ...row }) => {
      try {
        return indexedMessage(sessionNo, { ...row, role: ROLES[role]!, ...wordsOf(body) });
      } catch (error) {
        if (!StoreError.is(error, "ROWS_INVALID")) throw error;
        return [];
      }
    });
    await changeIndex(client, place, { added });
    after = [last.sessionNo, last.id];
  }
}

interface MessageRow {
  sessionNo: number;
  id: number;
  seq: number;
  role: number;
  tokenCount: number;
  createdAtMs: number;
  body: Buffer;
}

interface SegmentRow {
  segment: number;
  level: number;
  has_gone: boolean;
}

/** Merges segments of a place once. @returns how many; 0 if there was nothing to do. */
async function mergeSome(client: PoolClient, place: HubPlace): Promise<number> {
  const { rows } = await client.query<SegmentRow>(
    "SELECT segment, level, has_gone FROM coppice.segments WHERE place = $1 ORDER BY segment",
    [place.place],
  );
  const chosen = rows.some(({ has_gone }) => has_gone)
    ? await segmentsWithGone(client, place, rows)
    : oldestOfLevel(rows).map(({ segment }) => segment);
  if (chosen.length === 0) return 0;
  // Rows that another keeper has locked are left to it.
  const locked = await client.query<{ segment: number; head: Buffer }>(
    "SELECT segment, head FROM coppice.segments WHERE place = $1 AND segment = ANY ($2) ORDER BY segment FOR UPDATE SKIP LOCKED",
    [place.place, chosen],
  );
  if (locked.rows.length < chosen.length) return 0;
  const inputs = [];
  for (const { segment: number, head } of locked.rows) {
    const segment = decodeSegment(head);
    inputs.push({ segment, buckets: segment.buckets ?? (await bucketsOf(client, place.place, number)) });
  }
  await insertSegment(client, place, mergeSegments(inputs));
  await client.query("SELECT coppice.delete_segments($1, $2)", [place.place, chosen]);
  return chosen.length;
}

function oldestOfLevel(rows: readonly SegmentRow[]): SegmentRow[] {
  for (let level = 0; level < levelOf(MESSAGES_MAX); level++) {
    const own = rows.filter((row) => row.level === level);
    if (own.length >= MERGED) return own.slice(0, MERGED);
  }
  return [];
}

/**
 * Returns the segments that remove messages or sessions, and the segments that still have those. A session that was forgotten gets
 * no more segments.
 */
async function segmentsWithGone(client: PoolClient, place: HubPlace, rows: readonly SegmentRow[]): Promise<number[]> {
  const gone: number[] = [];
  const sessions = new Set<number>();
  const holding = new Map<number, ReadonlySet<number>>();
  for (const { segment, has_gone } of rows) {
    const { rows: heads } = await client.query<{ head: Buffer }>(
      "SELECT head FROM coppice.segments WHERE place = $1 AND segment = $2",
      [place.place, segment],
    );
    if (heads.length === 0) return [];
    const { messages, forgottenSessions } = decodeSegment(heads[0]!.head);
    if (has_gone) gone.push(segment);
    for (const session of forgottenSessions) sessions.add(session);
    for (const { net, sessionNo } of messages) if (net !== 1) sessions.add(sessionNo);
    holding.set(segment, new Set(messages.map(({ sessionNo }) => sessionNo)));
  }
  const others = rows.filter(({ segment }) => [...sessions].some((session) => holding.get(segment)!.has(session)));
  return [...new Set([...gone, ...others.map(({ segment }) => segment)])];
}

async function bucketsOf(client: PoolClient, place: number, segment: number): Promise<Buffer[]> {
  const { rows } = await client.query<{ body: Buffer }>(
    "SELECT body FROM coppice.buckets WHERE place = $1 AND segment = $2 ORDER BY bucket",
    [place, segment],
  );
  return rows.map(({ body }) => body);
}
