import type { Clock } from "../core/clock.ts";
import type { SessionOptions } from "../core/options.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { ReembedProgress, ReembedResult } from "../ingest/reembed.ts";
import type { ReembedEstimate } from "../ingest/reembed-estimate.ts";
import type { EmbedResult } from "../ingest/vector-collector.ts";
import type { Embedder } from "../models/embedder.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { ExpandOptions, Expansion, FoundRoots } from "../recall/expand.ts";
import type { NearestRootsOptions, NearRoot } from "../recall/nearest-roots.ts";
import type { RecallOptions } from "../recall/recall.ts";
import type { RecallHit } from "../recall/recall-hit.ts";
import type { RecallQuery } from "../recall/search.ts";
import type { BackupOptions, BackupReport } from "../store/backup.ts";
import type { Finding } from "../store/finding.ts";
import type { ForgetReport } from "../store/forget.ts";
import type { QueryRow } from "../store/query.ts";
import type { SessionOverview, SessionsOptions } from "../store/sessions.ts";
import type { StoreStats } from "../store/stats.ts";
import type { VerifyProgress, VerifyReport } from "../store/verify.ts";
import type { ExportLine, ExportOptions } from "./export.ts";
import type { Session } from "./session.ts";
import type { SubjectInfo, SubjectsOptions } from "./subjects.ts";

export interface OpenOptions {
  /**
   * Turns texts into vectors. The default is local: it needs no key, no network and no model. A function receives the id and
   * the dimension of the embedder that wrote the store, and returns that embedder; for a new store it is not called.
   */
  embedder?: Embedder | ((id: string, dimension: number) => Embedder);
  /** Turns messages into summaries. The default is extractive: it needs no key, no network and no model. */
  summarizer?: Summarizer;
  /** Counts the tokens of a text. The default estimates them for any model. */
  tokenCounter?: TokenCounter;
  /** The failures that an append survives: with `process`, the default, a killed process; with `power`, also a power cut. */
  durability?: "process" | "power";
  /** Opens the file for reading only. Methods that write then throw `STORE_READONLY`. */
  readonly?: boolean;
  /** How long a write waits for the writes of other processes, in milliseconds: 0 to 600,000, by default 5,000. */
  busyTimeoutMs?: number;
  /** Returns the time, for tests and replays. */
  clock?: Clock;
}

export interface EmbedPendingOptions {
  signal?: AbortSignal;
  /** Calls of the embedder at the same time: 1 to 64, by default 4. */
  concurrency?: number;
  /** How long to keep trying while the service is away, in milliseconds: 0, the default, to a day. */
  waitMsMax?: number;
  /** Called after each batch. */
  onProgress?: (progress: { embedded: number; waiting: number }) => void;
}

export interface VerifyOptions {
  /** Also writes what was derived: deleted or damaged rows come back bit for bit. */
  rebuild?: boolean;
  /** Called before each session. */
  onProgress?: (progress: VerifyProgress) => void;
}

export interface ForgetOptions {
  /** The messages to forget, each with its step; by default the whole session. */
  messageIds?: readonly number[];
}

export interface ReembedOptions {
  /** The embedder that the new forest is grown with. */
  embedder: Embedder;
  signal?: AbortSignal;
  /** Called often, between small pieces of work. It must not throw. */
  onProgress?: (progress: ReembedProgress) => void;
}

/**
 * An open store file. One file holds any number of sessions, and any number of processes may open it.
 *
 * Every method that reads works on a store that was opened with `readonly`. Every method may throw `STORE_CLOSED`,
 * `STORE_BUSY` and `STORE_CORRUPT`.
 */
export interface Store {
  readonly path: string;

  /**
   * Returns the session with this id, and creates it if there is none. Without an id, it creates one under a new UUIDv7.
   *
   * For a session that exists, the options given change its settings. A title or a project is only set if the session has
   * none: another title is ignored, another project is refused.
   *
   * @throws {StoreError} `SESSION_CONFLICT`, `OPTION_INVALID`; `STORE_READONLY` if the session would have to be created.
   */
  session(id?: string, options?: SessionOptions): Session;

  /** @throws {StoreError} `SESSION_NOT_FOUND` if the store does not hold this session. */
  resume(id: string): Session;

  /** Returns the ids of all sessions, or of one project's, whose own or external id begins with `prefix`, in order. */
  sessionIds(options: { prefix: string; project?: string }): string[];

  /** Returns the sessions, the most recently used first. */
  sessions(options?: SessionsOptions): SessionOverview[];

  /**
   * Returns the exact messages behind a handle, or around a message.
   *
   * @throws {StoreError} `HANDLE_INVALID`, `ROOT_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `OPTION_INVALID`.
   */
  expand(target: string | number, options?: ExpandOptions): Expansion;

  /**
   * Returns the subjects with clusters of at least two sessions, those with the most tokens first. `expand` takes their
   * handles.
   */
  subjects(options?: SubjectsOptions): SubjectInfo[];

  /**
   * Finds the messages that answer a query in any session, the best first, each with its neighbors and the handle of its
   * cluster. Any text is a query. A phrase in double quotes must occur letter by letter. A message is found as soon as it is
   * appended.
   *
   * @param query  A text, or a text with its vector.
   * @returns a promise that rejects if something is wrong; `recall` itself never throws. If a remote embedder fails, or takes
   *   longer than `vectorMsMax`, messages are found by their words only.
   * @throws {StoreError} `QUERY_EMPTY`, `OPTION_INVALID`, `VECTOR_INVALID`.
   */
  recall(query: RecallQuery, options?: RecallOptions): Promise<RecallHit[]>;

  /**
   * Returns the vector of a query by the store's embedder. With a remote embedder, `nearestRoots` and `render` need this
   * vector, because they do not wait for the network.
   *
   * @returns undefined if a local embedder finds no words in the text.
   * @throws {StoreError} `QUERY_EMPTY`; what the embedder throws; the signal's reason.
   */
  embedQuery(text: string, options?: { signal?: AbortSignal }): Promise<Float32Array | undefined>;

  /**
   * Returns the handles of the cluster, the theme and the subject that a message belongs to.
   *
   * @throws {StoreError} `MESSAGE_NOT_FOUND`.
   */
  find(messageId: number): FoundRoots;

  /**
   * Returns the clusters nearest to a text or a vector.
   *
   * @throws {StoreError} `EMBEDDER_ASYNC` for a text with a remote embedder, `QUERY_EMPTY`, `VECTOR_INVALID`, `OPTION_INVALID`.
   */
  nearestRoots(target: string | Float32Array | readonly number[], options?: NearestRootsOptions): NearRoot[];

  /**
   * Does the store's background maintenance now, in small transactions. Sessions whose newest message is a day old become
   * idle: all their messages enter the forest. The clusters of an idle session settle when it has been silent for longer
   * than it lasted, or for thirty days. Settled clusters are assigned to subjects, and the indexes are brought up to date.
   *
   * `resolveDirty` does the same afterwards, but spares sessions that this process has changed within a day. `upkeep` spares
   * none, so call it after you import old conversations. Calls run one after another. If a part fails, the others still run.
   *
   * @throws the signal's reason if aborted; {StoreError} `STORE_READONLY`; at the end, what the first failed part threw.
   */
  upkeep(options?: { signal?: AbortSignal }): Promise<void>;

  /**
   * Asks a remote embedder for the vectors that are due. Messages are stored first and wait for their vectors in the hot
   * window. `resolveDirty` and `upkeep` also do this. When you append a long history, call it between the parts: messages
   * that overfill a window enter the forest without a vector. With a local embedder there is nothing to do.
   *
   * @returns how many messages got a vector, failed, were refused for good and still wait; and the error that ended the call
   *   early. A failing model never rejects.
   * @throws the signal's reason if aborted; {StoreError} `STORE_READONLY`, `EMBEDDER_MISMATCH`, `OPTION_INVALID`.
   */
  embedPending(options?: EmbedPendingOptions): Promise<EmbedResult>;

  /**
   * Grows a new generation of every session's forest with another embedder, and switches to it. The old generation serves
   * until the new one is complete and checked; one transaction then replaces it. The new generation includes messages that
   * any process appends meanwhile.
   *
   * If a run is stopped, the store stays as it was and keeps the vectors made so far; the next run with the same embedder
   * continues there. Handles keep their meaning. Summaries whose sources are no theme of the new forest are made again by
   * `resolveDirty`; until then contexts show or name those messages. Processes that opened the store with the old embedder
   * can go on reading, by words; their appends are refused with `EMBEDDER_MISMATCH`.
   *
   * With the embedder in use, messages that entered the forest without a vector get one.
   *
   * @throws the signal's reason if aborted; what the embedder throws, if trying again does not help; {StoreError}
   *   `STORE_READONLY`, `VECTOR_INVALID`, and `EMBEDDER_MISMATCH` if another process has just switched to a third embedder.
   */
  reembed(options: ReembedOptions): Promise<ReembedResult>;

  /** Estimates what `reembed` would cost: messages, tokens, summaries, and money if the price is known. Calls no model. */
  reembedEstimate(embedder: Embedder): ReembedEstimate;

  /** Returns the rows of one SQL statement that only reads. @throws {StoreError} `QUERY_REFUSED`. */
  query(sql: string): QueryRow[];

  /** Returns counts and sizes of the whole store. */
  stats(): StoreStats;

  /**
   * Derives everything derived from messages and log again, and compares the result with what is stored.
   */
  verify(options?: VerifyOptions): VerifyReport;

  /**
   * Copies the whole store to another file while this and other processes keep writing. The copy is one snapshot, it is
   * checked, and only its owner may read it. A store in memory can be saved in this way.
   *
   * @returns when the copy is on disk and in place. If it fails, nothing is left behind.
   * @throws {StoreError} `FILE_EXISTS` unless `overwrite` is given, `FILE_NOT_FOUND`, `FILE_NOT_USABLE`.
   */
  backup(path: string, options?: BackupOptions): Promise<BackupReport>;

  /**
   * Yields everything that was appended as lines of the neutral format: one object each, a session before its messages.
   * `coppice import` reads their JSON.
   *
   * @throws {StoreError} `SESSION_NOT_FOUND`.
   */
  export(options?: ExportOptions): Generator<ExportLine>;

  /**
   * Returns what is wrong with the store or could be better, and how to fix it: its file and permissions, other processes, the
   * disk, its pages, embedder, summaries and index. Writes nothing. It reads every page once, and waits up to a second for
   * another process to end its write. `verify` checks every message and every derived row.
   */
  doctor(): Finding[];

  /**
   * Forgets a session, or some of its messages with their steps, permanently. Their summaries go too, and clusters and themes
   * become what they would be without them. The seq of other messages does not change. Sessions that a forgotten session
   * started stay.
   *
   * Then the index of clusters is deleted and the file is rewritten without the freed space, which takes as long as copying
   * it. If `erased` is false, this could not be done yet, because another process was reading or the disk was full: call
   * `erase` later. Backups are not touched.
   *
   * @throws {StoreError} `SESSION_NOT_FOUND`; `MESSAGE_NOT_FOUND` for an id from another session; `STORE_READONLY`.
   */
  forget(sessionId: string, options?: ForgetOptions): ForgetReport;

  /** Rewrites the file without the forgotten messages. @returns false if another process is reading or the disk is full. */
  erase(): boolean;

  /**
   * Closes the file. A running `resolveDirty` rejects with `STORE_CLOSED` and keeps what it has recorded. Before that, new
   * messages are added to the full-text index, for at most a quarter of a second.
   */
  close(): void;

  [Symbol.dispose](): void;
}
