import { element, escapeText } from "../../core/markup.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import { lineTokens } from "../costs.ts";
import type { BlockedMessage } from "./blocks.ts";

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

/** A block, what it costs, and its words, which are counted and read only when they are needed. */
export class IndexedBlock {
  readonly message: IndexedMessage;
  /** Index into the message's blocks. */
  readonly block: number;
  readonly lines: readonly string[];
  readonly names: readonly string[];
  /** An estimate of `cost`. */
  readonly tokensEstimated: number;
  #cost: number | undefined;
  #words: readonly string[] | undefined;

  constructor(message: IndexedMessage, block: number) {
    const { start, end, lines, names } = message.source.blocks[block]!;
    this.message = message;
    this.block = block;
    this.lines = lines;
    this.names = names;
    this.tokensEstimated = (end - start) / TOKEN_CHARS + GAP_TOKENS;
  }

  /** The tokens of the block and of a mark for a gap. */
  get cost(): number {
    this.#cost ??= this.message.tokenCounter.count(escapeText(this.#text())) + GAP_TOKENS;
    return this.#cost;
  }

  /** Numbers, and words of at least four letters, each once. */
  get words(): readonly string[] {
    this.#words ??= wordsIn(this.#text());
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
  readonly tokenCounter: TokenCounter;
  #tagCost: number | undefined;
  /** The message as it was written last, because successive contexts often show the same blocks. */
  #written: { blocks: string; message: DigestMessage } | undefined;

  constructor(source: BlockedMessage, tokenCounter: TokenCounter) {
    this.source = source;
    this.tokenCounter = tokenCounter;
    this.blocks = source.blocks.map((_, block) => new IndexedBlock(this, block));
  }

  /** The tokens of its tag. */
  get tagCost(): number {
    this.#tagCost ??= lineTokens(messageTag(this.source, ""), this.tokenCounter);
    return this.#tagCost;
  }

  written(chosen: ReadonlySet<number>): DigestMessage {
    const blocks = [...chosen].sort((left, right) => left - right).join();
    if (this.#written?.blocks !== blocks) this.#written = { blocks, message: digestMessage(this.source, chosen) };
    return this.#written.message;
  }
}

/** Messages stay the same while the frontier moves, so each is indexed once for a counter of tokens. */
const indexedMessages = new WeakMap<TokenCounter, WeakMap<BlockedMessage, IndexedMessage>>();
/** The index of a list of messages is kept as long as the list. */
const indexes = new WeakMap<TokenCounter, WeakMap<readonly BlockedMessage[], BlockIndex>>();

/** An index of the messages before the window, made when the frontier moves. */
export class BlockIndex {
  readonly tokenCounter: TokenCounter;
  readonly past: readonly IndexedMessage[];
  /** The blocks of all its messages. */
  readonly blocks: readonly IndexedBlock[];
  readonly hasCalls: boolean;
  /** How many blocks before the window have each line, and the last message that has it, as an index into `past`. */
  readonly lines = new Map<string, { count: number; last: number }>();
  /** How often each name is mentioned before the window. A mention loses half its weight every `HALVING_MESSAGES`. */
  readonly nameCounts = new Map<string, number>();
  readonly seqLast: number;

  /** @param past  In order of seq. */
  constructor(past: readonly BlockedMessage[], tokenCounter: TokenCounter) {
    this.tokenCounter = tokenCounter;
    this.past = past.map((message) => this.of(message));
    this.blocks = this.past.flatMap(({ blocks }) => blocks);
    this.hasCalls = past.some(({ isCall }) => isCall);
    this.seqLast = past.at(-1)?.seq ?? 0;
    for (const [index, { source, blocks }] of this.past.entries()) {
      const recency = 2 ** ((source.seq - this.seqLast) / HALVING_MESSAGES);
      for (const { lines, names } of blocks) {
        for (const line of lines) {
          const known = this.lines.get(line);
          if (known === undefined) this.lines.set(line, { count: 1, last: index });
          else {
            known.count += 1;
            known.last = index;
          }
        }
        for (const name of names) this.nameCounts.set(name, (this.nameCounts.get(name) ?? 0) + recency);
      }
    }
  }

  /** Returns a message in indexed blocks, also one of the window. */
  of(source: BlockedMessage): IndexedMessage {
    return keptFor(indexedMessages, this.tokenCounter, source, () => new IndexedMessage(source, this.tokenCounter));
  }
}

export function indexOf(past: readonly BlockedMessage[], tokenCounter: TokenCounter): BlockIndex {
  return keptFor(indexes, tokenCounter, past, () => new BlockIndex(past, tokenCounter));
}

/** Returns what was made for a counter and a key before, or makes it. */
function keptFor<K extends object, V>(
  kept: WeakMap<TokenCounter, WeakMap<K, V>>,
  tokenCounter: TokenCounter,
  key: K,
  make: () => V,
): V {
  let ofCounter = kept.get(tokenCounter);
  if (ofCounter === undefined) {
    ofCounter = new WeakMap();
    kept.set(tokenCounter, ofCounter);
  }
  let value = ofCounter.get(key);
  if (value === undefined) {
    value = make();
    ofCounter.set(key, value);
  }
  return value;
}

/** A message as a digest shows it: some of its blocks, or all. */
export interface DigestMessage {
  id: number;
  seq: number;
  stepId: number;
  /** `verbatim` if every word of the message is shown. */
  how: "verbatim" | "shortened";
  text: string;
}

export function digestMessage(source: BlockedMessage, chosen: ReadonlySet<number>): DigestMessage {
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

export function messageTag({ id, role, name }: BlockedMessage, content: string): string {
  return element("m", { id, by: name ?? role }, content);
}
