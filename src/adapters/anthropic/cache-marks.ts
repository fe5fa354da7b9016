import { type Fields, isObject } from "../shared/own.ts";

/** Anthropic refuses a request with more prompt cache marks. */
export const CACHE_MARKS_MAX = 4;

/** Removes all but the newest marks from lists of blocks, which must come newest first. */
export class CacheMarks {
  #left: number;

  constructor(max: number) {
    this.#left = max;
  }

  /** @param reserved  The marks that are left for older lists. */
  newestIn(blocks: readonly unknown[], reserved = 0): unknown[] {
    const newestFirst = blocks.toReversed().map((block) => this.#kept(block, reserved));
    return newestFirst.reverse();
  }

  #kept(block: unknown, reserved: number): unknown {
    if (!isObject(block)) return block;
    let kept: Fields = block;
    if (isMarked(block)) {
      if (this.#left > reserved) this.#left -= 1;
      else {
        const { cache_control: _, ...rest } = block;
        kept = rest;
      }
    }
    const isResult = block.type === "tool_result" && Array.isArray(block.content);
    return isResult ? { ...kept, content: this.newestIn(block.content as unknown[], reserved) } : kept;
  }
}

export function isMarked(block: unknown): boolean {
  return isObject(block) && block.cache_control !== undefined && block.cache_control !== null;
}
