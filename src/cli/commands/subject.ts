import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { wholeNumberOption } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, oneLine } from "../text.ts";
import { countsOf, decidedRows, fileLines, openRows, partLines, sizeLine, timeIn, workedRows } from "../work-lines.ts";

type Page = ReturnType<Store["subject"]>;

const LIMIT_DEFAULT = 10;

export const subjectCommand: Command<{ limit: number }> = {
  usage: "subject <handle>",
  summary: "Show what came of a subject: when, what was decided, what is open, which files.",
  details:
    "Every line is quoted from a message, and `expand` accepts what stands behind it. Open are errors after which the " +
    "same call did not succeed, questions at the end of a session, and tasks that its last list has not completed. " +
    "With --json: one object with timeline, decided, open and files.",
  argument: "a handle such as subject:77@460; `coppice subjects` lists them",
  options: [wholeNumberOption("limit", "most lines of each kind", 0, PAGE_LIMIT_MAX).default(LIMIT_DEFAULT)],
  examples: ["subject:77@460", "subject:77 --limit 30 --json"],

  async run({ args: [handle], options, loadStores, terminal }) {
    const page = (await loadStores()).openToRead().subject(handle!, options);
    return { value: page, lines: pageLines(page, terminal) };
  },
};

function* pageLines(page: Page, terminal: Terminal): Generator<string> {
  const { subject, project, title, clusterCount, timeline, decided, open, files, firstAtMs, lastAtMs } = page;
  yield `${terminal.style("bold", oneLine(title || "(no words)"))}  ${terminal.style("cyan", subject)}`;
  const times = `${timeIn(terminal, firstAtMs)} – ${timeIn(terminal, lastAtMs)}`;
  yield sizeLine([times, project && oneLine(project), ...countsOf(page)]);
  yield "";
  if (timeline.length < clusterCount) yield `  … ${formatCount(clusterCount - timeline.length, "earlier cluster")}`;
  yield* partLines("timeline", workedRows(timeline, terminal), terminal);
  yield* partLines("decided", decidedRows(decided), terminal);
  yield* partLines("open", openRows(open), terminal);
  yield* fileLines(files, terminal);
  const newest = timeline.at(-1);
  if (newest !== undefined) terminal.hint(`Next: coppice expand ${newest.cluster}, for its messages word for word`);
}
