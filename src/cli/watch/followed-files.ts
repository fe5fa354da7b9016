import { stat } from "node:fs/promises";
import { StoreError } from "../../core/errors.ts";
import { chunksOf } from "../../importers/files.ts";
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
  noteImportedFiles(states: ReadonlyMap<string, string>): void;
}

interface Followed {
  path: string;
  isPossible: boolean;
  /** Its reader, as long as it is likely to grow. */
  live: LiveFile | undefined;
  /** Its size, its times and the like, when it was last brought into the store. */
  stamp: string | undefined;
  /** Of a database: what its sessions looked like then. */
  seen: Map<string, string>;
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

/** After which a file's times change when it is written to: file systems keep them to two seconds at worst. */
const SETTLED_MS = 3_000;

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

  /** @param isPossible  Whether it is passed over where it is in no format that is known. */
  add(path: string, isPossible: boolean): void {
    if (this.#files.has(path)) return;
    this.#files.set(path, {
      path,
      isPossible,
      live: undefined,
      stamp: undefined,
      seen: new Map(),
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
    const stamp = await stampOf(path);
    if (stamp === undefined) {
      this.#files.delete(path);
      return undefined;
    }
    if (stamp === file.stamp) return undefined;
    if (
      file.stamp === undefined &&
      (await this.#isLeft(path, nowMs)) &&
      this.#kept.hasImportedFile(path, keptOf(stamp))
    ) {
      file.stamp = stamp;
      return undefined;
    }
    try {
      if (FOLLOWED_NAME.test(path)) await this.#follow(file);
      else await this.#readWhole(file);
      file.stamp = stamp;
      if (file.report?.error == null) this.#unkept.add(file);
    } catch (error) {
      this.#forget(file);
      if (StoreError.is(error) || !isOfFile(error)) throw error;
      if (error.code === "ENOENT") return undefined;
      return this.#tell(file, { code: "IMPORT_UNREADABLE", message: error.message });
    }
    await this.#closeOldest(nowMs);
    return this.#tell(file, file.report?.error ?? null);
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
   * Keep that what was read so far need not be read by the next watch. Of a file that has changed just now that is not sure:
   * it may change again, and its times stay the same.
   *
   * @throws what `Store.noteImportedFiles` throws.
   */
  async keep(nowMs: number): Promise<void> {
    const states = new Map<string, string>();
    const unkept = this.#unkept;
    this.#unkept = new Set();
    for (const file of unkept) {
      const { path, stamp } = file;
      const found = await stat(path).catch(() => undefined);
      if (found === undefined || stamp === undefined) continue;
      if (nowMs - found.mtimeMs < SETTLED_MS || stamp !== (await stampOf(path))) this.#unkept.add(file);
      else states.set(path, keptOf(stamp));
    }
    if (states.size > 0) this.#kept.noteImportedFiles(states);
  }

  get unkeptCount(): number {
    return this.#unkept.size;
  }

  /** Whether it is not likely to grow. Others are read once by each watch, so that what comes then is there at once. */
  async #isLeft(path: string, nowMs: number): Promise<boolean> {
    if (!FOLLOWED_NAME.test(path)) return true;
    const found = await stat(path).catch(() => undefined);
    return found !== undefined && nowMs - found.mtimeMs > LIVE_MS_MAX;
  }

  async #follow(file: Followed): Promise<void> {
    if (file.live === undefined) this.#begin(file);
    let growth = await file.live!.look();
    if (growth === "other") {
      this.#begin(file);
      growth = await file.live!.look();
    }
    // It may be in a format that is known when there is more of it; or in one that is read as a whole.
    const isFollowed = !file.live!.hasPaused || canFollow(file.report?.format ?? null);
    if (growth === "over" || !isFollowed) await this.#closeLive(file);
  }

  #begin(file: Followed): void {
    this.#forget(file);
    file.live = new LiveFile(file.path, this.#run);
  }

  async #readWhole(file: Followed): Promise<void> {
    this.#forget(file);
    const { path, isPossible } = file;
    const seen = new Map(file.seen);
    file.report = await this.#run.read({ path, chunks: chunksOf(path), isPossible, seen });
    if (file.report.error === null) file.seen = seen;
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

  /** Let go of the readers of files that have not grown for long. */
  async #closeOldest(nowMs: number): Promise<void> {
    const live = [...this.#files.values()].filter((file) => file.live !== undefined);
    live.sort((a, b) => b.live!.grownAtMs - a.live!.grownAtMs);
    for (const [index, file] of live.entries()) {
      const isLeft = index >= LIVE_MAX || nowMs - file.live!.grownAtMs > LIVE_MS_MAX;
      // What fails now is read again when the file is looked at next.
      if (isLeft) await this.#closeLive(file).catch(() => {});
    }
  }

  #tell(file: Followed, error: FileReport["error"]): Visit | undefined {
    const { path, isPossible, told } = file;
    const { format = null, sessionIds = [], newCount = 0, warnings = [] } = file.report ?? {};
    if (isPossible && format === null && error === null) return undefined;
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

/** What changes when the file does; undefined where there is none. A database's newest changes stand beside it. */
async function stampOf(path: string): Promise<string | undefined> {
  const parts = DATABASE_NAME.test(path) ? [path, `${path}-wal`] : [path];
  const found = await Promise.all(parts.map((part) => stat(part).catch(() => undefined)));
  if (found[0]?.isFile() !== true) return undefined;
  return found
    .map((one) => (one === undefined ? "" : `${one.dev} ${one.ino} ${one.size} ${one.mtimeMs} ${one.ctimeMs}`))
    .join();
}

function isOfFile(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === "string";
}
