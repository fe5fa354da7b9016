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

  /** Rows of clusters of the generation in use were written anew: what others hold of them is out of date. */
  countRewrite(): void {
    this.#database.client.exec(
      "UPDATE generations SET rewrite_count = rewrite_count + 1 WHERE id = (SELECT max(id) FROM generations)",
    );
  }

  insert(row: Omit<GenerationRow, "id" | "rewriteCount">): GenerationRow {
    return this.#database.orm.insert(generations).values(row).returning().get();
  }
}
