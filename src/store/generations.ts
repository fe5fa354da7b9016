import type { StoreDatabase } from "./open.ts";
import { generations } from "./schema.ts";

/** In SQL: the generation in use; what the log says of others is history. */
export const GENERATION_NOW = "(SELECT max(id) FROM generations)";

/** In SQL: the generation that a log position, `@position`, belongs to. */
export const GENERATION_AT = "(SELECT max(id) FROM generations WHERE log_position < @position)";

/** In SQL: the embedder of the generation in use. */
const EMBEDDER_NOW = "(SELECT embedder_id FROM generations ORDER BY id DESC LIMIT 1)";

/** In SQL: that a staged vector, `r`, is of the generation in use: it has come into use, and is not yet where it belongs. */
export const IS_UNMOVED = `r.generation = ${GENERATION_NOW} AND r.embedder_id = ${EMBEDDER_NOW}`;

/**
 * In SQL: the vector that a message has in the generation in use, wherever it stands.
 *
 * @param table  What the statement calls `messages`.
 */
export function vectorNow(table: string): string {
  return `CASE WHEN ${table}.embedder_id = ${EMBEDDER_NOW} THEN ${table}.embedding
    ELSE (SELECT r.embedding FROM reembedded_vectors r WHERE ${IS_UNMOVED} AND r.message_id = ${table}.id) END`;
}

export type GenerationRow = typeof generations.$inferSelect;

/** Rows of `generations`. */
export class GenerationRepository {
  readonly #database: StoreDatabase;
  readonly #newest;
  readonly #rewriteCountOfAll;
  readonly #ids;

  constructor(database: StoreDatabase) {
    this.#database = database;
    this.#newest = database.client.prepare<[], GenerationRow>(
      `SELECT id, embedder_id AS embedderId, dimension, created_at_ms AS createdAtMs, rewrite_count AS rewriteCount,
              log_position AS logPosition
       FROM generations ORDER BY id DESC LIMIT 1`,
    );
    this.#rewriteCountOfAll = database.client
      .prepare<[], number>("SELECT COALESCE(SUM(rewrite_count), 0) FROM generations")
      .pluck();
    this.#ids = database.client.prepare<[], number>("SELECT id FROM generations ORDER BY id").pluck();
  }

  /** The one in use; undefined in a store that was never written to. */
  newest(): GenerationRow | undefined {
    return this.#newest.get();
  }

  /** Rows of clusters of the generation in use were written anew: what others hold of them is out of date. */
  countRewrite(): void {
    this.#database.client.exec(
      "UPDATE generations SET rewrite_count = rewrite_count + 1 WHERE id = (SELECT max(id) FROM generations)",
    );
  }

  /** How often rows of clusters were written anew, in any of them: it changes with whatever is forgotten. */
  rewriteCountOfAll(): number {
    return this.#rewriteCountOfAll.get()!;
  }

  /** All there have been, the oldest first. */
  ids(): number[] {
    return this.#ids.all();
  }

  insert(row: Omit<GenerationRow, "id" | "rewriteCount">): GenerationRow {
    return this.#database.orm.insert(generations).values(row).returning().get();
  }
}
