import { StoreError } from "../core/errors.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { Store } from "../session/store.ts";
import { hubNameOf, hubNotesOf, storeIdOf } from "../store/index.ts";
import { HubConnection } from "./connection.ts";
import { type EverywhereHit, type EverywhereOptions, searchEverywhere } from "./everywhere.ts";
import { becomeOwn, isOfAll, Link } from "./link.ts";
import { type PulledSession, type PullOptions, pull } from "./pull.ts";
import { type PushedSession, Pusher } from "./push.ts";
import { enterHub, sessionsToPush } from "./remote.ts";
import { type SyncProgress, type SyncReport, sync } from "./sync.ts";

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
  /**
   * True to send a session that has gone on both here and elsewhere as one of its own, which it then stays. False by default: then it
   * is only named.
   */
  fork?: boolean;
  /**
   * Decides about sessions that began in this store, or that it has taken, and of which the hub has forgotten all or some messages. By
   * default they are kept, and `kept` in the report names them each time. Without `sessions`, it decides about those that an earlier push has named. `keep`: they are kept, and named no more. `forget`: they are forgotten here,
   * too. `send`: they go to the hub again, as sessions of their own.
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
  /** Messages that were sent. */
  messageCount: number;
  /** How many sessions that were forgotten here were now deleted on the hub. */
  forgottenCount: number;
  /** How many sessions that were forgotten here are still on the hub, because another role began them. The next push tries again. */
  refusedCount: number;
  /** Sessions that were forgotten on the hub, and now here, too: see `forgotten`. */
  gone: string[];
  /** Sessions of this store that were forgotten on the hub, or messages of them. They are kept, and not sent: see `forgotten`. */
  kept: string[];
  /** Sessions that another store has taken, and that have gone on here. */
  moved: string[];
  /** Sessions that had gone on here and elsewhere, and are now sessions of their own: see `fork`. */
  forked: string[];
  /** Sessions that are newer on the hub, because a copy of this file has pushed them. A pull brings what is newer. */
  behind: string[];
  /** Sessions with which this file and a copy of it have both gone on. */
  diverged: string[];
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
   * @throws {StoreError} `HUB_UNREACHABLE`, `HUB_REFUSED`, `HUB_CHANGED`, `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`, `SESSION_NOT_FOUND`, `STORE_READONLY`,
   *   `OPTION_INVALID`; after all others were pushed, `SESSION_SHARED` if the hub has forgotten what a fork in the store shares, and
   *   `STORE_CORRUPT` if a session is damaged. What was sent before stays.
   */
  push(store: Store, options: PushOptions): Promise<PushReport>;

  /**
   * Brings a session of the hub into a store, with its messages in their places. Numbers of messages are those of each store. Without
   * `take` it is a copy, which is only read. With `take`, the store that had it before may not push it any more.
   *
   * @throws {StoreError} `SESSION_NOT_FOUND`; `SESSION_DIVERGED` if the store has what the hub lacks, unless `fork` is set;
   *   `SESSION_FORGOTTEN`, `STORE_READONLY`, `HUB_UNREACHABLE`, `HUB_REFUSED`, `HUB_CHANGED`.
   */
  pull(store: Store, sessionId: string, options?: PullOptions): Promise<PulledSession>;

  /**
   * Brings what is new of all sessions that a store follows, and deletes copies of sessions that were forgotten. It can be stopped at
   * any time and called again.
   *
   * @throws {StoreError} `HUB_UNREACHABLE`, `HUB_REFUSED`, `HUB_CHANGED`, `HUB_NOT_READY`, `STORE_READONLY`, `STORE_BUSY`.
   */
  sync(
    store: Store,
    options?: { signal?: AbortSignal; onProgress?: (progress: SyncProgress) => void },
  ): Promise<SyncReport>;

  /** Lists the sessions of the team, the most recently pushed first: by default the first 100. */
  sessions(options?: { project?: string; limit?: number; offset?: number }): Promise<HubSession[]>;

  /**
   * Searches all that the team has pushed, followed or not, by the word index of PostgreSQL and in its own order. `store.recall` finds
   * more in what the store follows.
   *
   * @throws {StoreError} `HUB_NOT_READY` if the administrator has not made the index; `QUERY_EMPTY`, `HUB_UNREACHABLE`, `HUB_REFUSED`.
   */
  everywhere(query: string, options?: EverywhereOptions): Promise<EverywhereHit[]>;

  close(): Promise<void>;
}

/**
 * Connects to a hub.
 *
 * @param url  `postgres://hub.example/agents`. The user, unless it is before an `@`, and the password come from `PGUSER`, `PGPASSWORD`
 *   and `.pgpass`, as psql takes them. The connection is encrypted, unless the server is on this machine.
 * @param options.team  It can be left out if you are in one team.
 * @param options.signal  Gives up before the next try to connect.
 * @throws {StoreError} `PACKAGE_MISSING`, `HUB_UNREACHABLE`, `HUB_REFUSED`, `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`, `HUB_UNSAFE`,
 *   `OPTION_INVALID`, `FILE_NOT_USABLE`.
 */
export async function openHub(
  url: string,
  { team, signal }: { team?: string | undefined; signal?: AbortSignal | undefined } = {},
): Promise<Hub> {
  const connection = await HubConnection.to(url, team);
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

  constructor(connection: HubConnection) {
    this.#connection = connection;
  }

  get name(): string {
    return this.#connection.name;
  }

  async push(store: Store, options: PushOptions): Promise<PushReport> {
    const { sessions, projects = [], signal, onProgress } = options;
    const { repositories } = internalsOf(store);
    const pusher = new Pusher(await this.#enter(store, "push", signal, true));
    const report: PushReport = {
      ...{ sessionCount: 0, messageCount: 0, ...(await pusher.forget()) },
      ...{ gone: [], kept: [], moved: [], forked: [], behind: [], diverged: [] },
    };
    let refused: unknown; // the other sessions are pushed first
    const refuse = (sessionId: string, error: unknown): void => {
      refused ??= StoreError.is(error, "STORE_CORRUPT") ? damageIn(sessionId, error) : error;
    };
    const chosen = sessionsToPush(store, sessions, projects, refuse);
    const lost = await pusher.missing(
      chosen.map(({ id }) => id),
      refuse,
    );
    const missing = new Set(lost.missing);
    // If the hub has less of a session than it had, what it lacks may not be forgotten.
    const isBack = lost.shorter.size > 0;
    for (const [sessionId, error] of lost.shorter) refuse(sessionId, error);
    let doneCount = 0;
    for (const { id, project } of chosen) {
      const name = project === null ? "" : hubNameOf(repositories, project);
      let pushed: PushedSession = { outcome: "unchanged", messageCount: 0 };
      try {
        const { forgotten } = repositories.database.read(() => hubNotesOf(repositories, id));
        // Who names no session decides about those that an earlier push has named.
        const isDecided = sessions !== undefined || forgotten === "asked";
        const decision = isDecided ? options.forgotten : undefined;
        // Another process may have sent it since.
        const isMissing = missing.has(id) && (await pusher.missing([id], refuse)).missing.length > 0;
        if (lost.shorter.has(id) || (isBack && isMissing)) {
          // It is neither sent nor forgotten.
        } else if (isMissing || forgotten === "asked" || (forgotten !== undefined && decision !== undefined)) {
          pushed = await this.#lost(store, pusher, id, name, decision, report);
        } else if (forgotten === undefined && pusher.hasUnsent(id, name)) {
          pushed = await pusher.push(id, name);
          if (pushed.outcome === "gone" && isBack) pushed = { ...pushed, outcome: "unchanged" };
          if (pushed.outcome === "gone") pushed = await this.#lost(store, pusher, id, name, decision, report);
        }
        if (options.fork && (pushed.outcome === "moved" || pushed.outcome === "diverged")) {
          becomeOwn(repositories, id);
          pushed = await pusher.push(id, name);
          report.forked.push(id);
        }
      } catch (error) {
        if (signal?.aborted || isOfAll(error)) throw error;
        refuse(id, error);
      }
      const { outcome, messageCount } = pushed;
      if (outcome === "pushed") report.sessionCount += 1;
      else if (outcome !== "unchanged") report[outcome].push(id);
      report.messageCount += messageCount;
      doneCount += 1;
      onProgress?.({ sessionId: id, messageCount, doneCount, sessionCount: chosen.length });
    }
    if (refused !== undefined) throw refused;
    return report;
  }

  /** Decides about a session that the hub has no longer, or of which it has forgotten messages. */
  async #lost(
    store: Store,
    pusher: Pusher,
    id: string,
    project: string,
    forgotten: PushOptions["forgotten"],
    report: PushReport,
  ): Promise<PushedSession> {
    const { repositories } = internalsOf(store);
    if (forgotten === "send") {
      becomeOwn(repositories, id);
      return pusher.push(id, project);
    }
    if (forgotten === "forget") {
      store.forget(id);
      return { outcome: "gone", messageCount: 0 };
    }
    pusher.note(id, { forgotten: forgotten === "keep" ? "kept" : "asked" });
    if (forgotten !== "keep") report.kept.push(id);
    return { outcome: "unchanged", messageCount: 0 };
  }

  async pull(store: Store, sessionId: string, options: PullOptions = {}): Promise<PulledSession> {
    return pull(await this.#enter(store, "pull", options.signal, options.take), sessionId, options);
  }

  async sync(
    store: Store,
    { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: SyncProgress) => void } = {},
  ): Promise<SyncReport> {
    return sync(await this.#enter(store, "sync", signal, false), onProgress);
  }

  /** Makes what a store notes be about this hub. @throws {StoreError} `STORE_READONLY`. */
  async #enter(
    store: Store,
    operation: string,
    signal: AbortSignal | undefined,
    isWriting: boolean | undefined,
  ): Promise<Link> {
    const storeId = writableId(store, operation);
    enterHub(store, await this.#connection.enter(isWriting === true, signal));
    return new Link(this.#connection, internalsOf(store), storeId, signal);
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
        `SELECT session_id AS "sessionId", origin, holder, nullif(project, '') AS project, title, message_count AS "messageCount",
           last_at_ms AS "updatedAtMs", (extract(epoch FROM pushed_at) * 1000)::bigint AS "pushedAtMs", pushed_by AS "pushedBy"
         FROM ${this.#connection.schema}.sessions WHERE ($1::text IS NULL OR project = $1) AND length > 0
         ORDER BY pushed_at DESC, session_no DESC LIMIT $2 OFFSET $3`,
        [project ?? null, limit, offset],
      );
      return rows;
    });
  }

  everywhere(query: string, options: EverywhereOptions = {}): Promise<EverywhereHit[]> {
    return searchEverywhere(this.#connection, query, options);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

/** A row has no name that a person knows, so the error says of which session it is. */
function damageIn(sessionId: string, error: StoreError<"STORE_CORRUPT">): StoreError {
  const { path, reason } = error.details;
  return new StoreError("STORE_CORRUPT", { path, reason: `session "${sessionId}": ${reason}` }, { cause: error });
}

/** Returns the id of a store. @throws {StoreError} `STORE_READONLY`. */
function writableId(store: Store, operation: string): string {
  const { repositories } = internalsOf(store);
  const storeId = repositories.database.readonly ? null : storeIdOf(repositories);
  if (storeId === null) throw new StoreError("STORE_READONLY", { path: store.path, operation });
  return storeId;
}
