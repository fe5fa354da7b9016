import { isDeepStrictEqual } from "node:util";
import { type Column, getTableColumns, is } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { CODECS } from "./codecs.ts";
import * as schema from "./schema.ts";

/** A table of the schema. `Row` is a row as the schema decodes it. */
export interface Table<Row = object> {
  name: string;
  columns: Record<string, TableColumn>;
  primary: string[];
  /** For the compiler alone. */
  row?: Row;
}

/** A row of a table, as the schema decodes it. */
export type DecodedRow<T extends Table> = NonNullable<T["row"]>;

export interface TableColumn {
  name: string;
  type: string;
  notNull: boolean;
  isGenerated: boolean;
  default?: string | number | boolean;
  /** Left out if the values are stored as they are. */
  codec?: keyof typeof CODECS;
}

type Tables<Schema> = {
  [Name in keyof Schema as Schema[Name] extends SQLiteTable ? Name : never]: Schema[Name] extends SQLiteTable
    ? Table<Schema[Name]["$inferSelect"]>
    : never;
};

/** A number, JSON and a BLOB: no two codecs read all of them alike. */
const SAMPLES = [1, "[1]", Buffer.alloc(8)];

/** All tables by their names in the schema. The build replaces this module by its value, because loading drizzle takes a while. */
export const TABLES = tablesOf(schema);

function tablesOf<Schema extends object>(all: Schema): Tables<Schema> {
  const tables = Object.entries(all).filter((entry): entry is [string, SQLiteTable] => is(entry[1], SQLiteTable));
  return Object.fromEntries(tables.map(([name, table]) => [name, tableOf(table)])) as unknown as Tables<Schema>;
}

function tableOf(table: SQLiteTable): Table {
  const { name, primaryKeys } = getTableConfig(table);
  const all = Object.entries(getTableColumns(table));
  const primary = primaryKeys[0]?.columns ?? [all[0]![1]];
  return {
    name,
    columns: Object.fromEntries(all.map(([key, column]) => [key, columnOf(column)])),
    primary: primary.map((column) => column.name),
  };
}

function columnOf(column: Column): TableColumn {
  const { name, notNull, generated, default: usual } = column;
  const codec = codecOf(column);
  return {
    name,
    type: column.getSQLType(),
    notNull,
    isGenerated: generated !== undefined,
    ...(usual !== undefined && { default: usual as number }),
    ...(codec !== undefined && { codec }),
  };
}

/** Returns the codec that reads values as the column does. */
function codecOf(column: Column): TableColumn["codec"] {
  const readBy = (read: (stored: unknown) => unknown): unknown[] =>
    SAMPLES.map((sample) => {
      try {
        return read(sample);
      } catch (error) {
        return String(error);
      }
    });
  const values = readBy((stored) => column.mapFromDriverValue(stored));
  if (isDeepStrictEqual(values, SAMPLES)) return undefined;
  const names = Object.keys(CODECS) as (keyof typeof CODECS)[];
  const codec = names.find((name) =>
    isDeepStrictEqual(
      readBy((stored) => CODECS[name].fromDriver(stored as string)),
      values,
    ),
  );
  if (codec === undefined) throw new Error(`No codec reads the column ${column.name}.`);
  return codec;
}
