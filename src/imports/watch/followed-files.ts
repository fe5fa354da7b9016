import { StoreError } from "../../core/errors.ts";
import { chunksOf, lookAt, QUIET_MS } from "../../importers/files.ts";
import type { Importer } from "../../importers/importer.ts";
import { canFollow, IMPORTERS } from "../../importers/registry.ts";
import type { ImportedFile, KnownPart } from "../../session/moving/intake.ts";
import type { OpenedStore } from "../../session/opened-store.ts";
import type { FileReport, ImportRun } from "../import-run.ts";
import { KnownFiles } from "../known-files.ts";
import { type FileToRead, PartChanged } from "../known-part.ts";
import { LiveFile } from "./live-file.ts";
import type { FoundFile } from "./watched-paths.ts";

export type WatchEvent =
  /** New messages of a file are in the store. */
  | { event: "imported"; path: string; format: string | null; sessionIds: readonly string[]; newCount: number }
  /** Something in a file did not become a message. `line` is null if the warning is about the whole file. */
  | { event: "warning"; path: string; line: number | null; reason: string }
  /** Everything that existed at the start is in the store. */
  | { event: "caught_up"; fileCount: number; newCount: number }
  /** The store or its embedder cannot accept messages now. Nothing is lost. */
  | { event: "waiting"; code: string; reason: string; retryInMs: number }
  /** The system refuses to watch more folders. All folders are scanned regularly instead. */
  | { event: "polling"; reason: string; everyMs: number };

/** The report of one visit, without the warnings and counts of earlier visits. */
export type Visit = Omit<
  FileReport,
  "isUnchanged" | "knownCount" | "forgottenCount" | "excludedCount" | "valueCount" | "replaced"
>;

interface FollowedFile {
  path: string;
  isUncertain: boolean;
  /** Size, times and inode when the file was last read. */
  stamp: string | undefined;
  isProof: boolean;
  /** True if the importer held nothing back at the last reading. */
  isComplete: boolean;
  /** The store's `forgetCount()` before the first byte was read. */
  forgetCount: number;
  policy: string;
  /** When the file was last seen to change, in Unix milliseconds. */
  changedAtMs: number;
  fingerprints: Map<string, string>;
  report: FileReport | undefined;
  /** How much of `report.newCount` was reported. */
  newCountReported: number;
  reasonsReported: Set<string>;
}

const LIVE_MAX = 32;

/** A reader is dropped if its file has not grown for this long, in milliseconds. */
const LIVE_MS_MAX = 24 * 60 * 60 * 1_000;

const LIVE_NAME = /\.jsonl$/;

/**
 * The files of a watch. A transcript with an entry on each line has a live reader, which reads on. Any other file is read again
 * when it has changed.
 */
export class FollowedFiles {
  readonly #run: ImportRun;
  readonly #store: OpenedStore;
  readonly #importers: readonly Importer[];
  readonly #known: KnownFiles;
  readonly #files = new Map<string, FollowedFile>();
  readonly #live = new Map<FollowedFile, LiveFile>();
  readonly #unkept = new Set<FollowedFile>();

  constructor(run: ImportRun, store: OpenedStore, importers = IMPORTERS) {
    this.#run = run;
    this.#store = store;
    this.#importers = importers;
    this.#known = new KnownFiles(run, store, importers);
  }

  add(path: string, isUncertain: boolean): void {
    if (this.#files.has(path)) return;
    this.#files.set(path, {
      path,
      isUncertain,
      stamp: undefined,
      isProof: false,
      isComplete: false,
      forgetCount: 0,
      policy: "",
      changedAtMs: Number.POSITIVE_INFINITY,
      fingerprints: new Map(),
      report: undefined,
      newCountReported: 0,
      reasonsReported: new Set(),
    });
  }

  isLive(path: string): boolean {
    const file = this.#files.get(path);
    return file !== undefined && this.#live.has(file);
  }

  /** Returns those of the files that have not changed since an earlier import. They need no visit until they change. */
  passOver(files: readonly FoundFile[]): Set<string> {
    const policy = this.#run.policy();
    const known = new Set<string>();
    for (const [{ path, stamp, writtenAtMs = 0 }, { isSummarized }] of this.#known.among(files)) {
      const file = this.#files.get(path);
      if (file === undefined || stamp === undefined || !isSummarized) continue;
      Object.assign(file, { stamp, policy, isComplete: true, changedAtMs: Math.min(writtenAtMs, Date.now()) });
      known.add(path);
    }
    return known;
  }

  /** Takes note of the files that will be visited next, in this order, so that the reading of the first visit is ahead. */
  expect(paths: readonly string[], nowMs: number): void {
    const policy = this.#run.policy();
    const files: FileToRead[] = [];
    for (const path of paths) {
      const file = this.#files.get(path);
      const found = lookAt(path);
      if (file === undefined || found === undefined || file.stamp !== undefined) continue;
      const changedAtMs = Math.min(found.writtenAtMs, nowMs);
      const isQuiet = nowMs - changedAtMs > QUIET_MS;
      if (this.#isToBeLive(file, changedAtMs, nowMs)) continue;
      if (this.#isKnown(path, found.stamp, policy)) continue;
      files.push(this.#wholeFile({ ...file, policy }, isQuiet, found.byteLength));
    }
    this.#run.expect(files);
  }

  note(report: FileReport): void {
    const file = this.#files.get(report.path);
    if (file !== undefined) file.report = report;
  }

  /**
   * Imports what is new in a file.
   *
   * @returns undefined if there is nothing to report: the file has not changed, is gone, or was imported by an earlier watch.
   * @throws what `ImportRun.read` throws. The next visit then reads the file from its beginning.
   */
  async visit(path: string, nowMs: number): Promise<Visit | undefined> {
    const file = this.#files.get(path);
    if (file === undefined) return undefined;
    const found = lookAt(path);
    if (found === undefined) {
      this.#live.delete(file);
      this.#files.delete(path);
      return undefined;
    }
    const { stamp } = found;
    const policy = this.#run.policy();
    if (policy !== file.policy) this.#reset(file);
    file.policy = policy;
    if (stamp !== file.stamp) file.changedAtMs = Math.min(found.writtenAtMs, nowMs);
    const isQuiet = nowMs - file.changedAtMs > QUIET_MS;
    if (stamp === file.stamp && (file.isComplete || !isQuiet)) return undefined;
    if (file.stamp === undefined && this.#isKnown(path, stamp, policy)) {
      file.stamp = stamp;
      file.isComplete = true;
      return undefined;
    }
    const isGrowing = this.#isToBeLive(file, file.changedAtMs, nowMs);
    try {
      if (isGrowing) await this.#readOn(file, isQuiet);
      else await this.#readWhole(file, isQuiet, found.byteLength);
      Object.assign(file, { stamp, isProof: found.isProof });
      const { report } = file;
      file.isComplete = isQuiet || (!isGrowing && report !== undefined && this.#known.isReadWhole(report));
      if (report?.error == null) this.#unkept.add(file);
    } catch (error) {
      this.#reset(file);
      if (StoreError.is(error) || !isFileSystemError(error)) throw error;
      if (error.code === "ENOENT") return undefined;
      return visitOf(file, { code: "IMPORT_UNREADABLE", message: error.message });
    }
    this.#dropOldReaders(nowMs);
    return visitOf(file, file.report?.error ?? null);
  }

  /** Returns the milliseconds until a file counts as quiet, or undefined if its importer holds nothing back. */
  quietInMs(path: string, nowMs: number): number | undefined {
    const file = this.#files.get(path);
    if (file?.stamp === undefined || file.isComplete) return undefined;
    // The wait must not grow when the clock is set back.
    return Math.min(QUIET_MS, Math.max(0, file.changedAtMs + QUIET_MS - nowMs)) + 1;
  }

  /** Ends all readers and imports what they hold back. @throws like `visit`. */
  async close(): Promise<Visit[]> {
    const visits: Visit[] = [];
    for (const [file, live] of [...this.#live]) {
      await this.#closeReader(file, live);
      const visit = visitOf(file, file.report?.error ?? null);
      if (visit !== undefined) visits.push(visit);
    }
    return visits;
  }

  /** Tells the store what the next watch need not read again. @throws what `noteImportedFiles` throws. */
  keep(): void {
    if (this.#unkept.size === 0) return;
    const rows: ImportedFile[] = [];
    const forgetCount = this.#store.forgetCount();
    const awaiting = this.#run.awaitingPaths();
    for (const file of this.#unkept) {
      const { path, stamp, isProof, isComplete, report, policy } = file;
      const part = this.#run.takePart(path);
      if (report === undefined || file.forgetCount !== forgetCount || awaiting.has(path)) continue;
      const row = this.#known.rowOf(report, isComplete && isProof ? stamp : undefined, policy, part);
      if (row !== undefined) rows.push(row);
    }
    if (rows.length > 0) this.#store.intake.noteFiles(rows, forgetCount);
    this.#unkept.clear();
  }

  #isKnown(path: string, stamp: string, policy: string): boolean {
    return this.#known.found(path, stamp, policy)?.isSummarized === true;
  }

  /** Files that were written lately get readers that read on. At the start, only the newest get them. */
  #isToBeLive(file: FollowedFile, changedAtMs: number, nowMs: number): boolean {
    if (this.#live.has(file)) return true;
    if (!LIVE_NAME.test(file.path) || nowMs - changedAtMs > LIVE_MS_MAX) return false;
    return file.stamp !== undefined || this.#live.size < LIVE_MAX;
  }

  async #readOn(file: FollowedFile, isQuiet: boolean): Promise<void> {
    let live = this.#live.get(file) ?? this.#startReader(file, this.#known.partOf(file.path, file.policy));
    let growth = await live.look(isQuiet).catch((error) => {
      if (error instanceof PartChanged) return "other";
      throw error;
    });
    if (growth === "other") {
      live = this.#startReader(file);
      growth = await live.look(isQuiet);
    }
    const isFollowed = !live.hasPaused || canFollow(file.report?.format ?? null, this.#importers);
    // Until its format is known, a grown file is read from its beginning.
    if (growth === "over" || !isFollowed) await this.#closeReader(file, live);
  }

  #startReader(file: FollowedFile, known?: KnownPart): LiveFile {
    this.#reset(file);
    file.forgetCount = this.#store.forgetCount();
    const live = new LiveFile({ path: file.path, known }, this.#run);
    this.#live.set(file, live);
    return live;
  }

  async #readWhole(file: FollowedFile, isFinished: boolean, byteLength: number): Promise<void> {
    this.#reset(file);
    file.forgetCount = this.#store.forgetCount();
    const whole = this.#wholeFile(file, isFinished, byteLength);
    file.report = await this.#run.read(whole);
    if (file.report.error === null) file.fingerprints = whole.fingerprints!;
  }

  #wholeFile(file: FollowedFile, isFinished: boolean, byteLength: number): FileToRead {
    const { path, isUncertain, fingerprints, policy } = file;
    const known = this.#known.partOf(path, policy);
    const chunks = chunksOf(path);
    return { path, chunks, byteLength, isUncertain, isFinished, known, fingerprints: new Map(fingerprints) };
  }

  /** Drops the reader. Reported warnings stay reported. */
  #reset(file: FollowedFile): void {
    this.#live.delete(file);
    file.stamp = undefined;
    file.report = undefined;
    file.newCountReported = 0;
  }

  async #closeReader(file: FollowedFile, live: LiveFile): Promise<void> {
    this.#live.delete(file);
    try {
      file.report = await live.close();
    } catch (error) {
      this.#reset(file);
      if (!(error instanceof PartChanged)) throw error;
      const whole = this.#startReader(file);
      await whole.look(false);
      await this.#closeReader(file, whole);
    }
  }

  /** Drops the readers of files that have not grown for long. Such a file is read again when it is quiet. */
  #dropOldReaders(nowMs: number): void {
    const live = [...this.#live].sort(([, left], [, right]) => right.grownAtMs - left.grownAtMs);
    for (const [index, [file, { grownAtMs }]] of live.entries()) {
      if (index >= LIVE_MAX || nowMs - grownAtMs > LIVE_MS_MAX) this.#live.delete(file);
    }
  }
}

export function* eventsOfVisit({ path, format, sessionIds, newCount, warnings, error }: Visit): Generator<WatchEvent> {
  for (const { line, reason } of warnings) yield { event: "warning", path, line, reason };
  if (error !== null) yield { event: "warning", path, line: null, reason: error.message };
  if (newCount > 0) yield { event: "imported", path, format, sessionIds, newCount };
}

/** Returns undefined for an uncertain file in no known format. */
function visitOf(file: FollowedFile, error: FileReport["error"]): Visit | undefined {
  const { path, isUncertain, reasonsReported } = file;
  const { format = null, sessionIds = [], newCount = 0, warnings = [] } = file.report ?? {};
  if (isUncertain && format === null && error === null) return undefined;
  const isNews = (reason: string): boolean => reasonsReported.size < reasonsReported.add(reason).size;
  const visit: Visit = {
    path,
    format,
    sessionIds: [...new Set(sessionIds)],
    newCount: newCount - file.newCountReported,
    warnings: warnings.filter(({ line, reason }) => isNews(`${line} ${reason}`)),
    error: error !== null && isNews(error.message) ? error : null,
  };
  file.newCountReported = newCount;
  return visit;
}

function isFileSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === "string";
}
