import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { projectNamer } from "../../session/aids/project-meant.ts";
import { sessionNames } from "../../session/aids/session-name.ts";
import type { Unreadable } from "../../session/moving/export.ts";
import type { Store } from "../../session/store.ts";
import type { Command, Output } from "../command.ts";
import { LEFT_OUT_HINT, unreadableFailure } from "../failure.ts";
import { wholeNumberOption } from "../options.ts";
import { idsShown } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatAge, formatCount, formatNumber, formatTime, oneLine } from "../screen/text.ts";
import {
  countsOf,
  extentLine,
  outcomeLines,
  type Row,
  sectionLines,
  titleLine,
  workedRows,
} from "../screen/topic-lines.ts";
import { findProject } from "../stores/find-project.ts";

type SubjectPage = ReturnType<Store["subject"]>;
type SubjectInfo = ReturnType<Store["subjects"]>[number];

interface SubjectsFlags {
  project?: string;
  limit?: number;
}

/** The most subjects, and the most lines of each kind of one. */
const SUBJECTS_DEFAULT = 20;
const LINES_DEFAULT = 10;
/** The most sessions that the list names for each subject. */
const PARTS_MAX = 3;
const DAY_WIDTH = "2026-01-15".length;

export const subjectsCommand: Command<SubjectsFlags> = {
  usage: "subjects [handle]",
  summary: "List the subjects that came up in several sessions, or show what came of one.",
  details:
    "The largest subject comes first, and each is listed with its sessions: a terminal shows the newest three, a pipe all. Clusters get subjects when " +
    "they are settled. All clusters of a session are settled at the latest when it has been idle for longer than it was " +
    "active, or for thirty days. `expand` accepts each handle.\n" +
    "With a handle: its clusters over time, its decisions, its open ends and its files. Every line is quoted from a message, and ends " +
    "with the message or handle that `expand` accepts. Open ends are errors without a later success of the same call, questions at " +
    "the end of a session, and unfinished tasks of its last task list.\n" +
    "With --json: an array of subjects, each with its sessions; with a handle, one object with timeline, decided, open and files.",
  argument: "a handle such as subject:77@460; without it, the subjects are listed",
  options: [
    new Option("--project <project>", "by name or path: only the subjects of this project"),
    wholeNumberOption(
      "limit",
      `most subjects (default: ${SUBJECTS_DEFAULT}), or lines of each kind of one (default: ${LINES_DEFAULT})`,
      0,
      PAGE_LIMIT_MAX,
    ),
  ],
  paged: true,
  examples: ["", "--project web", "--limit 5 --json", "subject:77@460", "subject:77 --limit 30"],

  async run({ args: [handle], options: { project, limit }, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const only = project === undefined ? {} : { project: findProject(store, project) };
    if (handle !== undefined) return subjectShown(store, handle, { ...only, limit: limit ?? LINES_DEFAULT }, terminal);
    const wanted = { ...only, limit: limit ?? SUBJECTS_DEFAULT };
    const subjects = store.subjects(wanted);
    return { value: subjects, lines: subjectLines(subjects, wanted.limit, store, terminal) };
  },
};

function subjectShown(
  store: Store,
  handle: string,
  options: { project?: string; limit: number },
  terminal: Terminal,
): Output {
  const unreadable: Unreadable[] = [];
  const subject = store.subject(handle, { ...options, onUnreadable: (damaged) => void unreadable.push(damaged) });
  const named = { ...subject, project: projectNamer(store)(subject.project) };
  const failure = unreadableFailure("STORE_CORRUPT", unreadable, LEFT_OUT_HINT);
  return { value: subject, lines: pageLines(named, terminal), failure };
}

function* pageLines(details: SubjectPage, terminal: Terminal): Generator<string> {
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

/** A terminal shows the newest parts, for skimming. A pipe gets all of them. */
function partRows(
  { label: ofAll, sessions }: SubjectInfo,
  store: Store,
  { width }: Terminal,
  idOf: (id: string) => string,
): Row[] {
  const parts = width === undefined ? sessions : sessions.slice(-PARTS_MAX);
  const names = sessionNames(
    store,
    parts.flatMap(({ sessionId, label }) => (label === ofAll ? [sessionId] : [])),
  );
  return parts.map(({ sessionId, label, lastAtMs }) => {
    const day = width === undefined ? formatTime(lastAtMs) : formatAge(lastAtMs, Date.now()).padEnd(DAY_WIDTH);
    return { text: `${day}  ${names.get(sessionId) ?? label}`, source: `session ${oneLine(idOf(sessionId))}` };
  });
}

function* subjectLines(
  subjects: readonly SubjectInfo[],
  limit: number,
  store: Store,
  terminal: Terminal,
): Generator<string> {
  const projectOf = projectNamer(store);
  const idOf = idsShown(store, terminal);
  for (const [index, info] of subjects.entries()) {
    if (index > 0) yield "";
    yield titleLine(info.label, info.subject, terminal);
    yield terminal.style("dim", extentLine({ ...info, project: projectOf(info.project) }, countsOf(info), terminal));
    const rows = partRows(info, store, terminal, idOf);
    yield* sectionLines("", rows, terminal);
    const moreCount = info.sessions.length - rows.length;
    if (moreCount > 0) yield `  … ${formatNumber(moreCount)} more`;
  }
  const [largest] = subjects;
  if (largest === undefined && limit === 0) return;
  if (largest === undefined)
    terminal.note("No subjects yet. A subject needs similar settled clusters in two sessions of a project.");
  else terminal.hint(`Next: coppice subjects ${largest.subject}, for what came of it`);
}
