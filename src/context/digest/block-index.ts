import { escapeText } from "../../core/markup.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import { lineTokens } from "../costs.ts";
import type { BlockedMessage } from "./blocks.ts";
import { type DigestMessage, digestMessage, messageTag } from "./digest-message.ts";

/** A name counts half after this many messages. */
export const HALVING_MESSAGES = 120;

/** The tokens of the mark for a gap, which a block may need. */
const GAP_TOKENS = 2;

/** An estimate is enough to compare blocks. What is chosen is counted. */
const TOKEN_CHARS = 4;

const WORD = /\p{L}[\p{L}\p{M}\p{N}'’-]{3,}|\p{N}+/gu;

/** A block whose lines, names and words have numbers, so that a choice compares no texts. */
export class IndexedBlock {
  readonly message: IndexedMessage;
  /** Index into the message's blocks. */
  readonly block: number;
  readonly lines: readonly number[];
  readonly names: readonly number[];
  /** About what it costs. */
  readonly tokensEstimated: number;
  readonly #index: BlockIndex;
  #cost: number | undefined;
  #words: readonly number[] | undefined;

  constructor(message: IndexedMessage, block: number, index: BlockIndex) {
    const { start, end, lines, names } = message.source.blocks[block]!;
    this.message = message;
    this.block = block;
    this.lines = lines.map((line) => index.lineNumbers.of(line));
    this.names = names.map((name) => index.nameNumbers.of(name));
    this.tokensEstimated = (end - start) / TOKEN_CHARS + GAP_TOKENS;
    this.#index = index;
  }

  /** Its tokens, and those of a mark for a gap. */
  get cost(): number {
    this.#cost ??= this.#index.tokenCounter.count(escapeText(this.#text())) + GAP_TOKENS;
    return this.#cost;
  }

  /** Numbers, and words of at least four letters, each once. */
  get words(): readonly number[] {
    this.#words ??= [...new Set(this.#text().toLowerCase().match(WORD))].map((word) =>
      this.#index.wordNumbers.of(word),
    );
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
  readonly #index: BlockIndex;
  #tagCost: number | undefined;
  /** As it was written last. Contexts that follow each other often show the same blocks. */
  #written: { blocks: string; message: DigestMessage } | undefined;

  constructor(source: BlockedMessage, index: BlockIndex) {
    this.source = source;
    this.#index = index;
    this.blocks = source.blocks.map((_, block) => new IndexedBlock(this, block, index));
  }

  /** The tokens of its tag. */
  get tagCost(): number {
    this.#tagCost ??= lineTokens(messageTag(this.source, ""), this.#index.tokenCounter);
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

  get size(): number {
    return this.#numbers.size;
  }

  of(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
    }
    return number;
  }

  /** Returns undefined if the text has no number. */
  known(text: string): number | undefined {
    return this.#numbers.get(text);
  }
}

/** The messages before the window, prepared for choices. It is made when the frontier moves, and messages of the window join it. */
export class BlockIndex {
  readonly tokenCounter: TokenCounter;
  readonly lineNumbers = new Numbers();
  readonly nameNumbers = new Numbers();
  readonly wordNumbers = new Numbers();
  readonly past: readonly IndexedMessage[];
  readonly hasCalls: boolean;
  /** How many blocks before the window have each line. The index is the number of the line. */
  readonly lineCounts: number[] = [];
  /** The last message before the window that has each line, as an index into `past`. */
  readonly lineLast: number[] = [];
  /** How often each name is mentioned before the window. A mention loses half its weight every `HALVING_MESSAGES`. */
  readonly nameCounts: number[] = [];
  readonly seqLast: number;
  readonly #messages = new Map<number, IndexedMessage>();

  /** @param past  In order of seq. */
  constructor(past: readonly BlockedMessage[], tokenCounter: TokenCounter) {
    this.tokenCounter = tokenCounter;
    this.past = past.map((message) => this.of(message));
    this.hasCalls = past.some(({ isCall }) => isCall);
    this.seqLast = past.at(-1)?.seq ?? 0;
    for (const [index, { source, blocks }] of this.past.entries()) {
      const recency = 2 ** ((source.seq - this.seqLast) / HALVING_MESSAGES);
      for (const { lines, names } of blocks) {
        for (const line of lines) {
          this.lineCounts[line] = (this.lineCounts[line] ?? 0) + 1;
          this.lineLast[line] = index;
        }
        for (const name of names) this.nameCounts[name] = (this.nameCounts[name] ?? 0) + recency;
      }
    }
  }

  of(source: BlockedMessage): IndexedMessage {
    let message = this.#messages.get(source.id);
    if (message?.source !== source) {
      message = new IndexedMessage(source, this);
      this.#messages.set(source.id, message);
    }
    return message;
  }
}

/** The index of a list of messages is kept as long as the list. */
const indexes = new WeakMap<readonly BlockedMessage[], BlockIndex>();

export function indexOf(past: readonly BlockedMessage[], tokenCounter: TokenCounter): BlockIndex {
  let index = indexes.get(past);
  if (index?.tokenCounter !== tokenCounter) {
    index = new BlockIndex(past, tokenCounter);
    indexes.set(past, index);
  }
  return index;
}
