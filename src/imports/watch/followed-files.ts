import { stat } from "node:fs/promises";
import { StoreError } from "../../core/errors.ts";
import { chunksOf, QUIET_MS } from "../../importers/files.ts";
import { canFollow, READING_VERSION } from "../../importers/registry.ts";
import type { FileReport, ImportRun } from "../import-run.ts";
import { LiveFile } from "./live-file.ts";

/** What a visit to a file brought. */
export interface Visit {
  path: string;
  format: string | null;
  sessionIds: readonly string[];
  newCount: number;
  /** Those that were not told of an earlier visit. */
  warnings: FileReport["warnings"];
  /** Set where it cannot be read, unless that was told before. */
  error: FileReport["error"];
}

/** Where it is kept in which state files were brought in, from one watch to the next. */
export interface KeptStates {
  hasImportedFile(path: string, state: string): boolean;
  forgetCount(): number;
  noteImportedFiles(states: ReadonlyMap<string, string>, forgetCount: number): void;
}

interface Followed {
  path: string;
  isUncertain: boolean;
  /** Its reader, as long as it is likely to grow. */
  live: LiveFile | undefined;
  /** Its size, its times and the like, when it was last brought into the store. */
  stamp: string | undefined;
  /** Whether nothing had been written to it for long by then, so that nothing of it waits for more. */
  isRested: boolean;
  /** `KeptStates.forgetCount()` before its first byte was read. */
  forgetCount: number;
  /** Unix milliseconds at which it was seen to have changed, whatever its own times say. */
  changedAtMs: number;
  /** Of a database: what its sessions looked like then. */
  fingerprints: Map<string, string>;
  /** As its reader counts them. */
  report: FileReport | undefined;
  /** Of the same reader, what was told of already. */
  newCountTold: number;
  told: Set<string>;
}

/** Readers that are kept: of the files that have grown last. One holds a few words for each message of its file. */
const LIVE_MAX = 32;

/** After which a file counts as left. If it grows again, it is read again. */
const LIVE_MS_MAX = 24 * 60 * 60 * 1_000;

const FOLLOWED_NAME = /\.jsonl$/;
const DATABASE_NAME = /\.db$/;

/**
 * The files that are watched, and how far each is in the store.
 *
 * Of a transcript with an entry on each line the reader stays alive, and reads on. Anything else is read again when it has
 * changed: what is in the store is not appended again.
 */
export class FollowedFiles {
  readonly #run: ImportRun;
  readonly #kept: KeptStates;
  readonly #files = new Map<string, Followed>();
  /** Files that were read, and are not kept as such yet. */
  #unkept = new Set<Followed>();

  constructor(run: ImportRun, kept: KeptStates) {
    this.#run = run;
    this.#kept = kept;
  }

  /** @param isUncertain  Whether it is passed over where it is in no format that is known. */
  add(path: string, isUncertain: boolean): void {
    if (this.#files.has(path)) return;
    this.#files.set(path, {
      path,
      isUncertain,
      live: undefined,
      stamp: undefined,
      isRested: false,
      forgetCount: 0,
      changedAtMs: Number.POSITIVE_INFINITY,
      fingerprints: new Map(),
      report: undefined,
      newCountTold: 0,
      told: new Set(),
    });
  }

  /** Whether only what comes will be read of it. */
  isLive(path: string): boolean {
    return this.#files.get(path)?.live !== undefined;
  }

  /** To be called by the run with its report of a file after each batch. */
  note(report: FileReport): void {
    const file = this.#files.get(report.path);
    if (file !== undefined) file.report = report;
  }

  /**
   * Bring what is new in a file into the store.
   *
   * @returns undefined where there is nothing to tell: it has not changed, or is gone.
   * @throws what `ImportRun.read` throws. The next visit then begins anew, and finds what is in the store.
   */
  async visit(path: string, nowMs: number): Promise<Visit | undefined> {
    const file = this.#files.get(path);
    if (file === undefined) return undefined;
    const found = await lookAt(path);
    if (found === undefined) {
      this.#files.delete(path);
      return undefined;
    }
    const { stamp } = found;
    if (stamp !== file.stamp) file.changedAtMs = Math.min(found.writtenAtMs, nowMs);
    const isResting = nowMs - file.changedAtMs > QUIET_MS;
    if (stamp === file.stamp && (file.isRested || !isResting)) return undefined;
    if (file.stamp === undefined && isResting && !this.#isLikely(file, nowMs)) {
      if (this.#kept.hasImportedFile(path, keptOf(stamp))) {
        file.stamp = stamp;
        file.isRested = true;
        return undefined;
      }
    }
    try {
      if (FOLLOWED_NAME.test(path) && this.#isLikely(file, nowMs)) await this.#follow(file, isResting);
      else await this.#readWhole(file, isResting, found.byteLength);
      file.stamp = stamp;
      file.isRested = isResting;
      if (isResting && file.report?.error == null) this.#unkept.add(file);
    } catch (error) {
      this.#forget(file);
      if (StoreError.is(error) || !isOfFile(error)) throw error;
      if (error.code === "ENOENT") return undefined;
      return this.#tell(file, { code: "IMPORT_UNREADABLE", message: error.message });
    }
    this.#letGoOfOldest(nowMs);
    return this.#tell(file, file.report?.error ?? null);
  }

  /** In how many milliseconds a file that was read will have rested, if it does; undefined where nothing of it waits for that. */
  restsInMs(path: string, nowMs: number): number | undefined {
    const file = this.#files.get(path);
    if (file?.stamp === undefined || file.isRested) return undefined;
    // A clock that was put back does not make it longer.
    return Math.min(QUIET_MS, Math.max(0, file.changedAtMs + QUIET_MS - nowMs)) + 1;
  }

  /** No file will grow any more: what is still held of them goes into the store. @throws as `visit`. */
  async close(): Promise<Visit[]> {
    const visits: Visit[] = [];
    for (const file of this.#files.values()) {
      if (file.live === undefined) continue;
      await this.#closeLive(file);
      const visit = this.#tell(file, file.report?.error ?? null);
      if (visit !== undefined) visits.push(visit);
    }
    return visits;
  }

  /**
   * Keep that what was read of files that rest need not be read by the next watch.
   *
   * @throws what `Store.noteImportedFiles` throws.
   */
  keep(): void {
    if (this.#unkept.size === 0) return;
    const states = new Map<string, string>();
    const now = this.#kept.forgetCount();
    for (const { path, stamp, isRested, forgetCount } of this.#unkept) {
      if (stamp !== undefined && isRested && forgetCount === now) states.set(path, keptOf(stamp));
    }
    if (states.size > 0) this.#kept.noteImportedFiles(states, now);
    this.#unkept.clear();
  }

  get unkeptCount(): number {
    return this.#unkept.size;
  }

  /** Whether it is likely to grow: then its reader is kept, or made, so that what comes then is there at once. */
  #isLikely({ path, live, changedAtMs }: Followed, nowMs: number): boolean {
    return FOLLOWED_NAME.test(path) && (live !== undefined || nowMs - changedAtMs <= LIVE_MS_MAX);
  }

  async #follow(file: Followed, isResting: boolean): Promise<void> {
    if (file.live === undefined) this.#begin(file);
    let growth = await file.live!.look(isResting);
    if (growth === "other") {
      this.#begin(file);
      growth = await file.live!.look(isResting);
    }
    // It may be in a format that is known when there is more of it; or in one that is read as a whole.
    const isFollowed = !file.live!.hasPaused || canFollow(file.report?.format ?? null);
    if (growth === "over" || !isFollowed) await this.#closeLive(file);
  }

  #begin(file: Followed): void {
    this.#forget(file);
    file.forgetCount = this.#kept.forgetCount();
    file.live = new LiveFile(file.path, this.#run);
  }

  async #readWhole(file: Followed, isFinished: boolean, byteLength: number): Promise<void> {
    this.#forget(file);
    const { path, isUncertain } = file;
    file.forgetCount = this.#kept.forgetCount();
    const fingerprints = new Map(file.fingerprints);
    file.report = await this.#run.read({
      path,
      chunks: chunksOf(path),
      byteLength,
      isUncertain,
      isFinished,
      fingerprints,
    });
    if (file.report.error === null) file.fingerprints = fingerprints;
  }

  /** What its reader knew is gone; what was told to the user is not told again. */
  #forget(file: Followed): void {
    file.live = undefined;
    file.stamp = undefined;
    file.report = undefined;
    file.newCountTold = 0;
  }

  async #closeLive(file: Followed): Promise<void> {
    const { live } = file;
    file.live = undefined;
    if (live === undefined) return;
    try {
      file.report = await live.close();
    } catch (error) {
      this.#forget(file);
      throw error;
    }
  }

  /** Let go of the readers of files that have not grown for long. What they hold is read again when the file rests. */
  #letGoOfOldest(nowMs: number): void {
    const live = [...this.#files.values()].filter((file) => file.live !== undefined);
    live.sort((a, b) => b.live!.grownAtMs - a.live!.grownAtMs);
    for (const [index, file] of live.entries()) {
      if (index >= LIVE_MAX || nowMs - file.live!.grownAtMs > LIVE_MS_MAX) file.live = undefined;
    }
  }

  #tell(file: Followed, error: FileReport["error"]): Visit | undefined {
    const { path, isUncertain, told } = file;
    const { format = null, sessionIds = [], newCount = 0, warnings = [] } = file.report ?? {};
    if (isUncertain && format === null && error === null) return undefined;
    const isNews = (reason: string): boolean => told.size < told.add(reason).size;
    const visit: Visit = {
      path,
      format,
      sessionIds: [...new Set(sessionIds)],
      newCount: newCount - file.newCountTold,
      warnings: warnings.filter(({ line, reason }) => isNews(`${line} ${reason}`)),
      error: error !== null && isNews(error.message) ? error : null,
    };
    file.newCountTold = newCount;
    return visit;
  }
}

/** A state as it is kept: what other versions make of a file may be more. */
function keptOf(stamp: string): string {
  return `${READING_VERSION} ${stamp}`;
}

interface Look {
  /** What changes when the file does. */
  stamp: string;
  /** Unix milliseconds. */
  writtenAtMs: number;
  byteLength: number;
}

/** Undefined where there is no file. A database's newest changes stand beside it. */
async function lookAt(path: string): Promise<Look | undefined> {
  const parts = DATABASE_NAME.test(path) ? [path, `${path}-wal`] : [path];
  const found = await Promise.all(parts.map((part) => stat(part).catch(() => undefined)));
  if (found[0]?.isFile() !== true) return undefined;
  return {
    stamp: found
      .map((one) => (one === undefined ? "" : `${one.dev} ${one.ino} ${one.size} ${one.mtimeMs} ${one.ctimeMs}`))
      .join(),
    writtenAtMs: Math.max(...found.map((one) => one?.mtimeMs ?? 0)),
    byteLength: found[0].size,
  };
}

function isOfFile(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === "string";
}
