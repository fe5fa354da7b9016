import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import type { Unreadable } from "../../session/export.ts";
import { projectNamer } from "../../session/project-meant.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { wholeNumberOption } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount } from "../text.ts";
import { countsOf, extentLine, outcomeLines, sectionLines, titleLine, workedRows } from "../topic-lines.ts";
import { LEFT_OUT_HINT, unreadableFailure } from "../unreadable.ts";

type SubjectDetails = ReturnType<Store["subject"]>;

const LIMIT_DEFAULT = 10;

export const subjectCommand: Command<{ limit: number }> = {
  usage: "subject <handle>",
  summary: "Show a subject: its clusters over time, its decisions, its open ends and its files.",
  details:
    "Every line is quoted from a message, and ends with the message or handle that `expand` accepts. Open ends are errors " +
    "without a later success of the same call, questions at the end of a session, and unfinished tasks of its last task " +
    "list. With --json: one object with timeline, decided, open and files.",
  argument: "a handle such as subject:77@460; `coppice subjects` lists them",
  options: [wholeNumberOption("limit", "most lines of each kind", 0, PAGE_LIMIT_MAX).default(LIMIT_DEFAULT)],
  paged: true,
  examples: ["subject:77@460", "subject:77 --limit 30 --json"],

  async run({ args: [handle], options, loadStores, terminal }) {
    const unreadable: Unreadable[] = [];
    const onUnreadable = (damaged: Unreadable): void => void unreadable.push(damaged);
    const store = (await loadStores()).openToRead();
    const subject = store.subject(handle!, { ...options, onUnreadable });
    const named = { ...subject, project: projectNamer(store)(subject.project) };
    const failure = unreadableFailure("STORE_CORRUPT", unreadable, LEFT_OUT_HINT);
    return { value: subject, lines: subjectLines(named, terminal), failure };
  },
};

function* subjectLines(details: SubjectDetails, terminal: Terminal): Generator<string> {
  const { subject, title, clusterCount, timeline } = details;
  yield titleLine(title, subject, terminal);
  yield extentLine(details, countsOf(details), terminal);
  yield "";
  if (timeline.length < clusterCount) yield `  … ${formatCount(clusterCount - timeline.length, "earlier cluster")}`;
  yield* sectionLines("timeline", workedRows(timeline, terminal), terminal);
  yield* outcomeLines(details, terminal);
  const newest = timeline.at(-1);
  if (newest !== undefined) terminal.hint(`Next: coppice expand ${newest.cluster}, for its messages word for word`);
}
