import { Option } from "commander";
import { walkFiles } from "../../importers/files.ts";
import { IMPORT_FORMATS } from "../../importers/registry.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { type FileReport, ImportRun } from "../import-run.ts";
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

/** `import` brings conversations of other programs into the store. */
export const importCommand: Command<ImportFlags> = {
  name: "import",
  summary: "Bring transcripts of other programs into the store, and summarize them.",
  details:
    "Formats are told by content. Folders are searched for *.jsonl, *.json and *.db files, `-` is standard input. What was " +
    "imported before is not imported again, so a file that has grown can be given again. Lines that cannot be read are " +
    "reported and cost no other line. " +
    "With --json: {files, sessionCount, newCount, knownCount, passedOverCount, isDryRun, warningCount, summaries}.",
  arguments: [{ name: "<paths...>", meaning: "files, folders and patterns" }],
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

  async run({ args: paths, options: { format, project, strict = false, dryRun = false }, stores, terminal, json }) {
    const run = new ImportRun(dryRun ? await stores.openToTry() : stores.openToWrite(), {
      format,
      ...(project === undefined ? {} : { project }),
      onProgress: ({ path, newCount, knownCount }) =>
        terminal.progress(`${oneLine(path)}: ${formatCount(newCount + knownCount, "message")}`),
      onEmbedding: ({ waiting }) => terminal.progress(`embedding: ${formatCount(waiting, "message")} to go`),
    });
    const files: FileReport[] = [];
    let passedOverCount = 0;
    for await (const file of walkFiles(paths)) {
      const report = await run.read(file);
      if (file.isPossible && report.format === null && report.error === null) {
        passedOverCount += 1;
        continue;
      }
      files.push(report);
      if (!json) for (const line of warningLines(report, paths)) terminal.note(line);
    }
    const summaries = dryRun
      ? { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 }
      : await run.resolve((doneCount) =>
          terminal.progress(`summarizing: ${formatNumber(doneCount)} of ${formatCount(run.sessionCount, "session")}`),
        );
    const sum = (count: (file: FileReport) => number): number => files.reduce((total, file) => total + count(file), 0);
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

function warningCountOf({ warnings, error }: FileReport): number {
  return warnings.length + (error === null ? 0 : 1);
}

/** What is wrong with a file. Where it is one that was named and cannot be read, that is said at the end. */
function* warningLines({ path, warnings, error }: FileReport, paths: readonly string[]): Generator<string> {
  for (const { line, reason } of warnings) yield oneLine(`${path}:${line === null ? "" : `${line}:`} ${reason}`);
  if (error !== null && !paths.includes(path)) yield oneLine(`${path}: ${error.message}`);
}

const COLUMNS: readonly Column<FileReport>[] = [
  { header: "File", text: ({ path }) => oneLine(path), widthMin: 24, cut: "start" },
  { header: "Format", text: ({ format }) => format ?? "", expendable: true },
  { header: "Sessions", text: ({ sessionIds }) => formatNumber(sessionIds.length), align: "right" },
  { header: "New", text: ({ newCount }) => formatNumber(newCount), align: "right" },
  { header: "Already there", text: ({ knownCount }) => formatNumber(knownCount), align: "right" },
  { header: "Warnings", text: (file) => formatNumber(warningCountOf(file)), align: "right" },
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
  yield* tableLines(COLUMNS, files, terminal);
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
