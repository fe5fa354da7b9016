import { ownWords, withoutElements } from "../core/harness.ts";
import type { Message, Part, Role } from "../core/message.ts";
import { compactionNote } from "../core/notes.ts";
import { isInjected } from "../core/text.ts";
import { cutLine, excerpt, oneLine, plainText } from "./lines.ts";
import { type Sentence as ProseSentence, sentencesOf } from "./sentences.ts";
import { forEachWord, words } from "./words.ts";

/** The fields of a message that its sentences are read from. Long strings in `parts` may be references to artifacts. */
export interface SaidMessage {
  id: number;
  seq: number;
  stepId: number;
  role: Role;
  text: string;
  parts: readonly Part[];
  metadata?: Message["metadata"] | null;
}

/** Who says a sentence. `summary` is what an agent wrote when it compacted its context, `commit` the answer of `git commit`. */
export type Teller = "user" | "agent" | "summary" | "commit";

/** A sentence of a message that tells what was wanted, done, decided or found. */
export interface Sentence {
  /** One line in the words of the message, without marks of Markdown. */
  text: string;
  /** What its words say of its worth, without regard to who says it, where and when. */
  worth: number;
  /** True for a line of code, which only users' messages give. */
  isCode: boolean;
  /** True for words that announce a list, with its first item. */
  beginsList?: true;
}

/** What a message tells. */
export interface ToldMessage {
  messageId: number;
  seq: number;
  by: Teller;
  /** True if it also calls tools. Then its words do not close a turn. */
  calls: boolean;
  /** True if the agent then went on to call tools. Its words close a turn that was cut off. */
  goesOn: boolean;
  sentences: readonly Sentence[];
}

/** A sentence at its place in the session. */
export interface Told {
  messageId: number;
  seq: number;
  by: Teller;
  text: string;
  /** How much whoever goes on needs it, before what else is told. */
  worth: number;
  /** True for the last words of an agent before the user speaks again. */
  isClosing: boolean;
  /** True for such words if they tell what came out, because the turn was not cut off. */
  isOutcome: boolean;
  beginsList?: Sentence["beginsList"];
  /** What names its matter, if it does not: a sentence of the message, or else what the user had asked. It is told only with it. */
  subject?: Pick<Told, "messageId" | "text">;
}

/** If a message is longer, only its beginning and its end are read. Agents close long messages with what came out. */
const READ_CHARS_MAX = 12_000;
/** A sentence is cut to this many characters, or split into clauses where it has some. */
const CHARS_MAX = 200;
const CLAUSE_END = /((?<=;|；) +| +[—–] *(?!$)|(?<=,) +(?=(?:but|so|because|and then)\b))/;
/** A shorter clause mostly names what the next one tells about, and stays with it. */
const CLAUSE_CHARS_MIN = 24;
const SENTENCES_MAX = 60;
/** A sentence of fewer words that tell something, such as "All files:", needs its neighbors to be understood. "All tests pass" does not. */
const WORDS_MIN = { user: 1, agent: 3 };
const ASKED_WORDS_MIN = 3;
/** A longer sentence has enough of them. Counting words takes longer than all else that is read of a sentence. */
const WORDS_COUNTED_CHARS_MAX = 80;

/** Announces what the next call shows. */
const NARRATION =
  /^(?:(?:now|so|and|then|first|next|ok|okay|also|actually|hmm|wait)[,:]? )*(?:let me|let['’]s|i['’]ll|i will|i['’]m going to|i am going to|i need to|i should|looking at|checking|running|reading|you['’]re (?:absolutely )?right)\b/i;
/** Begins many answers, and says nothing. */
const FILLER =
  /^(?:(?:great|perfect|excellent|good|nice|okay|ok|sure|yes|right|exactly(?: right)?|absolutely|interesting|ah|done|hmm|thanks|got it|you['’]re (?:absolutely )?right)(?: (?:catch|question|point|idea|news))?[!.,:]+\s+)+/i;
/** Words of deciding, of rules, of outcomes, and of what is open. */
const TELLING =
  /\b(?:decid\w+|decision|chose|option|instead|because|root cause|the (?:issue|problem|bug|fix)|turns out|found|fixed|pass(?:ed|es|ing)?|fail(?:ed|s|ing)?|commit(?:ted)?|revert(?:ed)?|reject(?:ed)?|must|never|always|don['’]t|do not|should|only|not yet|open|todo|remain|pending|next step|blocked)\b/i;
const NAME = /`|\/\w|\w\.\w{1,4}\b/;
const TELLS_NAME = /\d|\w[/_]\w|\w\.\w{1,4}\b|\w-\w+-\w/;
/** `src/lock.ts:7` */
const LONE_NAME = /^[\x21-\x7e]+$/;
const ANNOUNCES = /[:：]$/;
/** Words after whole sentences that only announce what stands below. */
const ANNOUNCING_END = /(?:(?<=[.!?…]["'”’)]*) +|(?<=。))(?:(?![.!?…] |。).)*[:：]$/;
/** What a program writes where the user put an image. */
const IMAGE = /\[Image\b[^\]\n]*\]/g;
const BOLD_LINE = /^\*\*[^*]+\*\*:?$/;
const ROW_END = /\s*\|\s*$/;
const EMPHASIS = /(?<![\p{L}\p{N}*])\*(\p{L}[^*]*(?<=[\p{L}\p{N}.,!?)]))\*(?![\p{L}\p{N}*])/gu;
const MARKS = /\*\*|__|`/g;
/** `[lock.ts](/home/ana/shop/src/lock.ts:7)` */
const LINK_TO_FILE = /\[([^\][]+)\]\((?!\w+:)[^\s()]+\)/g;
/** The end of a line that only announces what the next call, or the next line, shows. */
const TAIL =
  /(?:^|(?<=[.!?…:]["'”’)]*) +)(?:(?:now|so|and|then|next|also),? )?(?:let me|let['’]s|i['’]ll|i will|here(?:['’]s| is| are)|below (?:is|are)|(?:these|those|the (?:following|key|main)(?: \w+)?) (?:are|is|were|was))\b[^.!?]*(?:[.:：]|\.\.\.|…)$/i;
const LEADING_SIGNS = /^[^\p{L}\p{N}"'“‘([{<./~$#@§-]+/u;

/** Agents that continue a compacted session in a new one begin it so. */
const CONTINUATION = /^\s*(?:This session is being continued from a previous conversation|<state_snapshot>)/;
const COMMIT_LINE = /^\[[\w./-]+(?: \([^)]*\))? ([0-9a-f]{7,12})\] (.+)$/gm;
const COMMIT_COMMAND = /\bgit\b[^"'|;&]*\bcommit\b/;

const WORTH = {
  telling: { user: 0.5, agent: 0.45 },
  digit: 0.1,
  name: 0.15,
  announcing: -0.4,
  code: -0.5,
};

/** A call and its result. If so many messages without words are left out between two messages, the agent went on to work. */
const LEFT_OUT_MIN = 2;

/** Reads what messages tell, in order: the answer of a commit is known by its call, and the end of a turn by what follows. */
export class ToldReader {
  /** The calls of `git commit`. A key is the call's step and id. */
  readonly #commits = new Set<string>();
  /** What the newest message tells. */
  #newest: ToldMessage | undefined;

  /** Returns undefined for a message that tells nothing. Messages without words may be left out. */
  of(message: SaidMessage): ToldMessage | undefined {
    const told = this.#read(message);
    const before = this.#newest;
    const isWork = message.role === "assistant" && callsTools(message);
    if (before !== undefined && (isWork || message.seq - before.seq > LEFT_OUT_MIN)) before.goesOn = true;
    this.#newest = told?.by === "agent" ? told : undefined;
    return told;
  }

  #read(message: SaidMessage): ToldMessage | undefined {
    const { id: messageId, seq, role } = message;
    if (role === "tool") return this.#commitsIn(message);
    if (role === "assistant") this.#noteCommits(message);
    const prose = proseOf(message);
    if (prose === "") return undefined;
    const isSummary = compactionNote(message.metadata) !== undefined || CONTINUATION.test(prose);
    const by = isSummary ? "summary" : role === "assistant" ? "agent" : "user";
    if (role === "system") return undefined;
    const sentences = sentencesIn(prose, by === "user" ? "user" : "agent");
    const calls = callsTools(message);
    return sentences.length === 0 ? undefined : { messageId, seq, by, calls, goesOn: false, sentences };
  }

  #noteCommits({ stepId, parts }: SaidMessage): void {
    for (const part of parts) {
      if (part.type !== "tool_call" || isInjected(part)) continue;
      if (COMMIT_COMMAND.test(JSON.stringify(part.args) ?? "")) this.#commits.add(`${stepId} ${part.toolCallId}`);
    }
  }

  #commitsIn({ id: messageId, seq, stepId, parts, text }: SaidMessage): ToldMessage | undefined {
    const answers = parts.some((part) => {
      return part.type === "tool_result" && this.#commits.has(`${stepId} ${part.toolCallId}`);
    });
    if (!answers) return undefined;
    const sentences = Array.from(plainText(text).matchAll(COMMIT_LINE), ([, hash, subject]): Sentence => {
      return { text: cutLine(`committed ${hash}: ${oneLine(subject!)}`, CHARS_MAX), worth: 0, isCode: false };
    });
    return sentences.length === 0
      ? undefined
      : { messageId, seq, by: "commit", calls: false, goesOn: false, sentences };
  }
}

function callsTools({ parts }: Pick<SaidMessage, "parts">): boolean {
  return parts.some(({ type }) => type === "tool_call");
}

/** Returns what a user or a model says in a message, without what an agent's program put into it; "" if nothing. */
export function proseOf({ role, text, parts }: Pick<SaidMessage, "role" | "text" | "parts">): string {
  const said = parts.flatMap((part) => (part.type === "text" && !isInjected(part) ? [part.text] : []));
  if (said.length === 0) return "";
  // The text of a message with calls has their arguments, too. A long string in the parts is stored elsewhere.
  const prose = role === "user" || !callsTools({ parts }) ? text : said.join("\n");
  const read = plainText(excerpt(prose, READ_CHARS_MAX));
  return (role === "user" ? ownWords(read).replace(IMAGE, "") : withoutElements(read)).trim();
}

function sentencesIn(prose: string, by: "user" | "agent"): Sentence[] {
  const found: { -readonly [K in keyof Sentence]: Sentence[K] }[] = [];
  let foundAt = 0;
  for (const [index, { text: written, kind }] of sentencesOf(prose).flatMap(clauses).entries()) {
    if (found.length === SENTENCES_MAX) break;
    const isCode = kind === "code";
    if (by === "agent" && (isCode || kind === "heading" || BOLD_LINE.test(written))) continue;
    const line = oneLine(
      written
        .replace(kind === "row" ? ROW_END : "", "")
        .replace(MARKS, "")
        .replace(EMPHASIS, "$1")
        .replace(LINK_TO_FILE, "$1")
        .replace(LEADING_SIGNS, ""),
    );
    const text = by === "agent" ? line.replace(FILLER, "").replace(TAIL, "") : line;
    if (text === "") continue;
    const isTelling = TELLING.test(line);
    const wordsMin = WORDS_MIN[by] - (isTelling ? 1 : 0);
    if (text.length <= WORDS_COUNTED_CHARS_MAX && new Set(words(text)).size < wordsMin) continue;
    if (by === "agent" && LONE_NAME.test(text)) continue;
    let worth = 0;
    if (isTelling) worth += WORTH.telling[by];
    if (by === "agent") {
      if (NARRATION.test(text)) continue;
      if (/\d/.test(text)) worth += WORTH.digit;
      if (NAME.test(written)) worth += WORTH.name;
      if (ANNOUNCES.test(text) || kind === "row") worth += WORTH.announcing;
    } else if (isCode) worth += WORTH.code;
    const last = found.at(-1);
    const isBelow = by === "agent" && last !== undefined && index === foundAt + 1 && ANNOUNCES.test(last.text);
    foundAt = index;
    // An item tells what the line above it announces.
    if (isBelow && last.text.length + text.length < CHARS_MAX && !ANNOUNCES.test(text)) {
      last.text += ` ${text}`;
      last.beginsList = true;
      last.worth = Math.max(last.worth - WORTH.announcing, worth);
      continue;
    }
    found.push({ text: cutLine(text, CHARS_MAX), worth, isCode });
  }
  return by === "user" ? found : found.flatMap(wholeIn);
}

/** Returns a sentence without an end that only announces what is left out; nothing if there is no more to it. */
function wholeIn(sentence: Sentence): Sentence[] {
  if (!ANNOUNCES.test(sentence.text)) return [sentence];
  const [end] = ANNOUNCING_END.exec(sentence.text) ?? [sentence.text];
  const before = sentence.text.slice(0, -end.length);
  if (TELLS_NAME.test(end) || (TELLING.test(end) && !namesNothing(end)))
    return [{ ...sentence, text: `${sentence.text.slice(0, -1)}…` }];
  const isName = before === "" || (needsNeighbors(before) && !namesNothing(before));
  return isName ? [] : [{ ...sentence, text: before }];
}

/** Returns true for an announcement of an agent ("Perfect! Now let me run the tests"), and for a notice of its program in a user's message. */
export function saysNothing(by: "user" | "agent", text: string): boolean {
  return by === "user" ? ownWords(text).trim() === "" : NARRATION.test(text.trimStart().replace(FILLER, ""));
}

/** Returns true for a sentence of so few words that tell something that its neighbors are needed to understand it. */
export function needsNeighbors(text: string): boolean {
  return text.length <= WORDS_COUNTED_CHARS_MAX && new Set(words(text)).size < ASKED_WORDS_MIN;
}

/** Words that tell that something is done, and not what. */
const OUTCOME_WORD =
  /^(?:all|added|addressed|applied|branch|build|builds|captured|change|changes|check|checks|clean|cleanly|closed|commit|commits|committed|compile|compiles|compiled|complete|completed|correctly|correct|done|error|errors|everything|fail|failed|failing|failures?|final|finished|fix|fixed|fixes|fmt|format|formatted|formatting|full|fully|good|green|happy|implementation|implemented|including|integration|issue|issues|lint|linter|linting|locked|made|merge|merged|no|noted|now|passed|passes|passing|pass|pushed|push|ready|rebase|rebased|recorded|remaining|resolved|saved|set|staged|still|success|successful|successfully|succeeded|suite|task|tasks|test|tests|typecheck|unit|update|updated|verified|warning|warnings|work|working|works|zero|[0-9a-f]{7,}|\d+)$/;

/** Returns true for "All 31 tests pass", which does not tell of what. */
export function namesNothing(text: string): boolean {
  let hasName = false;
  forEachWord(text, (word) => {
    hasName ||= !OUTCOME_WORD.test(word);
  });
  return !hasName;
}

/** Returns true for a sentence that tells what was decided, found or done, and does not announce work. */
export function isTelling(sentence: string): boolean {
  return TELLING.test(sentence) && !NARRATION.test(sentence);
}

/** Splits a sentence that would be cut into its clauses, of which each tells something of its own. */
function clauses({ text, kind }: ProseSentence): ProseSentence[] {
  if (kind === "code" || text.length <= CHARS_MAX) return [{ text, kind }];
  const found: string[] = [];
  let open = "";
  // Each clause is followed by what divides it from the next one.
  for (const [index, piece] of text.split(CLAUSE_END).entries()) {
    if (index % 2 === 0) open += piece;
    else if (open.length < CLAUSE_CHARS_MIN) open += piece;
    else {
      found.push(open);
      open = "";
    }
  }
  return [...found, open].map((clause) => ({ text: clause, kind }));
}

/** The worth of a sentence by who says it, and how it falls with each sentence before it in the message. */
const OF_USER = { first: 2.4, fall: 0.35, least: 0.6 };
const OF_CLOSING = { first: 1.6, fall: 0.1, least: 0 };
const OF_AGENT = { first: 0.7, fall: 0.1, least: 0 };
const OF_SUMMARY = { first: 0.7, fall: 0, least: 0 };
const OF_COMMIT = { first: 2.4, fall: 0, least: 0 };
/** The first request started the work, and the second mostly says what is meant. */
const FIRST_TURNS = { count: 2, worth: 0.5 };
/** "Yes" and "go on" are worth little without what they answer. */
const NEEDY_FACTOR = 0.5;
/** What is newest is worth so much more than what is oldest. */
const RECENCY = { user: 0.4, agent: 0.5 };

/** Returns the sentences of messages in order, each with its worth for whoever goes on. */
export function toldIn(messages: readonly ToldMessage[]): Told[] {
  const closings = closingsOf(messages);
  const [from, end] = [messages[0]?.seq ?? 0, (messages.at(-1)?.seq ?? 0) + 1];
  let turns = 0;
  let asked: Told["subject"];
  return messages.flatMap(({ messageId, seq, by, goesOn, sentences }) => {
    const isNameless = ({ text }: Sentence): boolean => by === "agent" && namesNothing(text);
    const best = bestOf(sentences.filter((one) => !isNameless(one)));
    const subject = best === undefined ? asked : { messageId, text: best.text };
    if (by === "user") {
      turns++;
      // "Yes" goes on with what was asked before.
      if (!needsNeighbors(best!.text)) asked = subject;
    }
    const isClosing = closings.has(messageId);
    const { first, fall, least } =
      by === "user"
        ? OF_USER
        : by === "commit"
          ? OF_COMMIT
          : by === "summary"
            ? OF_SUMMARY
            : isClosing
              ? OF_CLOSING
              : OF_AGENT;
    const age = (seq - from) / (end - from);
    const extra = by === "user" ? (turns <= FIRST_TURNS.count ? FIRST_TURNS.worth : 0) : 0;
    const newer = by === "summary" ? 0 : RECENCY[by === "user" ? "user" : "agent"] * age;
    return sentences.flatMap((sentence, index): Told[] => {
      const { text, worth, beginsList } = sentence;
      const own = Math.max(least, first - fall * index);
      const needs = isNameless(sentence);
      if (needs && subject === undefined) return [];
      const told = {
        messageId,
        seq,
        by,
        text,
        worth: (own + worth + extra + newer) * (by === "user" && needsNeighbors(text) ? NEEDY_FACTOR : 1),
        isClosing,
        isOutcome: isClosing && !goesOn,
        ...(beginsList && { beginsList }),
      };
      return [needs ? { ...told, subject: subject! } : told];
    });
  });
}

function bestOf(sentences: readonly Sentence[]): Sentence | undefined {
  return sentences.reduce<Sentence | undefined>(
    (best, one) => (best && best.worth >= one.worth ? best : one),
    undefined,
  );
}

/** Returns the ids of the messages in which agents spoke last before the user did, unless they then went on to work. */
function closingsOf(messages: readonly ToldMessage[]): Set<number> {
  const closings = new Set<number>();
  let last: ToldMessage | undefined;
  const close = (): void => {
    if (last?.calls === false) closings.add(last.messageId);
    last = undefined;
  };
  for (const message of messages) {
    if (message.by === "agent") last = message;
    else if (message.by === "user") close();
  }
  close();
  return closings;
}

/** The share of a sentence's worth that counts only for words that are not told yet. */
const NOVELTY = 0.8;
/** Each time a word was told, telling it again is worth this share. */
const REPEATED = 0.35;
/** Worth is divided by the cost to this power. Long sentences tell more, but not as much more as they cost. */
const COST_POWER = 0.35;
const COST_BASE = 8;
/** Worth less, a sentence is not told at all. */
const WORTH_MIN = 0.05;

type Rankable = Pick<Told, "messageId" | "text" | "worth" | "subject">;

interface ToldCosts<T> {
  /** Returns the tokens of a sentence. */
  of: (told: T) => number;
  /** Returns the tokens that a message costs beside its sentences. */
  first: (told: T) => number;
}

/**
 * Chooses sentences for a room: greedily, those with the most worth for their cost, where words that are already told count less. That
 * is a submodular cover (Lin and Bilmes, *A Class of Submodular Functions for Document Summarization*, 2011): a greedy choice is
 * near the best one, and a sentence that repeats others waits until there is room.
 *
 * @param room  The tokens for all of them.
 * @returns the chosen sentences in their order.
 */
export function chooseTold<T extends Rankable>(told: readonly T[], room: number, costs: ToldCosts<T>): T[] {
  const orders = new Map(told.map((one, order) => [one, order]));
  return rankTold(told, costs, room).sort((left, right) => orders.get(left)! - orders.get(right)!);
}

/** Returns sentences in the order in which they are chosen, so that each beginning is the choice for its room. */
export function rankTold<T extends Rankable>(
  told: readonly T[],
  costs: ToldCosts<T>,
  room = Number.POSITIVE_INFINITY,
): T[] {
  const firstCosts = new Map<number, number>();
  const firstCostOf = (told: T): number => {
    const known = firstCosts.get(told.messageId) ?? costs.first(told);
    firstCosts.set(told.messageId, known);
    return known;
  };
  const keys = new Set(told.flatMap((one) => (one.worth > WORTH_MIN ? [keyOf(one)] : [])));
  const candidates = told.flatMap((one, order) => {
    if (one.worth <= WORTH_MIN || (one.subject !== undefined && !keys.has(keyOf(one.subject)))) return [];
    const own = costs.of(one);
    return [{ one, order, words: wholeWords(one.text), own, whole: own + firstCostOf(one) }];
  });
  const counts = new Map<string, number>();
  for (const { words } of candidates) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const weightOf = (word: string): number => Math.log(1 + candidates.length / counts.get(word)!);
  const repeats = new Map<string, number>();
  const begun = new Set<number>();
  type Candidate = (typeof candidates)[number];
  const ofKey = new Map(candidates.map((candidate) => [keyOf(candidate.one), candidate]));
  const taken = new Set<Candidate>();
  const costAlone = ({ one, own, whole }: Candidate): number => (begun.has(one.messageId) ? own : whole);
  /** Returns what a sentence is told with, if it is not told already. */
  const subjectOf = ({ one: { subject } }: Candidate): Candidate | undefined => {
    const found = subject && ofKey.get(keyOf(subject));
    return found === undefined || taken.has(found) ? undefined : found;
  };
  const costNow = (candidate: Candidate): number => {
    const subject = subjectOf(candidate);
    return costAlone(candidate) + (subject === undefined ? 0 : costAlone(subject));
  };
  const worthPerCost = (candidate: Candidate): number => {
    let [all, fresh] = [0, 0];
    for (const word of candidate.words) {
      const weight = weightOf(word);
      all += weight;
      fresh += weight * REPEATED ** (repeats.get(word) ?? 0);
    }
    const novelty = all === 0 ? 0 : fresh / all;
    const worth = candidate.one.worth * (1 - NOVELTY + NOVELTY * novelty);
    return worth / (COST_BASE + costNow(candidate)) ** COST_POWER;
  };
  // Values only fall, but for a message that is begun, whose next sentences cost a little less.
  const queue = candidates.map((candidate) => ({ candidate, value: worthPerCost(candidate) }));
  queue.sort((left, right) => left.value - right.value || right.candidate.order - left.candidate.order);
  const chosen: Candidate[] = [];
  for (let left = room; queue.length > 0; ) {
    const best = queue.pop()!;
    if (taken.has(best.candidate) || costNow(best.candidate) > left) continue;
    const value = worthPerCost(best.candidate);
    if (value < (queue.at(-1)?.value ?? 0)) {
      best.value = value;
      insert(queue, best);
      continue;
    }
    left -= costNow(best.candidate);
    const subject = subjectOf(best.candidate);
    for (const candidate of subject === undefined ? [best.candidate] : [subject, best.candidate]) {
      chosen.push(candidate);
      taken.add(candidate);
      begun.add(candidate.one.messageId);
      for (const word of candidate.words) repeats.set(word, (repeats.get(word) ?? 0) + 1);
    }
  }
  return chosen.map(({ one }) => one);
}

function keyOf({ messageId, text }: Pick<Told, "messageId" | "text">): string {
  return `${messageId} ${text}`;
}

function insert<T extends { value: number }>(queue: T[], item: T): void {
  let [from, end] = [0, queue.length];
  while (from < end) {
    const middle = (from + end) >> 1;
    if (queue[middle]!.value < item.value) from = middle + 1;
    else end = middle;
  }
  queue.splice(from, 0, item);
}

function wholeWords(text: string): string[] {
  const found = new Set<string>();
  forEachWord(text, (word, kind) => {
    if (kind !== "piece") found.add(word);
  });
  return [...found];
}

/** Returns what stands between a sentence and the next one. A sentence without a mark at its end, such as an item of a list, is set apart. */
export function jointAfter(text: string): string {
  return /[.!?…:;,。！？：][)"'”’]*$/.test(text) ? " " : "; ";
}
