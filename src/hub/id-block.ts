import { BLOCK_MAX, blockOf, freeIdBlock, idBlockOf, type Repositories, takeIdBlock } from "../store/index.ts";
import type { HubConnection } from "./connection.ts";

/**
 * Asks for a block of ids above an id, which the hub gives to no other store. The transaction is one of its own: if the hub rolled
 * back a block that the store has taken, it would give it again.
 *
 * @returns undefined if the role may only read, or no such block is left for it.
 */
export function grantedBlock(
  hub: HubConnection,
  { database, sequences }: Repositories,
  aboveId: number,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const above = blockOf(
    Math.max(
      aboveId,
      database.read(() => sequences.newest()),
    ),
  );
  return hub.transaction(async (client) => {
    const allowed = "has_function_privilege('coppice.grant_block(bigint)', 'execute')";
    const { rows } = await client.query<{ isAllowed: boolean }>(`SELECT ${allowed} AS "isAllowed"`);
    if (!rows[0]!.isAllowed) return undefined;
    const granted = await client.query<{ block: number | null }>("SELECT coppice.grant_block($1) AS block", [above]);
    const { block } = granted.rows[0]!;
    return block !== null && block > above && block <= BLOCK_MAX ? block : undefined;
  }, signal);
}

/** True if an id on the hub is of the block from which the store gives its new ids. */
export function isInOwnBlock(repositories: Repositories, id: number): boolean {
  return blockOf(id) === repositories.database.read(() => idBlockOf(repositories).block);
}

/**
 * A copy of this file has pushed what this store lacks, and it gives its ids from the same block. So this store leaves the block,
 * unless the rows of the copy are in another one.
 *
 * @param newestId  The highest id of these rows.
 */
export async function leaveSharedBlock(
  hub: HubConnection,
  repositories: Repositories,
  newestId: number,
  signal?: AbortSignal,
): Promise<void> {
  const { database, sequences } = repositories;
  const shared = database.read(() => idBlockOf(repositories).block);
  if (blockOf(newestId) !== shared) return;
  const block = await grantedBlock(hub, repositories, newestId, signal);
  database.write("push", () => {
    if (idBlockOf(repositories).block !== shared) return;
    takeIdBlock(repositories, block ?? freeIdBlock(Math.max(newestId, sequences.newest())));
  });
}
