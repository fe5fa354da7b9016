import { desc } from "drizzle-orm";
import type { StoreDatabase } from "./open.ts";
import { generations } from "./schema.ts";

export type GenerationRow = typeof generations.$inferSelect;

/** Rows of `generations`. */
export class GenerationRepository {
  readonly #database: StoreDatabase;

  constructor(database: StoreDatabase) {
    this.#database = database;
  }

  /** The one in use; undefined in a store that was never written to. */
  newest(): GenerationRow | undefined {
    return this.#database.orm.select().from(generations).orderBy(desc(generations.id)).limit(1).get();
  }

  insert(row: Omit<GenerationRow, "id">): GenerationRow {
    return this.#database.orm.insert(generations).values(row).returning().get();
  }
}
