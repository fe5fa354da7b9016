import { extname } from "node:path";
import * as z from "zod/mini";
import { StoreError } from "../core/errors.ts";
import { once } from "../core/once.ts";
import {
  abortSignal,
  callback,
  type FieldsOf,
  identifier,
  listOf,
  parseOptions,
  port,
  text,
  trueOrFalse,
} from "../core/schema.ts";
import { isPartOfSession, newestFirst, walkFiles } from "../importers/files.ts";
import type { Importer, ImportFile } from "../importers/importer.ts";
import type { FoundInFile } from "../session/moving/intake.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { Exclusions, Store } from "../session/store.ts";
import { EXCLUSIONS } from "../session/store-options.ts";
import { importersWith } from "./define-importer.ts";
import { addCounts, addReport, type FileReport, ImportRun, noCounts } from "./import-run.ts";
import { KnownFiles, unchangedReport } from "./known-files.ts";
import type { FileToRead } from "./known-part.ts";
import { noSummaries, type SummaryCounts, summarizeSessions } from "./summarize-sessions.ts";

export interface ImportOptions {
  /** The project of all sessions, instead of what the files say. */
  project?: string;
  /**
   * True to store secrets as they are. By default, what looks like a key, a token or a password is replaced by a
   * placeholder such as `[secret: github-token]`. `append` never looks for secrets.
   */
  keepSecrets?: boolean;
  /** Files, folders and projects to leave out, besides those that `Store.exclude` was given. */
  exclude?: Partial<Exclusions>;
  /** Importers of your own. Each file is offered to them first. */
  importers?: readonly Importer[];
  /** Ends the work after the current batch. Everything written by then stays. */
  signal?: AbortSignal;
}

export interface ImportFilesOptions extends ImportOptions {
  /** `auto` (default) recognizes each file by its content. The name of an importer reads every file in that format. */
  format?: string;
  /** True to read files that have not changed since they were imported. False by default: they are recognized without reading. */
  again?: boolean;
  /** Makes the summaries that the imported sessions lack, at the end. True by default. */
  summarize?: boolean;
  /** Called often, between small pieces of work. */
  onProgress?: (progress: ImportProgress) => void;
  /** Called when a file has been read. */
  onFile?: (report: FileReport) => void;
}

export type ImportProgress =
  /** A batch of the file was written, or its reading begins. */
  | ReadingProgress
  /** The import waits for a remote embedder. */
  | { phase: "embed"; waitingCount: number }
  | { phase: "summarize"; doneCount: number; totalCount: number };

/** How far an import has come with the files that it found. */
export interface ReadingProgress {
  phase: "read";
  /** The file that is being read. */
  path: string;
  /** All messages read so far. */
  messageCount: number;
  /** Files that were read, and files that were found. */
  doneCount: number;
  totalCount: number;
  doneBytes: number;
  totalBytes: number;
}

export interface ImportResult {
  /** A report for each file, except those that were passed over. */
  files: FileReport[];
  sessionCount: number;
  /** Messages that were added to the store. */
  newCount: number;
  /** Messages that the store already had. */
  knownCount: number;
  /** Messages that were left out, because they were forgotten. `Store.restore` lets imports bring them back. */
  forgottenCount: number;
  /** Sessions that were left out, because they are excluded. An excluded file counts as one. */
  excludedCount: number;
  /** Entries and items that were added to the store. */
  valueCount: number;
  /** How many secrets and private texts in new messages were replaced by placeholders, by kind of secret or `private`. */
  replaced: Record<string, number>;
  /** How many files were found in folders and passed over, because they are in no known format, by the ending of their names. */
  passedOver: Record<string, number>;
  /** Counts warnings, and files that could not be read to their end. */
  warningCount: number;
  /** See `Session.resolveDirty`. */
  summaries: SummaryCounts;
}

export const importFields = once(() => ({
  project: z.optional(identifier()),
  keepSecrets: z._default(trueOrFalse(), false),
  exclude: z.optional(EXCLUSIONS()),
  importers: z._default(
    listOf(port<Importer>("an importer, as defineImporter returns it", { detect: "function", read: "function" })),
    [],
  ),
  signal: z.optional(abortSignal()),
}));

const OPTIONS = once(() =>
  z.strictObject({
    ...importFields(),
    format: z._default(text(), "auto"),
    again: z._default(trueOrFalse(), false),
    summarize: z._default(trueOrFalse(), true),
    onProgress: z.optional(callback<(progress: ImportProgress) => void>()),
    onFile: z.optional(callback<(report: FileReport) => void>()),
  } satisfies FieldsOf<ImportFilesOptions>),
);

/**
 * Imports transcripts into a store. Messages that were imported before are skipped. So you can import a file again after it has
 * grown, and repeat an import that was stopped. A file that has not changed is not read again.
 *
 * @param paths  Files, folders, patterns such as `logs/**\/*.jsonl`, and `-` for standard input. Folders are searched for
 *   *.jsonl, *.json and *.db files, of which the newest are read first.
 * @throws {StoreError} `OPTION_INVALID`, `STORE_READONLY`, `STORE_BUSY`, `FILE_NOT_USABLE`; the error of an embedder that fails
 *   for ten minutes; or the signal's reason. A file that cannot be read is reported, not thrown.
 */
export async function importFiles(
  store: Store,
  paths: string | readonly string[],
  options: ImportFilesOptions = {},
): Promise<ImportResult> {
  return importFound(store, walkFiles(checkedPaths(paths)), options);
}

export async function importFound(
  store: Store,
  walked: AsyncIterable<ImportFile>,
  options: ImportFilesOptions,
): Promise<ImportResult> {
  const { summarize, again, onFile, importers: own, ...given } = parseOptions("importFiles", OPTIONS(), options);
  const { signal, onProgress } = given;
  const result: ImportResult = {
    ...{ files: [], sessionCount: 0, warningCount: 0, passedOver: {}, summaries: noSummaries() },
    ...noCounts(),
  };
  const found: ImportFile[] = [];
  for await (const file of walked) found.push(file);
  const files: FileToRead[] = newestFirst(found);
  const totals = {
    totalCount: files.length,
    totalBytes: files.reduce((sum, { byteLength = 0 }) => sum + byteLength, 0),
  };
  const done = { doneCount: 0, doneBytes: 0 };
  const importers = importersWith(own);
  const run = new ImportRun(store, {
    ...given,
    importers,
    onProgress: (report) => {
      const messageCount = readCount(result) + readCount(report);
      onProgress?.({ phase: "read", path: report.path, messageCount, ...done, ...totals });
    },
    onEmbedding: ({ waiting }) => onProgress?.({ phase: "embed", waitingCount: waiting }),
  });
  const opened = internalsOf(store);
  const known = new KnownFiles(run, opened, importers);
  const unchanged = again ? new Map<ImportFile, FoundInFile>() : known.among(files);
  const changed = files.filter((file) => !unchanged.has(file));
  // Standard input and pipes have no length, and another text each time.
  const hasPart = (file: ImportFile): boolean => file.byteLength !== undefined;
  if (!again) for (const file of changed.filter(hasPart)) file.known = known.partOf(file.path);
  run.expect(changed);
  const sessionIds = new Set<string>();
  for (const file of files) {
    signal?.throwIfAborted();
    const found = unchanged.get(file);
    const report = found === undefined ? await run.read(file) : unchangedReport(file.path, found);
    const part = found?.part ?? run.takePart(file.path);
    if (found?.isSummarized !== true) known.note(file, report, hasPart(file) ? part : undefined);
    for (const id of report.sessionIds) {
      sessionIds.add(id);
      if (found?.isSummarized !== true) run.sessionIds.add(id);
    }
    done.doneCount += 1;
    done.doneBytes += file.byteLength ?? 0;
    if (file.isUncertain && report.format === null && report.error === null) {
      if (!isPartOfSession(file.path)) addCounts(result.passedOver, { [extname(file.path)]: 1 });
      continue;
    }
    result.files.push(report);
    addReport(result, report);
    result.warningCount += report.warnings.length + (report.error === null ? 0 : 1);
    onFile?.(report);
  }
  result.sessionCount = sessionIds.size;
  known.keep(false);
  if (summarize && run.sessionIds.size > 0) {
    result.summaries = await summarizeSessions(internalsOf(store), run.sessionIds, {
      signal,
      onProgress: (doneCount) => onProgress?.({ phase: "summarize", doneCount, totalCount: run.sessionIds.size }),
    });
    const { failed, stale, deferred } = result.summaries;
    if (failed + stale + deferred === 0) known.keep(true);
  }
  return result;
}

function readCount({ newCount, knownCount, forgottenCount }: FileReport | ImportResult) {
  return newCount + knownCount + forgottenCount;
}

export function checkedPaths(given: string | readonly string[]): readonly string[] {
  const paths = typeof given === "string" ? [given] : given;
  const isUsable =
    Array.isArray(paths) && paths.length > 0 && paths.every((path) => typeof path === "string" && path !== "");
  if (isUsable) return paths;
  throw new StoreError("OPTION_INVALID", { option: "paths", expected: "a path or a list of paths", actual: given });
}
