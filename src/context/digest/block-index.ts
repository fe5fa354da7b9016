import { escapeText } from "../../core/markup.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import { lineTokens } from "../costs.ts";
import type { BlockedMessage } from "./blocks.ts";
import { type DigestMessage, digestMessage, messageTag } from "./digest-message.ts";

/** A name counts half after this many messages. */
export const HALVING_MESSAGES = 120;

/** The tokens of the mark for a gap, which a block may need. */
const GAP_TOKENS = 2;

/** Blocks are compared by this estimate. The tokens of chosen blocks are counted. */
const TOKEN_CHARS = 4;

const WORD = /\p{L}[\p{L}\p{M}\p{N}'’-]{3,}|\p{N}+/gu;

/** Returns numbers, and words of at least four letters, each once. */
export function wordsIn(text: string): string[] {
  return [...new Set(text.toLowerCase().match(WORD))];
}

/** A block whose lines, names and words are numbers, so that a choice need not compare texts. */
export class IndexedBlock {
  readonly message: IndexedMessage;
  /** Index into the message's blocks. */
  readonly block: number;
  readonly lines: readonly number[];
  readonly names: readonly number[];
  /** An estimate of `cost`. */
  readonly tokensEstimated: number;
  readonly #lexicon: Lexicon;
  #cost: number | undefined;
  #words: readonly number[] | undefined;

  constructor(message: IndexedMessage, block: number, lexicon: Lexicon) {
    const { start, end, lines, names } = message.source.blocks[block]!;
    this.message = message;
    this.block = block;
    this.lines = lines.map((line) => lexicon.lineNumbers.of(line));
    this.names = names.map((name) => lexicon.nameNumbers.of(name));
    this.tokensEstimated = (end - start) / TOKEN_CHARS + GAP_TOKENS;
    this.#lexicon = lexicon;
  }

  /** The tokens of the block and of a mark for a gap. */
  get cost(): number {
    this.#cost ??= this.#lexicon.tokenCounter.count(escapeText(this.#text())) + GAP_TOKENS;
    return this.#cost;
  }

  /** Numbers, and words of at least four letters, each once. */
  get words(): readonly number[] {
    this.#words ??= wordsIn(this.#text()).map((word) => this.#lexicon.wordNumbers.of(word));
    return this.#words;
  }

  #text(): string {
    const { text, blocks } = this.message.source;
    return text.slice(blocks[this.block]!.start, blocks[this.block]!.end);
  }
}

export class IndexedMessage {
  readonly source: BlockedMessage;
  readonly blocks: readonly IndexedBlock[];
  /** The names in its blocks, each once. */
  readonly names: readonly number[];
  readonly #lexicon: Lexicon;
  #tagCost: number | undefined;
  /** The message as it was written last, because successive contexts often show the same blocks. */
  #written: { blocks: string; message: DigestMessage } | undefined;

  constructor(source: BlockedMessage, lexicon: Lexicon) {
    this.source = source;
    this.#lexicon = lexicon;
    this.blocks = source.blocks.map((_, block) => new IndexedBlock(this, block, lexicon));
    this.names = source.names.map((name) => lexicon.nameNumbers.of(name));
  }

  /** The tokens of its tag. */
  get tagCost(): number {
    this.#tagCost ??= lineTokens(messageTag(this.source, ""), this.#lexicon.tokenCounter);
    return this.#tagCost;
  }

  written(chosen: ReadonlySet<number>): DigestMessage {
    const blocks = [...chosen].sort((left, right) => left - right).join();
    if (this.#written?.blocks !== blocks) this.#written = { blocks, message: digestMessage(this.source, chosen) };
    return this.#written.message;
  }
}

/** Gives numbers to texts, from 0 on. */
class Numbers {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];

  get size(): number {
    return this.#texts.length;
  }

  of(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#texts.length;
      this.#numbers.set(text, number);
      this.#texts.push(text);
    }
    return number;
  }

  textOf(number: number): string {
    return this.#texts[number]!;
  }

  /** Returns undefined if the text has no number. */
  known(text: string): number | undefined {
    return this.#numbers.get(text);
  }
}

/** When a lexicon has this many times the lines of its first index, most of its messages are too old for a digest. */
const LEXICON_GROWTH_MAX = 3;

/** The numbers of lines, names and words. It outlives an index, so that a move of the frontier numbers only new messages. */
class Lexicon {
  readonly tokenCounter: TokenCounter;
  readonly lineNumbers = new Numbers();
  readonly nameNumbers = new Numbers();
  readonly wordNumbers = new Numbers();
  readonly #messages = new WeakMap<BlockedMessage, IndexedMessage>();
  #lineCountFirst = 0;

  constructor(tokenCounter: TokenCounter) {
    this.tokenCounter = tokenCounter;
  }

  get isWornOut(): boolean {
    return this.lineNumbers.size > LEXICON_GROWTH_MAX * this.#lineCountFirst;
  }

  startWith(past: readonly BlockedMessage[]): this {
    for (const message of past) this.of(message);
    this.#lineCountFirst = this.lineNumbers.size;
    return this;
  }

  of(source: BlockedMessage): IndexedMessage {
    let message = this.#messages.get(source);
    if (message === undefined) {
      message = new IndexedMessage(source, this);
      this.#messages.set(source, message);
      lexicons.set(source, this);
    }
    return message;
  }
}

/** The lexicon that numbered each message last. */
const lexicons = new WeakMap<BlockedMessage, Lexicon>();

/** An index of the messages before the window, made when the frontier moves. Messages of the window can be added with `of`. */
export class BlockIndex {
  readonly lexicon: Lexicon;
  readonly past: readonly IndexedMessage[];
  readonly hasCalls: boolean;
  /** How many blocks before the window have each line. The index is the number of the line. */
  readonly lineCounts: Int32Array;
  /** The last message before the window that has each line, as an index into `past`. */
  readonly lineLast: Int32Array;
  /** How often each name is mentioned before the window. A mention loses half its weight every `HALVING_MESSAGES`. */
  readonly nameCounts: Float64Array;
  readonly seqLast: number;

  /** @param past  In order of seq. */
  constructor(past: readonly BlockedMessage[], tokenCounter: TokenCounter) {
    const newest = past.at(-1);
    const known = newest && lexicons.get(newest);
    const isUsable = known?.tokenCounter === tokenCounter && !known.isWornOut;
    this.lexicon = isUsable ? known : new Lexicon(tokenCounter).startWith(past);
    this.past = past.map((message) => this.of(message));
    this.hasCalls = past.some(({ isCall }) => isCall);
    this.seqLast = newest?.seq ?? 0;
    this.lineCounts = new Int32Array(this.lexicon.lineNumbers.size);
    this.lineLast = new Int32Array(this.lexicon.lineNumbers.size);
    this.nameCounts = new Float64Array(this.lexicon.nameNumbers.size);
    for (let index = 0; index < this.past.length; index++) {
      const { source, blocks } = this.past[index]!;
      const recency = 2 ** ((source.seq - this.seqLast) / HALVING_MESSAGES);
      for (const { lines, names } of blocks) {
        for (const line of lines) {
          this.lineCounts[line]! += 1;
          this.lineLast[line] = index;
        }
        for (const name of names) this.nameCounts[name]! += recency;
      }
    }
  }

  of(source: BlockedMessage): IndexedMessage {
    return this.lexicon.of(source);
  }
}

/** The index of a list of messages is kept as long as the list. */
const indexes = new WeakMap<readonly BlockedMessage[], BlockIndex>();

export function indexOf(past: readonly BlockedMessage[], tokenCounter: TokenCounter): BlockIndex {
  let index = indexes.get(past);
  if (index?.lexicon.tokenCounter !== tokenCounter) {
    index = new BlockIndex(past, tokenCounter);
    indexes.set(past, index);
  }
  return index;
}
