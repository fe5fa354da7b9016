import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { projectNamer } from "../../session/aids/project-meant.ts";
import { sessionNames } from "../../session/aids/session-name.ts";
import type { Unreadable } from "../../session/moving/export.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { timeOption, wholeNumberOption } from "../options.ts";
import { idsShown } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatNumber, formatTime, oneLine } from "../screen/text.ts";
import {
  countsOf,
  extentLine,
  factsLine,
  outcomeLines,
  sectionLines,
  timeFor,
  titleLine,
  workedRows,
} from "../screen/topic-lines.ts";
import { findProject } from "../stores/find-project.ts";
import { lastSessions } from "../stores/find-session.ts";
import { LEFT_OUT_HINT, unreadableFailure } from "../unreadable.ts";

type Recap = ReturnType<Store["recap"]>;

interface RecapFlags {
  since?: number;
  until?: number;
  project?: string;
  limit: number;
  lines: number;
}

const LIMIT_DEFAULT = 8;
const LINES_DEFAULT = 3;
/** The most sessions that a topic names. */
const SESSIONS_MAX = 5;

export const recapCommand: Command<RecapFlags> = {
  usage: "recap",
  summary: "Show what was worked on, decided and left open in the last days.",
  details:
    "The largest topics are chosen and shown newest first. A topic is a subject, a theme of an unfinished session, or the " +
    "messages of a hot window. Every line is quoted from a message, and ends with the message or handle that `expand` " +
    "accepts. With --json: one object with its topics.",
  options: [
    timeOption(
      "since",
      "only messages from this time on: 2026-11-01, yesterday, last week, 36h, 7d (default: 7d)",
      "first",
    ),
    timeOption("until", "only messages up to this day or time", "last"),
    new Option("--project <project>", "by name or path: only the sessions of this project"),
    wholeNumberOption("limit", "most topics", 0, PAGE_LIMIT_MAX).default(LIMIT_DEFAULT),
    wholeNumberOption("lines", "most lines of each kind in a topic", 0, PAGE_LIMIT_MAX).default(LINES_DEFAULT),
  ],
  paged: true,
  examples: [
    "",
    "--since yesterday --project web",
    "--since 2026-10-19 --until 2026-10-25",
    "--since 2026-11-01 --limit 20 --lines 5 --json",
  ],

  async run({ options: { since, until, lines: linesMax, project, ...sameNames }, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const unreadable: Unreadable[] = [];
    const recap = store.recap({
      ...sameNames,
      linesMax,
      ...(project !== undefined && { project: findProject(store, project) }),
      ...(since !== undefined && { sinceMs: since }),
      ...(until !== undefined && { untilMs: until }),
      onUnreadable: (damaged) => void unreadable.push(damaged),
    });
    const failure = unreadableFailure("STORE_CORRUPT", unreadable, LEFT_OUT_HINT);
    return { value: recap, lines: recapLines(recap, until, store, terminal), failure };
  },
};

function* recapLines(recap: Recap, untilMs: number | undefined, store: Store, terminal: Terminal): Generator<string> {
  const { sinceMs, topics, topicCount } = recap;
  const timeShown = [
    `since ${timeFor(terminal, sinceMs)}`,
    ...(untilMs === undefined ? [] : [`until ${timeFor(terminal, untilMs)}`]),
  ].join(" ");
  if (topicCount === 0) {
    const [newest] = lastSessions(store);
    const last = newest === undefined ? "" : ` The newest message is from ${timeFor(terminal, newest.updatedAtMs)}.`;
    terminal.note(`Nothing ${timeShown}.${last}`);
    if (newest !== undefined)
      terminal.hint(`Next: coppice recap --since ${formatTime(newest.updatedAtMs).split(" ")[0]}`);
    return;
  }
  yield factsLine([timeShown, ...countsOf(recap)]);
  const names = sessionNames(
    store,
    topics.flatMap(({ sessionIds }) => sessionIds),
  );
  const idOf = idsShown(store, terminal);
  const projectOf = projectNamer(store);
  for (const topic of topics) yield* topicLines({ ...topic, project: projectOf(topic.project) }, names, idOf, terminal);
  yield "";
  if (topics.length < topicCount) {
    yield `… ${formatCount(topicCount - topics.length, "smaller topic")}; show them with --limit ${topicCount}`;
  }
  const subject = topics.find(({ root }) => root?.startsWith("subject:"));
  if (subject !== undefined)
    terminal.hint(`Next: coppice subjects ${subject.root}, for its timeline, decisions and files`);
}

function* topicLines(
  topic: Recap["topics"][number],
  names: ReadonlyMap<string, string>,
  idOf: (sessionId: string) => string,
  terminal: Terminal,
): Generator<string> {
  const { root, title, sessionIds, messageCount, worked, workedCount } = topic;
  yield "";
  const source = root ?? `session ${oneLine(idOf(sessionIds[0]!))}`;
  yield titleLine(title, source, terminal);
  const counts = countsOf({ sessionCount: sessionIds.length, messageCount });
  yield terminal.style("dim", extentLine(topic, counts, terminal));
  // A single cluster gives the topic its title.
  if (workedCount > 1) yield* sectionLines("worked on", workedRows(worked, terminal), terminal);
  if (workedCount > worked.length) yield `${" ".repeat(12)}… ${formatNumber(workedCount - worked.length)} more`;
  yield* outcomeLines(topic, terminal);
  const sessions = sessionIds.map((id) => ({ text: names.get(id) ?? id, source: `session ${oneLine(idOf(id))}` }));
  yield* sectionLines("sessions", sessions.slice(0, SESSIONS_MAX), terminal);
  const unnamedCount = sessions.length - SESSIONS_MAX;
  if (unnamedCount > 0) yield `${" ".repeat(12)}… ${formatNumber(unnamedCount)} more`;
}
