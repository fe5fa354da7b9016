import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Backoff, backoffMs } from "../../core/backoff.ts";
import { StoreError } from "../../core/errors.ts";
import type { Importer } from "../../importers/importer.ts";
import { internalsOf, type OpenedStore } from "../../session/opened-store.ts";
import type { Store } from "../../session/store.ts";
import { ImportRun } from "../import-run.ts";
import { summarizeSessions } from "../summarize-sessions.ts";
import { DueFiles } from "./due-files.ts";
import { eventsOfVisit, FollowedFiles, type Visit, type WatchEvent } from "./followed-files.ts";
import { SummaryFollower } from "./summary-follower.ts";
import { WatchedPaths } from "./watched-paths.ts";

/** As in `WatchFilesOptions`, but `importers` includes the built-in ones. */
export interface WatchRunOptions {
  paths: readonly string[];
  importers?: readonly Importer[];
  project?: string | undefined;
  onEvent?: ((event: WatchEvent) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** The codes of temporary errors: a locked store, a full disk, an embedder that does not answer, a forgotten session. */
const PASSING_ERRORS: ReadonlySet<string> = new Set([
  "STORE_BUSY",
  "FILE_NOT_USABLE",
  "MODEL_UNAVAILABLE",
  "SESSION_NOT_FOUND",
]);
const BACKOFF: Backoff = { delayMsMin: 500, delayMsMax: 30_000 };

/** The most new messages that do not wait for a remote embedder, about those of a turn. */
const LIVE_MESSAGES_MAX = 32;

/** How often the clock is checked, in milliseconds. A jump, or a late timer, means that events were missed. */
const CLOCK_MS = 30_000;
const LATE_MS_MIN = 5_000;

/** How often everything is scanned, in milliseconds, because not every file system reports every change. */
const RESCAN_MS = 10 * 60 * 1_000;

/** How often everything is scanned if the system watches no more folders, in milliseconds. */
const POLL_MS = 30_000;

/**
 * A watch over files and folders. It imports what exists, and then what is written, within about a second.
 *
 * It visits one file at a time. A write that the store refuses is tried again until the store accepts it.
 */
export class WatchRun {
  readonly #options: WatchRunOptions;
  readonly #store: OpenedStore;
  readonly #storePath: string;
  readonly #files: FollowedFiles;
  readonly #due = new DueFiles();
  readonly #paths: WatchedPaths;
  readonly #summaries: SummaryFollower;
  /** Aborted by the caller's signal, and by errors that end the watch. */
  readonly #stopping = new AbortController();
  readonly #unreadablePaths = new Set<string>();
  /** True once every file that existed at the start was found. */
  #isScanned = false;
  /** True once these files are imported. */
  #isCaughtUp = false;
  /** True once their sessions are summarized. A watch that is killed earlier reads all of the files again. */
  #isComplete = false;
  /** Messages that the watch has added to the store. */
  newCount = 0;
  #rescanMs = RESCAN_MS;
  #wake: () => void = () => {};

  constructor(store: Store, options: WatchRunOptions) {
    const { project, importers, signal, paths } = options;
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
      // The session's summaries, which are kept current, collect these vectors.
      mayLackVectors: (newCount) => this.#isCaughtUp && newCount <= LIVE_MESSAGES_MAX,
      onProgress: (report) => {
        this.#files.note(report);
        this.#stopping.signal.throwIfAborted();
      },
    });
    this.#files = new FollowedFiles(run, this.#store, importers);
    this.#summaries = new SummaryFollower(this.#store);
    this.#paths = new WatchedPaths(paths, {
      onFile: (path, isUncertain) => this.#changed(path, isUncertain),
      onUnreadable: (path, error) => this.#unreadable(path, error),
      onExhausted: (reason) => this.#poll(reason),
    });
  }

  /** Imports and summarizes what exists. @throws like `follow`. */
  async once(): Promise<void> {
    await this.#untilStopped(async () => {
      const sessionIds = await this.#catchUp();
      for (const visit of await this.#persist(() => this.#files.close())) this.#report(visit);
      await this.#complete(sessionIds);
    }).finally(() => this.#paths.close());
  }

  /**
   * Imports what exists, and then what is written, until the signal.
   *
   * @throws errors that do not pass: `STORE_CORRUPT`, `FILE_REPLACED`, `OPTION_INVALID` for the project and the like.
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

  /** Runs work that ends in silence when the caller's signal stops it. */
  async #untilStopped(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#stopping.abort(error);
      if (this.#options.signal?.aborted !== true) throw error;
    }
  }

  /** @returns the sessions of all files that were read, because a session without new messages may lack summaries too. */
  async #catchUp(): Promise<Set<string>> {
    const sessionIds = new Set<string>();
    let fileCount = 0;
    await this.#paths.scan();
    this.#isScanned = true;
    while (this.#due.isCatchingUp) {
      const visit = await this.#visit(this.#due.take(performance.now()) as string);
      for (const id of visit?.sessionIds ?? []) sessionIds.add(id);
      fileCount += 1;
    }
    this.#isCaughtUp = true;
    this.#options.onEvent?.({ event: "caught_up", fileCount, newCount: this.newCount });
    return sessionIds;
  }

  async #visit(path: string): Promise<Visit | undefined> {
    this.#stopping.signal.throwIfAborted();
    const fromMs = performance.now();
    const visit = await this.#persist(() => this.#files.visit(path, Date.now()));
    const nowMs = performance.now();
    if (!this.#files.isLive(path)) this.#due.noteVisit(path, nowMs - fromMs, nowMs);
    const quietInMs = this.#files.quietInMs(path, Date.now());
    if (quietInMs !== undefined) this.#due.addQuiet(path, nowMs + quietInMs);
    if (visit !== undefined) this.#report(visit);
    return visit;
  }

  #report(visit: Visit): void {
    this.newCount += visit.newCount;
    for (const event of eventsOfVisit(visit)) this.#options.onEvent?.(event);
  }

  /** Summarizes what existed at the start. From then on, the next watch need not read it again. */
  async #complete(sessionIds: ReadonlySet<string>): Promise<void> {
    const { signal } = this.#stopping;
    await this.#persist(() => summarizeSessions(this.#store, sessionIds, { signal }));
    this.#isComplete = true;
    this.#tryToKeep();
  }

  /** Keeps the files' states. If the store refuses, a later try follows, or the next watch reads the files again. */
  #tryToKeep(): void {
    if (!this.#isComplete) return;
    try {
      this.#files.keep();
    } catch (error) {
      if (!StoreError.is(error)) throw error;
    }
  }

  /** Repeats work until the store accepts it. */
  async #persist<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#stopping;
    for (let failureCount = 1; ; failureCount++) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        if (!StoreError.is(error) || !PASSING_ERRORS.has(error.code)) throw error;
        // The forgotten session may come back. Background work begins again with the next message of each session.
        if (error.code === "SESSION_NOT_FOUND") await this.#summaries.stop();
        const retryInMs = backoffMs(failureCount, BACKOFF);
        this.#options.onEvent?.({ event: "waiting", code: error.code, reason: error.message, retryInMs });
        await wait(retryInMs, undefined, { signal });
      }
    }
  }

  /** @param ms  Undefined to sleep until something changes. */
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

  #changed(path: string, isUncertain: boolean): void {
    // A store inside a watched folder changes with every message.
    if (path === this.#storePath) return;
    this.#files.add(path, isUncertain);
    if (this.#isScanned) this.#due.addChanged(path, performance.now());
    else this.#due.addFound(path);
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
