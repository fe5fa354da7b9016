import { isDeepStrictEqual } from "node:util";
import type { PoolClient } from "pg";
import { StoreError } from "../core/errors.ts";
import { WRITE_TERMS } from "../session/moving/moved-rows.ts";
import type { OpenedStore } from "../session/opened-store.ts";
import {
  agreedOn,
  beganHere,
  blockOf,
  type Changeable,
  changeableIn,
  freeIdBlock,
  type HubNoteChanges,
  type HubNotes,
  hubNotesOf,
  keepNotes,
  mergedOf,
  needsIdBlock,
  noteOnHub,
  projectOnHub,
  putChangeable,
  type Repositories,
  setCopy,
  storeIdOf,
  takeForgottenCopy,
  type WriteRowsTerms,
  type WrittenSession,
} from "../store/index.ts";
import type { HubConnection } from "./connection.ts";
import { hasSaidMore, type Own, ownOf, writeForked } from "./fork.ts";
import { grantedBlock, isInOwnBlock, leaveSharedBlock } from "./id-block.ts";
import { OwnPlaces } from "./own-places.ts";
import { type SessionKey, updateSession } from "./places.ts";
import { beginsWith, deleteUnusedArtifacts, digestsOnHub } from "./push.ts";
import { fetchSession, type SessionOnHub } from "./read-session.ts";
import { headOf } from "./rows.ts";
import { Spool } from "./spool.ts";
import { changeIndex } from "./word-index.ts";

export interface PullOptions {
  /** True to go on with the session in this store: only this store may push it from then on. False by default. */
  take?: boolean;
  /** True to keep what only this store has as a session of its own, if both have gone on. False by default: then it is refused. */
  fork?: boolean;
  /** The project of the session, if you may see several sessions with this id. */
  project?: string;
  /** The store in which it began, as in `hub.sessions()`. By default that of the session with this id in the store. */
  origin?: string;
  /** True to forget messages of a session that began in this store, because they were forgotten on the hub. By default it is refused. */
  forget?: boolean;
  signal?: AbortSignal;
}

export interface PulledSession {
  sessionId: string;
  /** `known`: the store had all of it already. */
  outcome: WrittenSession["outcome"];
  /** The messages that came, with superseded ones. */
  messageCount: number;
  /** True if this store may push the session. */
  isHolder: boolean;
  /** The session with what only this store had; null unless there was a fork. */
  forkId: string | null;
  /** What could not be taken over, in sentences. */
  notes: string[];
}

interface HubRow extends SessionKey {
  /** What its project is called on the hub; "" for none. */
  project: string;
  origin: string;
  holder: string;
  newestId: number;
  lastId: number;
  messageCount: number;
  head: Buffer | null;
  markedId: number;
}

/** Where a session is, and the store in which it began. Together with its id they name it. */
type SessionOrigin = Pick<HubRow, "place" | "origin">;

/** While a long session is written into the store, the transaction is idle for minutes. */
const WRITING_MS_MAX = 15 * 60_000;

/**
 * Writes a session of the hub into a store, with its ids.
 *
 * The holder on the hub changes in the same transaction in which the session is read, after the store has it. So whoever dies in
 * between has a copy and not the session, and may try again.
 */
export async function pullSession(
  hub: HubConnection,
  store: OpenedStore,
  sessionId: string,
  { take = false, fork = false, forget = false, project, origin, of, signal }: PullOptions & { of?: SessionOrigin },
): Promise<PulledSession> {
  const { repositories } = store;
  const storeId = storeIdOf(repositories);
  if (storeId === null || repositories.database.readonly) {
    throw new StoreError("STORE_READONLY", { path: store.path, operation: "pull" });
  }
  // If the answer to the commit is lost, the next attempt finds that the store has it all.
  let result: Omit<PulledSession, "isHolder"> | undefined;
  let terms: WriteRowsTerms | undefined;
  let newestId = 0;
  /** Undefined if the store has to ask for a block of ids first. */
  const pull = async (client: PoolClient, spool: Spool): Promise<boolean | undefined> => {
    const { ownOrigin, isOwn } = repositories.database.read(() => {
      const isHere = repositories.sessions.byId(sessionId) !== undefined;
      const ownOrigin = isHere ? (hubNotesOf(repositories, sessionId).origin ?? storeId) : undefined;
      return { ownOrigin, isOwn: isHere && beganHere(repositories, sessionId) };
    });
    const row = await findSession(client, sessionId, {
      project,
      place: of?.place,
      origin: of?.origin ?? origin,
      ownOrigin,
      take,
    });
    newestId = row.newestId;
    const mayFork = fork || of !== undefined;
    const needsBlock = needsIdBlock(repositories, newestId) || (mayFork && isInOwnBlock(repositories, newestId));
    if (terms === undefined && needsBlock) return undefined;
    const onHub = await fetchSession(client, row, sessionId, spool);
    await client.query(`SET LOCAL idle_in_transaction_session_timeout = ${WRITING_MS_MAX}`);
    const isHolder = row.holder === storeId;
    const ownProject = repositories.database.read(() => projectOnHub(repositories, row.project)) || undefined;
    const notes: HubNoteChanges = {
      origin: row.origin === storeId ? undefined : row.origin,
      isOwn: isOwn || undefined, // whatever the hub says
      isCopy: !isHolder || undefined,
    };
    const when = of !== undefined && !isHolder ? "always" : fork ? "if both have gone on" : "never";
    const written = writtenIn(store, sessionId, onHub, {
      row,
      terms: { ...(terms ?? WRITE_TERMS), project: ownProject, keepsMessages: isOwn && !forget },
      fork: when,
      notes,
    });
    result = added(result, written);
    if (!take || isHolder) return isHolder;
    if (row.lastId > row.markedId) await takeBackUnfinished(client, row, onHub);
    await updateSession(client, row, { holder: storeId }, "epoch = epoch + 1");
    return true;
  };
  // The lock keeps pushes out. Whoever may only read cannot lock.
  const isolation = take ? undefined : "REPEATABLE READ";
  const attempt = (): Promise<boolean | undefined> =>
    hub.transaction(
      async (client) => {
        const spool = new Spool(store.path);
        try {
          return await pull(client, spool);
        } finally {
          spool.close();
        }
      },
      signal,
      isolation,
    );
  let isHolder: boolean | undefined;
  try {
    isHolder = await attempt();
    if (isHolder === undefined) {
      const block = (await grantedBlock(hub, repositories, newestId, signal)) ?? 0;
      terms = { ...WRITE_TERMS, takeBlock: (aboveId) => (block > blockOf(aboveId) ? block : freeIdBlock(aboveId)) };
      isHolder = (await attempt())!;
    }
  } catch (error) {
    const isOfCopy = StoreError.is(error, "SESSION_DIVERGED") || StoreError.is(error, "ID_TAKEN");
    if (isOfCopy) await leaveSharedBlock(hub, repositories, newestId, signal);
    throw error;
  }
  if (isHolder) setCopy(repositories, sessionId, false);
  store.eraseDue();
  return { ...result!, isHolder };
}

/**
 * Puts what only this store has of a session that another one has taken into a session of its own, or into the one that was made for
 * it before. Then the store has what the hub has.
 *
 * @returns the id of that session; null if there was nothing.
 * @throws {StoreError} as a pull does.
 */
export async function takeOutUnsent(
  hub: HubConnection,
  store: OpenedStore,
  of: SessionOrigin,
  sessionId: string,
  options: Pick<PullOptions, "forget" | "signal">,
): Promise<string | null> {
  const { forkId } = await pullSession(hub, store, sessionId, { of, ...options });
  return forkId;
}

/** The result of two attempts of the same pull. */
function added(first: Omit<PulledSession, "isHolder"> | undefined, next: WrittenIn): Omit<PulledSession, "isHolder"> {
  const { sessionId, outcome, newCount, forkId, notes } = next;
  if (first === undefined) return { sessionId, outcome, messageCount: newCount, forkId, notes };
  return {
    sessionId,
    outcome: first.outcome === "known" ? outcome : first.outcome,
    messageCount: first.messageCount + newCount,
    forkId: first.forkId ?? forkId,
    notes: [...new Set([...first.notes, ...notes])],
  };
}

interface Wanted {
  project: string | undefined;
  place: number | undefined;
  origin: string | undefined;
  /** The origin of the session with this id in the store. */
  ownOrigin: string | undefined;
  take: boolean;
}

/** @throws {StoreError} `SESSION_NOT_FOUND`, `OPTION_INVALID` if several sessions have the id and the store has none of them. */
async function findSession(
  client: PoolClient,
  sessionId: string,
  { project, place, origin, ownOrigin, take }: Wanted,
): Promise<HubRow> {
  const { rows } = await client.query<HubRow>(
    `SELECT s.place, s.team, s.session_no AS "sessionNo", s.origin, s.holder, s.newest_id AS "newestId",
       s.last_id AS "lastId", s.message_count AS "messageCount", s.head, s.marked_id AS "markedId", p.project
     FROM coppice.sessions s JOIN coppice.places p ON p.place = s.place
     WHERE s.session_id = $1 AND ($2::text IS NULL OR p.project = $2)
       AND ($3::bigint IS NULL OR s.place = $3) AND ($4::text IS NULL OR s.origin::text = $4)
       AND s.newest_id IS NOT NULL AND s.forgotten_at IS NULL AND s.expired_at IS NULL ${take ? "FOR UPDATE OF s" : ""}`,
    [sessionId, project ?? null, place ?? null, origin ?? null],
  );
  if (rows.length === 0) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
  const own = rows.filter((row) => row.origin === ownOrigin);
  const found = own.length > 0 ? own : rows;
  if (found.length === 1) return found[0]!;
  const isInProjects = new Set(found.map((row) => row.project)).size === found.length;
  const names = found.map((row) => (isInProjects ? row.project : row.origin)).map((name) => `"${name}"`);
  const expected = `one of ${names.join(", ")}, because ${found.length} sessions on the hub have the id "${sessionId}"`;
  throw new StoreError("OPTION_INVALID", { option: isInProjects ? "project" : "origin", expected, actual: undefined });
}

/** Deletes what a push of the former holder sent and did not finish. The new holder does not have it, and could never push. */
async function takeBackUnfinished(client: PoolClient, row: HubRow, onHub: SessionOnHub): Promise<void> {
  const { place, sessionNo, markedId } = row;
  const deleted = await client.query<{ messageId: number; branch: string | null }>(
    `SELECT message_id AS "messageId", branch FROM coppice.delete_messages($1, $2, ARRAY(
       SELECT message_id FROM coppice.messages WHERE place = $1 AND session_no = $2 AND message_id > $3))`,
    [place, sessionNo, markedId],
  );
  const removed = deleted.rows.filter(({ branch }) => branch === null);
  await changeIndex(client, row, { added: [], removed: removed.map(({ messageId }) => ({ sessionNo, messageId })) });
  await deleteUnusedArtifacts(client, row, onHub.rows());
  const left = Array.from(await digestsOnHub(client, row), ([id, digest]) => ({ id, digest }));
  await updateSession(client, row, { message_count: left.length, last_id: markedId, head: headOf(left) });
}

type WrittenIn = WrittenSession & { forkId: string | null };

/** When what only the store has becomes a session of its own. */
type ForkWhen = "never" | "if both have gone on" | "always";

function writtenIn(
  store: OpenedStore,
  sessionId: string,
  onHub: SessionOnHub,
  { row, terms, fork, notes }: { row: HubRow; terms: WriteRowsTerms; fork: ForkWhen; notes: HubNoteChanges },
): WrittenIn {
  const { repositories } = store;
  return store.atomically(() => {
    // Whoever pulls it again on purpose wants it again. What was forgotten as the holder is being forgotten on the hub, too.
    if (takeForgottenCopy(repositories, sessionId)) store.restore(sessionId);
    const own = changeableIn(repositories, sessionId);
    const { agreed } = hubNotesOf(repositories, sessionId);
    const written =
      fork !== "always" && hasGoneOn(repositories, sessionId, onHub, row)
        ? { sessionId, outcome: "known" as const, newCount: 0, forgottenCount: 0, notes: [], forkId: null }
        : writtenOrForked(store, sessionId, onHub, { row, terms: { ...terms, agreed }, fork });
    // The title and items that only the store had are in the fork.
    const isMerged = own !== undefined && written.forkId === null && fork !== "always";
    const merged = isMerged ? merge(repositories, written, own, onHub, agreed) : written;
    noteOnHub(repositories, sessionId, { ...notes, seen: [onHub.factsDigest], agreed: agreedOn(onHub.changeable()) });
    keepNotes(repositories, []); // its next push tells the hub what was forgotten, even if it is the first
    return merged;
  });
}

/** Merges titles and items, also if no rows were written. */
function merge(
  repositories: Repositories,
  written: WrittenIn,
  own: Changeable,
  onHub: SessionOnHub,
  agreed: HubNotes["agreed"],
): WrittenIn {
  const { sessionId, outcome } = written;
  const { notes, ...merged } = mergedOf(own, onHub.changeable(), agreed);
  notes.push(...putChangeable(repositories, sessionId, merged));
  const isSame = isDeepStrictEqual(agreedOn(merged), agreedOn(own));
  return {
    ...written,
    outcome: outcome === "known" && !isSame ? "continued" : outcome,
    notes: [...new Set([...written.notes, ...notes])],
  };
}

/**
 * True if the store has had what the hub has, and only the store has changed it since. An undo takes a branch away, so the rows alone
 * do not tell.
 */
function hasGoneOn(
  repositories: Repositories,
  sessionId: string,
  { factsDigest }: SessionOnHub,
  { lastId, messageCount, head }: HubRow,
): boolean {
  if (!hubNotesOf(repositories, sessionId).seen?.includes(factsDigest)) return false;
  const places = new OwnPlaces(repositories.pushedRows.places({ id: sessionId }));
  return beginsWith({ places }, { last_id: lastId, message_count: messageCount, head });
}

function writtenOrForked(
  store: OpenedStore,
  sessionId: string,
  onHub: SessionOnHub,
  { row: { newestId }, terms, fork }: { row: HubRow; terms: WriteRowsTerms; fork: ForkWhen },
): WrittenIn {
  const ownIn = (): Own => {
    const own = ownOf(store, sessionId, onHub);
    const messageCount = own.forgottenThereCount;
    if (terms.keepsMessages && messageCount > 0) throw new StoreError("FORGOTTEN_ON_HUB", { sessionId, messageCount });
    return own;
  };
  if (fork === "always") {
    const { forkId: known } = hubNotesOf(store.repositories, sessionId);
    const own = ownIn();
    const written = writeForked(store, sessionId, onHub, own, terms, { newestId, known });
    if (written.forkId !== null) noteOnHub(store.repositories, sessionId, { forkId: written.forkId });
    return written;
  }
  try {
    return { ...store.writeRows(onHub.rows(), terms), forkId: null };
  } catch (error) {
    if (!StoreError.is(error, "SESSION_DIVERGED")) throw error;
    const own = ownIn();
    if (fork === "never" && hasSaidMore(own)) throw error;
    return writeForked(store, sessionId, onHub, own, terms, { newestId });
  }
}
