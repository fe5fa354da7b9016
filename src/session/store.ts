import { setMaxListeners } from "node:events";
import { v7 as uuidv7 } from "uuid";
import { NearestClusters } from "../ann/nearest-clusters.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { ID_CHARS_MAX, PAGE_LIMIT_MAX } from "../core/limits.ts";
import type { JsonValue } from "../core/message.ts";
import { oneOf, type SessionOptions, type SessionSettings, sessionSettings, wholeNumber } from "../core/options.ts";
import { estimatingTokenCounter, type TokenCounter } from "../core/tokens.ts";
import { indexTailNow } from "../ingest/index-texts.ts";
import { type ReembedProgress, type ReembedResult, reembed } from "../ingest/reembed.ts";
import { type ReembedEstimate, reembedEstimate } from "../ingest/reembed-estimate.ts";
import { EMBED_CONCURRENCY, type EmbedResult, VectorCollector } from "../ingest/vector-collector.ts";
import { type Embedder, isRemote } from "../models/embedder.ts";
import { extractiveSummarizer } from "../models/extractive-summarizer.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { LABEL_TEXT_CHARS, labelOf } from "../models/label.ts";
import { searchWords } from "../models/search-words.ts";
import type { Summarizer } from "../models/summarizer.ts";
import { type ExpandOptions, type Expansion, expand, type FoundRoots, findRoots } from "../recall/expand.ts";
import { type NearestRootsOptions, type NearRoot, nearestRoots } from "../recall/nearest-roots.ts";
import { askQueryVector } from "../recall/query-vector.ts";
import { type RecallOptions, recall } from "../recall/recall.ts";
import type { RecallHit } from "../recall/recall-hit.ts";
import type { RecallQuery } from "../recall/search.ts";
import { type BackupOptions, type BackupReport, backupStore } from "../store/backup.ts";
import type { Finding } from "../store/finding.ts";
import { erase, type ForgetReport, forgetMessages, forgetSession } from "../store/forget.ts";
import { GenerationRepository } from "../store/generations.ts";
import { openDatabase, type StoreDatabase } from "../store/open.ts";
import { type QueryRow, queryRows } from "../store/query.ts";
import { Repositories } from "../store/repositories.ts";
import type { NewSession, SessionOverview, SessionRow, SessionsOptions } from "../store/sessions.ts";
import { type StoreStats, storeStats } from "../store/stats.ts";
import { type VerifyProgress, type VerifyReport, verifyStore } from "../store/verify.ts";
import { changeSettings, completeSession, createSession, noteImportedFiles, startGeneration } from "../store/write.ts";
import { closedReason } from "../summaries/resolve.ts";
import { ActiveSessions } from "./active.ts";
import { examine } from "./doctor.ts";
import { type ExportLine, type ExportOptions, exportLines } from "./export.ts";
import type { SessionPorts } from "./ports.ts";
import { isUsual } from "./prepared.ts";
import { ResidentSessions } from "./resident.ts";
import { Session } from "./session.ts";
import { SUBJECTS_LIMIT_DEFAULT, type SubjectInfo, subjectsOf } from "./subjects.ts";
import { Upkeep } from "./upkeep.ts";

export interface OpenOptions {
  /**
   * Text to vectors. The local one needs no key, no network and no model. Or a function that is told the id and the dimension
   * of the embedder that the store was written with, and gives it; a new store gets the local one then.
   */
  embedder?: Embedder | ((id: string, dimension: number) => Embedder);
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

export interface EmbedPendingOptions {
  signal?: AbortSignal;
  concurrency?: number;
  waitMsMax?: number;
  /** Told after each batch. */
  onProgress?: (progress: { embedded: number; waiting: number }) => void;
}

const EMBED_OPTIONS: readonly string[] = [
  "signal",
  "concurrency",
  "waitMsMax",
  "onProgress",
] satisfies (keyof EmbedPendingOptions)[];

/** A day. */
const EMBED_WAIT_MS_MAX = 24 * 60 * 60 * 1_000;

export interface ReembedOptions {
  /** That the forest is to be grown with. */
  embedder: Embedder;
  signal?: AbortSignal;
  /** Called often, between small pieces of work. It must not throw. */
  onProgress?: (progress: ReembedProgress) => void;
}

/** What `close` may still index: with these a search looks through the rest in some 10 ms. */
const CLOSING_MESSAGES_MAX = 2_000;
const CLOSING_MS_MAX = 250;

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
  /** Of a fork: the external id of the parent's last message that came before its first. */
  forkedAfter?: string;
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
      embedder: database.guard(() => embedderOf(database, options.embedder ?? hashingEmbedder)),
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

function embedderOf(database: StoreDatabase, given: NonNullable<OpenOptions["embedder"]>): Embedder {
  if (typeof given !== "function") return given;
  const generation = new GenerationRepository(database).newest();
  return generation === undefined ? hashingEmbedder : given(generation.embedderId, generation.dimension);
}

/** Whether a store takes what `prepareApart` makes in another thread: it has no embedder, counter or clock of its own. */
export let takesPrepared: (store: Store) => boolean;

/**
 * An open store file: its sessions, its forest, its rows.
 *
 * Longer than other files: every word that users type of a store stands here once, with what it promises; each only hands
 * on to the room that does it.
 */
export class Store {
  static {
    takesPrepared = (store) => isUsual(store.#ports);
  }

  readonly #database: StoreDatabase;
  readonly #ports: SessionPorts;
  readonly #closing = new AbortController();
  /** One object a session: two in one process would each believe they know its last seq. */
  readonly #sessions = new Map<string, Session>();

  /** Use `openStore`. */
  constructor(
    database: StoreDatabase,
    ports: Pick<SessionPorts, "embedder" | "summarizer" | "tokenCounter" | "clock">,
  ) {
    this.#database = database;
    setMaxListeners(0, this.#closing.signal); // one for each session that is resolving
    const repositories = new Repositories(database, ports.tokenCounter);
    const shared = {
      ...ports,
      repositories,
      claimant: uuidv7(),
      changes: { count: 0 },
      active: new ActiveSessions(),
      nearest: new NearestClusters(repositories.centroids, database),
      closing: this.#closing.signal,
      resident: new ResidentSessions(),
    };
    // One object for all: the embedder in it may change.
    const withVectors = Object.assign(shared, { vectors: new VectorCollector(shared) });
    this.#ports = Object.assign(withVectors, { upkeep: new Upkeep(withVectors) });
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

  /** Whether a file was brought in whole in this state, and nothing was forgotten since: reading it again would bring nothing. */
  hasImportedFile(path: string, state: string): boolean {
    return this.#database.read(() => this.#ports.repositories.importedFiles.has(path, state));
  }

  /** Another number whenever something is forgotten. */
  forgetCount(): number {
    return this.#database.read(() => this.#ports.repositories.generations.rewriteCountOfAll());
  }

  /**
   * Remember of files that they were brought in whole, unless something was forgotten since.
   *
   * @param states  What would change with each, by path.
   * @param forgetCount  `forgetCount()`, before the first of them was read.
   */
  noteImportedFiles(states: ReadonlyMap<string, string>, forgetCount: number): void {
    noteImportedFiles(this.#ports.repositories, states, forgetCount);
  }

  /** @throws {StoreError} `SESSION_NOT_FOUND` for an id the store does not hold. */
  resume(id: string): Session {
    if (this.#row(id) === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: id });
    return this.#sessionObject(id);
  }

  /** Ids of the sessions, of one project if it is named, whose own or external id begins with `prefix`, in order. */
  sessionIds({ prefix, project }: { prefix: string; project?: string }): string[] {
    if (project !== undefined) checkId("project", project);
    return this.#database.read(() => this.#ports.repositories.sessions.idsWith(prefix, project));
  }

  /** Sessions, the most recently used first; all of them, unless told otherwise. */
  sessions(options: SessionsOptions = {}): SessionOverview[] {
    const { project, sinceMs, limit, offset } = options;
    if (project !== undefined) checkId("project", project);
    if (sinceMs !== undefined) wholeNumber("sinceMs", sinceMs, 0, Number.MAX_SAFE_INTEGER);
    if (limit !== undefined) wholeNumber("limit", limit, 0, Number.MAX_SAFE_INTEGER);
    if (offset !== undefined) wholeNumber("offset", offset, 0, Number.MAX_SAFE_INTEGER);
    return this.#database.read(() => this.#ports.repositories.sessions.list(options));
  }

  /** @see expand in recall/expand.ts: from a handle or a message id to the exact messages. */
  expand(target: string | number, options: ExpandOptions = {}): Expansion {
    return this.#database.read(() => expand(this.#ports.repositories, target, options));
  }

  /**
   * What came up in more than one session: the subjects with clusters of at least two, each with its sessions and their
   * times; those with the most tokens first. Each handle goes into `expand`.
   *
   * @param options.project  Only this project's; subjects never span projects.
   * @param options.limit  From 0 to 10,000; 50 unless given.
   */
  subjects(options: { project?: string; limit?: number } = {}): SubjectInfo[] {
    if (options.project !== undefined) checkId("project", options.project);
    const limit = wholeNumber("limit", options.limit ?? SUBJECTS_LIMIT_DEFAULT, 0, PAGE_LIMIT_MAX);
    return this.#database.read(() => subjectsOf(this.#ports.repositories, options.project, limit));
  }

  /**
   * The messages that answer a query, in whichever session they stand, the best first, each with its surroundings and the
   * handle of its cluster. Any text is a query; what stands in double quotes has to be in a hit letter by letter. A message
   * is found as soon as it is appended. @see recall in recall/recall.ts.
   *
   * @param query  A text; or a text and what the store's embedder makes of it.
   * @throws {StoreError} `QUERY_EMPTY`, `OPTION_INVALID`, `VECTOR_INVALID`, `STORE_CORRUPT`; rejects, and never throws at once.
   *   A remote embedder that fails, or takes longer than `vectorMsMax`, costs the hits that only its vector would have found.
   */
  async recall(query: RecallQuery, options: RecallOptions = {}): Promise<RecallHit[]> {
    return recall(this.#ports, query, { ...options, signal: this.#signalOf(options.signal) });
  }

  /**
   * What the store's embedder makes of a query: a vector for `nearestRoots`, `recall` and `render`, which take one where the
   * embedder is remote.
   *
   * @returns undefined for a text without words, of a local embedder.
   * @throws {StoreError} `QUERY_EMPTY`; what the embedder throws; the signal's reason.
   */
  async embedQuery(text: string, options: { signal?: AbortSignal } = {}): Promise<Float32Array | undefined> {
    this.#database.assertOpen();
    const { embedder } = this.#ports;
    if (text.trim() === "") throw new StoreError("QUERY_EMPTY", {});
    if (!isRemote(embedder)) return embedder.embed(text);
    return askQueryVector(embedder, text, this.#signalOf(options.signal));
  }

  /** Where a message stands: its cluster, its theme and its subject, as handles. */
  find(messageId: number): FoundRoots {
    return this.#database.read(() => findRoots(this.#ports.repositories, messageId));
  }

  /** @see nearestRoots in recall/nearest-roots.ts: from a text or a vector to the clusters nearest to it. */
  nearestRoots(target: string | Float32Array | readonly number[], options: NearestRootsOptions = {}): NearRoot[] {
    return nearestRoots(this.#ports, target, options);
  }

  /**
   * Do now what the store does for itself after each `resolveDirty`, in small transactions: let sessions rest whose newest
   * message is a day old, so that all they were about can be found, and settle the clusters of those that have been silent
   * for longer than they lasted, or for thirty days; place settled clusters among the subjects, and bring the indexes up to
   * date. After `resolveDirty` sessions that this process has changed within the day are left alone; here
   * none is, so call it when old conversations have been brought in.
   *
   * One runs at a time: another waits for it. A part that fails keeps none of the others from being done.
   *
   * @throws the signal's reason when aborted, `STORE_CLOSED` when the store closes; `STORE_READONLY`, and at the end
   *   `STORE_BUSY`, `STORE_CORRUPT` or `EMBEDDER_MISMATCH` where a part failed so.
   */
  async upkeep(options: { signal?: AbortSignal } = {}): Promise<void> {
    this.#database.assertOpen();
    if (this.#database.readonly) throw new StoreError("STORE_READONLY", { path: this.path, operation: "upkeep" });
    await this.#ports.upkeep.run({ signal: this.#signalOf(options.signal), includeActive: true });
  }

  /**
   * Get the vectors that are due: messages of a remote embedder are stored first and wait for theirs in the hot window.
   * `resolveDirty` and `upkeep` do this too; call it where you bring in a long history, between its parts, because what
   * overfills a window by far enters the forest without. With a local embedder there is nothing to do.
   *
   * @param options.concurrency  Calls of the embedder under way at once, from 1 to 64; 4 unless given.
   * @param options.waitMsMax  How long to go on while the service is away, in milliseconds; 0 unless given.
   * @returns how many messages have theirs now, failed, were refused for good, and wait still; and what ended it early.
   * @throws the signal's reason when aborted, `STORE_CLOSED` when the store closes; `STORE_READONLY`, `EMBEDDER_MISMATCH`,
   *   `STORE_BUSY`, `STORE_CORRUPT`, `OPTION_INVALID`. A failing model never rejects.
   */
  async embedPending(options: EmbedPendingOptions = {}): Promise<EmbedResult> {
    this.#database.assertOpen();
    if (this.#database.readonly) throw new StoreError("STORE_READONLY", { path: this.path, operation: "embedPending" });
    for (const name of Object.keys(options)) oneOf("an option of embedPending", name, EMBED_OPTIONS);
    const { concurrency = EMBED_CONCURRENCY, waitMsMax = 0, onProgress } = options;
    return this.#ports.vectors.embed({
      signal: this.#signalOf(options.signal),
      concurrency: wholeNumber("concurrency", concurrency, 1, 64),
      waitMsMax: wholeNumber("waitMsMax", waitMsMax, 0, EMBED_WAIT_MS_MAX),
      again: true,
      ...(onProgress !== undefined && { onProgress }),
    });
  }

  /**
   * Grow the forest of every session again with another embedder, and go on with that: a new generation beside the old, which
   * serves until the new one is complete, has been checked, and takes its place in one transaction. Messages that are
   * appended meanwhile, by any process, are in it.
   *
   * A run that is stopped, however it ends, leaves the store as it was and its vectors in it: the next run with the same
   * embedder goes on from there. Handles go on meaning what they meant. Summaries whose sources are no theme of the new
   * forest are made again by `resolveDirty`; until then contexts show those messages themselves, or name them. Processes that
   * opened the store with the old embedder can go on reading, by words; what they append is refused, `EMBEDDER_MISMATCH`.
   *
   * With the embedder in use, messages that came into the forest without a vector get theirs; where none lacks one, there is
   * nothing to do.
   *
   * @throws the signal's reason when aborted, `STORE_CLOSED` when the store closes; what the embedder throws where trying
   *   again does not help; {StoreError} `STORE_READONLY`, `STORE_BUSY`, `STORE_CORRUPT`, `VECTOR_INVALID`, and
   *   `EMBEDDER_MISMATCH` where another process was faster with yet another embedder.
   */
  async reembed(options: ReembedOptions): Promise<ReembedResult> {
    this.#database.assertOpen();
    if (this.#database.readonly) throw new StoreError("STORE_READONLY", { path: this.path, operation: "reembed" });
    const { embedder, signal, onProgress } = options;
    const { repositories, clock, changes } = this.#ports;
    const goOnWith = (): void => {
      this.#ports.embedder = embedder;
      changes.count += 1;
    };
    const result = await reembed(repositories, {
      embedder,
      clock,
      signal: this.#signalOf(signal),
      ...(onProgress && { onProgress }),
      onSwitch: goOnWith,
    });
    goOnWith(); // also where another process was faster, or there was nothing to do
    return result;
  }

  /** What `reembed` with this embedder would take: messages, tokens, money where the price is known, summaries. Calls no model. */
  reembedEstimate(embedder: Embedder): ReembedEstimate {
    return this.#database.read(() => reembedEstimate(this.#ports.repositories, embedder));
  }

  /** Rows of one SQL statement that only reads. */
  query(sql: string): QueryRow[] {
    return [...queryRows(this.#database, sql)];
  }

  /** The same, row by row: memory does not grow with the result. Refusals come with the first row. */
  queryRows(sql: string): Generator<QueryRow> {
    return queryRows(this.#database, sql);
  }

  /** Counts and sizes of the whole store. */
  stats(): StoreStats {
    return this.#database.read(() => storeStats(this.#ports.repositories));
  }

  /**
   * Derive everything derived again from messages and log, and compare it with what is stored.
   *
   * @param options.rebuild  Also write it: deleted or damaged derived rows come back bit for bit.
   * @param options.onProgress  Called before each session with how many of how many are done.
   */
  verify(options: { rebuild?: boolean; onProgress?: (progress: VerifyProgress) => void } = {}): VerifyReport {
    const report = verifyStore(this.#ports.repositories, {
      rebuild: options.rebuild ?? false,
      onProgress: options.onProgress ?? (() => {}),
      labelOf,
      labelTextChars: LABEL_TEXT_CHARS,
      searchWords,
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
   * its disk, its pages, its embedder, its summaries, its index. Writes nothing. Looks at every page once; where another process is
   * in the middle of a write, it also waits up to a second to see whether that ends.
   *
   * `verify` looks closer, at every message and every row that is derived.
   */
  doctor(): Finding[] {
    return examine(this.#ports);
  }

  /**
   * Forget a session, or some of its messages, for good: the messages with their steps, the summaries that covered them, and
   * their part in clusters and themes. What remains is as if they had never been; places (`seq`) of others stay. Sessions
   * that a forgotten one started stay too.
   *
   * The index of clusters goes, too, until it is made again. The file is then written anew without the space they had, which
   * takes as long as copying it. `erased` says whether both could be done; if not, because another process was reading, the disk
   * is full or the index may not be deleted, call `erase` later. Backups are not touched.
   *
   * @throws {StoreError} `SESSION_NOT_FOUND`; `MESSAGE_NOT_FOUND` for an id that is not the session's; `STORE_READONLY`.
   */
  forget(sessionId: string, options: { messageIds?: readonly number[] } = {}): ForgetReport {
    const { repositories, clock } = this.#ports;
    const { messageIds } = options;
    const forgotten =
      messageIds === undefined
        ? forgetSession(repositories, sessionId)
        : forgetMessages(repositories, sessionId, messageIds, clock(), { labelOf, labelTextChars: LABEL_TEXT_CHARS });
    this.#ports.changes.count += 1;
    return { ...forgotten, erased: this.erase() };
  }

  /** Write the file anew without what was forgotten. @returns false where another process reads, or the disk is full: try again later. */
  erase(): boolean {
    this.#database.assertOpen();
    if (this.#database.readonly) throw new StoreError("STORE_READONLY", { path: this.path, operation: "erase" });
    const isDropped = this.#ports.nearest.forget();
    return erase(this.#ports.repositories) && isDropped;
  }

  /**
   * Close the file. A `resolveDirty` under way rejects with `STORE_CLOSED`; what it has recorded stays. What was appended
   * since the last one comes into the full-text index first, as far as that takes no more than a quarter of a second.
   */
  close(): void {
    if (!this.#database.client.open) return;
    this.#closing.abort(closedReason(this.#database.path));
    this.#indexTail();
    this.#database.client.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Whatever keeps it from being done, closing goes on: searches look through what the index lacks, and others fill it. */
  #indexTail(): void {
    if (this.#database.readonly) return;
    try {
      this.#database.waitNoMore();
      indexTailNow(this.#ports.repositories, { countMax: CLOSING_MESSAGES_MAX, timeMsMax: CLOSING_MS_MAX });
    } catch {
      // Who has to know of a damaged index or a full disk hears it from `doctor`, or from the next search or append.
    }
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
        forkSeq: origin?.exported?.forkSeq ?? this.#forkSeqOf(parentSessionId, origin?.forkedAfter),
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

  /** Aborted by the caller, and when the store closes. */
  #signalOf(given: AbortSignal | undefined): AbortSignal {
    const closing = this.#closing.signal;
    return given === undefined ? closing : AbortSignal.any([given, closing]);
  }

  #parentOf(origin: SessionOrigin | undefined): string | undefined {
    if (origin?.parentExternalId === undefined) return undefined;
    const { source, parentExternalId, exported } = origin;
    const { sessions } = this.#ports.repositories;
    const known = this.#database.read(() => sessions.idByExternalId(source, parentExternalId));
    return known ?? (exported === undefined ? undefined : this.#row(parentExternalId)?.id);
  }

  #forkSeqOf(parentSessionId: string | undefined, forkedAfter: string | undefined): number | undefined {
    if (parentSessionId === undefined || forkedAfter === undefined) return undefined;
    return this.#database.read(() => this.#ports.repositories.messages.byExternalId(parentSessionId, forkedAfter))?.seq;
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
