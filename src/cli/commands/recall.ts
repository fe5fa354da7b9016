import { Option } from "commander";
import { spansOf } from "../../core/inline-markdown.ts";
import { RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../../core/limits.ts";
import type { Part, Role } from "../../core/message.ts";
import { PART_TYPES, ROLES } from "../../core/message-words.ts";
import type { TimeRange } from "../../core/named-times.ts";
import {
  RECALL_CONFIDENCE_MIN,
  RECALL_FILLED_MAX,
  RECALL_LIMIT_DEFAULT,
  RECALL_NEIGHBORS_DEFAULT,
} from "../../core/options.ts";
import { verdictText } from "../../core/verdicts.ts";
import type { EverywhereHit } from "../../hub/everywhere.ts";
import type { AnswerSession } from "../../session/aids/answer.ts";
import { answersFirst } from "../../session/aids/answers-first.ts";
import { noteOnHits, nothingFound } from "../../session/aids/recall-notes.ts";
import type { Store } from "../../session/store.ts";
import { agentCommand } from "../agent-command.ts";
import type { Command, Output } from "../command.ts";
import { storedRemote, withHub } from "../hub-words.ts";
import { repeatableOption, timeRangeOption, wholeNumberOption } from "../options.ts";
import { cutToWidth, displayWidth } from "../screen/display-width.ts";
import { messageHandle, speaker } from "../screen/message-lines.ts";
import { idsShown } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { changedNote, formatCount, formatTime, oneLine } from "../screen/text.ts";
import { themeLines } from "../screen/topic-lines.ts";
import { wrapped } from "../screen/wrap.ts";
import { findProject } from "../stores/find-project.ts";
import {
  PROJECT_OPTION,
  type ScopeFlags,
  SESSION_OPTION,
  SINCE_OPTION,
  scopeOf,
  UNTIL_OPTION,
} from "../stores/scope.ts";
import { recapOutput } from "./recap.ts";

type RecallHit = Awaited<ReturnType<Store["recall"]>>[number];

interface RecallFlags extends ScopeFlags {
  limit?: number;
  role?: Role[];
  part?: Part["type"][];
  near?: { fromMs: number; toMs: number };
  by: "message" | "session" | "theme";
  tokensMax?: number;
  neighbors: number;
  superseded?: boolean;
  explain?: boolean;
  mine?: boolean;
  everywhere?: boolean;
}

const LIMIT_MEANING = `most hits: by default ${RECALL_LIMIT_DEFAULT}, or with --tokens-max up to ${RECALL_FILLED_MAX} likely ones, as many as fit; 3 if nothing is near`;

/** The first hit of a session may have so many lines. Each of the others, too, if all of them fit on a screen. */
const LINES_MAX = 2;
const ROWS_MAX = 22;
const INDENT = "  ";
const TITLE_WIDTH_MIN = 20;
/** A text that does not fit is cut by so many columns more. */
const CUT_STEP = 4;

/** The hint for a hit that is in no cluster shows this many messages, of which this many come before the hit. */
const AROUND_COUNT = 10;
const AROUND_BEFORE = 3;

export const recallCommand: Command<RecallFlags> = {
  usage: "recall <query...>",
  aliases: ["search", "find"],
  summary: "Find the messages that answer a question, in all sessions, best first.",
  details:
    "Any text is a query. Text in double quotes must occur in a hit letter by letter. If it occurs nowhere and the query " +
    "has other words, or if the query ends with a question mark, its words are searched separately. Hits of a session stand " +
    "together, best first. Each shows what answers, and the first one what the user had asked. A question for the work of a time as such, such as what did we do yesterday, is answered " +
    "as recap does. With --json: an array of hits, or of themes.",
  argument: "a question, or the words to look for",
  options: [
    wholeNumberOption("limit", LIMIT_MEANING, 1, RECALL_LIMIT_MAX),
    SESSION_OPTION,
    PROJECT_OPTION,
    repeatableOption("role <role>", "only messages of this role", ROLES),
    repeatableOption("part <type>", "only messages with a part of this type", PART_TYPES),
    SINCE_OPTION,
    UNTIL_OPTION,
    timeRangeOption("near", "prefer messages near this day or time"),
    new Option("--by <unit>", "rank messages, sessions by their best message, or themes")
      .choices(["message", "session", "theme"])
      .default("message"),
    wholeNumberOption("tokens-max", "most tokens of all hits and their neighbors together", 1),
    wholeNumberOption("neighbors", "with --json: messages before and after each hit", 0, RECALL_NEIGHBORS_MAX).default(
      RECALL_NEIGHBORS_DEFAULT,
    ),
    new Option("--mine", "leave out copies of what others of the team have said"),
    new Option("--superseded", "also find what rewinds have superseded"),
    new Option("--explain", "show the terms of each score"),
    new Option("--everywhere", "ask the hub for what the whole team has pushed, followed here or not"),
  ],
  paged: true,
  examples: [
    "what did we decide about the session lock",
    "what did we work on last week",
    "'\"lock file\" deploy' --project web --since 2026-11-01",
    "session lock --role user --limit 3 --explain --json",
    "where did we fight with the flaky test --by session --near 2026-11-01",
    "session lock --by theme --project web",
  ],

  async run({ args, options, loadStores, terminal, json }) {
    const store = (await loadStores()).openToRead();
    const { answerOf } = await import("../../session/aids/answer.ts");
    const { session, project, role, part, since, until, superseded, everywhere, by, ...sameNames } = options;
    const query = args.join(" ");
    if (by === "theme") return themesOutput(store, query, options, terminal);
    const time = json ? undefined : await workTime(query, options);
    if (time !== undefined) {
      const times = { since: time.fromMs, until: time.toMs };
      const [since, until] = [time.fromMs, time.toMs].map((ms) => formatTime(ms).split(" ")[0]);
      const again = `coppice recap --since ${since} --until ${until} ${project === undefined ? "" : `--project ${oneLine(project)} `}`;
      return recapOutput(store, { ...times, ...(project !== undefined && { project }) }, terminal, again);
    }
    if (everywhere) {
      const { limit } = sameNames;
      const scope = { ...(limit !== undefined && { limit }), ...(project !== undefined && { project }) };
      const hits = await withHub(await storedRemote(store), (hub) => hub.everywhere(query, scope));
      return { value: hits, lines: everywhereLines(hits, query, terminal) };
    }
    const found = await store.recall(query, {
      ...sameNames,
      by,
      ...scopeOf(store, options),
      ...(role !== undefined && { roles: role }),
      ...(part !== undefined && { partTypes: part }),
      ...(superseded !== undefined && { superseded }),
    });
    const hits = answersFirst(store, found);
    return { value: hits, lines: recallLines(answerOf(hits, store), hits, query, store, terminal) };
  },
};

async function themesOutput(store: Store, query: string, options: RecallFlags, terminal: Terminal): Promise<Output> {
  const { limit, project, by: _, neighbors: __, ...others } = options;
  const { assertAllMessages, themesAbout } = await import("../../session/aids/near-themes.ts");
  assertAllMessages(Object.keys(others));
  const themes = await themesAbout(store, query, {
    ...(limit !== undefined && { limit }),
    ...(project !== undefined && { project: findProject(store, project) }),
  });
  const lines = function* () {
    yield* themeLines(themes, terminal, idsShown(store, terminal));
    const [best] = themes;
    if (best === undefined) terminal.note(nothingFound(query));
    else terminal.hint(`Next: coppice expand ${best.theme}, for its messages word for word`);
  };
  return { value: themes, lines: lines() };
}

/** Returns the time whose work a query asks for as such. With other options than the project, messages are wanted. */
async function workTime(
  query: string,
  { project: _, by, neighbors: __, ...others }: RecallFlags,
): Promise<TimeRange | undefined> {
  if (by !== "message" || Object.keys(others).length > 0) return undefined;
  const { timeAsked } = await import("../../session/aids/time-asked.ts");
  return timeAsked(query, Date.now());
}

/** The most characters of a message that a hit of the hub shows. */
const EVERYWHERE_CHARS_MAX = 400;

function* everywhereLines(hits: readonly EverywhereHit[], query: string, terminal: Terminal): Generator<string> {
  terminal.note(
    "These are of the hub, in the order of PostgreSQL. What you follow is searched better: coppice hub follow PROJECT",
  );
  for (const { sessionId, project, title, by, role, createdAtMs, text } of hits) {
    const names = [`by ${by}`, formatTime(createdAtMs), `session ${sessionId}`, project ?? "", title ?? ""];
    yield `${role}  ${terminal.style("dim", names.filter(Boolean).map(oneLine).join(" · "))}`;
    const shown = text.length > EVERYWHERE_CHARS_MAX ? `${text.slice(0, EVERYWHERE_CHARS_MAX)} …` : text;
    yield wrapped(oneLine(shown.toWellFormed()), terminal.columns);
    yield "";
  }
  const [best] = hits;
  if (best === undefined) return terminal.note(nothingFound(query));
  if (best.project !== null)
    terminal.hint(`Next: coppice hub follow ${oneLine(best.project)}, or coppice hub pull ${oneLine(best.sessionId)}`);
}

function* recallLines(
  sessions: readonly AnswerSession[],
  hits: readonly RecallHit[],
  query: string,
  store: Store,
  terminal: Terminal,
): Generator<string> {
  const note = noteOnHits(hits);
  if (note !== undefined) terminal.note(note);
  const idOf = idsShown(store, terminal);
  yield* answerLines(sessions, terminal, idOf);
  const [best] = hits;
  if (best === undefined) return terminal.note(nothingFound(query));
  const session = store.resume(best.sessionId);
  // Around a message that is in no cluster, `expand` would show only its step.
  const around =
    best.root === null && !best.superseded
      ? `show ${oneLine(idOf(best.sessionId))} --offset ${Math.max(0, best.seq - AROUND_BEFORE)} --limit ${AROUND_COUNT}`
      : `expand ${messageHandle(best.messageId)}`;
  terminal.hint(`Next: coppice ${around}, for the messages around the first hit`);
  const isNear = (best.confidence ?? 1) >= RECALL_CONFIDENCE_MIN;
  const again = isNear ? agentCommand(session.info()) : undefined;
  if (again !== undefined) terminal.hint(`Or go on with its session: ${again}`);
}

/**
 * Yields a line for each session and lines for its hits, so that five sessions fit on a screen: two for its first hit and,
 * unless all have room, one for each other hit. A pipe gets all of it.
 */
export function* answerLines(
  sessions: readonly AnswerSession[],
  terminal: Terminal,
  idOf: (sessionId: string) => string = (id) => id,
): Generator<string> {
  const rows = sessions.reduce(
    (sum, { hits, changedFileCount }) => sum + 2 + Math.sign(changedFileCount) + LINES_MAX * hits.length,
    0,
  );
  const laterMax = rows > ROWS_MAX ? 1 : LINES_MAX;
  for (const session of sessions) yield* sessionLines(session, terminal, idOf, laterMax);
}

function* sessionLines(
  { sessionId, title, project, agent, author, atMs, changedFileCount, hits }: AnswerSession,
  terminal: Terminal,
  idOf: (sessionId: string) => string,
  laterMax: number,
): Generator<string> {
  const dim = (text: string): string => terminal.style("dim", text);
  const [day] = formatTime(atMs).split(" ");
  const facts = [project, agent, author && `by ${author}`, day, idOf(sessionId)].flatMap((fact) =>
    fact ? [oneLine(fact)] : [],
  );
  const place = (title === null ? "" : " · ") + facts.join(" · ");
  const room = Math.max(TITLE_WIDTH_MIN, terminal.columns - displayWidth(place));
  yield terminal.style("bold", cut(oneLine(title ?? ""), room)) + dim(place);
  if (changedFileCount > 0) yield INDENT + dim(changedNote(changedFileCount));
  const inner = terminal.columns - INDENT.length;
  for (const [index, { hit, asked, question }] of hits.entries()) {
    if (asked !== null && (index === 0 || question !== null || terminal.width === undefined)) {
      const id = question === null ? "" : `  ${messageHandle(question.messageId)}`;
      yield INDENT + dim(cut(oneLine(`user: ${asked}`), inner - displayWidth(id)) + id);
    }
    yield hitText(hit, terminal, index === 0 ? LINES_MAX : laterMax).replace(/^/gm, INDENT);
    if (hit.verdict !== undefined)
      yield INDENT + terminal.style("yellow", cut(oneLine(verdictText(hit.verdict)), inner));
    if (hit.parts !== undefined) {
      const sum = Object.entries(hit.parts).map(([part, value]) => `${value.toFixed(3)} ${part}`);
      yield INDENT + dim(`score ${hit.score.toFixed(3)} = ${sum.join(" + ").replaceAll("+ -", "- ")}`);
    }
  }
}

/** Returns what answers, who said it if it was not the agent, what was done with it, and the id of the message at the end. */
function hitText(hit: RecallHit, terminal: Terminal, linesMax: number): string {
  const copies = hit.copies.length === 0 ? [] : [formatCount(hit.copies.length, "copy", "copies")];
  const newer =
    hit.supersededBy === undefined || hit.verdict !== undefined
      ? []
      : [`replaced by ${messageHandle(hit.supersededBy)}`];
  const id = [messageHandle(hit.messageId), ...(hit.superseded ? ["superseded"] : []), ...newer, ...copies].join(" · ");
  const did = (hit.did ?? []).map((action) => ` → ${action}`).join("");
  // An agent says most, and the line above names it.
  const who = hit.role === "assistant" && hit.name === undefined ? "" : `${speaker(hit, terminal)}: `;
  const spans = [...spansOf(hit.snippet, hit.marks), { text: did, isMatch: false }];
  const shown = (charsMax: number): string => {
    let left = charsMax;
    const styled = spans.map(({ text, isMatch }) => {
      const line = cut(oneLine(text), left);
      left -= displayWidth(line);
      return isMatch ? terminal.style("bold", line) : line;
    });
    return `${who}${styled.join("")}  ${terminal.style("dim", id)}`;
  };
  if (terminal.width === undefined) return shown(Number.POSITIVE_INFINITY);
  const width = terminal.width - INDENT.length;
  const fits = (text: string): boolean => wrapped(text, width).split("\n").length <= linesMax;
  let chars = linesMax * width;
  while (chars > TITLE_WIDTH_MIN && !fits(shown(chars))) chars -= CUT_STEP;
  return wrapped(shown(chars), width);
}

function cut(line: string, width: number): string {
  return width <= 0 ? "" : cutToWidth(line, width);
}
