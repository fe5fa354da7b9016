import { homedir } from "node:os";
import { Option } from "commander";
import { IMPORT_FORMATS } from "../../importers/formats.ts";
import type { FileReport, ImportRun } from "../../imports/import-run.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { interruptible } from "../interruption.ts";
import { Progress } from "../progress.ts";
import { type Column, tableLines } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatNumber, oneLine } from "../text.ts";

interface ImportFlags {
  format: string;
  project?: string;
  strict?: true;
  dryRun?: true;
}

interface ImportReport {
  files: FileReport[];
  sessionCount: number;
  newCount: number;
  knownCount: number;
  /** Files of folders that are in no format that is known. */
  passedOverCount: number;
  isDryRun: boolean;
  /** Warnings, and files that could not be read. */
  warningCount: number;
  summaries: Awaited<ReturnType<ImportRun["resolve"]>>;
}

export const command: Command<ImportFlags> = {
  details:
    "Formats are told by content. Folders are searched for *.jsonl, *.json and *.db files, `-` is standard input. What was " +
    "imported before is not imported again, so a file that has grown can be given again. Lines that cannot be read are " +
    "reported and cost no other line. `coppice watch --once` finds the folders of your agents by itself. " +
    "With --json: {files, sessionCount, newCount, knownCount, passedOverCount, isDryRun, warningCount, summaries}.",
  argument: "files, folders and patterns; without any, shows what agents keep here",
  options: [
    new Option("--format <format>", "of the files").choices(IMPORT_FORMATS).default("auto"),
    new Option("--project <name>", "the project of the sessions, whatever the files say"),
    new Option("--strict", "fail if there is any warning"),
    new Option("--dry-run", "say what would be imported, and import nothing"),
  ],
  examples: [
    "~/.claude/projects",
    "~/.gemini/tmp ~/.codex/sessions --dry-run",
    "notes.jsonl --format jsonl --project web",
    "- < chat.jsonl",
  ],

  async run({ args: paths, options: { format, project, strict = false, dryRun = false }, loadStores, terminal, json }) {
    if (paths.length === 0) throw await nothingNamed();
    const { walkFiles } = await import("../../importers/files.ts");
    const { ImportRun } = await import("../../imports/import-run.ts");
    const stores = await loadStores();
    const store = dryRun ? await stores.openToTry() : stores.openToWrite();
    const files: FileReport[] = [];
    let passedOverCount = 0;
    const sum = (count: (file: FileReport) => number): number => files.reduce((total, file) => total + count(file), 0);
    const hint = dryRun ? "Nothing was imported." : "What was read by then is in the store. Run it again for the rest.";
    const { run, summaries } = await interruptible(hint, async (signal) => {
      const reading = new Progress(terminal, "messages");
      const summarizing = new Progress(terminal, "summarizing sessions");
      const run = new ImportRun(store, {
        format,
        ...(project === undefined ? {} : { project }),
        onProgress: ({ path, newCount, knownCount }) => {
          signal.throwIfAborted();
          reading.update(sum(messageCountOf) + newCount + knownCount, undefined, oneLine(path));
        },
        onEmbedding: ({ waiting }) => {
          signal.throwIfAborted();
          terminal.progress(`embedding: ${formatCount(waiting, "message")} to go`);
        },
      });
      for await (const file of walkFiles(paths)) {
        signal.throwIfAborted();
        const report = await run.read(file);
        if (file.isUncertain && report.format === null && report.error === null) {
          passedOverCount += 1;
          continue;
        }
        files.push(report);
        if (!json) for (const line of warningLines(report, paths)) terminal.note(line);
      }
      if (dryRun) return { run, summaries: { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 } };
      const summaries = await run.resolve((doneCount) => {
        signal.throwIfAborted();
        summarizing.update(doneCount, run.sessionCount);
      });
      return { run, summaries };
    });
    const report: ImportReport = {
      files,
      sessionCount: run.sessionCount,
      newCount: sum(({ newCount }) => newCount),
      knownCount: sum(({ knownCount }) => knownCount),
      passedOverCount,
      isDryRun: dryRun,
      warningCount: sum(warningCountOf),
      summaries,
    };
    return { value: report, lines: lines(report, terminal), failure: failureOf(report, paths, strict) };
  },
};

/** Says what could be imported; nothing is read that nobody named. */
async function nothingNamed(): Promise<Failure> {
  const { surveyPlaces } = await import("../../imports/survey.ts");
  const { env, platform } = process;
  const places = await surveyPlaces([], { env, platform, home: homedir() });
  const there = places.filter(({ fileCount }) => fileCount !== null && fileCount > 0);
  const named = there.map(
    ({ agent, path, fileCount }) => `${oneLine(path)} (${agent}, ${formatCount(fileCount!, "file")})`,
  );
  const hint =
    named.length === 0
      ? "No agent keeps conversations at its standard place here. `coppice help import` says what can be named."
      : `Agents keep conversations in ${named.join(", ")}. \`coppice watch --once\` brings in all of them.`;
  return new Failure("USAGE_INVALID", "Name the files or folders to import.", { hint, exitCode: 2 });
}

function messageCountOf({ newCount, knownCount }: FileReport): number {
  return newCount + knownCount;
}

function warningCountOf({ warnings, error }: FileReport): number {
  return warnings.length + (error === null ? 0 : 1);
}

/** What is wrong with a file. Where it is one that was named and cannot be read, that is said at the end. */
function* warningLines({ path, warnings, error }: FileReport, paths: readonly string[]): Generator<string> {
  for (const { line, reason } of warnings) yield oneLine(`${path}:${line === null ? "" : `${line}:`} ${reason}`);
  if (error !== null && !paths.includes(path)) yield oneLine(`${path}: ${error.message}`);
}

const COLUMNS: readonly Column<FileReport>[] = [
  { header: "File", value: ({ path }) => oneLine(path), widthMin: 24, cut: "start" },
  { header: "Format", value: ({ format }) => format ?? "", expendable: true },
  { header: "Sessions", value: ({ sessionIds }) => sessionIds.length },
  { header: "New", value: ({ newCount }) => newCount },
  { header: "Already there", value: ({ knownCount }) => knownCount },
  { header: "Warnings", value: warningCountOf },
];

function* lines(
  { files, sessionCount, newCount, knownCount, passedOverCount, isDryRun, warningCount, summaries }: ImportReport,
  terminal: Terminal,
): Generator<string> {
  if (passedOverCount > 0)
    terminal.note(`${formatCount(passedOverCount, "file")} passed over: in no format that is known.`);
  if (files.length === 0) {
    terminal.note("No transcript is there.");
    return;
  }
  // To look at, where something has come of it: an agent's folder has thousands of files, most of them known.
  const shown = terminal.width === undefined ? files : files.filter((file) => file.newCount + warningCountOf(file) > 0);
  if (shown.length > 0) yield* tableLines(COLUMNS, shown, terminal);
  const counts = [
    formatCount(files.length, "file"),
    formatCount(sessionCount, "session"),
    `${formatCount(newCount, "new message")} and ${formatNumber(knownCount)} already there`,
    formatCount(warningCount, "warning"),
  ];
  yield `${counts.join(", ")}.${isDryRun ? " Nothing was imported: this was a dry run." : ""}`;
  const { resolved, failed, deferred } = summaries;
  if (resolved > 0) yield `${formatCount(resolved, "theme")} summarized.`;
  if (failed > 0) yield `${formatCount(failed, "theme")} could not be summarized; the next import tries again.`;
  if (!isDryRun && newCount > 0) {
    terminal.hint("Next: coppice sessions, or coppice recall <what you look for>");
  }
  if (deferred > 0) yield `${formatCount(deferred, "theme")} will be summarized later.`;
}

function failureOf(
  { files, warningCount }: ImportReport,
  paths: readonly string[],
  strict: boolean,
): Failure | undefined {
  const errors = files.filter(({ path }) => paths.includes(path)).flatMap(({ error }) => error ?? []);
  if (errors.length > 0) {
    const code = errors.length === 1 ? errors[0]!.code : "IMPORT_INCOMPLETE";
    const hint = files.length > errors.length ? "The other files were imported." : "Check the path.";
    return new Failure(code, errors.map(({ message }) => message).join(" "), { hint });
  }
  if (!strict || warningCount === 0) return undefined;
  const hint = "What could be read was imported. Without --strict, warnings are no failure.";
  return new Failure("IMPORT_INCOMPLETE", `There were warnings: ${formatNumber(warningCount)}.`, { hint });
}
