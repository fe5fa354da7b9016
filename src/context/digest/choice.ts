import { element, escapeText } from "../../core/markup.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import { lineTokens } from "../costs.ts";
import { type BlockedMessage, tellingLines } from "./blocks.ts";
import { MaxHeap } from "./max-heap.ts";

/** The probability that later work uses a line again falls with the messages since it was last seen. */
const REUSE = 0.04;
const HALVING_SHORT = 30;
const HALVING_LONG = 120;
/** The worth of a name that nothing shows yet, against that of a line. */
const NAME_WORTH = 0.05;
/** A name with this many mentions has half of that worth. */
const NAME_COUNT_HALF = 3;

/** The tokens of the mark for a gap, which a block may need. */
const GAP_TOKENS = 2;

/** An estimate is enough to compare blocks. What is chosen is counted. */
const TOKEN_CHARS = 4;

const FILL_ROUNDS = 3;

interface Candidate {
  message: number;
  block: number;
  tokens: number;
}

/**
 * Chooses blocks of messages, each for the lines and names that it adds to what is shown, per token.
 *
 * A line is worth more the newer it is, the more often it was seen, and if it was read from a file or written to one. A block
 * whose lines are shown already has no worth. The greedy choice for such a sum is within 1 - 1/e of the best one (Nemhauser,
 * Wolsey and Fisher, 1978); worths only fall, so most need not be computed again (Minoux, 1978).
 */
export class DigestChoice {
  readonly #messages: readonly BlockedMessage[];
  readonly #tokenCounter: TokenCounter;
  readonly #isTalk: boolean;
  readonly #lineWorths: Map<string, number>;
  readonly #nameWorths: Map<string, number>;
  readonly #heap = new MaxHeap<Candidate>();
  /** The chosen blocks of each message, by its index. */
  readonly #chosen = new Map<number, Set<number>>();
  readonly #order: { message: number; block: number }[] = [];

  /**
   * @param messages  In order of seq. None of them is shown.
   * @param shown  The messages that the context shows word for word.
   * @param seqNow  The seq from which ages are counted.
   */
  constructor(
    messages: readonly BlockedMessage[],
    shown: readonly BlockedMessage[],
    seqNow: number,
    tokenCounter: TokenCounter,
  ) {
    this.#messages = messages;
    this.#tokenCounter = tokenCounter;
    this.#isTalk = ![...messages, ...shown].some(({ isCall }) => isCall);
    this.#lineWorths = this.#isTalk ? new Map() : lineWorths(messages, seqNow);
    this.#nameWorths = this.#isTalk ? wordWorths(messages) : nameWorths(messages, seqNow);
    for (const message of shown) for (const block of message.blocks.keys()) this.#markShown(message, block);
    for (const [message, { blocks }] of messages.entries()) {
      for (const [block, { start, end }] of blocks.entries()) {
        const candidate = { message, block, tokens: (end - start) / TOKEN_CHARS + GAP_TOKENS };
        const worth = this.#worthOf(candidate);
        if (worth > 0) this.#heap.push(candidate, worth / candidate.tokens);
      }
    }
  }

  /** Leaves out what the context shows in another way. */
  markShown({ names, quotes }: { names: readonly string[]; quotes: readonly string[] }): void {
    for (const name of names) this.#nameWorths.delete(name);
    for (const quote of quotes) for (const line of tellingLines(quote)) this.#lineWorths.delete(line);
  }

  /**
   * Writes a text with as many blocks as fit.
   *
   * @param frameTokens  The tokens of the text without messages.
   */
  write(
    tokensMax: number,
    frameTokens: number,
    textOf: (messages: readonly DigestMessage[]) => string,
  ): { text: string; tokenCount: number; messages: readonly DigestMessage[] } {
    const written = () => {
      const messages = this.#shown();
      const text = textOf(messages);
      return { text, tokenCount: this.#tokenCounter.count(text), messages };
    };
    // The sum of the lines' tokens is a little too high, so the rest is filled again.
    let digest = { ...written(), tokenCount: frameTokens };
    for (let round = 0; round < FILL_ROUNDS; round++) {
      const countBefore = this.#order.length;
      this.#fill(tokensMax - digest.tokenCount);
      if (this.#order.length === countBefore) break;
      digest = written();
    }
    while (digest.tokenCount > tokensMax && this.#takeBack()) digest = written();
    return digest;
  }

  /** Chooses blocks until nothing more fits. */
  #fill(tokensMax: number): void {
    let room = tokensMax;
    const skipped: { item: Candidate; key: number }[] = [];
    for (let top = this.#heap.pop(); top !== undefined; top = this.#heap.pop()) {
      const { item } = top;
      const worth = this.#worthOf(item);
      if (worth <= 0) continue;
      const key = worth / item.tokens;
      if (key < this.#heap.topKey) {
        this.#heap.push(item, key);
        continue;
      }
      const cost = this.#costOf(item.message, item.block);
      if (cost > room) {
        skipped.push({ item, key });
        continue;
      }
      room -= cost;
      this.#choose(item.message, item.block);
      if (room < GAP_TOKENS) break;
    }
    for (const { item, key } of skipped) this.#heap.push(item, key);
    this.#fillWithNewest(room);
  }

  #takeBack(): boolean {
    const last = this.#order.pop();
    if (last === undefined) return false;
    const blocks = this.#chosen.get(last.message)!;
    blocks.delete(last.block);
    if (blocks.size === 0) this.#chosen.delete(last.message);
    return true;
  }

  /** Returns the messages with chosen blocks, in order of seq. */
  #shown(): DigestMessage[] {
    return [...this.#chosen.entries()]
      .sort(([left], [right]) => left - right)
      .map(([index, blocks]) => digestMessage(this.#messages[index]!, blocks));
  }

  /** Fills what is left: first the gaps in messages that are shown in part, then the newest messages. */
  #fillWithNewest(tokensMax: number): void {
    let room = tokensMax;
    const isPartly = (index: number): number => (this.#chosen.has(index) ? 0 : 1);
    const indexes = [...this.#messages.keys()].reverse().sort((left, right) => isPartly(left) - isPartly(right));
    for (const message of indexes) {
      if (room < GAP_TOKENS) break;
      for (const block of this.#messages[message]!.blocks.keys()) {
        if (this.#chosen.get(message)?.has(block)) continue;
        const cost = this.#costOf(message, block);
        if (cost > room) continue;
        room -= cost;
        this.#choose(message, block);
      }
    }
  }

  #choose(message: number, block: number): void {
    const blocks = this.#chosen.get(message);
    if (blocks === undefined) this.#chosen.set(message, new Set([block]));
    else blocks.add(block);
    this.#order.push({ message, block });
    this.#markShown(this.#messages[message]!, block);
  }

  #markShown(message: BlockedMessage, block: number): void {
    for (const line of message.blocks[block]!.lines) this.#lineWorths.delete(line);
    for (const name of this.#namesOf(message, block)) this.#nameWorths.delete(name);
  }

  /** In talk, each word is a name. */
  #namesOf(message: BlockedMessage, block: number): readonly string[] {
    return this.#isTalk ? wordsOf(message)[block]! : message.blocks[block]!.names;
  }

  #worthOf({ message, block }: Candidate): number {
    const source = this.#messages[message]!;
    let ofLines = 0;
    for (const line of source.blocks[block]!.lines) ofLines += this.#lineWorths.get(line) ?? 0;
    let ofNames = 0;
    for (const name of this.#namesOf(source, block)) ofNames += this.#nameWorths.get(name) ?? 0;
    return source.kindWeight * ofLines + NAME_WORTH * ofNames;
  }

  /** The tokens of a block, and of the message's tag if it is the first of its message. */
  #costOf(message: number, block: number): number {
    const costs = costsOf(this.#messages[message]!, this.#tokenCounter);
    const tokens = costs.ofBlock(block) + GAP_TOKENS;
    return this.#chosen.has(message) ? tokens : tokens + costs.tag;
  }
}

/** The tokens of a message's tag and of its blocks. */
interface Costs {
  tokenCounter: TokenCounter;
  tag: number;
  ofBlock: (block: number) => number;
}

/** A cache, because a message is a candidate for many contexts. */
const costs = new WeakMap<BlockedMessage, Costs>();

function costsOf(message: BlockedMessage, tokenCounter: TokenCounter): Costs {
  const known = costs.get(message);
  if (known?.tokenCounter === tokenCounter) return known;
  const counts: number[] = [];
  const ofBlock = (block: number): number => {
    const { start, end } = message.blocks[block]!;
    counts[block] ??= tokenCounter.count(escapeText(message.text.slice(start, end)));
    return counts[block];
  };
  const made = { tokenCounter, tag: lineTokens(messageTag(message, ""), tokenCounter), ofBlock };
  costs.set(message, made);
  return made;
}

export interface DigestMessage {
  id: number;
  seq: number;
  stepId: number;
  /** `verbatim` if every word of the message is shown. */
  how: "verbatim" | "shortened";
  text: string;
}

function digestMessage(source: BlockedMessage, chosen: ReadonlySet<number>): DigestMessage {
  const { id, seq, stepId, text, blocks, isWhole } = source;
  const pieces: string[] = [];
  let start = -1;
  for (const [index, block] of blocks.entries()) {
    if (!chosen.has(index)) {
      if (pieces.at(-1) !== "…") pieces.push("…");
      continue;
    }
    if (start === -1) start = block.start;
    if (chosen.has(index + 1)) continue;
    pieces.push(escapeText(text.slice(start, block.end)));
    start = -1;
  }
  const isAll = chosen.size === blocks.length;
  const how = isWhole && isAll ? "verbatim" : "shortened";
  const content = isAll ? escapeText(text) : pieces.join("\n");
  return { id, seq, stepId, how, text: messageTag(source, content) };
}

function messageTag({ id, role, name }: BlockedMessage, content: string): string {
  return element("m", { id, by: name ?? role }, content);
}

function lineWorths(messages: readonly BlockedMessage[], seqNow: number): Map<string, number> {
  const counts = new Map<string, number>();
  const worths = new Map<string, number>();
  for (const { seq, blocks } of messages) {
    const age = seqNow - seq;
    const recency = 2 ** (-age / HALVING_SHORT) + 0.5 * 2 ** (-age / HALVING_LONG);
    for (const { lines } of blocks) {
      for (const line of lines) {
        const count = (counts.get(line) ?? 0) + 1;
        counts.set(line, count);
        worths.set(line, REUSE * recency * (1 + 0.5 * Math.log(count))); // the newest message comes last
      }
    }
  }
  return worths;
}

function nameWorths(messages: readonly BlockedMessage[], seqNow: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { seq, blocks } of messages) {
    const recency = 2 ** ((seq - seqNow) / HALVING_LONG);
    for (const { names } of blocks) for (const name of names) counts.set(name, (counts.get(name) ?? 0) + recency);
  }
  for (const [name, count] of counts) counts.set(name, count / (count + NAME_COUNT_HALF));
  return counts;
}

const WORD = /\p{L}[\p{L}\p{M}\p{N}'’-]{3,}|\p{N}+/gu;

const words = new WeakMap<BlockedMessage, string[][]>();

/** Returns the words of each block: numbers, and words of at least four letters. */
function wordsOf(message: BlockedMessage): string[][] {
  let known = words.get(message);
  if (known === undefined) {
    known = message.blocks.map(({ start, end }) => [
      ...new Set(message.text.slice(start, end).toLowerCase().match(WORD)),
    ]);
    words.set(message, known);
  }
  return known;
}

/** Without tools there are no files to take up again. Each word is worth the same, however old it is. */
function wordWorths(messages: readonly BlockedMessage[]): Map<string, number> {
  return new Map(messages.flatMap((message) => wordsOf(message).flat()).map((word) => [word, 1]));
}
