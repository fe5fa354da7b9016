import { isDeepStrictEqual } from "node:util";
import type { PoolClient } from "pg";
import {
  agreedOn,
  type Changeable,
  type FactRow,
  type FactTables,
  ForgottenMessages,
  type HubNotes,
  hubNotesOf,
  type IndexedRow,
  type MessageBatch,
  type MessagePlace,
  noteOnHub,
  type Repositories,
  sessionRows,
  WITHOUT_PATH,
} from "../store/index.ts";
import type { HubConnection } from "./connection.ts";
import { buriedOnHub, buryMessages, burySession } from "./forgetting.ts";
import { leaveSharedBlock } from "./id-block.ts";
import { indexedMessage } from "./indexed-message.ts";
import { OwnPlaces } from "./own-places.ts";
import { type HubPlace, insertRows, rowsOfSession, type SessionAt, type SessionKey, updateSession } from "./places.ts";
import {
  chunksOf,
  decodeRows,
  encodeLines,
  encodeMessage,
  encodeRows,
  factsDigestOf,
  type KnownChunk,
  placeOf,
  shapeOf,
} from "./rows.ts";
import { putVectors, type SessionVectors, vectorsOf } from "./session-vectors.ts";
import { changeIndex } from "./word-index.ts";

/** A transaction sends at most this many messages, and stops after about this many bytes of them. */
const BATCH = { count: 500, bytes: 4_000_000 };
const ALL = { count: Number.MAX_SAFE_INTEGER, bytes: Number.POSITIVE_INFINITY };

/** Tables that a push reads by `pushedRows`, not with the other facts of the session. */
const OF_MESSAGES = new Set<FactRow["table"]>(["messages", "artifacts", "messageArtifacts"]);

/**
 * What became of a session. `gone`: it was forgotten on the hub. `expired`: the hub keeps it no longer. `moved`: another store has
 * taken it. `behind`: the hub has something newer. `diverged`: the hub has something else, or has forgotten another session of this id.
 */
export type PushOutcome = "pushed" | "unchanged" | "gone" | "expired" | "moved" | "behind" | "diverged";

export interface PushedSession {
  outcome: PushOutcome;
  /** Messages that the hub has now and did not have before. */
  messageCount: number;
  /** Messages of this store that were forgotten on the hub. The caller forgets them and pushes again. */
  forgottenIds: readonly number[];
  /** True if another store has taken the session, and this one has messages that the hub lacks. */
  hasUnsent: boolean;
  /** True if this store is `behind` and has forgotten messages that are on the hub. The caller pulls and pushes again. */
  mustForget: boolean;
}

/** Names a session on the hub. `origin` is the store in which it began. */
export interface PushedName {
  id: string;
  origin: string;
  storeId: string;
}

interface SessionRow {
  session_no: number;
  holder: string;
  message_count: number;
  last_id: number;
  /** Readers see messages up to it. */
  marked_id: number;
  head: Buffer | null;
  shape: Buffer | null;
  vectors: Buffer | null;
  created_at_ms: number | null;
  /** The highest id of its rows. */
  newest_id: number | null;
  was_pushed: boolean;
  is_forgotten: boolean;
  is_expired: boolean;
}

/** A snapshot of the store. The facts and vectors are there if the batch is the last. */
interface Snapshot {
  places: OwnPlaces;
  batch: MessageBatch;
  facts: FactRow[] | undefined;
  vectors: SessionVectors | undefined;
}

interface Step {
  isDone: boolean;
  outcome: PushOutcome;
  forgottenIds?: readonly number[];
  hasUnsent?: boolean;
  mustForget?: boolean;
  /** How many messages the hub has after the transaction, if it changed anything. */
  sentCount?: number;
  /** Digests of the title and the items that the hub has now. */
  agreed?: HubNotes["agreed"];
}

/**
 * Sends what the hub lacks of a session, in order, in as many transactions as it takes. The hub knows how far it is, so nothing is
 * noted in the store, and a push that was cut off is continued by any other.
 */
export async function pushSession(
  hub: HubConnection,
  repositories: Repositories,
  place: HubPlace,
  name: PushedName,
  signal?: AbortSignal,
): Promise<PushedSession> {
  try {
    return await pushWhole(hub, repositories, place, name, signal);
  } catch (error) {
    if (!(error instanceof NoLongerHere)) throw error;
    return { outcome: "unchanged", messageCount: 0, forgottenIds: [], hasUnsent: false, mustForget: false };
  }
}

/** Another process has forgotten the session since the push began. */
class NoLongerHere extends Error {}

/** The store is not as it was when the transaction began. The transaction is tried again, as after a serialization failure. */
class ChangedMeanwhile extends Error {
  readonly code = "40001";
}

async function pushWhole(
  hub: HubConnection,
  repositories: Repositories,
  place: HubPlace,
  name: PushedName,
  signal: AbortSignal | undefined,
): Promise<PushedSession> {
  let countBefore: number | undefined;
  let hasSent = false;
  const reader = new SnapshotReader(repositories, name);
  for (;;) {
    const step = await hub.transaction(async (client) => {
      const row = await lockSession(client, place, name);
      countBefore ??= row.message_count;
      const taken = await advance(client, { ...place, sessionNo: row.session_no }, row, reader);
      return { ...taken, count: taken.sentCount ?? row.message_count, newestId: row.newest_id };
    }, signal);
    if (step.agreed !== undefined) reader.noteAgreed(step.agreed);
    hasSent ||= step.outcome === "pushed";
    if (!step.isDone) continue;
    const isOfCopy = step.outcome === "behind" || step.outcome === "diverged";
    if (isOfCopy && step.newestId !== null) await leaveSharedBlock(hub, repositories, step.newestId, signal);
    const messageCount = Math.max(0, step.count - countBefore!);
    const hasPushed = step.outcome === "unchanged" && (hasSent || messageCount > 0);
    const { forgottenIds = [], hasUnsent = false, mustForget = false } = step;
    return { outcome: hasPushed ? "pushed" : step.outcome, messageCount, forgottenIds, hasUnsent, mustForget };
  }
}

/**
 * Forgets a session on the hub, for every store.
 *
 * @param createdAtMs  When the session began, if that is known. Only copies that began then are forgotten, too.
 * @param isShared  True if its project goes to the hub. Then a copy is refused even if the session was never pushed. Without it, the
 *   hub does not learn the id of a session that it never had.
 * @returns false if the hub does not have the session and has not learned its id.
 */
export async function forgetOnHub(
  hub: HubConnection,
  place: HubPlace,
  name: PushedName,
  { createdAtMs, isShared }: { createdAtMs: number | undefined; isShared: boolean },
  signal?: AbortSignal,
): Promise<boolean> {
  return hub.transaction(async (client) => {
    const row = isShared ? await lockSession(client, place, name) : await lockKnown(client, place, name);
    if (row === undefined) return false;
    if (row.is_forgotten) return true;
    const key = { ...place, sessionNo: row.session_no };
    await burySession(client, key);
    await updateSession(client, key, { created_at_ms: row.created_at_ms ?? createdAtMs ?? null });
    return true;
  }, signal);
}

/** Returns the row of the session, which nobody else can change until the transaction ends. */
async function lockKnown(
  client: PoolClient,
  { place }: HubPlace,
  { id, origin }: PushedName,
): Promise<SessionRow | undefined> {
  const select = `SELECT session_no, holder, message_count, last_id, marked_id, head, shape, vectors, created_at_ms, newest_id,
      pushed_at IS NOT NULL AS was_pushed, forgotten_at IS NOT NULL AS is_forgotten, expired_at IS NOT NULL AS is_expired
    FROM coppice.sessions WHERE place = $1 AND origin = $2 AND session_id = $3 FOR UPDATE`;
  const { rows } = await client.query<SessionRow>(select, [place, origin, id]);
  return rows[0];
}

/** Like `lockKnown`, but makes the row if the session was never pushed. */
async function lockSession(client: PoolClient, place: HubPlace, name: PushedName): Promise<SessionRow> {
  const known = await lockKnown(client, place, name);
  if (known !== undefined) return known;
  await client.query(
    `INSERT INTO coppice.sessions (place, team, origin, session_id, holder)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    [place.place, place.team, name.origin, name.id, name.storeId],
  );
  return (await lockKnown(client, place, name))!;
}

/** One transaction of a push, while the row is locked. */
async function advance(client: PoolClient, key: SessionKey, row: SessionRow, reader: SnapshotReader): Promise<Step> {
  // The caller forgets a session that is `gone`. So it must be the one that the hub had, not a later one with the same id.
  if (row.is_forgotten) {
    const isSame = row.was_pushed && reader.createdAtMs() === row.created_at_ms;
    return { isDone: true, outcome: isSame ? "gone" : "diverged" };
  }
  if (row.is_expired) return { isDone: true, outcome: "expired" };
  if (row.holder !== reader.name.storeId) {
    const places = reader.places().all;
    const forgottenIds = await buriedIn(client, key, row, places);
    return { isDone: true, outcome: "moved", forgottenIds, hasUnsent: await lacksNewest(client, key, places) };
  }

  let local = reader.read(row.last_id, BATCH);
  const known = await rowsOfSession<KnownChunk>(client, key, "facts", "kind, chunk, digest");
  let forgottenCount = 0;
  if (beginsWith(local, row)) {
    const isOfOthers = known.length > 0 && !reader.seen()?.includes(factsDigestOf(known));
    const forgottenIds = isOfOthers ? await buriedIn(client, key, row, local.places.all) : [];
    if (forgottenIds.length > 0) return { isDone: true, outcome: "unchanged", forgottenIds };
    if (!isNewer(local, known, reader)) return { isDone: true, outcome: "behind" };
  } else {
    const difference = await differenceOf(client, key, row, { places: local.places.all, known, reader });
    if ("outcome" in difference) return difference;
    const mustForget = difference.forgottenHereIds.length > 0;
    if (!isNewer(local, known, reader)) return { isDone: true, outcome: "behind", mustForget };
    await buryMessages(client, key, difference.forgottenHereIds);
    forgottenCount = difference.forgottenHereIds.length;
    // The rest goes in the same transaction, so that no summary on the hub outlives what it covers.
    local = reader.read(row.last_id, ALL);
    const isAsCompared = local.places.countUpTo(row.last_id) + forgottenCount === row.message_count;
    if (!isAsCompared) throw new ChangedMeanwhile();
  }
  const { id } = reader.name;
  // Places change together with the facts, so that readers always see a state that the session had.
  const sent = local.facts && local.places.upTo(row.last_id);
  const isMoved = sent !== undefined && !shapeOf(sent, id).equals(row.shape ?? shapeOf([], id));
  const { removed, returned } = isMoved ? await movePlaces(client, key, sent, id) : UNMOVED;
  await insertMessages(client, key, id, local);
  const isOnPath = ({ sessionId }: Pick<IndexedRow, "sessionId">): boolean => sessionId === id;
  const back = reader.indexed(returned).filter(isOnPath);
  if (back.length < returned.length) throw new ChangedMeanwhile(); // they are on the path in the snapshot
  const onPath = [...local.batch.messages.filter(isOnPath), ...back];
  await changeIndex(client, key, {
    added: onPath.map((row) => indexedMessage(key.sessionNo, row)),
    removed: removed.map((messageId) => ({ sessionNo: key.sessionNo, messageId })),
  });
  const hasNewFacts = local.facts !== undefined && (await putFacts(client, key, known, local.facts, reader));
  if (forgottenCount > 0) await deleteUnusedArtifacts(client, key, local.facts!);
  const hasNewVectors = local.vectors !== undefined && (await putVectors(client, key, local.vectors, row.vectors));
  const hasChanged = isMoved || hasNewFacts || hasNewVectors || forgottenCount > 0 || local.batch.messages.length > 0;
  const agreed = local.facts && agreedOn(changeableOf(local.facts));
  const step = { isDone: local.facts !== undefined, ...(agreed && { agreed }) };
  if (!hasChanged) return { ...step, outcome: "unchanged" };
  return { ...step, outcome: "pushed", sentCount: await mark(client, key, local, row.last_id, id) };
}

class SnapshotReader {
  readonly name: PushedName;
  readonly #repositories: Repositories;
  /** The places as they are while nobody writes to the store. So a transaction of a long push does not read all of them again. */
  #known: { state: string; places: OwnPlaces } | undefined;

  constructor(repositories: Repositories, name: PushedName) {
    this.#repositories = repositories;
    this.name = name;
  }

  read(afterId: number, most: typeof BATCH): Snapshot {
    const { database, pushedRows } = this.#repositories;
    const { id, storeId } = this.name;
    return database.read(() => {
      this.createdAtMs();
      const places = this.places();
      const batch = pushedRows.batch(places.idsAfter(afterId, most.count), most.bytes);
      const isLast = (batch.messages.at(-1)?.id ?? afterId) >= (places.all.at(-1)?.id ?? 0);
      if (!isLast) return { places, batch, facts: undefined, vectors: undefined };
      const facts: FactRow[] = [];
      for (const fact of sessionRows(this.#repositories, id, storeId, WITHOUT_PATH)) {
        if (!OF_MESSAGES.has(fact.table)) facts.push(fact);
      }
      for (const row of pushedRows.artifactsOf(id)) facts.push({ table: "messageArtifacts", row });
      const vectors = vectorsOf(this.#repositories, id, factOf(facts, "origin"));
      return { places, batch, facts, vectors };
    });
  }

  indexed(ids: readonly number[]): IndexedRow[] {
    const { database, pushedRows } = this.#repositories;
    return database.read(() => pushedRows.indexed(ids));
  }

  #notes(): HubNotes {
    return this.#repositories.database.read(() => hubNotesOf(this.#repositories, this.name.id));
  }

  #note(changes: HubNotes): void {
    this.#repositories.database.write("push", () => noteOnHub(this.#repositories, this.name.id, changes));
  }

  /** Undefined if nothing is noted. */
  seen(): readonly string[] | undefined {
    return this.#notes().seen;
  }

  noteSeen(digests: readonly string[]): void {
    const [seen, known] = [[...new Set(digests)], this.seen()];
    if (!seen.every((digest) => known?.includes(digest))) this.#note({ seen });
  }

  /** Notes the title and items that a push has sent. Call it when the hub has them. */
  noteAgreed(agreed: NonNullable<HubNotes["agreed"]>): void {
    if (!isDeepStrictEqual(this.#notes().agreed, agreed)) this.#note({ agreed });
  }

  places(): OwnPlaces {
    const { database, pushedRows } = this.#repositories;
    return database.read(() => {
      const state = pushedRows.state();
      if (this.#known?.state !== state) {
        this.#known = { state, places: new OwnPlaces(pushedRows.places({ id: this.name.id })) };
      }
      return this.#known.places;
    });
  }

  /** @throws {NoLongerHere} */
  createdAtMs(): number {
    const { database, sessions } = this.#repositories;
    const session = database.read(() => sessions.byId(this.name.id));
    if (session === undefined) throw new NoLongerHere();
    return session.createdAtMs;
  }

  /** The session's messages that were forgotten here. Their seqs may have been given to other messages since. */
  forgotten(): ForgottenMessages {
    const { database, tombstones } = this.#repositories;
    return database.read(() => tombstones.forgottenIn(this.name.id));
  }
}

/** True if the hub has the first messages of the store, and nothing else. */
export function beginsWith(
  { places }: Pick<Snapshot, "places">,
  { message_count, last_id, head }: Pick<SessionRow, "message_count" | "last_id" | "head">,
): boolean {
  return places.countUpTo(last_id) === message_count && (head === null || places.headUpTo(last_id).equals(head));
}

/** What the hub has and the store does not have, or the other way round. */
async function differenceOf(
  client: PoolClient,
  key: SessionAt,
  row: SessionRow,
  { places, known, reader }: { places: readonly MessagePlace[]; known: readonly KnownChunk[]; reader: SnapshotReader },
): Promise<Step | { forgottenHereIds: number[] }> {
  const forgottenIds = await buriedIn(client, key, row, places);
  if (forgottenIds.length > 0) return { isDone: true, outcome: "unchanged", forgottenIds };
  const digests = await digestsOnHub(client, key);
  const { last_id } = row;
  const isAsOnHub = places.every(({ id, digest }) => id > last_id || digests.get(id)?.equals(digest));
  const own = new Set(places.map(({ id }) => id));
  const missing = [...digests].filter(([id]) => !own.has(id));
  const forgottenHere = reader.forgotten();
  // The store has had what it saw. If it was forgotten here and restored since, it has no tombstone.
  const seenId = reader.seen()?.includes(factsDigestOf(known)) ? row.marked_id : 0;
  const isForgotten = ([id, digest]: (typeof missing)[number]): boolean =>
    id <= seenId || forgottenHere.has(id, digest) === true;
  if (isAsOnHub && missing.every(isForgotten)) return { forgottenHereIds: missing.map(([id]) => id) };
  const isOlder = isAsOnHub && !places.some(({ id }) => id > last_id);
  return { isDone: true, outcome: isOlder ? "behind" : "diverged" };
}

interface DigestRow {
  id: number;
  digest: Buffer;
}

/** The digests of a session's messages on the hub, in order of their ids. @param ids  By default those of all. */
export async function digestsOnHub(
  client: PoolClient,
  key: SessionAt,
  ids?: readonly number[],
): Promise<Map<number, Buffer>> {
  const those = "AND ($3::bigint[] IS NULL OR message_id = ANY ($3)) ORDER BY message_id";
  const rows = await rowsOfSession<DigestRow>(client, key, "messages", "message_id AS id, digest", those, ids ?? null);
  return new Map(rows.map(({ id, digest }) => [id, digest]));
}

/** Returns the ids of the store's messages that were forgotten on the hub, or by a copy of this file before the hub had them. */
async function buriedIn(
  client: PoolClient,
  key: SessionAt,
  { last_id }: SessionRow,
  places: readonly MessagePlace[],
): Promise<number[]> {
  const buried = await buriedOnHub(client, key);
  const forgotten = await forgottenOnHub(client, key);
  // The hub has had no message above `last_id`.
  const isBuried = ({ id, digest }: MessagePlace): boolean =>
    id <= last_id && buried.has(id) && (forgotten.has(id, digest) ?? true);
  const found = places.filter((one) => isBuried(one) || forgotten.hasContent(one.id, one.digest)).map(({ id }) => id);
  if (found.length === 0) return found;
  const others = places.filter(({ id, digest }) => id <= last_id && !found.includes(id) && forgotten.hasText(digest));
  const ids = others.map(({ id }) => id);
  const kept = await digestsOnHub(client, key, ids);
  return [...found, ...ids.filter((id) => !kept.has(id))];
}

/** Reads the tombstones of the store that pushed the session last. */
async function forgottenOnHub(client: PoolClient, key: SessionAt): Promise<ForgottenMessages> {
  const those = "AND kind IN ('origin', 'tombstones') ORDER BY kind, chunk";
  const rows = await rowsOfSession<{ body: Buffer }>(client, key, "facts", "body", those);
  let forgotten = new ForgottenMessages(null);
  for (const fact of rows.flatMap(({ body }) => decodeRows(body))) {
    if (fact.table === "origin") forgotten = new ForgottenMessages(fact.row.tombstoneKey);
    else if (fact.table === "tombstones") forgotten.add(fact.row);
  }
  return forgotten;
}

/** True if the hub lacks the newest message of the store. New messages of a store have the highest ids in it. */
async function lacksNewest(client: PoolClient, key: SessionAt, places: readonly MessagePlace[]): Promise<boolean> {
  const newest = places.at(-1);
  if (newest === undefined) return false;
  return !(await digestsOnHub(client, key, [newest.id])).get(newest.id)?.equals(newest.digest);
}

async function insertMessages(
  client: PoolClient,
  { place, team, sessionNo }: SessionKey,
  sessionId: string,
  { batch: { messages, artifacts } }: Snapshot,
): Promise<void> {
  const key = { place, session_no: sessionNo, team };
  await insertRows(
    client,
    "messages",
    messages.map((row) => ({ ...key, ...encodeMessage(row, sessionId) })),
  );
  const bodies = artifacts.map((row) => {
    return { ...key, sha256: Buffer.from(row.sha256, "hex"), body: encodeRows([{ table: "artifacts", row }]) };
  });
  await insertRows(client, "artifacts", bodies, "ON CONFLICT DO NOTHING");
}

interface Moved {
  /** Messages that left the path of the session, and those that came back. */
  removed: readonly number[];
  returned: readonly number[];
}

const UNMOVED: Moved = { removed: [], returned: [] };

type PlaceRow = ReturnType<typeof placeOf> & { message_id: number };

/** A rewind moved messages to a branch, or divided a step. */
async function movePlaces(
  client: PoolClient,
  { place, sessionNo }: SessionKey,
  sent: readonly MessagePlace[],
  sessionId: string,
): Promise<Moved> {
  const columns = "message_id, branch, seq, step_id, turn_seq, checksum";
  const rows = await rowsOfSession<PlaceRow>(client, { place, sessionNo }, "messages", columns);
  const onPath = new Set(rows.filter(({ branch }) => branch === null).map(({ message_id }) => message_id));
  const known = new Map(rows.map(({ message_id, ...at }) => [message_id, JSON.stringify(Object.values(at))]));
  for (const message of sent) {
    const at = Object.values(placeOf(message, sessionId));
    if (known.get(message.id) === JSON.stringify(at)) continue;
    await client.query(
      `UPDATE coppice.messages SET branch = $4, seq = $5, step_id = $6, turn_seq = $7, checksum = $8
       WHERE place = $1 AND session_no = $2 AND message_id = $3`,
      [place, sessionNo, message.id, ...at],
    );
  }
  const isNowOnPath = (message: MessagePlace): boolean => message.sessionId === sessionId;
  return {
    removed: sent.filter((message) => onPath.has(message.id) && !isNowOnPath(message)).map(({ id }) => id),
    returned: sent.filter((message) => !onPath.has(message.id) && isNowOnPath(message)).map(({ id }) => id),
  };
}

/**
 * False if a copy of this file has changed facts on the hub since this store last looked, or if the store has no note that it ever
 * did. Then the newer ones must not be overwritten.
 */
function isNewer(local: Snapshot, known: readonly KnownChunk[], reader: SnapshotReader): boolean {
  const digest = factsDigestOf(known);
  if (known.length === 0 || reader.seen()?.includes(digest)) return true;
  return local.facts !== undefined && factsDigestOf(chunksOf(local.facts)) === digest;
}

/** Sends the chunks that the hub lacks, and deletes those that are no more. @returns false if nothing had changed. */
async function putFacts(
  client: PoolClient,
  { place, team, sessionNo }: SessionKey,
  rows: readonly KnownChunk[],
  facts: readonly FactRow[],
  reader: SnapshotReader,
): Promise<boolean> {
  const chunks = chunksOf(facts);
  // Noted before the transaction ends, because its answer may be lost.
  reader.noteSeen([factsDigestOf(rows), factsDigestOf(chunks)]);
  const nameOf = ({ kind, chunk }: KnownChunk): string => `${kind} ${chunk}`;
  const known = new Map(rows.map((row) => [nameOf(row), row.digest]));
  const changed = chunks.filter((chunk) => !known.get(nameOf(chunk))?.equals(chunk.digest));
  const encoded = changed.map(({ kind, chunk, digest, text }) => {
    return { place, session_no: sessionNo, team, kind, chunk, digest, body: encodeLines(text) };
  });
  const update =
    "ON CONFLICT (place, session_no, kind, chunk, team) DO UPDATE SET digest = excluded.digest, body = excluded.body";
  await insertRows(client, "facts", encoded, update);
  const names = new Set(chunks.map(nameOf));
  const ended = rows.filter((row) => !names.has(nameOf(row)));
  for (const { kind, chunk } of ended) {
    await client.query("SELECT coppice.delete_fact($1, $2, $3, $4)", [place, sessionNo, kind, chunk]);
  }
  return changed.length + ended.length > 0;
}

/** Deletes long strings that no message has. @param facts  All facts of the session. */
export async function deleteUnusedArtifacts(
  client: PoolClient,
  { place, sessionNo }: SessionAt,
  facts: Iterable<FactRow>,
): Promise<void> {
  const used: Buffer[] = [];
  for (const fact of facts) if (fact.table === "messageArtifacts") used.push(Buffer.from(fact.row.sha256, "hex"));
  await client.query("SELECT coppice.delete_artifacts_except($1, $2, $3)", [place, sessionNo, used]);
}

/**
 * Notes how far the hub is. If the facts were sent, too, readers see all of it from now on.
 *
 * @returns how many messages the hub has.
 */
async function mark(
  client: PoolClient,
  key: SessionKey,
  local: Snapshot,
  lastIdBefore: number,
  sessionId: string,
): Promise<number> {
  const last_id = local.batch.messages.at(-1)?.id ?? lastIdBefore;
  const message_count = local.places.countUpTo(last_id);
  const far = { message_count, last_id, head: local.places.headUpTo(last_id) };
  const shown = local.facts && shownOf(local.facts, local, last_id, sessionId);
  await updateSession(client, key, { ...far, ...shown }, "pushed_at = now(), pushed_by = session_user");
  return message_count;
}

/** Returns the columns that readers see of a session, once all of it was sent. */
function shownOf(
  facts: readonly FactRow[],
  { places }: Snapshot,
  markedId: number,
  sessionId: string,
): Record<string, unknown> {
  const sent = places.upTo(markedId);
  const { embedderId, dimension, newestId } = factOf(facts, "origin");
  const { title, createdAtMs } = factOf(facts, "sessions");
  return {
    ...{ marked_id: markedId, marked_count: sent.length, title: shownText(title), created_at_ms: createdAtMs },
    ...{ last_at_ms: sent.at(-1)?.createdAtMs ?? createdAtMs, embedder_id: embedderId, dimension },
    ...{ newest_id: newestId, shape: shapeOf(sent, sessionId) },
  };
}

/** The first row of a table. The session comes before its branches. */
function factOf<T extends "origin" | "sessions">(facts: readonly FactRow[], table: T): FactTables[T] {
  return facts.find((fact) => fact.table === table)!.row as FactTables[T];
}

function changeableOf(facts: readonly FactRow[]): Changeable {
  const items = facts.flatMap(({ table, row }) => (table === "items" ? row : []));
  return { title: factOf(facts, "sessions").title, items };
}

/** Postgres stores no U+0000 in texts. What a session is called is in its facts, unchanged. */
function shownText(text: string | null): string | null {
  return text === null ? null : text.toWellFormed().replaceAll("\0", "\ufffd");
}
