import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { projectNamer } from "../../session/aids/project-meant.ts";
import { isSame } from "../../session/aids/session-name.ts";
import { inPieces } from "../../session/aids/told-pieces.ts";
import type { Unreadable } from "../../session/moving/export.ts";
import type { Store } from "../../session/store.ts";
import type { Command, Output } from "../command.ts";
import { LEFT_OUT_HINT, unreadableFailure } from "../failure.ts";
import { timeOption, wholeNumberOption } from "../options.ts";
import { cutToWidth } from "../screen/display-width.ts";
import { idsShown } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatTime, oneLine } from "../screen/text.ts";
import {
  countsOf,
  factsLine,
  outcomeLines,
  REMEMBERED_MAX,
  rememberedLines,
  timeFor,
  titleLine,
  toldRows,
} from "../screen/topic-lines.ts";
import { lastSessions } from "../stores/find-session.ts";
import { PROJECT_OPTION, type ScopeFlags, scopeOf, UNTIL_OPTION } from "../stores/scope.ts";

type Recap = ReturnType<Store["recap"]>;
type Topic = Recap["topics"][number];

interface RecapFlags extends Omit<ScopeFlags, "session"> {
  limit?: number;
  lines?: number;
}

const LIMIT_DEFAULT = 16;
const LINES_DEFAULT = 3;
/** Without an option for more, a terminal shows so many rows. */
const ROWS_MAX = 40;
/** The rows around the topics. */
const FRAME_ROWS = 3;
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
    UNTIL_OPTION,
    PROJECT_OPTION,
    wholeNumberOption(
      "limit",
      `most topics: by default ${LIMIT_DEFAULT}, or those that fit on a screen`,
      0,
      PAGE_LIMIT_MAX,
    ),
    wholeNumberOption(
      "lines",
      `most lines of each kind in a topic: by default ${LINES_DEFAULT}, or those that fit on a screen`,
      0,
      PAGE_LIMIT_MAX,
    ),
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

/** @param again  The beginning of the command that shows more, if it is not the one that was typed. */
export function recapOutput(
  store: Store,
  { limit, lines: linesMax, ...scope }: RecapFlags,
  terminal: Terminal,
  again = "",
): Output {
  const unreadable: Unreadable[] = [];
  const recap = store.recap({
    limit: limit ?? LIMIT_DEFAULT,
    linesMax: linesMax ?? LINES_DEFAULT,
    ...scopeOf(store, scope),
    onUnreadable: (damaged) => void unreadable.push(damaged),
  });
  const failure = unreadableFailure("STORE_CORRUPT", unreadable, LEFT_OUT_HINT);
  const isFolded = terminal.width !== undefined && (limit ?? linesMax) === undefined;
  return { value: recap, lines: recapLines(recap, scope.until, { isFolded, again }, store, terminal), failure };
}

function* recapLines(
  recap: Recap,
  untilMs: number | undefined,
  { isFolded, again }: { isFolded: boolean; again: string },
  store: Store,
  terminal: Terminal,
): Generator<string> {
  const { sinceMs, topics, topicCount, remembered } = recap;
  const timeShown = [
    `since ${timeFor(terminal, sinceMs)}`,
    ...(untilMs === undefined ? [] : [`until ${timeFor(terminal, untilMs)}`]),
  ].join(" ");
  if (topicCount === 0) {
    yield* rememberedLines(remembered, terminal);
    const [newest] = lastSessions(store);
    const last = newest === undefined ? "" : ` The newest message is from ${timeFor(terminal, newest.updatedAtMs)}.`;
    terminal.note(`Nothing ${timeShown}.${last}`);
    if (newest !== undefined)
      terminal.hint(`Next: coppice recap --since ${formatTime(newest.updatedAtMs).split(" ")[0]}`);
    return;
  }
  yield factsLine([timeShown, ...countsOf(recap), topics.length > 1 ? "newest first" : null]);
  yield* rememberedLines(remembered, terminal);
  const idOf = idsShown(store, terminal);
  const projectOf = projectNamer(store);
  const blocks = topics.map((topic) => blockOf(topic, topics, projectOf(topic.project), idOf, terminal));
  if (isFolded) fold(blocks, Math.min(remembered.length, REMEMBERED_MAX));
  const shown = blocks.filter(({ count }) => count > 0);
  for (const project of new Set(shown.map((block) => block.project))) {
    yield "";
    const own = shown.filter((block) => block.project === project);
    if (!own[0]!.isAlone) yield terminal.style("bold", projectShown(projectOf(project)));
    for (const { pieces, count } of own) yield* pieces.slice(0, count).flat();
  }
  yield "";
  const topicsLeft = topicCount - shown.length;
  const linesLeft = blocks.reduce((sum, { pieces, count }) => sum + pieces.length - count, 0);
  const how = `show them with ${again}--limit ${topicCount}`;
  if (topicsLeft > 0) yield `… ${formatCount(topicsLeft, "more topic")}; ${how}`;
  else if (linesLeft > 0) yield `… ${formatCount(linesLeft, "more line")}; ${how}`;
}

/** A topic as it is shown. */
interface Block {
  project: string | null;
  /** True if no other topic of the project is told of. Its title then names the project. */
  isAlone: boolean;
  /** Rows that belong together: the title with the first line, and then each other line, the most important first. */
  pieces: string[][];
  /** How many of the pieces are shown. */
  count: number;
}

/** Chooses what fits on a screen: the first piece of each project's first topic, then of the other topics, then more of each. */
function fold(blocks: readonly Block[], rowsTaken: number): void {
  for (const block of blocks) block.count = 0;
  const projects = new Set<string | null>();
  const firsts = new Set(blocks.filter(({ project }) => !projects.has(project) && projects.add(project)));
  const inOrder = [...firsts, ...blocks.filter((block) => !firsts.has(block))];
  const begun = new Set<string | null>();
  let rows = FRAME_ROWS + rowsTaken;
  for (let turn = 0; inOrder.some(({ pieces }) => pieces.length > turn); turn++) {
    for (const block of inOrder) {
      const { project, isAlone, pieces, count } = block;
      const piece = pieces[turn];
      if (count < turn || piece === undefined) continue;
      const cost = piece.length + (begun.has(project) ? 0 : isAlone ? 1 : 2);
      if (rows + cost > ROWS_MAX) continue;
      rows += cost;
      begun.add(project);
      block.count = turn + 1;
    }
  }
}

function projectShown(name: string): string {
  return oneLine(name || "(no project)");
}

function blockOf(
  topic: Topic,
  topics: readonly Topic[],
  projectName: string,
  idOf: (sessionId: string) => string,
  terminal: Terminal,
): Block {
  const { project, title, sessionIds, lastAtMs, open } = topic;
  const told = topic.told.filter(({ by, text }) => by !== "user" || !isSame(text, title));
  const isAlone = topics.every((other) => other === topic || other.project !== project);
  const count = sessionIds.length > 1 ? [formatCount(sessionIds.length, "session")] : [];
  const [day] = timeFor(terminal, lastAtMs).split(" ");
  const name = isAlone ? projectShown(projectName) : null;
  const head = titleLine(
    cutToWidth(title, TITLE_WIDTH),
    factsLine([name, day!, ...count, `session ${oneLine(idOf(sessionIds[0]!))}`]),
    terminal,
  );
  const said = told.map(({ text }) => text).join("\n");
  const decided = topic.decided.filter(({ text }) => !said.includes(text));
  const rows = inPieces(told).map((piece) => [...toldRows(piece, terminal)].flatMap((row) => row.split("\n")));
  const rest = [
    { open, decided: [] },
    { open: [], decided },
  ].flatMap((lines) => {
    return Array.from(outcomeLines({ ...lines, files: [] }, terminal), (row) => [row]);
  });
  const [first = [], ...others] = [...rows, ...rest];
  const pieces = [[head, ...first], ...others];
  return { project, isAlone, pieces, count: pieces.length };
}
