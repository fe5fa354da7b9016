import { randomUUID } from "node:crypto";
import type { PoolClient } from "pg";
import { StoreError } from "../core/errors.ts";
import { baseNameOf } from "../core/project.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { Store } from "../session/store.ts";
import {
  beganHere,
  type HubNotes,
  hubNameOf,
  hubNotesOf,
  keepNotes,
  type NotedSession,
  notedSessions,
  noteOnHub,
  projectNotesOf,
  type Repositories,
  setCopy,
  storeIdOf,
} from "../store/index.ts";
import { HubConnection } from "./connection.ts";
import { expandOnHub, type HubExpandOptions, type HubExpansion } from "./expand.ts";
import { expireSessions } from "./forgetting.ts";
import { findPlace, type HubPlace, placeOfProject } from "./places.ts";
import { type PulledSession, type PullOptions, pullSession, takeOutUnsent } from "./pull.ts";
import { forgetOnHub, type PushedName, type PushedSession, type PushOutcome, pushSession } from "./push.ts";
import { type HubHit, type HubRecallOptions, recallOnHub } from "./recall.ts";
import { sessionsToPush } from "./remote.ts";
import { KeptSegments, keepIndex, type MergeReport } from "./word-index.ts";

export interface PushProgress {
  sessionId: string;
  /** Messages of the session that were sent. */
  messageCount: number;
  /** How many of the sessions to push are done. */
  doneCount: number;
  sessionCount: number;
}

export interface PushOptions {
  /** The ids of the sessions; by default all sessions of `projects`. */
  sessions?: readonly string[];
  /** The projects whose sessions may leave this machine. Sessions without a project go only if `sessions` names them. */
  projects?: readonly string[];
  /** The team to which new projects belong. It can be left out if you are in one team. */
  team?: string;
  /**
   * True to send what only this store has of a session that another store has taken. It becomes a session of its own, as `pull` makes
   * it with `fork`, and what comes later goes into the same one. False by default: then it stays in this store.
   */
  fork?: boolean;
  /**
   * Decides about sessions that began in this store and of which the hub has forgotten all or some messages. By default they are
   * kept, and `kept` in the report names them each time. `keep`: they are kept, and named no more. `forget`: they are forgotten here,
   * too. `send`: they go to the hub again, as sessions of their own. Copies of other stores' sessions are always forgotten.
   */
  forgotten?: "keep" | "forget" | "send";
  signal?: AbortSignal;
  /** Called after each session. */
  onProgress?: (progress: PushProgress) => void;
}

/** The result of a push. The lists hold ids of sessions. */
export interface PushReport {
  /** How many sessions had anything to send. */
  sessionCount: number;
  /** Messages that the hub has now and did not have before. */
  messageCount: number;
  /** Sessions that were forgotten on the hub, and now here, too. */
  gone: string[];
  /** Sessions that began here, and were forgotten on the hub, or messages of them. They are kept, and not sent: see `forgotten`. */
  kept: string[];
  /** Sessions that have expired on the hub. They stay here. */
  expired: string[];
  /** Sessions that another store has taken. */
  moved: string[];
  /** Moved sessions of which this store had more, and the forks that now hold it: see `fork`. */
  forked: { sessionId: string; forkId: string }[];
  /** Sessions that are newer on the hub, because a copy of this file has pushed them. A pull brings what is newer. */
  behind: string[];
  /**
   * Sessions that differ on the hub: this file and a copy of it have both gone on, or another session of this id was forgotten.
   */
  diverged: string[];
}

/** The result of `keep`. */
export interface KeepReport extends MergeReport {
  /** Sessions that have expired. They were deleted on the hub, and stay in their stores. */
  expiredCount: number;
}

/** A session on the hub. */
export interface HubSession {
  /** The id that the session has in its store. */
  sessionId: string;
  /** The store in which it began, and the store that may push it. */
  origin: string;
  holder: string;
  project: string | null;
  title: string | null;
  messageCount: number;
  createdAtMs: number | null;
  /** When its newest message was appended, by the clock of that machine. */
  updatedAtMs: number | null;
  /** When it was pushed, by the clock of the hub, and the role that pushed it. */
  pushedAtMs: number;
  pushedBy: string;
}

/** A connection to a team's sessions in a Postgres database. */
export interface Hub {
  /** The server and its database, without user and password. */
  readonly name: string;

  /**
   * Sends what the hub lacks: new messages, and whatever else has changed in the sessions. It can be stopped at any time and called again.
   *
   * @throws {StoreError} `HUB_UNREACHABLE`, `HUB_REFUSED`, `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`, `SESSION_NOT_FOUND`, `STORE_READONLY`,
   *   `OPTION_INVALID`; `SESSION_SHARED`, after all others were pushed, if the hub has forgotten what a fork in the store shares. What
   *   was sent before stays.
   */
  push(store: Store, options: PushOptions): Promise<PushReport>;

  /**
   * Takes a session of the hub into a store, with all its ids, so that contexts are the same there. Without `take` it is a copy:
   * the store may not push it. With `take`, the store that had it before may not push it any more.
   *
   * @throws {StoreError} `SESSION_NOT_FOUND`; `SESSION_DIVERGED` if the store has what the hub lacks, unless `fork` is set;
   *   `FORGOTTEN_ON_HUB` if the hub has forgotten messages of a session that began here, unless `forget` is set; `ID_TAKEN`,
   *   `EMBEDDER_MISMATCH`, `SESSION_FORGOTTEN`, `STORE_READONLY`, `HUB_UNREACHABLE`, `HUB_REFUSED`. Then nothing was written.
   */
  pull(store: Store, sessionId: string, options?: PullOptions): Promise<PulledSession>;

  /** Lists the sessions that you may see, the most recently pushed first: by default the first 100. */
  sessions(options?: { project?: string; limit?: number; offset?: number }): Promise<HubSession[]>;

  /**
   * Finds the messages that answer a query, in all sessions that you may see, as `recall` of a store does. If the hub has the same
   * messages as a store, it gives the same hits with the same scores. A damaged part of the word index is left out, and each hit then
   * has `partsMissing`.
   *
   * @throws {StoreError} `QUERY_EMPTY`, `OPTION_INVALID`, `HUB_UNREACHABLE`, `HUB_REFUSED`.
   */
  recall(query: string, options?: HubRecallOptions): Promise<HubHit[]>;

  /**
   * Reads the messages around a hit of `recall`, word for word: a page of its session.
   *
   * @throws {StoreError} `MESSAGE_NOT_FOUND`, `OPTION_INVALID`, `ROWS_INVALID`, `HUB_UNREACHABLE`, `HUB_REFUSED`.
   */
  expand(hit: Pick<HubHit, "hubSession" | "messageId">, options?: HubExpandOptions): Promise<HubExpansion>;

  /**
   * Deletes sessions that have expired (`coppice hub retain`), merges small parts of the word index, removes forgotten messages
   * from it, and repairs damaged parts. Any number of processes may call it at once.
   */
  keep(options?: { signal?: AbortSignal }): Promise<KeepReport>;

  close(): Promise<void>;
}

/**
 * Connects to a hub.
 *
 * @param url  `postgres://hub.example/agents`. The user, unless it is before an `@`, and the password come from `PGUSER`, `PGPASSWORD`
 *   and `.pgpass`, as psql takes them. The connection is encrypted, unless the server is on this machine.
 * @param options.signal  Gives up before the next try to connect.
 * @throws {StoreError} `PACKAGE_MISSING`, `HUB_UNREACHABLE`, `HUB_REFUSED`, `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`, `HUB_UNSAFE`,
 *   `OPTION_INVALID`, `FILE_NOT_USABLE`.
 */
export async function openHub(url: string, { signal }: { signal?: AbortSignal } = {}): Promise<Hub> {
  const connection = await HubConnection.to(url);
  try {
    await connection.transaction(async () => {}, signal);
    return new OpenedHub(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

const SESSIONS_DEFAULT = 100;

class OpenedHub implements Hub {
  readonly #connection: HubConnection;
  readonly #segments = new KeptSegments();
  /** The numbers of segments that were checked and are not damaged. */
  readonly #checked = new Set<number>();

  constructor(connection: HubConnection) {
    this.#connection = connection;
  }

  get name(): string {
    return this.#connection.name;
  }

  async push(store: Store, options: PushOptions): Promise<PushReport> {
    const { sessions, projects = [], team, fork = false, forgotten, signal, onProgress } = options;
    const { repositories } = internalsOf(store);
    const storeId = storeIdOf(repositories);
    if (storeId === null) throw new StoreError("STORE_READONLY", { path: store.path, operation: "push" });
    const report: PushReport = {
      ...{ sessionCount: 0, messageCount: 0 },
      ...{ gone: [], kept: [], expired: [], moved: [], forked: [], behind: [], diverged: [] },
    };
    await this.#forget(repositories, storeId, { projects, team, signal });
    const chosen = sessionsToPush(store, sessions, projects);
    const places = new Map<string, Promise<HubPlace>>();
    const placeOf = (project: string): Promise<HubPlace> => {
      const finding = (): Promise<HubPlace> =>
        this.#connection.transaction((client) => placeOfProject(this.#connection, client, project, team), signal);
      return places.get(project) ?? places.set(project, finding()).get(project)!;
    };
    const placeNameOf = (project: string | null | undefined): string =>
      project ? hubNameOf(repositories, project) : "";
    const nameOf = (id: string): PushedName => {
      const { origin = storeId } = repositories.database.read(() => hubNotesOf(repositories, id));
      return { id, origin, storeId };
    };
    let doneCount = 0;
    let refused: StoreError | undefined;
    const forgetHere = (id: string, options?: { messageIds: readonly number[] }): boolean => {
      try {
        forgetUnlessGone(store, id, options);
        return true;
      } catch (error) {
        if (!StoreError.is(error, "SESSION_SHARED")) throw error;
        refused ??= error;
        return false;
      }
    };
    /** True if what the hub has forgotten of a session goes here, too. */
    const mayForget = (id: string): boolean =>
      forgotten === "forget" || !repositories.database.read(() => beganHere(repositories, id));
    /** Pulls what a copy of this file has pushed, so that the next push can delete on the hub what was forgotten here. */
    const catchUp = async ({ id, origin }: PushedName): Promise<boolean> => {
      const project = placeNameOf(repositories.sessions.byId(id)?.project);
      try {
        const pulling = { origin, project, forget: mayForget(id), ...(signal && { signal }) };
        await pullSession(this.#connection, internalsOf(store), id, pulling);
        return true;
      } catch (error) {
        if (!StoreError.is(error) || error.code.startsWith("HUB_")) throw error;
        return false; // it stays behind, and the person's pull says why
      }
    };
    const send = (place: HubPlace, name: PushedName): Promise<PushedSession> =>
      pushSession(this.#connection, repositories, place, name, signal);
    /** Sends a session again, as if it had begun in a store that the hub does not know. Nobody can take back what it has forgotten. */
    const sendAnew = async (place: HubPlace, name: PushedName, isHolder: boolean): Promise<PushedSession> => {
      const terms = { createdAtMs: undefined, isShared: false };
      if (isHolder) await forgetOnHub(this.#connection, place, name, terms, signal);
      const origin = randomUUID();
      const nothing = { isCopy: undefined, seen: undefined, agreed: undefined, forkId: undefined };
      repositories.database.write("push", () => noteOnHub(repositories, name.id, { ...nothing, origin, isOwn: true }));
      return send(place, { ...name, origin });
    };
    const pushOne = async (place: HubPlace, name: PushedName): Promise<PushedSession> => {
      const { id } = name;
      let pushed = await send(place, name);
      if (pushed.forgottenIds.length > 0 && mayForget(id)) {
        if (forgetHere(id, { messageIds: pushed.forgottenIds })) pushed = await send(place, name);
      }
      if (pushed.mustForget && (await catchUp(name))) pushed = await send(place, name);
      let isKept = hasForgotten(pushed) && !mayForget(id);
      if (isKept && forgotten === "send") {
        pushed = await sendAnew(place, name, pushed.outcome !== "moved");
        isKept = hasForgotten(pushed);
      }
      if (noteForgotten(repositories, id, isKept, forgotten === "keep") === "asked") addTo(report, id, "kept");
      if (pushed.outcome === "gone" && !isKept) forgetHere(id);
      else if (pushed.outcome === "moved") setCopy(repositories, id, true);
      else if (pushed.outcome === "pushed" || pushed.outcome === "unchanged") setCopy(repositories, id, false);
      if (pushed.outcome !== "gone" || !isKept) addTo(report, id, pushed.outcome);
      report.messageCount += pushed.messageCount;
      return isKept ? { ...pushed, hasUnsent: false } : pushed; // what is kept goes nowhere
    };
    const takeOut = async (place: HubPlace, { id, origin }: PushedName): Promise<string | null> => {
      const { forkId } = repositories.database.read(() => hubNotesOf(repositories, id));
      // If the hub has forgotten the fork, the person decides before it gets anything new.
      if (forkId !== undefined) await pushOne(place, nameOf(forkId));
      try {
        const pulling = { forget: mayForget(id), ...(signal && { signal }) };
        return await takeOutUnsent(this.#connection, internalsOf(store), { ...place, origin }, id, pulling);
      } catch (error) {
        if (!StoreError.is(error) || error.code.startsWith("HUB_")) throw error;
        refused ??= error;
        return null;
      }
    };
    for (const { id, project } of chosen) {
      const name = nameOf(id);
      const place = await placeOf(placeNameOf(project));
      const { messageCount, hasUnsent } = await pushOne(place, name);
      const forkId = fork && hasUnsent ? await takeOut(place, name) : null;
      if (forkId !== null) {
        const sent = await pushOne(place, nameOf(forkId));
        // A transcript is imported again when it grows. The fork knows most of it.
        if (sent.messageCount > 0) report.forked.push({ sessionId: id, forkId });
      }
      doneCount += 1;
      onProgress?.({ sessionId: id, messageCount, doneCount, sessionCount: chosen.length });
    }
    // The other sessions were pushed first.
    if (refused !== undefined) throw refused;
    return report;
  }

  /** Forgets on the hub what was forgotten in the store, before anything is sent. */
  async #forget(
    repositories: Repositories,
    storeId: string,
    options: { projects: readonly string[]; team: string | undefined; signal: AbortSignal | undefined },
  ): Promise<void> {
    const { projects, team, signal } = options;
    const noted = repositories.database.read(() => notedSessions(repositories));
    const { onHub } = repositories.database.read(() => projectNotesOf(repositories));
    const places = new Map<string, HubPlace | undefined>();
    const done: NotedSession[] = [];
    for (const note of noted ?? []) {
      const { sessionId, createdAtMs, origin = storeId } = note;
      const isShared = note.project !== null && projects.includes(note.project);
      const project = note.project === null ? "" : (onHub.get(note.project) ?? baseNameOf(note.project));
      if (!places.has(project)) {
        const find = isShared ? placeOfProject : findPlace;
        const finding = (client: PoolClient) => find(this.#connection, client, project, team);
        places.set(project, await this.#connection.transaction(finding, signal));
      }
      const place = places.get(project);
      if (place === undefined) continue;
      const name = { id: sessionId, origin, storeId };
      if (await forgetOnHub(this.#connection, place, name, { createdAtMs, isShared }, signal)) done.push(note);
    }
    // A copy of this file may still push the others.
    if (noted === undefined || done.length > 0) keepNotes(repositories, done);
  }

  async pull(store: Store, sessionId: string, options: PullOptions = {}): Promise<PulledSession> {
    return pullSession(this.#connection, internalsOf(store), sessionId, options);
  }

  sessions({
    project,
    limit = SESSIONS_DEFAULT,
    offset = 0,
  }: {
    project?: string;
    limit?: number;
    offset?: number;
  } = {}): Promise<HubSession[]> {
    return this.#connection.transaction(async (client) => {
      const { rows } = await client.query<HubSession>(
        `SELECT s.session_id AS "sessionId", s.origin, s.holder, nullif(p.project, '') AS project, s.title,
           s.marked_count AS "messageCount", s.created_at_ms AS "createdAtMs", s.last_at_ms AS "updatedAtMs",
           (extract(epoch FROM s.pushed_at) * 1000)::bigint AS "pushedAtMs", s.pushed_by AS "pushedBy"
         FROM coppice.sessions s JOIN coppice.places p ON p.place = s.place
         WHERE ($1::text IS NULL OR p.project = $1) AND s.marked_count > 0 AND s.forgotten_at IS NULL AND s.expired_at IS NULL
         ORDER BY s.pushed_at DESC, s.session_no DESC LIMIT $2 OFFSET $3`,
        [project ?? null, limit, offset],
      );
      return rows;
    });
  }

  recall(query: string, options: HubRecallOptions = {}): Promise<HubHit[]> {
    return recallOnHub(this.#connection, this.#segments, query, options);
  }

  expand(hit: Pick<HubHit, "hubSession" | "messageId">, options: HubExpandOptions = {}): Promise<HubExpansion> {
    return this.#connection.transaction((client) => expandOnHub(client, hit, options));
  }

  async keep({ signal }: { signal?: AbortSignal } = {}): Promise<KeepReport> {
    const expiredCount = await expireSessions(this.#connection, signal);
    return { expiredCount, ...(await keepIndex(this.#connection, this.#checked, signal)) };
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

/** Forgets what the hub has forgotten, unless another process has just done it. */
function forgetUnlessGone(store: Store, sessionId: string, options?: { messageIds: readonly number[] }): void {
  try {
    store.forget(sessionId, options);
  } catch (error) {
    if (!StoreError.is(error, "SESSION_NOT_FOUND") && !StoreError.is(error, "MESSAGE_NOT_FOUND")) throw error;
  }
}

function hasForgotten({ outcome, forgottenIds }: PushedSession): boolean {
  return outcome === "gone" || forgottenIds.length > 0;
}

/** Notes whether the hub has forgotten what is kept of a session here. */
function noteForgotten(
  repositories: Repositories,
  sessionId: string,
  isForgotten: boolean,
  isDecided: boolean,
): HubNotes["forgotten"] {
  const { database } = repositories;
  const known = database.read(() => hubNotesOf(repositories, sessionId)).forgotten;
  const forgotten = isForgotten ? (isDecided ? "kept" : (known ?? "asked")) : undefined;
  if (forgotten !== known) database.write("push", () => noteOnHub(repositories, sessionId, { forgotten }));
  return forgotten;
}

function addTo(report: PushReport, sessionId: string, outcome: PushOutcome | "kept"): void {
  if (outcome === "pushed") report.sessionCount += 1;
  else if (outcome !== "unchanged" && !report[outcome].includes(sessionId)) report[outcome].push(sessionId);
}
