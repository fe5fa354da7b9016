import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import { Repository } from "./repository.ts";

const SETTING = columns(TABLES.storeSettings);

export class StoreSettingRepository extends Repository {
  // Whole rows, so that their checksums are compared and written.
  readonly #byName = this.statement<[name: string], RowOf<typeof SETTING>>`
    SELECT ${SETTING} FROM store_settings WHERE name = ?`.get;
  readonly #inRows = this.statement<[name: string], RowOf<typeof SETTING>>`
    SELECT ${SETTING} FROM store_settings WHERE +name = ?`.get;
  /** The names that begin like this. No checksum is compared. */
  readonly namesLike = this.statement<{ beginning: string }, string>`
    SELECT name FROM store_settings WHERE substr(name, 1, length(@beginning)) = @beginning`.pluck().all;
  readonly #put = this.statement<{ name: string; value: string }>`${SETTING.upsert()}`.run;
  readonly delete = this.statement<[name: string]>`DELETE FROM store_settings WHERE name = ?`.run;

  /** Returns undefined if the setting was never set. */
  get(name: string): unknown {
    return this.#byName(name)?.value;
  }

  /** Like `get`, for what must not be made twice: if the index lacks the setting, its row is found. */
  getAnyway(name: string): unknown {
    return this.get(name) ?? this.#inRows(name)?.value;
  }

  set(name: string, value: unknown): void {
    this.#put({ name, value: JSON.stringify(value) });
  }
}
