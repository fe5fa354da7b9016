import { DamageError } from "../../core/damage.ts";
import { Repository } from "../file/repository.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

export const GENERATION_NOW = "(SELECT max(id) FROM generations)";

/** SQL for the generation of the log position `@position`. */
export const GENERATION_AT = "(SELECT max(id) FROM generations WHERE log_position < @position)";

const EMBEDDER_NOW = "(SELECT embedder_id FROM generations ORDER BY id DESC LIMIT 1)";

/** SQL: the staged vector `r` is of the generation in use and has not been moved to its message. */
export const IS_UNMOVED = `r.generation = ${GENERATION_NOW} AND r.embedder_id = ${EMBEDDER_NOW}`;

/** SQL for a message's vector in the generation in use. `table` names the row of `messages`. */
export function vectorNow(table: string): string {
  return `CASE WHEN ${table}.embedder_id = ${EMBEDDER_NOW} THEN ${table}.embedding
    ELSE (SELECT r.embedding FROM reembedded_vectors r WHERE ${IS_UNMOVED} AND r.message_id = ${table}.id) END`;
}

const GENERATION = columns(TABLES.generations);
const NEW = GENERATION.without("id");
export type GenerationRow = RowOf<typeof GENERATION>;

export class GenerationRepository extends Repository {
  // Moves of the frontier and resumes run it.
  readonly #all = this.statement<[], GenerationRow>`SELECT ${GENERATION} FROM generations ORDER BY id`;
  readonly #newestLogged = this.statement<[], number>`SELECT generation FROM unions ORDER BY id DESC LIMIT 1`.pluck();
  /** True if the store has had a generation, even if its row is lost. */
  readonly isStarted = this.statement<[], number>`
    SELECT EXISTS (SELECT 1 FROM generations) OR EXISTS (SELECT 1 FROM messages)`.pluck().is;
  /** The embedder of the newest row, even if the row is damaged. */
  readonly embedderNow = this.statement<[], string>`SELECT ${EMBEDDER_NOW} WHERE ${EMBEDDER_NOW} IS NOT NULL`.pluck()
    .get;

  /** Makes every cache of the clusters invalid after they were rewritten. */
  readonly countRewrite = this.statement`
    UPDATE generations SET rewrite_count = rewrite_count + 1 WHERE id = ${GENERATION_NOW}`.run;
  /** Changes whenever anything is forgotten. */
  readonly rewriteCountOfAll = this.statement<[], number>`
    SELECT coalesce(sum(rewrite_count), 0) FROM generations`.pluck().one;
  /** Oldest first. */
  readonly ids = this.statement<[], number>`SELECT id FROM generations ORDER BY id`.pluck().all;
  readonly #insert = this.statement<InsertOf<typeof NEW>>`${NEW.insert()}`.run;
  readonly #seal = this.sealing(TABLES.generations);

  /** The generation in use; undefined in a store that was never written to. @throws {DamageError} if any is damaged or lost. */
  newest(): GenerationRow | undefined {
    const rows = this.#all.all(); // one for each `reembed`
    const isWhole = rows.every(({ id }, index) => id === index + 1) && rows.length >= (this.#newestLogged.get() ?? 0);
    if (isWhole && (rows.length > 0 || !this.isStarted())) return rows.at(-1);
    throw new DamageError("a generation of the forest is missing");
  }

  insert(row: Omit<GenerationRow, "id" | "rewriteCount" | "checksum">): GenerationRow {
    this.#seal(Number(this.#insert({ ...row, rewriteCount: 0 }).lastInsertRowid));
    return this.newest()!;
  }
}
