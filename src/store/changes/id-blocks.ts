import { randomInt, randomUUID } from "node:crypto";
import { StoreError } from "../../core/errors.ts";
import { BLOCK_MAX, blockOf, ID_BLOCK_SIZE } from "../derived/id-block.ts";
import type { Repositories } from "../repositories.ts";

// Sessions keep their ids when they move to another store, so the ids of two stores must differ. A store that takes sessions of
// others gets a block of ids, and gives new ids only from it: those of messages, of the log, of summaries and of entries.

/** The highest id that rows of others may have. */
export const FOREIGN_ID_MAX = BLOCK_MAX * ID_BLOCK_SIZE - 1;

/** Without a hub that counts the blocks, a store takes one of this many at random. The first block makes long ids. */
const FIRST_BLOCKS = 2 ** 16;
const NEXT_BLOCKS = 2 ** 12;

const STORE_ID = "storeId";
const BLOCK = "idBlock";

/** The uuid of the store, which is made when it is first asked for. Null if it cannot be written. A copy of a file has the same. */
export function storeIdOf({ database, settings }: Repositories): string | null {
  const known = (): string | undefined => {
    const id = settings.getAnyway(STORE_ID);
    return typeof id === "string" ? id : undefined;
  };
  const found = database.read(known);
  if (found !== undefined || database.readonly) return found ?? null;
  return database.write("storeId", () => {
    const id = known() ?? randomUUID();
    settings.set(STORE_ID, id);
    return id;
  });
}

interface IdBlock {
  /** New ids come from this block. 0 has the lowest ids, and every store begins with it. */
  block: number;
  /** The newest id that the store gave before it left block 0. */
  newestOfFirst: number;
}

export function idBlockOf({ settings, sequences }: Repositories): IdBlock {
  return (settings.getAnyway(BLOCK) as IdBlock | undefined) ?? { block: 0, newestOfFirst: sequences.newest() };
}

/** True if the store must take a block before it holds rows of others up to an id, so that its own new ids are the highest. */
export function needsIdBlock(repositories: Repositories, newestId: number): boolean {
  return idBlockOf(repositories).block === 0 || newestId > repositories.sequences.newest();
}

/**
 * Makes the store give all new ids from another block. Call it inside a transaction.
 * @throws {StoreError} `OPTION_INVALID` if the block is not above all ids of the store, because new ids must be the highest.
 */
export function takeIdBlock(repositories: Repositories, block: number): void {
  const { settings, sequences } = repositories;
  const least = blockOf(sequences.newest()) + 1;
  if (!Number.isSafeInteger(block) || block < least || block > BLOCK_MAX) {
    const expected = `a whole number from ${least} to ${BLOCK_MAX}`;
    throw new StoreError("OPTION_INVALID", { option: "id block", expected, actual: block });
  }
  settings.set(BLOCK, { ...idBlockOf(repositories), block } satisfies IdBlock);
  sequences.moveTo(block * ID_BLOCK_SIZE);
}

/** Returns a block above an id. Two stores seldom get the same, and the first import of a row with a taken id is refused. */
export function freeIdBlock(aboveId: number): number {
  return blockOf(aboveId) === 0 ? randomInt(1, FIRST_BLOCKS) : blockOf(aboveId) + randomInt(1, NEXT_BLOCKS);
}
