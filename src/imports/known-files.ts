import { hash } from "node:crypto";
import type { Importer, ImportFile } from "../importers/importer.ts";
import { isNotYet } from "../importers/message-event.ts";
import { canFollow, IMPORTERS, READING_VERSION } from "../importers/registry.ts";
import type { FoundInFile, ImportedFile, KnownPart } from "../session/moving/intake.ts";
import type { OpenedStore } from "../session/opened-store.ts";
import { type FileReport, type ImportRun, reportOf } from "./import-run.ts";

/** The state of a file in which more may be found when it is read again. */
const UNKNOWN = "";

/** Rows are written together, because each transaction takes a lock. */
const ROWS_MAX = 256;

/**
 * The files that the store knows to have been imported. One that was read whole is not read again until it changes. Of one that has
 * grown, only the messages that are new are compared with the store.
 */
export class KnownFiles {
  readonly #run: ImportRun;
  readonly #store: OpenedStore;
  readonly #importers: readonly Importer[];
  readonly #ownNames: readonly string[];
  readonly #forgetCount: number;
  /** The rows of this import, and those of them that are not in the store. */
  readonly #rows: ImportedFile[] = [];
  #unkept: ImportedFile[] = [];

  constructor(run: ImportRun, store: OpenedStore, importers: readonly Importer[]) {
    this.#run = run;
    this.#store = store;
    this.#importers = importers;
    this.#ownNames = importers.filter((importer) => !IMPORTERS.includes(importer)).map(({ name }) => name);
    this.#forgetCount = store.forgetCount();
  }

  /** Returns those of the files that have not changed since they were imported whole, and what was found in them. */
  among<F extends Pick<ImportFile, "path" | "stamp">>(files: readonly F[]): Map<F, FoundInFile> {
    const policy = this.#run.policy();
    const unchanged = new Map<F, FoundInFile>();
    this.#store.repositories.database.read(() => {
      for (const file of files) {
        const found = file.stamp === undefined ? undefined : this.found(file.path, file.stamp, policy);
        if (found !== undefined) unchanged.set(file, found);
      }
    });
    return unchanged;
  }

  found(path: string, stamp: string, policy: string): FoundInFile | undefined {
    const last = this.#store.intake.foundInFile(path, this.#stateOf(stamp, policy));
    return last?.isUnchanged === true ? last.found : undefined;
  }

  /** Returns the part of a file that an import has read. It may be another file now. */
  partOf(path: string, policy = this.#run.policy()): KnownPart | undefined {
    const part = this.#store.intake.foundInFile(path, UNKNOWN)?.found.part;
    return part?.rules === this.#rulesOf(policy) ? part : undefined;
  }

  /** Takes note of a file, if a later import need not read it, or not all of it. @param part  See `ImportRun.takePart`. */
  note(file: ImportFile, report: FileReport, part: KnownPart | undefined): void {
    const stamp = this.isReadWhole(report, file.isFinished) ? file.stamp : undefined;
    const row = this.rowOf(report, stamp, this.#run.policy(), part);
    if (row === undefined) return;
    this.#rows.push(row);
    this.#unkept.push(row);
    if (this.#rows.length % ROWS_MAX === 0) this.keep(false);
  }

  keep(isSummarized: boolean): void {
    const awaiting = this.#run.awaitingPaths();
    const rows = (isSummarized ? this.#rows : this.#unkept).filter(({ path }) => !awaiting.has(path));
    for (const { found } of rows) found.isSummarized = isSummarized || found.sessionIds.length === 0;
    if (rows.length > 0) this.#store.intake.noteFiles(rows, this.#forgetCount);
    this.#unkept = this.#unkept.filter(({ path }) => awaiting.has(path));
  }

  /**
   * Returns the row of a file, or undefined if it must be read again.
   *
   * @param stamp  Undefined if more may be found in the same bytes.
   */
  rowOf(
    report: FileReport,
    stamp: string | undefined,
    policy: string,
    part: KnownPart | undefined,
  ): ImportedFile | undefined {
    if (stamp === undefined && part === undefined) return undefined;
    const { path, format, newCount, knownCount, forgottenCount, excludedCount, error } = report;
    // A later version of a custom importer may read more from the file.
    if (error !== null || (format !== null && this.#ownNames.includes(format))) return undefined;
    const sessionIds = [...new Set(report.sessionIds)];
    const messageCount = newCount + knownCount;
    const found: FoundInFile = { format, sessionIds, messageCount, forgottenCount, excludedCount, isSummarized: true };
    if (part !== undefined) found.part = { ...part, rules: this.#rulesOf(policy) };
    return { path, state: stamp === undefined ? UNKNOWN : this.#stateOf(stamp, policy), found };
  }

  /**
   * Returns true if another reading of the same bytes would find no more, although the file may still grow. Formats that are not of
   * lines may be spread over several files, of which only one is looked at.
   */
  isReadWhole({ format, warnings, ...counts }: FileReport, isFinished = false): boolean {
    if (isFinished || format === null) return true;
    const { newCount, knownCount, forgottenCount, excludedCount } = counts;
    const hasFound = newCount + knownCount + forgottenCount + excludedCount > 0;
    return hasFound && canFollow(format, this.#importers) && !warnings.some(isNotYet);
  }

  /** The state names the importers and what is left out, because another import may read more from the file. */
  #stateOf(stamp: string, policy: string): string {
    return `${this.#rulesOf(policy)} ${stamp}`;
  }

  #rulesOf(policy: string): string {
    return hash("sha256", [READING_VERSION, ...this.#ownNames, policy].join(" "), "base64");
  }
}

export function unchangedReport(path: string, found: FoundInFile): FileReport {
  const { format, sessionIds, messageCount: knownCount, forgottenCount, excludedCount } = found;
  return reportOf(path, { format, sessionIds, knownCount, forgottenCount, excludedCount, isUnchanged: true });
}
