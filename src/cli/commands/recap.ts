import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { projectNamer } from "../../session/aids/project-meant.ts";
import type { Unreadable } from "../../session/moving/export.ts";
import type { Store } from "../../session/store.ts";
import type { Command, Output } from "../command.ts";
import { timeOption, wholeNumberOption } from "../options.ts";
import { cutToWidth } from "../screen/display-width.ts";
import { idsShown } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatTime, oneLine } from "../screen/text.ts";
import { countsOf, factsLine, outcomeLines, timeFor, titleLine, toldRows } from "../screen/topic-lines.ts";
import { findProject } from "../stores/find-project.ts";
import { lastSessions } from "../stores/find-session.ts";
import { LEFT_OUT_HINT, unreadableFailure } from "../unreadable.ts";

type Recap = ReturnType<Store["recap"]>;
type Topic = Recap["topics"][number];

interface RecapFlags {
  since?: number;
  until?: number;
  project?: string;
  limit: number;
  lines: number;
}

const LIMIT_DEFAULT = 16;
const LINES_DEFAULT = 3;
/** The most columns of a title. What came of it stands below, and matters more. */
const TITLE_WIDTH = 72;

export const recapCommand: Command<RecapFlags> = {
  usage: "recap",
  summary: "Show what was worked on, decided and left open in the last days.",
  details:
    "A topic is a session with its subagents, or several of one title. Each project has its place with its newest topic, then the largest " +
    "are chosen. What came out stands first, in the words that closed the turns. Every line is quoted from a message, and ends with the message that `expand` accepts. With --json: one object with its topics.",
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

  async run({ options, loadStores, terminal }) {
    return recapOutput((await loadStores()).openToRead(), options, terminal);
  },
};

export function recapOutput(
  store: Store,
  { since, until, project, limit = LIMIT_DEFAULT, lines: linesMax = LINES_DEFAULT }: Partial<RecapFlags>,
  terminal: Terminal,
): Output {
  const unreadable: Unreadable[] = [];
  const recap = store.recap({
    limit,
    linesMax,
    ...(project !== undefined && { project: findProject(store, project) }),
    ...(since !== undefined && { sinceMs: since }),
    ...(until !== undefined && { untilMs: until }),
    onUnreadable: (damaged) => void unreadable.push(damaged),
  });
  const failure = unreadableFailure("STORE_CORRUPT", unreadable, LEFT_OUT_HINT);
  return { value: recap, lines: recapLines(recap, until, store, terminal), failure };
}

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
  const idOf = idsShown(store, terminal);
  const projectOf = projectNamer(store);
  for (const project of new Set(topics.map((topic) => topic.project))) {
    yield "";
    yield terminal.style("bold", oneLine(projectOf(project) || "(no project)"));
    for (const topic of topics) if (topic.project === project) yield* topicLines(topic, idOf, terminal);
  }
  yield "";
  if (topics.length < topicCount) {
    yield `… ${formatCount(topicCount - topics.length, "smaller topic")}; show them with --limit ${topicCount}`;
  }
}

function* topicLines(topic: Topic, idOf: (sessionId: string) => string, terminal: Terminal): Generator<string> {
  const { title, sessionIds, lastAtMs, told } = topic;
  const count = sessionIds.length > 1 ? [formatCount(sessionIds.length, "session")] : [];
  const [day] = timeFor(terminal, lastAtMs).split(" ");
  yield titleLine(
    cutToWidth(title, TITLE_WIDTH),
    factsLine([day!, ...count, `session ${oneLine(idOf(sessionIds[0]!))}`]),
    terminal,
  );
  yield* toldRows(told, terminal);
  const said = told.map(({ text }) => text).join("\n");
  const decided = topic.decided.filter(({ text }) => !said.includes(text));
  yield* outcomeLines({ ...topic, decided, files: [] }, terminal);
}
