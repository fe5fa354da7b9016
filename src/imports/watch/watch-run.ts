import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Backoff, backoffMs } from "../../core/backoff.ts";
import { StoreError } from "../../core/errors.ts";
import { internalsOf } from "../../session/opened-store.ts";
import type { Store } from "../../session/store.ts";
import { ImportRun } from "../import-run.ts";
import { DueFiles } from "./due-files.ts";
import { FollowedFiles, type Visit } from "./followed-files.ts";
import { Summaries } from "./summaries.ts";
import { eventsOfVisit, type WatchEvent } from "./watch-events.ts";
import { WatchedPaths } from "./watched-paths.ts";

export interface WatchOptions {
  paths: readonly string[];
  /** In place of what the files say. */
  project?: string;
  onEvent: (event: WatchEvent) => void;
  /** Ends the watch after the batch that is being written. */
  signal: AbortSignal;
}

/** What passes with time: the store is locked or its disk full, the embedder does not answer; or a session was forgotten. */
const PASSING: ReadonlySet<string> = new Set([
  "STORE_BUSY",
  "FILE_NOT_USABLE",
  "MODEL_UNAVAILABLE",
  "SESSION_NOT_FOUND",
]);
const BACKOFF: Backoff = { delayMsMin: 500, delayMsMax: 30_000 };

/** New messages at once, after the beginning, that do not wait for an embedder that is elsewhere: those of a turn. */
const LIVE_MESSAGES_MAX = 32;

/** How often the clock is looked at. One that was put forward, or a timer that came late, means that events were missed. */
const CLOCK_MS = 30_000;
const LATE_MS_MIN = 5_000;

/** How often everything is looked at all the same: not every file system tells of every change. */
const RESCAN_MS = 10 * 60 * 1_000;

/** And where the system watches no more folders. */
const POLL_MS = 30_000;

/**
 * A watch over files and folders: what is there is brought into the store, and then what comes, within a second or so.
 *
 * One file is visited at a time. What the store does not take is tried again until it does; nothing is remembered outside the
 * store, so a watch that was killed has lost nothing. When nothing changes it sleeps, but for a look at the clock.
 */
export class WatchRun {
  readonly #options: WatchOptions;
  readonly #storePath: string;
  readonly #files: FollowedFiles;
  readonly #due = new DueFiles();
  readonly #paths: WatchedPaths;
  readonly #summaries: Summaries;
  /** Aborted by the user's signal, and by what ends the watch from within. */
  readonly #stopping = new AbortController();
  readonly #unreadableTold = new Set<string>();
  /** Whether all that was there at the beginning is known, if not read. */
  #isScanned = false;
  /** Whether that was brought in. */
  #isCaughtUp = false;
  /** Whether that was summarized, too: a watch that is killed before begins again with all of it. */
  #isComplete = false;
  #newCount = 0;
  #rescanMs = RESCAN_MS;
  #wake: () => void = () => {};

  constructor(store: Store, options: WatchOptions) {
    const { project, signal } = options;
    this.#options = options;
    this.#storePath = resolve(store.path);
    const stop = (): void => this.#stopping.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    this.#stopping.signal.addEventListener("abort", () => this.#wake());
    const run = new ImportRun(store, {
      format: "auto",
      ...(project === undefined ? {} : { project }),
      // Their session's summaries, which follow it, see to them.
      mayLackVectors: (newCount) => this.#isCaughtUp && newCount <= LIVE_MESSAGES_MAX,
      onProgress: (report) => {
        this.#files.note(report);
        this.#stopping.signal.throwIfAborted();
      },
    });
    this.#files = new FollowedFiles(run, internalsOf(store));
    this.#summaries = new Summaries(store, this.#stopping.signal);
    this.#paths = new WatchedPaths(options.paths, {
      onFile: (path, isUncertain) => this.#changed(path, isUncertain),
      onUnreadable: (path, error) => this.#unreadable(path, error),
      onExhausted: (reason) => this.#poll(reason),
    });
  }

  /** Messages that it has brought into the store. */
  get newCount(): number {
    return this.#newCount;
  }

  /** Bring in what is there, summarize it, and end. @throws as `follow`. */
  async once(): Promise<void> {
    await this.#untilStopped(async () => {
      const sessionIds = await this.#catchUp();
      for (const visit of await this.#persist(() => this.#files.close())) this.#tell(visit);
      await this.#complete(sessionIds);
    }).finally(() => this.#paths.close());
  }

  /**
   * Bring in what is there, and then what comes, until the signal.
   *
   * @throws what does not pass: `STORE_CORRUPT`, `FILE_REPLACED`, `OPTION_INVALID` for the project and the like.
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

  /** Work that ends in silence when it is told to stop. */
  async #untilStopped(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#stopping.abort(error);
      if (!this.#options.signal.aborted) throw error;
    }
  }

  /** @returns the sessions of the files that were read: summaries may lack where no message is new. */
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
    this.#options.onEvent({ event: "caught_up", fileCount, newCount: this.#newCount });
    return sessionIds;
  }

  async #visit(path: string): Promise<Visit | undefined> {
    this.#stopping.signal.throwIfAborted();
    const fromMs = performance.now();
    const visit = await this.#persist(() => this.#files.visit(path, Date.now()));
    const nowMs = performance.now();
    if (!this.#files.isLive(path)) this.#due.visited(path, nowMs - fromMs, nowMs);
    const restsInMs = this.#files.restsInMs(path, Date.now());
    if (restsInMs !== undefined) this.#due.resting(path, nowMs + restsInMs);
    if (visit !== undefined) this.#tell(visit);
    return visit;
  }

  #tell(visit: Visit): void {
    this.#newCount += visit.newCount;
    for (const event of eventsOfVisit(visit)) this.#options.onEvent(event);
  }

  /** Summarize what was there at the beginning. From then on it need not be read again. */
  async #complete(sessionIds: ReadonlySet<string>): Promise<void> {
    await this.#persist(() => this.#summaries.complete(sessionIds));
    this.#isComplete = true;
    this.#tryToKeep();
  }

  /** Where the store does not take it now, it will the next time, or the files are read once more. */
  #tryToKeep(): void {
    if (!this.#isComplete) return;
    try {
      this.#files.keep();
    } catch (error) {
      if (!StoreError.is(error)) throw error;
    }
  }

  /** Do it until the store takes it. */
  async #persist<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#stopping;
    for (let failureCount = 1; ; failureCount++) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        if (!StoreError.is(error) || !PASSING.has(error.code)) throw error;
        // Its work has ended for good, and the session may be there again; that of others begins anew with their next message.
        if (error.code === "SESSION_NOT_FOUND") await this.#summaries.stop();
        const retryInMs = backoffMs(failureCount, BACKOFF);
        this.#options.onEvent({ event: "waiting", code: error.code, reason: error.message, retryInMs });
        await wait(retryInMs, undefined, { signal });
      }
    }
  }

  /** @param ms  Until something changes, if not given. */
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
    // A store that lies among transcripts changes with every message.
    if (path === this.#storePath) return;
    this.#files.add(path, isUncertain);
    if (this.#isScanned) this.#due.changed(path, performance.now());
    else this.#due.found(path);
    this.#wake();
  }

  #unreadable(path: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#unreadableTold.has(path)) return;
    this.#unreadableTold.add(path);
    this.#options.onEvent({ event: "warning", path, line: null, reason });
  }

  #poll(reason: string): void {
    if (this.#rescanMs === POLL_MS) return;
    this.#rescanMs = POLL_MS;
    this.#options.onEvent({ event: "polling", reason, everyMs: POLL_MS });
  }

  #watchClock(): NodeJS.Timeout {
    let lookedAtMs = Date.now();
    let scannedAtMs = lookedAtMs;
    return setInterval(() => {
      const nowMs = Date.now();
      const isOff = Math.abs(nowMs - lookedAtMs - CLOCK_MS) > LATE_MS_MIN;
      lookedAtMs = nowMs;
      this.#tryToKeep();
      if (!isOff && nowMs - scannedAtMs < this.#rescanMs) return;
      scannedAtMs = nowMs;
      void this.#paths.scan();
    }, CLOCK_MS);
  }
}
