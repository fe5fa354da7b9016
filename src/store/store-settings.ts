import { eq, sql } from "drizzle-orm";
import { Repository } from "./repository.ts";
import { storeSettings } from "./schema.ts";

/** Rows of `store_settings`. */
export class StoreSettingRepository extends Repository {
  /** Returns undefined if the setting was never set. */
  get(name: string): unknown {
    return this.orm.select().from(storeSettings).where(eq(storeSettings.name, name)).get()?.value;
  }

  /** Like `get`, for what must not be made twice: if the index lacks the setting, its row is found. */
  getAnyway(name: string): unknown {
    const inRows = (): unknown =>
      this.orm.select().from(storeSettings).where(sql`+${storeSettings.name} = ${name}`).get()?.value;
    return this.get(name) ?? inRows();
  }

  startingWith(beginning: string): { name: string; value: unknown }[] {
    const begins = sql`substr(${storeSettings.name}, 1, ${beginning.length}) = ${beginning}`;
    return this.orm.select().from(storeSettings).where(begins).all();
  }

  set(name: string, value: unknown): void {
    this.orm
      .insert(storeSettings)
      .values({ name, value })
      .onConflictDoUpdate({ target: storeSettings.name, set: { value } })
      .run();
  }

  delete(name: string): void {
    this.orm.delete(storeSettings).where(eq(storeSettings.name, name)).run();
  }
}
