import { StoreError } from "../../core/errors.ts";
import type { FactRow, RowsFrom } from "../facts/fact-rows.ts";
import type { SessionRow } from "../facts/sessions.ts";
import type { Repositories } from "../repositories.ts";

/** @throws {StoreError} `SESSION_NOT_FOUND`; `SESSION_SUPERSEDED` for a branch; `SESSION_SHARED` for a fork, whose past is in rows of other sessions. */
export function movable({ sessions, paths }: Repositories, sessionId: string): SessionRow {
  const session = sessions.existing(sessionId);
  paths.assertWhole(sessionId);
  return session;
}

/**
 * Yields the facts of a session and of its branches, so that `writeSession` can write them into another store. Use it up inside one
 * `database.read`, so that all rows are of one snapshot.
 *
 * The rows are of the generation in use: handles of log positions before a `reembed` do not move. Nor do subjects, which belong to
 * a store, and claims, which belong to a process.
 *
 * @param from  Leaves out earlier messages of the path, and earlier rows of the log. Everything else is whole.
 * @throws {StoreError} those of `movable`; `STORE_CORRUPT`.
 */
export function* sessionRows(
  repositories: Repositories,
  sessionId: string,
  storeId: string | null,
  from: RowsFrom = { seq: 0, position: 0 },
): Generator<FactRow> {
  const { generations, factRows: rows, tombstones } = repositories;
  movable(repositories, sessionId);
  const generation = generations.newest();
  if (generation === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
  const { embedderId, dimension } = generation;
  rows.assertWhole();
  const newestId = rows.newestId({ id: sessionId });
  const tombstoneKey = tombstones.key() ?? null;
  yield { table: "origin", row: { storeId, embedderId, dimension, newestId, tombstoneKey } };
  yield* rows.of(sessionId, generation, from);
  for (const row of tombstones.ofSession(sessionId)) yield { table: "tombstones", row };
}
