import { assert } from "../../core/damage.ts";
import { element, escapeText } from "../../core/markup.ts";
import type { Role } from "../../core/message.ts";
import { isInjected } from "../../core/text.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import { lineTokens, tokenSum } from "../costs.ts";
import { type DigestMessage, indexOf } from "../digest/block-index.ts";
import { DigestChoice } from "../digest/choice.ts";
import type { RenderOptions, Story } from "../result.ts";
import type { RenderView, Statement, SummaryView, ThemePlace, ThemeView } from "../view.ts";
import { type FittedWindow, gapTokensMax, UNCACHED_TOKENS_MAX } from "./fit-window.ts";
import { type LastingDigest, lastingDigest, NOTE } from "./lasting-digest.ts";
import type { PreparedView } from "./prepare.ts";
import { chooseStatements, listStatements, type PricedStatement } from "./statements.ts";

/**
 * Statements of summaries may take this share of the memory message. In a conversation without tools, they hold more than the words
 * that they replace. Work with tools uses lines again, which only a digest has, so statements take the room of the themes' lines, and
 * this share where those have none.
 */
const STATEMENTS_SHARE = { talk: 0.9, work: 0.03, span: 0.35 };

/**
 * The lines of the themes may take this share of what the statements leave. Otherwise, and in work if there are statements, one pointer
 * line stands for all themes.
 */
const THEMES_SHARE = 0.15;

/**
 * In work with tools, an overview holds more than as many tokens of the story. It is shown whole if it takes no more than this share of the
 * memory message, because a few lines of it hold less.
 */
const WORK_OVERVIEW_SHARE = 0.7;
/** A lasting digest leaves it room by multiples of so many tokens, so that an overview of another length does not change the digest. */
const WORK_OVERVIEW_ROOM = 1_000;

/** Beside a running summary, which tells the same, the story may take this share of the memory message. */
const SPAN_STORY_SHARE = 0.3;

/** A smaller digest would be mostly frame. */
const DIGEST_TOKENS_MIN = 40;

/** Fragments of code in fewer tokens help nobody, so a story that is not whole takes their room. */
const DIGEST_BESIDE_STORY_MIN = 400;

/**
 * The part of a context before the window, as XML. The texts in it are escaped.
 *
 *     <memory session="s1">(a note: this is a record, and how to get the messages)
 *     <overview handle="span:1@40" seq="0-39">
 *     The user moves the login page to another host. [0,8-21]           the session in a few statements
 *     </overview>
 *     <notes>
 *     The login page answered 500. [8-11]                               statements of summaries, as many as have room
 *     </notes>
 *     <theme handle="theme:9@99" messages="20" seq="8-29" title="…"/>    if there is room
 *     <m id="21" by="tool">…                                            the digest: blocks of message 21, word for word
 *     …</m>
 *     </memory>
 *
 * Statements are ordered by the messages that they cite, themes by their newest messages, and the digest by seq.
 */
export interface Memory {
  /** `<memory …>…</memory>`; undefined if nothing has left the window, or if there is no room. */
  text: string | undefined;
  tokenCount: number;
  /** It comes before `text`, and takes tokens of its own. */
  lasting: LastingDigest | undefined;
  /** The shown statements of summaries, in order. */
  statements: readonly OfferedStatement[];
  /** Empty if there is no room for their lines. */
  themes: readonly ThemeBlock[];
  /** The messages of both digests, in order. */
  messages: readonly PlacedMessage[];
  story: Story | undefined;
}

/** A message of the digest, and the theme that holds it; undefined if it is hidden in the window. */
export interface PlacedMessage extends DigestMessage {
  cold: ThemePlace | undefined;
}

export interface ThemeBlock {
  /** Index into the view's themes. */
  theme: number;
  view: ThemeView;
  /** The number of members that have left the window, at least 1. */
  coldCount: number;
  /** The line that a context has for the theme. */
  text: string;
  tokenCount: number;
}

const NO_TEXT = { text: undefined, tokenCount: 0, lasting: undefined };

export interface ShownSummary {
  /** Indexes into the view's themes, and into the theme's summaries. */
  theme: number;
  summary: number;
  view: SummaryView;
  /** The number of messages that it covers and that have left the window, at least 1. */
  coldCount: number;
}

export interface OfferedStatement extends Statement {
  of: ShownSummary;
}

/** Writes the memory message for a window: the story, statements of summaries, themes, and as much of the digest as fits. */
export function buildMemory(view: PreparedView, options: RenderOptions, window: FittedWindow): Memory {
  const { tokenCounter } = options;
  const placed = window.placed.map((message) => view.blocksOf(message));
  const hasPast = view.coldCount + window.hidden.length > 0;
  const none = { ...NO_TEXT, statements: [], themes: [], messages: [], story: undefined };
  if (!hasPast) return none;
  const index = indexOf(view.past, tokenCounter);
  const coldCounts = coldCountsOf(view);
  const kind = kindOf(view, tokenCounter);
  const isTold = kind === "talk" && view.themes.some(({ summaries }) => summaries.length > 0);
  const storyShare = kind === "span" ? SPAN_STORY_SHARE : 1;
  const gapTokens = gapTokensMax(tokenCounter);
  const overviewOfWork = kind === "work" ? wholeOverview(view, window.memoryTokensMax, tokenCounter) : undefined;
  const overviewTokens = overviewOfWork?.tokenCount ?? 0;
  const roomForStory = storyShare * window.memoryTokensMax - gapTokens - overviewTokens;
  const isAlone = kind === "work" && window.storyTokensMax + DIGEST_BESIDE_STORY_MIN > roomForStory;
  const storyMax = isAlone ? roomForStory : Math.min(window.storyTokensMax, roomForStory);
  const story = options.story?.write(window.hidden, storyMax, { isTold, speakers: speakersIn(window, options) });
  const besideStory = window.memoryTokensMax - (story?.tokenCount ?? 0);
  const reserved = Math.ceil(overviewTokens / WORK_OVERVIEW_ROOM) * WORK_OVERVIEW_ROOM;
  const lasting = lastingDigest(view, besideStory - reserved, options);
  const tokensMax = besideStory - (lasting?.tokenCount ?? 0);
  const besideOverview = tokensMax - overviewTokens;

  const saidFrame = memoryText(view, { overview: [""], notes: [""] }, [], []);
  const allThemes = themeBlocks(view, coldCounts, tokenCounter);
  const insteadOfThemes = kind === "work" ? tokenSum(withRoom(allThemes, besideOverview)) - gapTokens : 0;
  const saidTokensMax = Math.min(
    besideOverview - tokenCounter.count(saidFrame) - gapTokens,
    Math.max(STATEMENTS_SHARE[kind] * besideOverview, insteadOfThemes),
  );
  const overview = kind === "work" ? (overviewOfWork?.lines ?? []) : overviewLines(view, saidTokensMax, tokenCounter);
  const offered = offeredStatements(view, coldCounts).map((statement) => priced(statement, tokenCounter));
  const choose = options.tokensMax > UNCACHED_TOKENS_MAX ? listStatements : chooseStatements;
  const overviewTexts = textsOf(view.overview?.statements ?? []);
  const statementsMax = kind === "work" ? saidTokensMax : saidTokensMax - tokenSum(overview);
  const statements = choose(offered, statementsMax, overviewTexts);
  const said: Said = { overview: textsOf(overview), notes: textsOf(statements) };
  const themesMax = tokensMax - tokenSum(overview) - tokenSum(statements);
  const isSaid = overview.length + statements.length > 0;
  const themes = kind === "work" && isSaid ? [] : withRoom(allThemes, themesMax);
  // A pointer line names what is hidden, and everything else if the themes have no lines.
  const needsPointer = window.hidden.length > 0 || (view.coldCount > 0 && themes.length === 0);
  const textTokensMax = tokensMax - (needsPointer ? gapTokens : 0);
  const textOf = (messages: readonly DigestMessage[]) => memoryText(view, said, themes, messages);
  const frameTokens = tokenCounter.count(textOf([]));
  const isBare = themes.length === 0 && !isSaid;
  if (frameTokens + (isBare ? DIGEST_TOKENS_MIN : 0) > textTokensMax) return { ...none, story };

  const pinned = view.pinned.map(view.blocksOf);
  const hidden = window.hidden.map(view.blocksOf);
  const choice = new DigestChoice(index, hidden, [...pinned, ...placed], window.anchorSeq, lasting?.chosen);
  choice.markSaid([...said.overview, ...said.notes, ...(story?.quotes ?? [])]);
  if (story !== undefined) choice.markShown(story);
  const digest = choice.write(textTokensMax, frameTokens, textOf);
  if (isBare && lasting === undefined && digest.messages.length === 0) return { ...none, story };
  const shown = new Map([...(lasting?.messages ?? []), ...digest.messages].map((message) => [message.id, message]));
  const messages = Array.from(shown.values(), (message): PlacedMessage => {
    return { ...message, cold: message.seq < view.evictedSeq ? view.placeOf(message) : undefined };
  }).sort((left, right) => left.seq - right.seq);
  return { ...digest, lasting, messages, statements, themes, story };
}

const SPEAKERS: ReadonlySet<Role> = new Set(["user", "assistant"]);

/** Returns who says something in the window. A context that keeps its prefix must not depend on it, and has room for both. */
function speakersIn({ earlier, newest }: FittedWindow, { tokensMax }: RenderOptions): ReadonlySet<Role> {
  if (tokensMax > UNCACHED_TOKENS_MAX) return SPEAKERS;
  const said = [...earlier, ...newest].filter(({ message }) => {
    return message.parts.some((part) => part.type === "text" && !isInjected(part));
  });
  return new Set(said.map(({ message }) => message.role));
}

/** Returns if a session is work with tools, talk without them, or has one running summary. */
export function kindOf({ isSpan, past }: RenderView, tokenCounter: TokenCounter): "talk" | "work" | "span" {
  if (isSpan) return "span";
  return indexOf(past, tokenCounter).hasCalls ? "work" : "talk";
}

/** What a model wrote, line by line. */
interface Said {
  overview: readonly string[];
  notes: readonly string[];
}

function memoryText(
  { sessionId: session, overview }: RenderView,
  said: Said,
  themes: readonly ThemeBlock[],
  messages: readonly DigestMessage[],
): string {
  const seq = overview && `${overview.seqFirst}-${overview.seqLast}`;
  const lines = [
    NOTE,
    ...saidElement("overview", { handle: overview?.handle, seq }, said.overview),
    ...saidElement("notes", {}, said.notes),
    ...textsOf(themes),
    ...messages.map(({ text }) => text),
  ];
  return element("memory", { session }, `${lines.join("\n")}\n`);
}

export function saidElement(
  name: string,
  attributes: Parameters<typeof element>[1],
  lines: readonly string[],
): string[] {
  return lines.length === 0 ? [] : [element(name, attributes, `\n${lines.map(escapeText).join("\n")}\n`)];
}

interface ColdCounts {
  /** Of each theme. */
  members: number[];
  /** Of each theme, the cold members that each summary covers. */
  covered: number[][];
}

function coldCountsOf(view: RenderView): ColdCounts {
  const members = view.themes.map(({ messageCount }) => messageCount);
  const covered = view.themes.map(({ summaries }) => summaries.map(({ messageCount }) => messageCount));
  for (const { theme, summary } of view.overlap.values()) {
    members[theme]!--;
    if (summary !== undefined) covered[theme]![summary]!--;
  }
  for (const [theme, { handle, uncoveredCount }] of view.themes.entries()) {
    const coveredCount = covered[theme]!.reduce((sum, count) => sum + count, 0);
    assert(coveredCount + uncoveredCount === members[theme], `${handle} is its covered and uncovered members`);
  }
  return { members, covered };
}

/** Returns the lines of the overview, or those for which there is room. */
function overviewLines({ overview }: RenderView, tokensMax: number, tokenCounter: TokenCounter): PricedStatement[] {
  const lines = (overview?.statements ?? []).map((line) => priced(line, tokenCounter));
  return chooseStatements(lines, tokensMax);
}

/** Returns the overview of work with tools, and its tokens with the frame, if it has room. */
function wholeOverview(view: RenderView, memoryTokensMax: number, tokenCounter: TokenCounter) {
  const lines = (view.overview?.statements ?? []).map((line) => priced(line, tokenCounter));
  const frame = memoryText(view, { overview: [""], notes: [] }, [], []);
  const tokenCount = tokenCounter.count(frame) + tokenSum(lines);
  return lines.length > 0 && tokenCount <= WORK_OVERVIEW_SHARE * memoryTokensMax ? { lines, tokenCount } : undefined;
}

function textsOf(lines: readonly { text: string }[]): string[] {
  return lines.map(({ text }) => text);
}

function priced<S extends Statement>(statement: S, tokenCounter: TokenCounter): S & PricedStatement {
  return { ...statement, tokenCount: lineTokens(escapeText(statement.text), tokenCounter) };
}

/** Returns the statements of all summaries by time. */
export function offeredStatements(view: RenderView, { covered } = coldCountsOf(view)): OfferedStatement[] {
  const offered = view.themes.flatMap(({ summaries }, theme) =>
    summaries.flatMap((summaryView, summary) => {
      const of = { theme, summary, view: summaryView, coldCount: covered[theme]![summary]! };
      if (of.coldCount === 0) return [];
      return summaryView.statements.map((statement) => ({ ...statement, of }));
    }),
  );
  return offered.sort((left, right) => left.seq - right.seq);
}

/** Returns the themes with cold members by time. */
function themeBlocks(view: RenderView, { members }: ColdCounts, tokenCounter: TokenCounter): ThemeBlock[] {
  return view.themes
    .map((themeView, theme) => ({ theme, view: themeView, coldCount: members[theme]! }))
    .filter(({ coldCount }) => coldCount > 0)
    .sort((left, right) => left.view.seqLast - right.view.seqLast)
    .map((block) => {
      const text = themeText(block.view);
      return { ...block, text, tokenCount: lineTokens(text, tokenCounter) };
    });
}

/** Returns no themes if their lines have no room. */
function withRoom(themes: readonly ThemeBlock[], tokensMax: number): readonly ThemeBlock[] {
  return tokenSum(themes) > THEMES_SHARE * tokensMax ? [] : themes;
}

function themeText({ handle, messageCount, seqFirst, seqLast, label }: ThemeView): string {
  return element("theme", { handle, messages: messageCount, seq: `${seqFirst}-${seqLast}`, title: label });
}
