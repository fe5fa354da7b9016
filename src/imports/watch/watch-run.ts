import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Backoff, backoffMs } from "../../core/backoff.ts";
import { StoreError } from "../../core/errors.ts";
import { newestFirst } from "../../importers/files.ts";
import type { Importer } from "../../importers/importer.ts";
import { internalsOf, type OpenedStore } from "../../session/opened-store.ts";
import type { Exclusions, Store } from "../../session/store.ts";
import type { ImportProgress } from "../import-files.ts";
import { ImportRun } from "../import-run.ts";
import { summarizeSessions } from "../summarize-sessions.ts";
import { DueFiles } from "./due-files.ts";
import { eventsOfVisit, FollowedFiles, type Visit, type WatchEvent } from "./followed-files.ts";
import { SummaryFollower } from "./summary-follower.ts";
import { type FoundFile, WatchedPaths } from "./watched-paths.ts";

/** As in `WatchFilesOptions`, but `importers` includes the built-in ones. */
export interface WatchRunOptions {
  paths: readonly string[];
  importers?: readonly Importer[];
  project?: string | undefined;
  keepSecrets?: boolean | undefined;
  exclude?: Partial<Exclusions> | undefined;
  onEvent?: ((event: WatchEvent) => void) | undefined;
  onProgress?: ((progress: ImportProgress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** A locked store, a full disk, an embedder that does not answer, a forgotten session. */
const TEMPORARY_ERRORS: ReadonlySet<string> = new Set([
  "STORE_BUSY",
  "FILE_NOT_USABLE",
  "MODEL_UNAVAILABLE",
  "SESSION_NOT_FOUND",
]);
const BACKOFF: Backoff = { delayMsMin: 500, delayMsMax: 30_000 };

/** Up to this many new messages, about a turn, do not wait for a remote embedder. */
const LIVE_MESSAGES_MAX = 32;

/** How often the next files are looked up, so that the reading thread is ahead: after so many. */
const EXPECTED_FILES = 32;

/** How often the clock is checked, in milliseconds. After a jump or a late timer, events may be missing. */
const CLOCK_MS = 30_000;
const LATE_MS_MIN = 5_000;

/** How often everything is scanned, in milliseconds. Not every file system reports every change. */
const RESCAN_MS = 10 * 60 * 1_000;

/** How often everything is scanned if the system has no more watches to give. */
const POLL_MS = 30_000;

/**
 * Imports existing files, then what is added to them, and new files. It visits one file at a time. After a temporary error, it
 * tries again.
 */
export class WatchRun {
  readonly #options: WatchRunOptions;
  readonly #store: OpenedStore;
  readonly #storePath: string;
  readonly #files: FollowedFiles;
  readonly #due = new DueFiles();
  readonly #paths: WatchedPaths;
  readonly #summaries: SummaryFollower;
  /** Aborted by the caller's signal or by an error that ends the watch. */
  readonly #stopping = new AbortController();
  readonly #unreadablePaths = new Set<string>();
  /** The files that existed at the start. Undefined once they are known. */
  #found: Map<string, FoundFile> | undefined = new Map();
  #progress = { doneCount: 0, totalCount: 0, doneBytes: 0, totalBytes: 0 };
  #isCaughtUp = false;
  /** True once the sessions of the existing files are summarized. Before that, the next watch must read these files again. */
  #isComplete = false;
  newCount = 0;
  #rescanMs = RESCAN_MS;
  #wake: () => void = () => {};

  constructor(store: Store, options: WatchRunOptions) {
    const { project, keepSecrets, exclude, importers, signal, paths } = options;
    this.#options = options;
    this.#store = internalsOf(store);
    this.#storePath = resolve(store.path);
    const stop = (): void => this.#stopping.abort(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    this.#stopping.signal.addEventListener("abort", () => this.#wake());
    const run = new ImportRun(store, {
      ...(importers !== undefined && { importers }),
      project,
      keepSecrets,
      exclude,
      signal: this.#stopping.signal,
      // `SummaryFollower` makes these vectors.
      mayLackVectors: (newCount) => this.#isCaughtUp && newCount <= LIVE_MESSAGES_MAX,
      onProgress: (report) => {
        this.#files.note(report);
        this.#tellProgress(report.path, this.newCount + report.newCount);
      },
      onEmbedding: ({ waiting }) => {
        if (!this.#isCaughtUp) options.onProgress?.({ phase: "embed", waitingCount: waiting });
      },
    });
    this.#files = new FollowedFiles(run, this.#store, importers);
    this.#summaries = new SummaryFollower(this.#store);
    this.#paths = new WatchedPaths(paths, {
      onFile: (file) => this.#changed(file),
      onUnreadable: (path, error) => this.#unreadable(path, error),
      onExhausted: (reason) => this.#poll(reason),
    });
  }

  /** Imports and summarizes the existing files. @throws like `follow`. */
  async once(): Promise<void> {
    await this.#untilStopped(async () => {
      const sessionIds = await this.#catchUp();
      for (const visit of await this.#retry(() => this.#files.close())) this.#report(visit);
      await this.#complete(sessionIds, this.#options.onProgress);
    }).finally(() => this.#paths.close());
  }

  /**
   * Imports the existing files, and then what is written, until the signal.
   * @throws errors that trying again cannot solve: `STORE_CORRUPT`, `STORE_CLOSED`, `OPTION_INVALID` for the project and the like.
   */
  async follow(): Promise<void> {
    const clock = this.#watchClock();
    let completing: Promise<void> | undefined;
    try {
      await this.#untilStopped(async () => {
        const sessionIds = await this.#catchUp();
        completing = this.#untilStopped(() => this.#complete(sessionIds));
        completing.catch((error) => this.#stopping.abort(error));
        for (;;) {
          const next = this.#due.take(performance.now());
          if (typeof next !== "string") await this.#sleep(next);
          else {
            const { newCount = 0, sessionIds = [] } = (await this.#visit(next)) ?? {};
            if (newCount > 0) for (const sessionId of sessionIds) this.#summaries.follow(sessionId);
          }
        }
      });
    } finally {
      clearInterval(clock);
      this.#paths.close();
      await this.#summaries.stop();
      await completing;
      this.#tryToKeep();
    }
  }

  async #untilStopped(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#stopping.abort(error);
      if (this.#options.signal?.aborted !== true) throw error;
    }
  }

  /** @returns the sessions of all files, because a session without new messages may lack summaries too. */
  async #catchUp(): Promise<Set<string>> {
    const sessionIds = new Set<string>();
    await this.#paths.scan();
    const found = this.#found!;
    this.#found = undefined;
    const known = this.#files.passOver([...found.values()]);
    let fileCount = known.size;
    for (const path of known) found.delete(path);
    const paths = newestFirst([...found.values()]).map(({ path }) => path);
    this.#due.addFound(paths);
    this.#progress.totalCount = found.size;
    for (const { byteLength = 0 } of found.values()) this.#progress.totalBytes += byteLength;
    while (this.#due.isCatchingUp) {
      const next = fileCount - known.size;
      if (next % EXPECTED_FILES === 0) this.#files.expect(paths.slice(next, next + 2 * EXPECTED_FILES), Date.now());
      const path = this.#due.take(performance.now()) as string;
      this.#tellProgress(path, this.newCount);
      const visit = await this.#visit(path);
      for (const id of visit?.sessionIds ?? []) sessionIds.add(id);
      fileCount += 1;
      const file = found.get(path);
      if (file === undefined) continue; // it is new, or was visited before
      found.delete(path);
      this.#progress.doneCount += 1;
      this.#progress.doneBytes += file.byteLength ?? 0;
    }
    this.#isCaughtUp = true;
    this.#options.onEvent?.({ event: "caught_up", fileCount, newCount: this.newCount });
    return sessionIds;
  }

  async #visit(path: string): Promise<Visit | undefined> {
    this.#stopping.signal.throwIfAborted();
    const fromMs = performance.now();
    const visit = await this.#retry(() => this.#files.visit(path, Date.now()));
    const nowMs = performance.now();
    if (!this.#files.isLive(path)) this.#due.noteVisit(path, nowMs - fromMs, nowMs);
    const quietInMs = this.#files.quietInMs(path, Date.now());
    if (quietInMs !== undefined) this.#due.addQuiet(path, nowMs + quietInMs);
    if (visit !== undefined) this.#report(visit);
    return visit;
  }

  #tellProgress(path: string, messageCount: number): void {
    if (!this.#isCaughtUp) this.#options.onProgress?.({ phase: "read", path, messageCount, ...this.#progress });
  }

  #report(visit: Visit): void {
    this.newCount += visit.newCount;
    for (const event of eventsOfVisit(visit)) this.#options.onEvent?.(event);
  }

  /** Summarizes the sessions of the existing files, so that the next watch need not read these files again. */
  async #complete(sessionIds: ReadonlySet<string>, onProgress?: WatchRunOptions["onProgress"]): Promise<void> {
    const { signal } = this.#stopping;
    const totalCount = sessionIds.size;
    const tell = (doneCount: number): void => onProgress?.({ phase: "summarize", doneCount, totalCount });
    await this.#retry(() => summarizeSessions(this.#store, sessionIds, { signal, onProgress: tell }));
    this.#isComplete = true;
    this.#tryToKeep();
  }

  /** Tells the store which files were imported. If it refuses, a later call tries again, or the next watch reads them again. */
  #tryToKeep(): void {
    if (!this.#isComplete) return;
    try {
      this.#files.keep();
    } catch (error) {
      if (!StoreError.is(error)) throw error;
    }
  }

  /** Runs `work` until it succeeds, or until an error that is not temporary. */
  async #retry<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#stopping;
    for (let failureCount = 1; ; failureCount++) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        if (!StoreError.is(error) || !TEMPORARY_ERRORS.has(error.code)) throw error;
        // A forgotten session may come back. Background work then begins again with its next message.
        if (error.code === "SESSION_NOT_FOUND") await this.#summaries.stop();
        const retryInMs = backoffMs(failureCount, BACKOFF);
        this.#options.onEvent?.({ event: "waiting", code: error.code, reason: error.message, retryInMs });
        await wait(retryInMs, undefined, { signal });
      }
    }
  }

  async #sleep(ms: number | undefined): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((wake) => {
      this.#wake = wake;
      if (this.#stopping.signal.aborted) wake();
      if (ms !== undefined) timer = setTimeout(wake, ms);
    });
    clearTimeout(timer);
    this.#stopping.signal.throwIfAborted();
  }

  #changed(file: FoundFile): void {
    const { path, isUncertain = false } = file;
    // A store inside a watched folder changes with every message.
    if (path === this.#storePath) return;
    this.#files.add(path, isUncertain);
    if (this.#found === undefined) this.#due.addChanged(path, performance.now());
    else if (file.byteLength !== undefined || !this.#found.has(path)) this.#found.set(path, file);
    this.#wake();
  }

  #unreadable(path: string, error: unknown): void {
    if (this.#unreadablePaths.has(path)) return;
    this.#unreadablePaths.add(path);
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.onEvent?.({ event: "warning", path, line: null, reason });
  }

  #poll(reason: string): void {
    if (this.#rescanMs === POLL_MS) return;
    this.#rescanMs = POLL_MS;
    this.#options.onEvent?.({ event: "polling", reason, everyMs: POLL_MS });
  }

  #watchClock(): NodeJS.Timeout {
    let checkedAtMs = Date.now();
    let scannedAtMs = checkedAtMs;
    return setInterval(() => {
      const nowMs = Date.now();
      const isOff = Math.abs(nowMs - checkedAtMs - CLOCK_MS) > LATE_MS_MIN;
      checkedAtMs = nowMs;
      this.#tryToKeep();
      if (!isOff && nowMs - scannedAtMs < this.#rescanMs) return;
      scannedAtMs = nowMs;
      void this.#paths.scan();
    }, CLOCK_MS);
  }
}
