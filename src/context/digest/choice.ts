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
  /** The worth of each line; 0 if the context shows the line. */
  readonly #lineWorths: Map<string, number>;
  /** The worth of each name. In a conversation without tools, each word is a name, and is worth 1 unless it is here. */
  readonly #nameWorths: Map<string, number>;
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
    this.#blocks = this.#messages.flatMap(({ blocks }) => blocks);
    // Without tools there are no files to take up again. Each word is worth the same, however old it is.
    this.#lineWorths = this.#isTalk ? new Map() : lineWorths(index, indexed, seqNow);
    this.#nameWorths = this.#isTalk ? new Map() : nameWorths(index, indexed, seqNow);
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
    for (const word of texts.flatMap(wordsIn)) this.#nameWorths.set(word, 0);
  }

  /** Makes names and quotes that the context shows elsewhere worthless, so that no block is chosen for them. */
  markShown({ names, quotes }: { names: readonly string[]; quotes: readonly string[] }): void {
    for (const name of names) this.#nameWorths.set(name, 0);
    for (const line of quotes.flatMap(tellingLines)) this.#lineWorths.set(line, 0);
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
    for (const line of block.lines) this.#lineWorths.set(line, 0);
    for (const name of this.#namesOf(block)) this.#nameWorths.set(name, 0);
  }

  #namesOf(block: IndexedBlock): readonly string[] {
    return this.#isTalk ? block.words : block.names;
  }

  /** Returns the worth of a block now, divided by its tokens. */
  #worthOf(block: IndexedBlock): number {
    let [ofLines, ofNames] = [0, 0];
    for (const line of block.lines) ofLines += this.#lineWorths.get(line) ?? 0;
    for (const name of this.#namesOf(block)) ofNames += this.#nameWorths.get(name) ?? Number(this.#isTalk);
    return (block.message.source.kindWeight * ofLines + NAME_WORTH * ofNames) / block.tokensEstimated;
  }

  /** The tokens of a block, and of the message's tag if it is the first of its message. */
  #costOf(block: IndexedBlock): number {
    return this.#chosen.has(block.message) ? block.cost : block.cost + block.message.tagCost;
  }
}

function lineWorths(index: BlockIndex, hidden: readonly IndexedMessage[], seqNow: number): Map<string, number> {
  const recencyOf = ({ source }: IndexedMessage): number => {
    const age = seqNow - source.seq;
    return 2 ** (-age / HALVING_SHORT) + 0.5 * 2 ** (-age / HALVING_MESSAGES);
  };
  // A line that was seen more often is used again more often.
  const worthOf = (recency: number, count: number): number => REUSE * recency * (1 + 0.5 * Math.log(count));
  const recencies = index.past.map(recencyOf);
  const worths = new Map<string, number>();
  for (const [line, { count, last }] of index.lines) worths.set(line, worthOf(recencies[last]!, count));
  const counts = new Map<string, number>();
  for (const message of hidden) {
    const recency = recencyOf(message);
    for (const line of message.blocks.flatMap(({ lines }) => lines)) {
      const count = (counts.get(line) ?? index.lines.get(line)?.count ?? 0) + 1;
      counts.set(line, count);
      worths.set(line, worthOf(recency, count));
    }
  }
  return worths;
}

function nameWorths(index: BlockIndex, hidden: readonly IndexedMessage[], seqNow: number): Map<string, number> {
  const recency = 2 ** ((index.seqLast - seqNow) / HALVING_MESSAGES);
  const counts = new Map(Array.from(index.nameCounts, ([name, count]) => [name, count * recency]));
  for (const { source, blocks } of hidden) {
    const recency = 2 ** ((source.seq - seqNow) / HALVING_MESSAGES);
    for (const name of blocks.flatMap(({ names }) => names)) counts.set(name, (counts.get(name) ?? 0) + recency);
  }
  for (const [name, count] of counts) counts.set(name, count / (count + NAME_COUNT_HALF));
  return counts;
}
