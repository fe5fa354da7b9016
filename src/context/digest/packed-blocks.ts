import type { BlockIndex, IndexedBlock, IndexedMessage } from "./block-index.ts";

/** The worth of a name that nothing shows yet, in the unit of lines. */
const NAME_WORTH = 0.05;

/**
 * Consecutive blocks with all their numbers in a few arrays. A choice computes the worth of every block, and reading one array after
 * the other takes a fraction of the time of following objects.
 */
export class PackedBlocks {
  readonly blocks: readonly IndexedBlock[];
  readonly #lines: Packed;
  readonly #names: Packed;
  readonly #kindWeights: Float64Array;
  readonly #tokens: Float64Array;

  /** @param isTalk  True if each word of a block counts as a name. */
  constructor(messages: readonly IndexedMessage[], isTalk: boolean) {
    this.blocks = messages.flatMap(({ blocks }) => blocks);
    this.#lines = packed(this.blocks, ({ lines }) => lines);
    this.#names = packed(this.blocks, (block) => (isTalk ? block.words : block.names));
    this.#kindWeights = new Float64Array(this.blocks.map(({ message }) => message.source.kindWeight));
    this.#tokens = new Float64Array(this.blocks.map(({ tokensEstimated }) => tokensEstimated));
  }

  /** Returns what a block is worth for each of its tokens. */
  worthOf(block: number, lineWorths: Float64Array, nameWorths: Float64Array): number {
    const ofLines = sumOf(this.#lines, block, lineWorths);
    const ofNames = sumOf(this.#names, block, nameWorths);
    return (this.#kindWeights[block]! * ofLines + NAME_WORTH * ofNames) / this.#tokens[block]!;
  }
}

interface Packed {
  numbers: Int32Array;
  /** Where the numbers of each block end. */
  ends: Int32Array;
}

function packed(blocks: readonly IndexedBlock[], numbersOf: (block: IndexedBlock) => readonly number[]): Packed {
  const numbers: number[] = [];
  const ends = new Int32Array(blocks.length);
  for (let block = 0; block < blocks.length; block++) {
    for (const number of numbersOf(blocks[block]!)) numbers.push(number);
    ends[block] = numbers.length;
  }
  return { numbers: new Int32Array(numbers), ends };
}

function sumOf({ numbers, ends }: Packed, block: number, worths: Float64Array): number {
  let sum = 0;
  for (let at = block === 0 ? 0 : ends[block - 1]!; at < ends[block]!; at++) sum += worths[numbers[at]!]!;
  return sum;
}

/** The packed blocks of each index, for talk and for work. They are packed once, and every append chooses from them. */
const known = new WeakMap<BlockIndex, Map<boolean, PackedBlocks>>();

/** Returns the blocks of the messages before the window. */
export function packedPast(index: BlockIndex, isTalk: boolean): PackedBlocks {
  const packs = known.get(index) ?? new Map<boolean, PackedBlocks>();
  const blocks = packs.get(isTalk) ?? new PackedBlocks(index.past, isTalk);
  known.set(index, packs.set(isTalk, blocks));
  return blocks;
}
