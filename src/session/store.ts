import { setMaxListeners } from "node:events";
import { v7 as uuidv7 } from "uuid";
import { type Clock, systemClock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { ID_CHARS_MAX } from "../core/limits.ts";
import type { JsonValue } from "../core/message.ts";
import { oneOf, type SessionOptions, type SessionSettings, sessionSettings, wholeNumber } from "../core/options.ts";
import { estimatingTokenCounter, type TokenCounter } from "../core/tokens.ts";
import type { Embedder } from "../models/embedder.ts";
import { extractiveSummarizer } from "../models/extractive-summarizer.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { LABEL_TEXT_CHARS, labelOf } from "../models/label.ts";
import type { Summarizer } from "../models/summarizer.ts";
import { type ExpandOptions, type Expansion, expand, type FoundRoots, findRoots } from "../recall/expand.ts";
import { type BackupOptions, type BackupReport, backupStore } from "../store/backup.ts";
import type { Finding } from "../store/finding.ts";
import { erase, type ForgetReport, forgetMessages, forgetSession } from "../store/forget.ts";
import { openDatabase, type StoreDatabase } from "../store/open.ts";
import { type QueryRow, runQuery } from "../store/query.ts";
import { Repositories } from "../store/repositories.ts";
import type { NewSession, SessionOverview, SessionRow } from "../store/sessions.ts";
import { type StoreStats, storeStats } from "../store/stats.ts";
import { type VerifyReport, verifyStore } from "../store/verify.ts";
import { changeSettings, completeSession, createSession, startGeneration } from "../store/write.ts";
import { closedReason } from "../summaries/resolve.ts";
import { examine } from "./doctor.ts";
import { type ExportLine, type ExportOptions, exportLines } from "./export.ts";
import { ResidentSessions } from "./resident.ts";
import { Session, type SessionPorts } from "./session.ts";

export interface OpenOptions {
  /** Text to vectors. The local one needs no key, no network and no model. */
  embedder?: Embedder;
  /** Messages to summaries. The extractive one needs no key, no network and no model. */
  summarizer?: Summarizer;
  /** What a text costs in a context. An estimate for any model unless given. */
  tokenCounter?: TokenCounter;
  /** What an append survives: `process` the death of the process, `power` also that of the machine. */
  durability?: "process" | "power";
  /** Open for reading only; every method that reads works, every one that writes is refused. */
  readonly?: boolean;
  /** How long a write waits for another process's, in milliseconds, from 0 to 600,000; 5,000 unless given. */
  busyTimeoutMs?: number;
  /** The time; for tests and replays. */
  clock?: Clock;
}

const OPEN_OPTIONS: readonly string[] = [
  "embedder",
  "summarizer",
  "tokenCounter",
  "durability",
  "readonly",
  "busyTimeoutMs",
  "clock",
] satisfies (keyof OpenOptions)[];

/** Where a session was imported from. */
export interface SessionOrigin {
  source: string;
  externalId: string;
  /** Of the session that started this one, under the same source. */
  parentExternalId?: string;
  createdAtMs?: number;
  metadata?: Record<string, JsonValue>;
  /** Of a session that comes from another store, where its id was `externalId`: what brings it back as it was. */
  exported?: {
    source?: string;
    externalId?: string;
    forkSeq?: number;
    settings?: Partial<SessionSettings>;
  };
}

/**
 * Open a store file, or create it. One file holds any number of sessions; any number of processes may have it open.
 *
 * @throws {StoreError} `FILE_NOT_FOUND`, `FILE_NOT_USABLE`, `NOT_A_STORE`, `FORMAT_UNSUPPORTED`, `EMBEDDER_MISMATCH`,
 *   `STORE_BUSY`, `STORE_CORRUPT`, `OPTION_INVALID`.
 */
export function openStore(path: string, options: OpenOptions = {}): Store {
  for (const name of Object.keys(options)) oneOf("an option of openStore", name, OPEN_OPTIONS);
  const durability = oneOf("durability", options.durability ?? "process", ["process", "power"]);
  const busyTimeoutMs = wholeNumber("busyTimeoutMs", options.busyTimeoutMs ?? 5_000, 0, 600_000);
  const database = openDatabase(path, { readonly: options.readonly ?? false, durability, busyTimeoutMs });
  try {
    const ports = {
      embedder: options.embedder ?? hashingEmbedder,
      summarizer: options.summarizer ?? extractiveSummarizer(),
      tokenCounter: options.tokenCounter ?? estimatingTokenCounter,
      clock: options.clock ?? systemClock,
    };
    return database.guard(() => new Store(database, ports));
  } catch (error) {
    database.client.close();
    throw error;
  }
}

/** An open store file: its sessions, its forest, its rows. */
export class Store {
  readonly #database: StoreDatabase;
  readonly #ports: SessionPorts;
  readonly #closing = new AbortController();
  /** One object a session: two in one process would each believe they know its last seq. */
  readonly #sessions = new Map<string, Session>();

  /** Use `openStore`. */
  constructor(database: StoreDatabase, ports: Omit<SessionPorts, "repositories" | "closing" | "changes" | "resident">) {
    this.#database = database;
    setMaxListeners(0, this.#closing.signal); // one for each session that is resolving
    this.#ports = {
      ...ports,
      repositories: new Repositories(database, ports.tokenCounter),
      closing: this.#closing.signal,
      changes: { count: 0 },
      resident: new ResidentSessions(),
    };
    this.#useGeneration();
  }

  get path(): string {
    return this.#database.path;
  }

  /**
   * The session of this id, created if there is none. Without an id, a new one under a fresh UUIDv7.
   *
   * Options given for an existing session change its settings. A title or project is taken where it has none; a title that
   * it has stays, and a `project` other than its own is refused.
   *
   * @throws {StoreError} `SESSION_CONFLICT`, `OPTION_INVALID`; `STORE_READONLY` where it would have to be created.
   */
  session(id: string = uuidv7(), options: SessionOptions = {}): Session {
    return this.#open(id, options, undefined);
  }

  /** The session that stands for an imported one, created if there is none: the same one for every import of it. */
  importedSession(origin: SessionOrigin, options: SessionOptions = {}): Session {
    const { sessions } = this.#ports.repositories;
    checkId("externalId", origin.externalId);
    const row = origin.exported === undefined ? undefined : this.#row(origin.externalId);
    if (row !== undefined && isOf(row, origin)) return this.#open(row.id, options, origin);
    const known = this.#database.read(() => sessions.idByExternalId(origin.source, origin.externalId));
    // Its own name, if that is free here: what people know a session by should find it.
    const free = this.#database.read(() => sessions.byId(origin.externalId) === undefined);
    return this.#open(known ?? (free ? origin.externalId : uuidv7()), options, origin);
  }

  /** @throws {StoreError} `SESSION_NOT_FOUND` for an id the store does not hold. */
  resume(id: string): Session {
    if (this.#row(id) === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: id });
    return this.#sessionObject(id);
  }

  /** Ids that begin with `prefix`, in order; cheap, where `sessions` counts every message. */
  sessionIds(options: { prefix: string }): string[] {
    return this.#database.read(() => this.#ports.repositories.sessions.idsWith(options.prefix));
  }

  /** All sessions, the most recently used first. */
  sessions(options: { project?: string } = {}): SessionOverview[] {
    return this.#database.read(() => this.#ports.repositories.sessions.list(options.project));
  }

  /** @see expand in recall/expand.ts: from a handle or a message id to the exact messages. */
  expand(target: string | number, options: ExpandOptions = {}): Expansion {
    return this.#database.read(() => expand(this.#ports.repositories, target, options));
  }

  /** Where a message stands in the forest: its cluster and its theme, as handles. */
  find(messageId: number): FoundRoots {
    return this.#database.read(() => findRoots(this.#ports.repositories, messageId));
  }

  /** Rows of one SQL statement that only reads. */
  query(sql: string): QueryRow[] {
    return runQuery(this.#database, sql);
  }

  /** Counts and sizes of the whole store. */
  stats(): StoreStats {
    return this.#database.read(() => storeStats(this.#ports.repositories));
  }

  /**
   * Derive everything derived again from messages and log, and compare it with what is stored.
   *
   * @param options.rebuild  Also write it: deleted or damaged derived rows come back bit for bit.
   */
  verify(options: { rebuild?: boolean } = {}): VerifyReport {
    const report = verifyStore(this.#ports.repositories, {
      rebuild: options.rebuild ?? false,
      labelOf,
      labelTextChars: LABEL_TEXT_CHARS,
    });
    if (options.rebuild === true) this.#ports.changes.count += 1;
    return report;
  }

  /**
   * Copy the whole store to another file while this and other processes go on writing: one snapshot, checked, readable by
   * its owner only. A store in memory can be saved so, too.
   *
   * @returns when the copy is on the disk and in its place. Nothing is left behind where it fails.
   * @throws {StoreError} `FILE_EXISTS` unless `overwrite` is given, `FILE_NOT_FOUND`, `FILE_NOT_USABLE`, `STORE_CORRUPT`;
   *   `STORE_CLOSED` when the store closes meanwhile.
   */
  async backup(path: string, options: BackupOptions = {}): Promise<BackupReport> {
    return backupStore(this.#database, path, options, this.#closing.signal);
  }

  /**
   * Everything that was appended, as the lines of the neutral format: one object each, a session before its messages.
   * `JSON.stringify` makes a line of it that `coppice import` reads. @see exportLines in export.ts.
   */
  export(options: ExportOptions = {}): Generator<ExportLine> {
    this.#database.assertOpen();
    return exportLines(this.#ports.repositories, options);
  }

  /**
   * What is wrong with the store, or could be better, and what would mend it: its file, who may use it, who has it open,
   * its disk, its pages, its embedder, its summaries. Writes nothing. Looks at every page once; where another process is
   * in the middle of a write, it also waits up to a second to see whether that ends.
   *
   * `verify` looks closer, at every message and every row that is derived.
   */
  doctor(): Finding[] {
    return examine(this.#ports.repositories, this.#ports.embedder.id);
  }

  /**
   * Forget a session, or some of its messages, for good: the messages with their steps, the summaries that covered them, and
   * their part in clusters and themes. What remains is as if they had never been; places (`seq`) of others stay. Sessions
   * that a forgotten one started stay too.
   *
   * The file is then written anew without the space they had, which takes as long as copying it. `erased` says whether
   * that could be done; if not, because another process was reading, call `erase` later. Backups are not touched.
   *
   * @throws {StoreError} `SESSION_NOT_FOUND`; `MESSAGE_NOT_FOUND` for an id that is not the session's; `STORE_READONLY`.
   */
  forget(sessionId: string, options: { messageIds?: readonly number[] } = {}): ForgetReport {
    const { repositories, clock } = this.#ports;
    const { messageIds } = options;
    const report =
      messageIds === undefined
        ? forgetSession(repositories, sessionId)
        : forgetMessages(repositories, sessionId, messageIds, clock(), { labelOf, labelTextChars: LABEL_TEXT_CHARS });
    this.#ports.changes.count += 1;
    return report;
  }

  /** Write the file anew without what was forgotten. @returns false where another process reads: try again later. */
  erase(): boolean {
    this.#database.assertOpen();
    if (this.#database.readonly) throw new StoreError("STORE_READONLY", { path: this.path, operation: "erase" });
    return erase(this.#database);
  }

  /** Close the file. A `resolveDirty` under way rejects with `STORE_CLOSED`; what it has recorded stays. */
  close(): void {
    if (!this.#database.client.open) return;
    this.#closing.abort(closedReason(this.#database.path));
    this.#database.client.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #open(id: string, options: SessionOptions, origin: SessionOrigin | undefined): Session {
    checkId("session id", id);
    const { project, title, ...given } = options;
    if (project !== undefined) checkId("project", project);
    if (title !== undefined) checkId("title", title);
    const parentSessionId = this.#parentOf(origin);
    const row = this.#row(id);
    if (row === undefined) {
      const known = createSession(this.#ports.repositories, {
        id,
        project,
        title,
        ...this.#namesOf(id, origin),
        parentSessionId,
        forkSeq: origin?.exported?.forkSeq,
        settings: sessionSettings({ ...origin?.exported?.settings, ...given }),
        metadata: origin?.metadata,
        createdAtMs: origin?.createdAtMs ?? this.#ports.clock(),
      });
      // Another process may have made it a moment ago: then it is resumed, and its project compared.
      return known === undefined ? this.#sessionObject(id) : this.#open(known, options, origin);
    }
    if (project !== undefined && row.project !== null && project !== row.project) {
      throw new StoreError("SESSION_CONFLICT", {
        sessionId: id,
        field: "project",
        stored: row.project,
        given: project,
      });
    }
    const isNews =
      (row.title === null && title !== undefined) ||
      (row.project === null && project !== undefined) ||
      (row.parentSessionId === null && parentSessionId !== undefined);
    if (isNews) completeSession(this.#ports.repositories, id, { title, project, parentSessionId });
    const settings = sessionSettings(given, row.settings);
    if (JSON.stringify(settings) !== JSON.stringify(sessionSettings({}, row.settings))) {
      changeSettings(this.#ports.repositories, id, settings);
      this.#ports.changes.count += 1;
    }
    return this.#sessionObject(id);
  }

  #parentOf(origin: SessionOrigin | undefined): string | undefined {
    if (origin?.parentExternalId === undefined) return undefined;
    const { source, parentExternalId, exported } = origin;
    const { sessions } = this.#ports.repositories;
    const known = this.#database.read(() => sessions.idByExternalId(source, parentExternalId));
    return known ?? (exported === undefined ? undefined : this.#row(parentExternalId)?.id);
  }

  /**
   * Under which source and name a new session is found again. One of another store keeps those it had there, if any,
   * unless its id or its name is taken here: then it is a copy, known by its id there.
   */
  #namesOf(id: string, origin: SessionOrigin | undefined): Pick<NewSession, "source" | "externalId"> {
    const exported = origin?.exported;
    if (exported === undefined || id !== origin?.externalId) {
      return { source: origin?.source, externalId: origin?.externalId };
    }
    const { source, externalId } = exported;
    const { sessions } = this.#ports.repositories;
    const isTaken =
      source !== undefined &&
      externalId !== undefined &&
      this.#database.read(() => sessions.idByExternalId(source, externalId)) !== undefined;
    return isTaken ? { source: origin.source, externalId: origin.externalId } : { source, externalId };
  }

  #row(id: string): SessionRow | undefined {
    return this.#database.read(() => this.#ports.repositories.sessions.byId(id));
  }

  #sessionObject(id: string): Session {
    let session = this.#sessions.get(id);
    if (session === undefined) {
      session = new Session(this.#ports, id);
      this.#sessions.set(id, session);
    }
    return session;
  }

  /** Note the embedder in a new store; refuse another one in an old store. A reader compares no vectors. */
  #useGeneration(): void {
    const { embedder, repositories, clock } = this.#ports;
    if (this.#database.readonly) return;
    const { embedderId } = startGeneration(repositories, embedder.id, embedder.dimension, clock());
    if (embedderId === embedder.id) return;
    throw new StoreError("EMBEDDER_MISMATCH", { stored: embedderId, given: embedder.id });
  }
}

/** Whether a session is the one that was exported: the same id, origin and moment of its making. */
function isOf(row: SessionRow, { createdAtMs, exported }: SessionOrigin): boolean {
  return (
    row.createdAtMs === createdAtMs &&
    row.source === (exported?.source ?? null) &&
    row.externalId === (exported?.externalId ?? null)
  );
}

function checkId(option: string, value: unknown): void {
  const isUsable =
    typeof value === "string" &&
    value !== "" &&
    value.length <= ID_CHARS_MAX &&
    value.isWellFormed() &&
    !/[\0-\x1f]/.test(value);
  if (isUsable) return;
  const expected = `a text of 1 to ${ID_CHARS_MAX} characters without control characters`;
  throw new StoreError("OPTION_INVALID", { option, expected, actual: value });
}
