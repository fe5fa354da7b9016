import { type BlockIndex, HALVING_MESSAGES, type IndexedBlock, type IndexedMessage, wordsIn } from "./block-index.ts";
import { type BlockedMessage, tellingLines } from "./blocks.ts";
import type { DigestMessage } from "./digest-message.ts";
import { MaxHeap } from "./max-heap.ts";
import { PackedBlocks, packedPast } from "./packed-blocks.ts";

/** Later work is less likely to use a line again, the more messages have come since it was last seen. */
const REUSE = 0.04;
/** The number of messages after which the larger part of that probability has halved. */
const HALVING_SHORT = 30;
/** A name with this many mentions has half of that worth. */
const NAME_COUNT_HALF = 3;

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
  /** The worth of each line of the index; 0 if the context shows the line. */
  readonly #lineWorths: Float64Array;
  /** The worth of each name of the index. In a conversation without tools, each word is a name. */
  readonly #nameWorths: Float64Array;
  readonly #past: PackedBlocks;
  readonly #hidden: PackedBlocks;
  /** Indexes into the blocks of `#past`, then into those of `#hidden`. */
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
    this.#past = packedPast(index, this.#isTalk);
    this.#hidden = new PackedBlocks(indexed, this.#isTalk);
    if (this.#isTalk) {
      // Without tools there are no files to take up again. Each word is worth the same, however old it is.
      for (const block of shownBlocks) block.words;
      this.#lineWorths = new Float64Array(index.lexicon.lineNumbers.size);
      this.#nameWorths = new Float64Array(index.lexicon.wordNumbers.size).fill(1);
    } else {
      this.#lineWorths = lineWorths(index, indexed, seqNow);
      this.#nameWorths = nameWorths(index, indexed, seqNow);
    }
    for (const block of shownBlocks) this.#markShown(block);
    const count = this.#past.blocks.length + this.#hidden.blocks.length;
    this.#heap = new MaxHeap(count);
    for (let block = 0; block < count; block++) {
      const worth = this.#worthOf(block);
      if (worth > 0) this.#heap.push(block, worth);
    }
  }

  /** Makes words that the context says elsewhere worthless. Lines and names of work are worth being quoted nevertheless. */
  markSaid(texts: readonly string[]): void {
    if (!this.#isTalk) return;
    const { wordNumbers } = this.#index.lexicon;
    for (const word of texts.flatMap(wordsIn)) {
      const number = wordNumbers.known(word);
      if (number !== undefined) this.#nameWorths[number] = 0;
    }
  }

  /** Makes names and quotes that the context shows elsewhere worthless, so that no block is chosen for them. */
  markShown({ names, quotes }: { names: readonly string[]; quotes: readonly string[] }): void {
    const { lineNumbers, nameNumbers, wordNumbers } = this.#index.lexicon;
    const nameOrWordNumbers = this.#isTalk ? wordNumbers : nameNumbers;
    for (const name of names) {
      const number = nameOrWordNumbers.known(name);
      if (number !== undefined) this.#nameWorths[number] = 0;
    }
    for (const line of quotes.flatMap(tellingLines)) {
      const number = lineNumbers.known(line);
      if (number !== undefined) this.#lineWorths[number] = 0;
    }
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
      return { text, tokenCount: this.#index.lexicon.tokenCounter.count(text), messages };
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
      const worth = this.#worthOf(top);
      if (worth <= 0) continue;
      if (worth < this.#heap.topKey) {
        this.#heap.push(top, worth);
        continue;
      }
      const block = this.#blockAt(top);
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
    for (const line of block.lines) this.#lineWorths[line] = 0;
    for (const name of this.#isTalk ? block.words : block.names) this.#nameWorths[name] = 0;
  }

  /** Returns the worth of a block now, divided by its tokens. */
  #worthOf(block: number): number {
    const pastCount = this.#past.blocks.length;
    return block < pastCount
      ? this.#past.worthOf(block, this.#lineWorths, this.#nameWorths)
      : this.#hidden.worthOf(block - pastCount, this.#lineWorths, this.#nameWorths);
  }

  #blockAt(index: number): IndexedBlock {
    return this.#past.blocks[index] ?? this.#hidden.blocks[index - this.#past.blocks.length]!;
  }

  /** The tokens of a block, and of the message's tag if it is the first of its message. */
  #costOf(block: IndexedBlock): number {
    return this.#chosen.has(block.message) ? block.cost : block.cost + block.message.tagCost;
  }
}

function lineWorths(index: BlockIndex, hidden: readonly IndexedMessage[], seqNow: number): Float64Array {
  const { lineCounts, lineLast } = index;
  const recencyOf = ({ source }: IndexedMessage): number => {
    const age = seqNow - source.seq;
    return 2 ** (-age / HALVING_SHORT) + 0.5 * 2 ** (-age / HALVING_MESSAGES);
  };
  const recencies = index.past.map(recencyOf);
  const worths = new Float64Array(index.lexicon.lineNumbers.size);
  for (let line = 0; line < lineCounts.length; line++) {
    const count = lineCounts[line]!;
    if (count > 0) worths[line] = REUSE * recencies[lineLast[line]!]! * frequencyFactor(count);
  }
  const counts = new Map<number, number>();
  for (const message of hidden) {
    const recency = recencyOf(message);
    for (const { lines } of message.blocks) {
      for (const line of lines) {
        const count = (counts.get(line) ?? lineCounts[line] ?? 0) + 1;
        counts.set(line, count);
        worths[line] = REUSE * recency * frequencyFactor(count);
      }
    }
  }
  return worths;
}

const frequencyFactors: number[] = [];

/** A line that was seen more often is used again more often. */
function frequencyFactor(count: number): number {
  frequencyFactors[count] ??= 1 + 0.5 * Math.log(count);
  return frequencyFactors[count];
}

function nameWorths(index: BlockIndex, hidden: readonly IndexedMessage[], seqNow: number): Float64Array {
  const { nameCounts } = index;
  const counts = new Float64Array(index.lexicon.nameNumbers.size);
  const recency = 2 ** ((index.seqLast - seqNow) / HALVING_MESSAGES);
  for (let name = 0; name < nameCounts.length; name++) counts[name] = nameCounts[name]! * recency;
  for (const { source, blocks } of hidden) {
    const recency = 2 ** ((source.seq - seqNow) / HALVING_MESSAGES);
    for (const { names } of blocks) for (const name of names) counts[name]! += recency;
  }
  return counts.map((count) => count / (count + NAME_COUNT_HALF));
}
