import type { Clock } from "../core/clock.ts";
import type { SessionOptions } from "../core/options.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { ReembedEstimate, ReembedProgress, ReembedResult } from "../ingest/reembed.ts";
import type { EmbedResult } from "../ingest/vector-collector.ts";
import type { Embedder } from "../models/embedder.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { ExpandOptions, Expansion } from "../recall/expand.ts";
import type { RecallHit } from "../recall/hits.ts";
import type { NearestRootsOptions, NearRoot } from "../recall/nearest-roots.ts";
import type { RecallOptions } from "../recall/recall.ts";
import type { RecallQuery } from "../recall/search.ts";
import type {
  BackupOptions,
  BackupReport,
  Finding,
  ForgetReport,
  QueryParams,
  QueryRow,
  SessionOverview,
  SessionsOptions,
  StoreStats,
  VerifyProgress,
  VerifyReport,
} from "../store/index.ts";
import type { Lost, LostOptions } from "./aids/lost.ts";
import type { Work } from "./aids/past-work.ts";
import type { Recap, RecapOptions } from "./aids/recap.ts";
import type { RememberOptions } from "./aids/remember.ts";
import type { Remembered, RememberedOptions } from "./aids/remembered.ts";
import type { SubjectOptions, SubjectPage } from "./aids/subject-page.ts";
import type { SubjectInfo, SubjectsOptions } from "./aids/subjects.ts";
import type { Items } from "./items.ts";
import type { ExportLine, ExportOptions } from "./moving/export.ts";
import type { ProjectInfo } from "./roots.ts";
import type { Session } from "./session.ts";

export type { ReembedEstimate, ReembedResult } from "../ingest/reembed.ts";

/**
 * The clock, the token counter, a local embedder and the getters of what is given may read the store, and write nothing: that throws
 * `WRITE_NESTED`. `summarize` and `embedAll` may write.
 */
export interface OpenOptions {
  /**
   * Turns texts into vectors. The default is local: it needs no key, no network and no model. A function gets the id and the
   * dimension of the embedder that wrote the store, and returns this embedder. For a new store, the function is not called, and
   * the default is used.
   */
  embedder?: Embedder | ((id: string, dimension: number) => Embedder);
  /** Turns messages into summaries. The default is extractive: it needs no key, no network and no model. */
  summarizer?: Summarizer;
  /** Counts the tokens of a text. The default is an estimate for any model. */
  tokenCounter?: TokenCounter;
  /** `process` (the default): appended messages survive a killed process. `power`: they also survive a power cut. */
  durability?: "process" | "power";
  /** Opens the file for reading only. Methods that write then throw `STORE_READONLY`. */
  readonly?: boolean;
  /** The most milliseconds that a write waits for other processes before it throws `STORE_BUSY`: 0 to 600,000, by default 5,000. */
  busyTimeoutMs?: number;
  /** Returns the time in Unix milliseconds; by default the system's. For tests and replays. */
  clock?: Clock;
}

export interface UpkeepOptions {
  /** Only this part of the maintenance. */
  only?: "vectors";
  signal?: AbortSignal;
  /** The most calls of the embedder at the same time: 1 to 64, by default 4. */
  concurrency?: number;
  /** How long to keep trying while the service is unavailable, in milliseconds: 0 (the default) to 86,400,000, a day. */
  waitMsMax?: number;
  /** Called after each batch. */
  onProgress?: (progress: { embedded: number; waiting: number }) => void;
}

export interface VerifyOptions {
  /** True to write the derived rows again. Deleted or damaged rows are restored bit for bit. */
  rebuild?: boolean;
  /** Called before each session. */
  onProgress?: (progress: VerifyProgress) => void;
}

export interface DoctorOptions {
  /** True to read every page of a large file, too. By default, only files of at most 16 MiB are read as a whole. */
  deep?: boolean;
}

export interface ForgetOptions {
  /** The messages to forget, each with its step, if it is one session; by default all of them. */
  messageIds?: readonly number[];
  /** Only messages from `sinceMs` to `untilMs`, in Unix milliseconds, both included. */
  sinceMs?: number;
  untilMs?: number;
  /**
   * True to forget also what is `related` in the report: copies of the messages in other sessions, forks that share them, and
   * sessions that they started, such as subagents. False by default.
   */
  related?: boolean;
  /** True to only return what would be forgotten, with `related` if forks share the messages. False by default. */
  dryRun?: boolean;
}

export interface RenameProjectOptions {
  /** True to make one project of the two. False by default. */
  merge?: boolean;
}

export interface RestoreOptions {
  /** The ids that the messages had; by default everything that was forgotten of the session. */
  messageIds?: readonly number[];
}

/** What imports and watches leave out. */
export interface Exclusions {
  /** Transcripts in these files and folders, and sessions of agents that worked there. */
  paths: readonly string[];
  projects: readonly string[];
}

export interface ExcludeOptions extends Partial<Exclusions> {
  /** True to no longer leave these out. False by default. */
  remove?: boolean;
}

export interface ReembedOptions {
  /** The embedder for the new forest. */
  embedder: Embedder;
  /**
   * The cosine from which a step may join a cluster, in [-1, 1], also of later steps; by default the embedder's own. The forest grows
   * again with another cosine than the one in use, even if the embedder is the same.
   */
  similarityMin?: number;
  signal?: AbortSignal;
  /** Called between small pieces of work. It must not throw. */
  onProgress?: (progress: ReembedProgress) => void;
  /** True to do nothing, and only estimate what it would take. False by default. */
  dryRun?: boolean;
}

/**
 * An open store file. A file holds any number of sessions, and any number of processes may open it.
 *
 * Methods that only read work on a store that was opened with `readonly`. Every method may throw `STORE_CLOSED`, `STORE_BUSY` and
 * `STORE_CORRUPT`.
 */
export interface Store {
  readonly path: string;

  /**
   * Returns the session with this id, and creates it if there is none. Without an id, it creates one under a new UUIDv7.
   *
   * If the session exists, the given options change its settings. A title or a project is set only if the session has none.
   *
   * @param id  1 to 512 characters without control characters.
   * @throws {StoreError} `SESSION_CONFLICT` for a different project; `OPTION_INVALID`; `STORE_READONLY` if the session must be
   *   created or changed.
   */
  session(id?: string, options?: SessionOptions): Session;

  /** @throws {StoreError} `SESSION_NOT_FOUND`. */
  resume(id: string): Session;

  /** Returns the projects that have sessions, in the order of their names. */
  projects(): ProjectInfo[];

  /**
   * Gives the project of a folder another name for people. The options named `project` take the project as before.
   *
   * With `merge`, `name` is another project or its name: for example, the new folder of a project that was moved. All sessions of
   * `project`, also later ones, are in the other one from then on. This cannot be undone.
   *
   * @throws {StoreError} `OPTION_INVALID` if another project has the name, or the project is only a name; with `merge`, if the two are
   *   one already, or one of them is a name that no session has.
   */
  renameProject(project: string, name: string, options?: RenameProjectOptions): void;

  /** Returns the sessions, the most recently used first. @throws {StoreError} `STORE_CORRUPT` without `onUnreadable`. */
  sessions(options?: SessionsOptions): SessionOverview[];

  /**
   * Returns messages exactly as they were appended: those of a handle, or those around a message. For a message, `place` has its
   * session and seq, and the handles of its cluster, theme and subject.
   *
   * @param target  A handle (`theme:123@456`) or a message id.
   * @throws {StoreError} `HANDLE_INVALID`, `ROOT_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `OPTION_INVALID`.
   */
  expand(target: string | number, options?: ExpandOptions): Expansion;

  /** Returns the subjects that have clusters of at least two sessions, those with the most tokens first. */
  subjects(options?: SubjectsOptions): SubjectInfo[];

  /**
   * Returns what came of a subject: its clusters over time, what was decided, what is open, and its files. Every line is quoted
   * from a message and names it.
   *
   * @param handle  A subject's handle. Any cluster of a subject names it: `subject:77`.
   * @throws {StoreError} `HANDLE_INVALID`, `ROOT_NOT_FOUND`, `OPTION_INVALID`.
   */
  subject(handle: string, options?: SubjectOptions): SubjectPage;

  /**
   * Returns what was done, decided and left open in a time, by project and session, newest first. Every line is quoted from a message
   * and names it. Sessions that go on are included.
   *
   * @throws {StoreError} `OPTION_INVALID`.
   */
  recap(options?: RecapOptions): Recap;

  /**
   * Stores what a person wants remembered, as a message of the user in the session that its project has for that. `recall` counts it like a
   * user's words in a conversation. `recap`, the hooks at the start of a session, and contexts of the command line and the MCP server tell it first.
   *
   * With `replaces` or `rejects`, it is a verdict on another message, which stays as it is. Whatever shows that message shows the
   * verdict: hits, messages, expansions, and lines of `recap`, `subject` and `work.file`. To take it back, forget it.
   *
   * @param text  With `rejects`, why.
   * @throws {StoreError} `OPTION_INVALID`, also for an empty text and a handle of anything but a message; `MESSAGE_NOT_FOUND`, also for
   *   a forgotten message; `SESSION_SUPERSEDED` for a superseded one; the errors of `append`.
   */
  remember(text: string, options?: RememberOptions): Remembered;

  /** Returns what people asked to remember, newest first, also what was replaced or rejected since. @throws {StoreError} `OPTION_INVALID`. */
  remembered(options?: RememberedOptions): Remembered[];

  /**
   * Returns what a compaction of a session by its agent lost, by default the newest: what was asked, decided and done before, and is not in the
   * agent's own summary, the best first. Every line is quoted from a message and names it. Only imported sessions have compactions:
   * their transcripts tell of them.
   *
   * @returns undefined if the session, or none of the newest 200 sessions, was ever compacted, or if the message is no summary.
   * @throws {StoreError} `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `OPTION_INVALID`.
   */
  lost(options?: LostOptions): Lost | undefined;

  /**
   * Finds the messages that answer a query, in any session, best first. Any text is a query. A phrase in double quotes must occur
   * exactly. If it occurs nowhere, and the query has words outside the quotes, its words are searched, and each hit has
   * `phrasesMissing`. A message can be found as soon as it is appended.
   *
   * If a remote embedder fails, or takes longer than `vectorMsMax`, messages are found by their words only.
   *
   * @param query  A text, or a text with its vector.
   * @throws {StoreError} `QUERY_EMPTY`, `OPTION_INVALID`, `VECTOR_INVALID`. All errors reject the promise.
   */
  recall(query: RecallQuery, options?: RecallOptions): Promise<RecallHit[]>;

  /**
   * Returns the clusters nearest to a text or a vector, nearest first.
   *
   * @throws {StoreError} `OPTION_INVALID`, also for a text with a remote embedder; `QUERY_EMPTY`, `VECTOR_INVALID`.
   */
  nearestRoots(target: string | Float32Array | readonly number[], options?: NearestRootsOptions): NearRoot[];

  /**
   * Does the store's background maintenance now:
   *
   * - Vectors that are due are requested.
   * - A forest that an older version of Coppice has grown by other rules is grown again, if the embedder is local.
   * - A session whose newest message is a day old is idle: all its steps except the newest enter the forest.
   * - The clusters of an idle session settle when it has been silent for longer than it lasted, or for thirty days.
   * - Settled clusters are assigned to subjects, and the indexes are brought up to date.
   * - Some rows are compared with their checksums and indexes, for a few milliseconds; the next upkeep goes on from there.
   *
   * `resolveDirty` does this too, but grows no forest again, compares no rows, and skips sessions that this process has changed within a day. Call `upkeep`
   * after you import old conversations.
   *
   * With `only: "vectors"`, only the vectors that are due are requested. If you append a long history with a remote embedder, call this
   * after each part of it. Otherwise old messages leave the full window before they have a vector.
   *
   * @returns the numbers of messages that got a vector, failed, were refused permanently, and still wait; and the error that ended
   *   these requests early, if any. An error of the embedder does not reject.
   * @throws the signal's reason if aborted; {StoreError} `STORE_READONLY`; at the end, the error of the first part that failed:
   *   `STORE_CORRUPT` if rows or indexes are damaged, `EMBEDDER_MISMATCH`.
   */
  upkeep(options?: UpkeepOptions): Promise<EmbedResult>;

  /**
   * Grows a new generation of every session's forest with another embedder. The old generation serves until the new one is
   * complete; one transaction then replaces it. Messages that any process appends meanwhile are included.
   *
   * If a run is stopped, the next run with the same embedder uses the vectors made so far. Handles keep their meaning. A summary
   * stays if the new forest has a theme with exactly its messages; `resolveDirty` makes the others again. Processes that opened
   * the store with the old embedder can still read, and search by words only. Their appends throw `EMBEDDER_MISMATCH`.
   *
   * If the given embedder is already in use, this only runs if messages entered the forest without a vector.
   *
   * With `dryRun`, nothing is done, and no model is called. The result is an estimate: messages, tokens, summaries, and US dollars if
   * the price is known.
   *
   * @throws the signal's reason if aborted; an error of the embedder, if another try does not help; {StoreError}
   *   `STORE_READONLY`, `VECTOR_INVALID`, and `EMBEDDER_MISMATCH` if another process has just switched to a third embedder.
   */
  reembed(options: ReembedOptions & { dryRun: true }): Promise<ReembedEstimate>;
  reembed(options: ReembedOptions & { dryRun?: false }): Promise<ReembedResult>;
  reembed(options: ReembedOptions): Promise<ReembedResult | ReembedEstimate>;

  /**
   * Runs any number of synchronous calls of this store and its sessions in one transaction. If the work throws, nothing of it is
   * stored, and the error is thrown on. A call inside the work of another becomes part of that. Other processes wait meanwhile, so
   * keep the work short: compute before, and append in it.
   *
   * @param work  Must not be asynchronous, because a transaction does not wait. It may not search, embed, summarize, verify or
   *   copy the store: these throw `NOT_ATOMIC`.
   * @returns what the work returns.
   * @throws what the work throws; {StoreError} `OPTION_INVALID` if it returns a promise, `STORE_READONLY`, `STORE_BUSY`.
   */
  atomically<T>(work: () => T): T;

  /** Values of your program by namespace and key. */
  readonly items: Items;

  /** What agents did with files, commands and errors: see `Work`. */
  readonly work: Work;

  /**
   * Returns the rows of one SQL statement that only reads. An integer beyond 2^53 is a `bigint`, and a blob a `Buffer`.
   * @param params  Values for `?` as a list, or for `:name` as an object.
   * @throws {StoreError} `QUERY_REFUSED`, also if a parameter has no value; `OPTION_INVALID`.
   */
  query(sql: string, params?: QueryParams): QueryRow[];

  /** Returns counts and sizes of the whole store. */
  stats(): StoreStats;

  /**
   * Checks all messages. Derives all derived rows again from the messages and the log, and compares them with the stored rows.
   *
   * @throws {StoreError} `STORE_READONLY` with `rebuild`.
   */
  verify(options?: VerifyOptions): VerifyReport;

  /**
   * Copies the whole store to another file. This and other processes may write meanwhile. The copy is a checked snapshot, and
   * only its owner may read it. If the promise rejects, no new file is left.
   *
   * @throws {StoreError} `FILE_EXISTS` unless `overwrite` is given, `FILE_NOT_FOUND`, `FILE_NOT_USABLE`.
   */
  backup(path: string, options?: BackupOptions): Promise<BackupReport>;

  /**
   * Yields everything that was appended, as objects of the neutral format. Each session comes before its messages. `coppice
   * import` reads the objects as lines of JSON. If a session is damaged, its readable messages come without its object.
   *
   * With `rows`, yields the lines of a file that moves sessions to another store with all their ids, so that contexts and handles
   * there are the same: `importRows` of `coppice/import` takes it. Each line is JSON without a line break. Subjects, older generations
   * and items without a session stay.
   *
   * @throws {StoreError} `SESSION_NOT_FOUND`; `STORE_CORRUPT` without `onUnreadable`. With `rows`, also `SESSION_SUPERSEDED` for a
   *   branch, which moves with its session; `SESSION_SHARED` for a fork; `STORE_READONLY` with `ownIds`.
   */
  export(options: ExportOptions & { rows: true }): Generator<string>;
  export(options?: ExportOptions & { rows?: false }): Generator<ExportLine>;
  export(options?: ExportOptions): Generator<ExportLine> | Generator<string>;

  /**
   * Returns findings about the store, and how to fix problems. Writes nothing. Waits up to a second if another process is writing.
   * `verify` checks more: every message and every derived row.
   */
  doctor(options?: DoctorOptions): Finding[];

  /**
   * Forgets sessions, or some of their messages with their steps, permanently. Summaries of these messages are deleted. Clusters
   * and themes become as if the messages had never been appended. Other messages keep their seqs.
   *
   * Imports and watches leave out from then on what was forgotten: the same file, a longer version of it, and copies in other
   * sessions, which are recognized by their content with their id, their time or the id of the model's reply. A forgotten session
   * stays out as a whole. `importRows` and `pull` leave out the same, and `append` and `sync` messages with an id such as a UUID.
   * Other messages that programs give are stored. The store keeps keyed digests for that, and no text.
   *
   * Then the file is rewritten without the freed space, which takes as long as copying it, and searched for what was forgotten. If
   * `erased` is false in the result, another process was reading or the disk was full. The old bytes are then still in the file
   * until a later `upkeep`, `close` of a writer or `forget([])`, which names no session. Backups are not changed.
   *
   * @param sessions  The id of a session, or ids of several. An empty list only rewrites the file.
   * @throws {StoreError} `SESSION_NOT_FOUND`; `MESSAGE_NOT_FOUND` for an id from another session; `SESSION_SHARED` if forks share the
   *   messages, without `related`; `STORE_READONLY`. Then nothing was forgotten.
   */
  forget(sessions: string | readonly string[], options?: ForgetOptions): ForgetReport;

  /**
   * Lets imports bring back what was forgotten of a session, whose id the store no longer knows otherwise.
   *
   * @returns false if nothing of it was forgotten.
   */
  restore(sessionId: string, options?: RestoreOptions): boolean;

  /**
   * Makes every later import and watch leave out transcripts and sessions. What is in the store already stays: see `forget`.
   *
   * @returns everything that is excluded now. A call without paths and projects changes nothing.
   */
  exclude(options?: ExcludeOptions): Exclusions;

  /** Closes the file, after at most a quarter of a second of indexing. A running `resolveDirty` rejects with `STORE_CLOSED`. */
  close(): void;

  [Symbol.dispose](): void;
}
