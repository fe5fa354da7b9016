import { Option } from "commander";
import { projectNamed } from "../../core/project.ts";
import { TRANSCRIPT_BYTES_MAX } from "../../hooks/transcript.ts";
import { IMPORT_FORMATS } from "../../importers/formats.ts";
import type { AgentLocation } from "../../importers/locations.ts";
import type { ImportResult } from "../../imports/import-files.ts";
import type { FileReport } from "../../imports/import-run.ts";
import type { ImportedRows } from "../../session/moving/moved-rows.ts";
import type { Store } from "../../session/store.ts";
import type { Call, Command, Output } from "../command.ts";
import { Failure, failureFrom } from "../failure.ts";
import { interruptible } from "../interruption.ts";
import { LEAVING_OUT_OPTIONS, type LeavingOutFlags, leavingOut } from "../options.ts";
import { AGENT_COLUMNS, agentRows, readingProgress, shortPath } from "../screen/progress.ts";
import { type Column, tableLines } from "../screen/table.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatNumber, oneLine } from "../screen/text.ts";

/** How long an import may take that a hook started, and then until it has ended. The next one goes on from there. */
const HOOK_IMPORT_MS_MAX = 10 * 60_000;
const HOOK_IMPORT_GRACE_MS = 10_000;

interface ImportFlags extends LeavingOutFlags {
  format: string;
  project?: string;
  strict?: true;
  again?: true;
  dryRun?: true;
  rows?: true;
  hook?: string;
}

export const importCommand: Command<ImportFlags> = {
  usage: "import [paths...]",
  summary: "Import transcripts of other programs, and summarize them.",
  details:
    "Formats are recognized by content. Folders are searched for *.jsonl, *.json, *.md, *.db and *.vscdb files; " +
    "`-` is standard input. If a file was imported before, only its new messages are added. A file that has not changed is not read. A line that cannot be read is reported, and all others " +
    "are imported. What looks like a key, a token or a password, or stands between <private> and </private>, is replaced by a " +
    "placeholder. `coppice projects exclude` leaves out folders and projects for good. `coppice watch --once` finds the folders of your agents by itself. " +
    "--rows takes files of `export --rows`. With --json: {files, sessionCount, newCount, knownCount, forgottenCount, excludedCount, valueCount, replaced, passedOver, isDryRun, warningCount, summaries}; with --rows: {sessions}.",
  argument: "files, folders and patterns",
  options: [
    new Option("--format <format>", "the format of the files").choices(IMPORT_FORMATS).default("auto"),
    new Option("--project <project>", "the project of the sessions, by a name or a path, whatever the files say"),
    new Option("--strict", "fail if there is any warning; read all files, as with --again"),
    new Option("--again", "read also files that have not changed since they were imported"),
    new Option("--dry-run", "show what would be imported, and import nothing"),
    new Option("--rows", "take sessions with all their ids from files of `export --rows`").conflicts([
      ...["format", "project", "strict", "again", "dryRun"],
    ]),
    ...LEAVING_OUT_OPTIONS,
    // The entry in the log of the hooks that gets the result.
    new Option("--hook <id>").hideHelp(),
  ],
  examples: [
    "~/.claude/projects",
    "~/.gemini/tmp ~/.codex/sessions --dry-run",
    "notes.jsonl --format jsonl --project web",
    "- < chat.jsonl",
    "--rows session.rows",
  ],

  async run(context) {
    const { hook } = context.options;
    if (hook === undefined) return importPaths(context);
    const { HookLog } = await import("../../hooks/hook-log.ts");
    const { killAfter } = await import("../../hooks/watchdog.ts");
    const log = new HookLog(context.storePath);
    const startMs = Date.now();
    // Nobody sees it. So it ends, though the disk may not answer.
    killAfter(HOOK_IMPORT_MS_MAX + HOOK_IMPORT_GRACE_MS);
    try {
      const output = await importPaths(context);
      const failure = typeof output.failure === "function" ? output.failure() : output.failure;
      log.addImport(hook, startMs, failure?.message);
      return output;
    } catch (error) {
      log.addImport(hook, startMs, failureFrom(error).message);
      throw error;
    }
  },
};

async function importPaths({ args: paths, options, loadStores, terminal, json }: Call<ImportFlags>): Promise<Output> {
  const { strict = false, again = false, dryRun = false, format, project, hook } = options;
  if (paths.length === 0) {
    const hint = "`coppice watch --once` finds the transcripts of your agents and imports them.";
    throw new Failure("USAGE_INVALID", "Name the files or folders to import.", { hint });
  }
  if (options.rows) return importedRows((await loadStores()).openToWrite(), paths, terminal);
  const { importFound } = await import("../../imports/import-files.ts");
  const { walkFiles } = await import("../../importers/files.ts");
  const { findAgentLocations } = await import("../../imports/survey.ts");
  const stores = await loadStores();
  const store = dryRun ? await stores.openCopy() : stores.openToWrite();
  const hint = dryRun
    ? "Nothing was imported."
    : "What was read so far is in the store. Run the command again to continue.";
  const isOfHook = hook !== undefined;
  const found = walkFiles(paths, undefined, isOfHook ? { byteLengthMax: TRANSCRIPT_BYTES_MAX } : undefined);
  const result = await interruptible(hint, (interrupted) => {
    const signal = isOfHook ? AbortSignal.any([interrupted, AbortSignal.timeout(HOOK_IMPORT_MS_MAX)]) : interrupted;
    return importFound(store, found, {
      ...leavingOut(options, store),
      ...(project !== undefined && { project: projectNamed(project) }),
      format,
      again: again || strict,
      summarize: !dryRun,
      signal,
      onProgress: readingProgress(terminal, { isLogged: !json }),
      onFile: (report) => {
        if (!json) for (const line of warningLines(report, paths, terminal)) terminal.note(line);
      },
    });
  });
  return {
    value: { ...result, isDryRun: dryRun },
    lines: resultLines(result, dryRun, findAgentLocations(), terminal),
    failure: importFailure(result, paths, strict),
  };
}

const OUTCOMES: Record<ImportedRows["outcome"], string> = {
  new: "new",
  continued: "continued",
  known: "already there",
  refused: "refused",
};

const ROWS_COLUMNS: readonly Column<ImportedRows>[] = [
  { header: "Session", value: ({ sessionId }) => oneLine(sessionId), widthMin: 12 },
  { header: "Outcome", value: ({ outcome }) => OUTCOMES[outcome] },
  { header: "New", value: ({ newCount }) => newCount },
];

async function importedRows(store: Store, paths: readonly string[], terminal: Terminal): Promise<Output> {
  const { importRows } = await import("../../imports/import-rows.ts");
  const sessions = paths.flatMap((path) => importRows(store, path));
  for (const { sessionId, notes } of sessions)
    for (const note of notes) terminal.note(oneLine(`${sessionId}: ${note}`));
  const refused = sessions.flatMap(({ error }) => error ?? []);
  const value = sessions.map(({ error, ...session }) => ({
    ...session,
    error: error && { code: error.code, message: error.message },
  }));
  return {
    value: { sessions: value },
    lines: sessions.length === 0 ? ["The file has no sessions."] : tableLines(ROWS_COLUMNS, sessions, terminal),
    failure: failureOf(refused, refused[0]?.hint ?? "The other sessions were taken."),
  };
}

function warningCountOf({ warnings, error }: FileReport): number {
  return warnings.length + (error === null ? 0 : 1);
}

/** Yields a file's warnings. If the user named the file, its error is reported at the end of the command instead. */
function* warningLines(
  { path, warnings, error }: FileReport,
  paths: readonly string[],
  terminal: Terminal,
): Generator<string> {
  const file = shortPath(path, terminal);
  for (const { line, reason } of warnings) yield `${file}:${line === null ? "" : `${line}:`} ${oneLine(reason)}`;
  if (error !== null && !paths.includes(path)) yield `${file}: ${oneLine(error.message)}`;
}

/** A terminal shows more files than this by agent. */
const FILES_SHOWN_MAX = 12;

const columnsFor = (terminal: Terminal): readonly Column<FileReport>[] => [
  { header: "File", value: ({ path }) => shortPath(path, terminal), widthMin: 24, cut: "start" },
  { header: "Format", value: ({ format }) => format ?? "", expendable: true },
  { header: "Sessions", value: ({ sessionIds }) => sessionIds.length },
  { header: "New", value: ({ newCount }) => newCount },
  { header: "Already there", value: ({ knownCount }) => knownCount },
  { header: "Warnings", value: warningCountOf },
];

function* resultLines(
  result: ImportResult,
  isDryRun: boolean,
  locations: readonly AgentLocation[],
  terminal: Terminal,
): Generator<string> {
  const { files, sessionCount, newCount, knownCount, forgottenCount, excludedCount, valueCount, replaced } = result;
  const { passedOver, warningCount, summaries } = result;
  if (Object.keys(passedOver).length > 0) {
    terminal.note(`Files skipped, because their format is unknown: ${countsText(passedOver)}.`);
    terminal.hint("To read one of them anyway, name it with --format.");
  }
  if (files.length === 0) {
    terminal.note("No transcripts found.");
    return terminal.hint("A file is read whatever its name if you name it. Unpack archives first.");
  }
  // The failure says why.
  if (files.every(({ error, sessionIds }) => error !== null && sessionIds.length === 0)) return;
  // An agent's folder has thousands of files, most of them known. A person wants to see the rest.
  const shown = terminal.width === undefined ? files : files.filter((file) => file.newCount + warningCountOf(file) > 0);
  if (terminal.width !== undefined && shown.length > FILES_SHOWN_MAX) {
    yield* tableLines(AGENT_COLUMNS, agentRows(shown, locations), terminal);
  } else if (shown.length > 0) yield* tableLines(columnsFor(terminal), shown, terminal);
  const counts = [
    formatCount(files.length, "file"),
    formatCount(sessionCount, "session"),
    `${formatCount(newCount, "new message")} and ${formatNumber(knownCount)} already there`,
    formatCount(warningCount, "warning"),
  ];
  yield `${counts.join(", ")}.${isDryRun ? " Nothing was imported: this was a dry run." : ""}`;
  if (valueCount > 0) yield `${formatNumber(valueCount)} new entries and items.`;
  if (excludedCount > 0) yield `${formatCount(excludedCount, "session")} left out, because you excluded them.`;
  if (Object.keys(replaced).length > 0) yield `Replaced by placeholders: ${countsText(replaced)}.`;
  if (forgottenCount > 0) yield `${formatCount(forgottenCount, "message")} left out, because you forgot them.`;
  const { resolved, failed, deferred, lastError } = summaries;
  if (resolved > 0) yield `${formatCount(resolved, "cluster")} summarized.`;
  if (failed > 0) {
    yield `${formatCount(failed, "cluster")} could not be summarized; the next import tries again. The last error: ${lastError!.message}`;
  }
  if (deferred > 0) yield `${formatCount(deferred, "cluster")} will be summarized later.`;
  if (!isDryRun && newCount > 0) terminal.hint("Next: coppice sessions, or coppice recall <what you look for>");
}

/** `2 aws-access-key, 1 private`. */
function countsText(counts: Readonly<Record<string, number>>): string {
  const kinds = Object.entries(counts).sort(([, left], [, right]) => right - left);
  return kinds.map(([kind, count]) => `${formatNumber(count)} ${kind}`).join(", ");
}

/** Returns a failure that tells all errors; undefined if there are none. */
function failureOf(
  errors: readonly { code: string; message: string }[],
  hint: string | undefined,
): Failure | undefined {
  if (errors.length === 0) return undefined;
  const code = errors.length === 1 ? errors[0]!.code : "IMPORT_INCOMPLETE";
  return new Failure(code, errors.map(({ message }) => message).join(" "), { hint });
}

function importFailure(
  { files, warningCount }: ImportResult,
  paths: readonly string[],
  strict: boolean,
): Failure | undefined {
  const errors = files.filter(({ path }) => paths.includes(path)).flatMap(({ error }) => error ?? []);
  if (errors.length > 0) {
    const isMissing = errors.some(({ code }) => code === "FILE_NOT_FOUND");
    const hint = isMissing ? "Check the path." : undefined;
    return failureOf(errors, files.length > errors.length ? "The other files were imported." : hint);
  }
  if (!strict || warningCount === 0) return undefined;
  const hint = "Everything readable was imported. Without --strict, warnings are not a failure.";
  return new Failure("IMPORT_INCOMPLETE", `There were warnings: ${formatNumber(warningCount)}.`, { hint });
}
