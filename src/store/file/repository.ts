import { DamageError } from "../../core/damage.ts";
import type { RowCheck } from "../sql/row-check.ts";
import { columns, type StatementTag } from "../sql/statement.ts";
import type { Table } from "../sql/tables.ts";
import type { StoreDatabase } from "./open.ts";

/** The values of a row as the driver reads them, by the names in the schema. */
export type RawValues = Record<string, string | number | Buffer | null>;

/**
 * A repository turns rows into values and back. It decides nothing and opens no transaction. Its written SQL is in its
 * first fields; public fields are methods.
 */
export abstract class Repository {
  protected readonly statement: StatementTag;
  protected readonly rowCheck: RowCheck;

  constructor({ statement, rowCheck }: StoreDatabase) {
    this.statement = statement;
    this.rowCheck = rowCheck;
  }

  /** Returns a function that writes the checksum of a row after a statement has changed it. */
  protected sealing(table: Table): (id: string | number) => void {
    const whole = columns(table);
    const name = table.name;
    const read = this.statement<
      [id: string | number],
      Record<string, unknown>
    >`SELECT ${String(whole)} FROM ${name} WHERE id = ?`;
    const write = this.statement<{
      checksum: number;
      id: string | number;
    }>`UPDATE ${name} SET checksum = @checksum WHERE id = @id`;
    return (id) => {
      const row = read.get(id);
      if (row === undefined) return;
      whole.seal(row);
      write.run({ checksum: row.checksum as number, id });
    };
  }
}

/** Yields rows of a table as the driver reads them, to move them. @throws {DamageError} if one is damaged. */
export function* rawRows(
  { statement }: StoreDatabase,
  table: Table,
  condition: string,
  values: object,
): Generator<RawValues> {
  const whole = columns(table);
  const rows = statement<[object], RawValues>`SELECT ${String(whole)} FROM ${table.name} ${condition}`;
  for (const row of rows.iterate(values)) {
    const damage = whole.damageOf(row);
    if (damage !== undefined) throw new DamageError(damage);
    yield row;
  }
}

/**
 * Returns a function that writes a row as `rawRows` gives it, and returns how many rows were written. A row that lacks its
 * checksum gets one.
 *
 * @param existing  What happens if the row is there: `fail` throws, `skip` writes nothing.
 */
export function rawInsert(
  { statement }: StoreDatabase,
  table: Table,
  existing: "fail" | "skip" | "overwrite",
): (row: RawValues) => number {
  const whole = columns(table);
  const sql = String(existing === "overwrite" ? whole.upsert() : whole.insert());
  const insert = statement<[RawValues]>`${existing === "skip" ? `${sql} ON CONFLICT DO NOTHING` : sql}`;
  return (row) => {
    const sealed = { ...row };
    if (sealed.checksum === undefined) whole.seal(sealed);
    return insert.run(sealed).changes;
  };
}
