import {
  type BlockIndex,
  type DigestMessage,
  HALVING_MESSAGES,
  type IndexedBlock,
  type IndexedMessage,
  wordsIn,
} from "./block-index.ts";
import { type BlockedMessage, tellingLines } from "./blocks.ts";
import { MaxHeap } from "./max-heap.ts";

/** Later work is less likely to use a line again, the more messages have come since it was last seen. */
const REUSE = 0.04;
/** The number of messages after which the larger part of that probability has halved. */
const HALVING_SHORT = 30;
/** A name with this many mentions has half of that worth. */
const NAME_COUNT_HALF = 3;
/** The worth of a name that nothing shows yet, in the unit of lines. */
const NAME_WORTH = 0.05;

/** With less room, the choice ends. */
const ROOM_MIN = 2;

const FILL_ROUNDS = 3;

/** When this many blocks do not fit, one after the other, the choice ends. */
const MISSES_MAX = 64;

/** The indexes of blocks, by message. */
export type ChosenOf = ReadonlyMap<BlockedMessage, ReadonlySet<number>>;

interface ChosenBlocks {
  blocks: Set<number>;
  /** Undefined after a change. */
  written: DigestMessage | undefined;
}

/**
 * Chooses blocks of messages, each for the lines and names that it adds to what is shown, per token.
 *
 * A line is worth more if it is newer, if it was seen more often, and if it was read from a file or written to one. A block whose
 * lines are shown already has no worth. For such a sum, the greedy choice reaches 1 - 1/e of the best one (Nemhauser, Wolsey and
 * Fisher, 1978). Worths only fall, so most need not be computed again (Minoux, 1978).
 */
export class DigestChoice {
  readonly #index: BlockIndex;
  readonly #messages: readonly IndexedMessage[];
  readonly #isTalk: boolean;
  readonly #worths: LineWorths;
  /** Lines that the context shows. They are worth nothing. */
  readonly #shownLines = new Set<string>();
  /** Names that the context shows. In a conversation without tools, each word is a name. */
  readonly #shownNames = new Set<string>();
  readonly #blocks: readonly IndexedBlock[];
  /** Indexes into `#blocks`. */
  readonly #heap: MaxHeap;
  readonly #chosen = new Map<IndexedMessage, ChosenBlocks>();
  readonly #order: IndexedBlock[] = [];
  /** Blocks that another digest in the context shows. */
  readonly #elsewhere: ReadonlySet<IndexedBlock>;

  /**
   * @param index  The index of the messages before the window, which are not shown.
   * @param hidden  More messages that are not shown, in order of seq.
   * @param shown  The messages that the context shows word for word.
   * @param seqNow  The seq from which ages are counted.
   * @param before  What the context shows of the messages of the index, as `chosen` returns it.
   */
  constructor(
    index: BlockIndex,
    hidden: readonly BlockedMessage[],
    shown: readonly BlockedMessage[],
    seqNow: number,
    before: ChosenOf = new Map(),
  ) {
    this.#index = index;
    this.#elsewhere = new Set(
      [...before].flatMap(([source, blocks]) => Array.from(blocks, (block) => index.of(source).blocks[block]!)),
    );
    const indexed = hidden.map((message) => index.of(message));
    this.#messages = [...index.past, ...indexed];
    this.#isTalk = !index.hasCalls && ![...hidden, ...shown].some(({ isCall }) => isCall);
    const shownBlocks = [...shown.flatMap((message) => index.of(message).blocks), ...this.#elsewhere];
    this.#blocks = [...index.blocks, ...indexed.flatMap(({ blocks }) => blocks)];
    this.#worths = new LineWorths(index, indexed, seqNow);
    for (const block of shownBlocks) this.#markShown(block);
    this.#heap = new MaxHeap(this.#blocks.length);
    for (const [at, block] of this.#blocks.entries()) {
      const worth = this.#worthOf(block);
      if (worth > 0) this.#heap.push(at, worth);
    }
  }

  /** Makes words that the context says elsewhere worthless. Lines and names of work are worth being quoted nevertheless. */
  markSaid(texts: readonly string[]): void {
    if (!this.#isTalk) return;
    for (const word of texts.flatMap(wordsIn)) this.#shownNames.add(word);
  }

  /** Makes names and quotes that the context shows elsewhere worthless, so that no block is chosen for them. */
  markShown({ names, quotes }: { names: readonly string[]; quotes: readonly string[] }): void {
    for (const name of names) this.#shownNames.add(name);
    for (const line of quotes.flatMap(tellingLines)) this.#shownLines.add(line);
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
      return { text, tokenCount: this.#index.tokenCounter.count(text), messages };
    };
    // The sum of the lines' tokens is a little too high, so the rest is filled again.
    let digest: ReturnType<typeof written> | undefined;
    for (let round = 0; round < FILL_ROUNDS; round++) {
      const countBefore = this.#order.length;
      this.#fill(tokensMax - (digest?.tokenCount ?? frameTokens));
      if (this.#order.length === countBefore) break;
      digest = written();
    }
    digest ??= { ...written(), tokenCount: frameTokens };
    while (digest.tokenCount > tokensMax && this.#takeBack()) digest = written();
    return digest;
  }

  /** Chooses blocks until nothing more fits. */
  #fill(tokensMax: number): void {
    let room = tokensMax;
    let misses = 0;
    const skipped: { top: number; worth: number }[] = [];
    for (let top = this.#heap.pop(); top !== undefined; top = this.#heap.pop()) {
      const block = this.#blocks[top]!;
      const worth = this.#worthOf(block);
      if (worth <= 0) continue;
      if (worth < this.#heap.topKey) {
        this.#heap.push(top, worth);
        continue;
      }
      const cost = this.#costOf(block);
      if (cost > room) {
        skipped.push({ top, worth });
        if (++misses === MISSES_MAX) break;
        continue;
      }
      room -= cost;
      misses = 0;
      this.#choose(block);
      if (room < ROOM_MIN) break;
    }
    for (const { top, worth } of skipped) this.#heap.push(top, worth);
    this.#fillWithNewest(room);
  }

  /** The indexes of the chosen blocks, by message. */
  get chosen(): ChosenOf {
    return new Map([...this.#chosen].map(([message, { blocks }]) => [message.source, blocks]));
  }

  #takeBack(): boolean {
    const last = this.#order.pop();
    if (last === undefined) return false;
    const chosen = this.#chosen.get(last.message)!;
    chosen.blocks.delete(last.block);
    chosen.written = undefined;
    if (chosen.blocks.size === 0) this.#chosen.delete(last.message);
    return true;
  }

  /** Returns the messages with chosen blocks, in order of seq. */
  #shown(): DigestMessage[] {
    return [...this.#chosen.entries()]
      .sort(([left], [right]) => left.source.seq - right.source.seq)
      .map(([message, chosen]) => {
        chosen.written ??= message.written(chosen.blocks);
        return chosen.written;
      });
  }

  /** Fills what is left: first the gaps in messages that are shown in part, then the newest messages. */
  #fillWithNewest(tokensMax: number): void {
    if (tokensMax < ROOM_MIN) return;
    let room = tokensMax;
    let misses = 0;
    for (const isPartly of [true, false]) {
      for (let index = this.#messages.length - 1; index >= 0; index--) {
        const message = this.#messages[index]!;
        if (this.#chosen.has(message) !== isPartly) continue;
        for (const block of message.blocks) {
          if (this.#chosen.get(message)?.blocks.has(block.block) || this.#elsewhere.has(block)) continue;
          const cost = this.#costOf(block);
          if (cost > room) misses++;
          else {
            room -= cost;
            misses = 0;
            this.#choose(block);
          }
          if (room < ROOM_MIN || misses === MISSES_MAX) return;
        }
      }
    }
  }

  #choose(block: IndexedBlock): void {
    const chosen = this.#chosen.get(block.message);
    if (chosen === undefined) this.#chosen.set(block.message, { blocks: new Set([block.block]), written: undefined });
    else {
      chosen.blocks.add(block.block);
      chosen.written = undefined;
    }
    this.#order.push(block);
    this.#markShown(block);
  }

  #markShown(block: IndexedBlock): void {
    for (const line of block.lines) this.#shownLines.add(line);
    for (const name of this.#isTalk ? block.words : block.names) this.#shownNames.add(name);
  }

  /** Returns the worth of a block now, divided by its tokens. */
  #worthOf(block: IndexedBlock): number {
    let [ofLines, ofNames] = [0, 0];
    // Without tools there are no files to take up again. Each word is worth the same, however old it is.
    if (this.#isTalk) {
      for (const word of block.words) if (!this.#shownNames.has(word)) ofNames += 1;
    } else {
      for (const line of block.lines) if (!this.#shownLines.has(line)) ofLines += this.#worths.ofLine(line);
      for (const name of block.names) if (!this.#shownNames.has(name)) ofNames += this.#worths.ofName(name);
    }
    return (block.message.source.kindWeight * ofLines + NAME_WORTH * ofNames) / block.tokensEstimated;
  }

  /** The tokens of a block, and of the message's tag if it is the first of its message. */
  #costOf(block: IndexedBlock): number {
    return this.#chosen.has(block.message) ? block.cost : block.cost + block.message.tagCost;
  }
}

/** What lines and names are worth at a seq, if the context does not show them. */
class LineWorths {
  readonly #index: BlockIndex;
  /** What the messages of the index are worth for being new. */
  readonly #pastRecencies: readonly number[];
  /** What becomes of the index's numbers by the hidden messages. */
  readonly #hiddenLines = new Map<string, { count: number; recency: number }>();
  readonly #hiddenNames = new Map<string, number>();
  readonly #nameDecay: number;

  /** @param hidden  Messages after those of the index, in order of seq. */
  constructor(index: BlockIndex, hidden: readonly IndexedMessage[], seqNow: number) {
    this.#index = index;
    this.#pastRecencies = index.past.map(({ source }) => recencyOf(seqNow - source.seq));
    this.#nameDecay = 2 ** ((index.seqLast - seqNow) / HALVING_MESSAGES);
    for (const { source, blocks } of hidden) {
      const recency = recencyOf(seqNow - source.seq);
      const mention = 2 ** ((source.seq - seqNow) / HALVING_MESSAGES);
      for (const { lines, names } of blocks) {
        for (const line of lines) {
          const known = this.#hiddenLines.get(line) ?? index.lines.get(line);
          this.#hiddenLines.set(line, { count: (known?.count ?? 0) + 1, recency });
        }
        for (const name of names) this.#hiddenNames.set(name, (this.#hiddenNames.get(name) ?? 0) + mention);
      }
    }
  }

  /** A line that was seen more often is used again more often. */
  ofLine(line: string): number {
    const hidden = this.#hiddenLines.get(line);
    if (hidden !== undefined) return REUSE * hidden.recency * (1 + 0.5 * Math.log(hidden.count));
    const past = this.#index.lines.get(line);
    return past === undefined ? 0 : REUSE * this.#pastRecencies[past.last]! * (1 + 0.5 * Math.log(past.count));
  }

  ofName(name: string): number {
    const past = (this.#index.nameCounts.get(name) ?? 0) * this.#nameDecay;
    const count = past + (this.#hiddenNames.get(name) ?? 0);
    return count / (count + NAME_COUNT_HALF);
  }
}

function recencyOf(age: number): number {
  return 2 ** (-age / HALVING_SHORT) + 0.5 * 2 ** (-age / HALVING_MESSAGES);
}
