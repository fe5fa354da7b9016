import { crc32 } from "node:zlib";
import type Database from "better-sqlite3";
import { DamageError } from "../../core/damage.ts";
import { CODECS } from "./codecs.ts";
import { TABLES, type Table, type TableColumn } from "./tables.ts";

/** Positional parameters as a tuple, or named ones as an object. */
type Parameters = readonly unknown[] | object;
type Arguments<P extends Parameters> = P extends readonly unknown[] ? P : [P];

/** A statement of written SQL. SQLite compiles it when it first runs. */
export class Statement<P extends Parameters, Row> {
  readonly #compile: () => Database.Statement<unknown[], unknown>;
  readonly #decode: ((row: unknown) => Row) | undefined;
  readonly #inserted: Columns<unknown> | undefined;
  #compiled: Database.Statement<unknown[], unknown> | undefined;

  /** @param inserted  The columns of the row that the statement inserts. */
  constructor(
    compile: () => Database.Statement<unknown[], unknown>,
    decode?: (row: unknown) => Row,
    inserted?: Columns<unknown>,
  ) {
    this.#compile = compile;
    this.#decode = decode;
    this.#inserted = inserted;
  }

  /** Returns this statement with only the first column, not decoded. */
  pluck(): Statement<P, Row> {
    return new Statement(() => this.#compile().pluck());
  }

  raw(): Statement<P, Row> {
    return new Statement(() => this.#compile().raw());
  }

  map<Value>(change: (row: Row) => Value): Statement<P, Value> {
    return new Statement(this.#compile, (row) => change(this.#decode === undefined ? (row as Row) : this.#decode(row)));
  }

  readonly run = (...parameters: Arguments<P>): Database.RunResult => {
    this.#inserted?.seal(parameters[0] as Record<string, unknown>);
    return this.#statement().run(...parameters);
  };

  readonly get = (...parameters: Arguments<P>): Row | undefined => {
    const row = this.#statement().get(...parameters);
    return row === undefined || this.#decode === undefined ? (row as Row | undefined) : this.#decode(row);
  };

  /** Returns the row of a query that always has one. */
  readonly one = (...parameters: Arguments<P>): Row => this.get(...parameters)!;

  /** Returns true if the value of a plucked row is 1. */
  readonly is = (...parameters: Arguments<P>): boolean => this.get(...parameters) === 1;

  readonly changes = (...parameters: Arguments<P>): number => this.run(...parameters).changes;

  readonly all = (...parameters: Arguments<P>): Row[] => {
    if (this.#decode === undefined) return this.#statement().all(...parameters) as Row[];
    const rows: Row[] = [];
    // One by one, because V8 would copy the rows that are not decoded yet when it collects garbage.
    for (const row of this.#statement().iterate(...parameters)) rows.push(this.#decode(row));
    return rows;
  };

  /** Passes the list as JSON. */
  readonly allOf = (list: readonly number[]): Row[] => this.all(...([JSON.stringify(list)] as unknown as Arguments<P>));

  /** Not decoded. */
  readonly iterate = (...parameters: Arguments<P>): IterableIterator<Row> =>
    this.#statement().iterate(...parameters) as IterableIterator<Row>;

  #statement(): Database.Statement<unknown[], unknown> {
    this.#compiled ??= this.#compile();
    return this.#compiled;
  }
}

type Templated = string | number | Columns<unknown> | Insert;

/** A template tag that makes statements. Columns that are `Columns` in the template are decoded. */
export type StatementTag = <P extends Parameters = [], Row = never>(
  parts: TemplateStringsArray,
  ...values: readonly Templated[]
) => Statement<P, Row>;

export function statementTag(client: Database.Database): StatementTag {
  return <P extends Parameters, Row>(parts: TemplateStringsArray, ...values: readonly Templated[]) =>
    new Statement<P, Row>(
      () => client.prepare(String.raw({ raw: parts }, ...values)),
      decoder(values.filter((value) => value instanceof Columns)),
      values.find((value) => value instanceof Insert)?.columns,
    );
}

/** Compares checksums, and decodes booleans, JSON and vectors in place. */
function decoder<Row>(selected: readonly Columns<unknown>[]): ((row: unknown) => Row) | undefined {
  if (!selected.some((columns) => columns.isCoded)) return undefined;
  return (row) => {
    for (const columns of selected) columns.decode(row as Record<string, unknown>);
    return row as Row;
  };
}

type NamedColumn = readonly [key: string, column: TableColumn];

interface Codec {
  toDriver(value: unknown): unknown;
  fromDriver(stored: unknown): unknown;
}

function codecOf({ codec }: TableColumn): Codec {
  return CODECS[codec!] as Codec;
}

/** Columns of a table. In a template they are a list for SELECT with the schema's names: `id, turn_seq AS turnSeq`. */
export class Columns<Row> {
  readonly #table: Table;
  readonly #columns: readonly NamedColumn[];
  protected readonly alias: string;
  /** The columns whose stored values differ from those in the schema. */
  readonly #coded: readonly (readonly [key: string, codec: Codec])[];
  /** The columns that the checksum covers, sorted by name. */
  readonly #sealed: readonly string[] | undefined;

  constructor(table: Table, keys: readonly string[], alias = "") {
    const unsealed = ["checksum", ...(UNSEALED.get(table) ?? [])];
    this.#table = table;
    this.#columns = keys.map((key) => [key, table.columns[key]!]);
    this.alias = alias;
    this.#coded = this.#columns.flatMap(([key, column]) =>
      column.codec === undefined ? [] : [[key, codecOf(column)]],
    );
    this.#sealed = keys.includes("checksum") ? keys.filter((key) => !unsealed.includes(key)).sort() : undefined;
  }

  get keys(): string[] {
    return this.#columns.map(([key]) => key);
  }

  /** True if `decode` has anything to do. */
  get isCoded(): boolean {
    return this.#coded.length > 0 || this.#sealed !== undefined;
  }

  /** Returns a row as SQLite has it. What is left out has its default. */
  stored(row: { readonly [K in keyof Row]?: Row[K] | undefined }): Record<string, unknown> {
    const given: Readonly<Record<string, unknown>> = row;
    const values = this.#columns.map(([key, column]): [string, unknown] => {
      const value = given[key] ?? column.default ?? null;
      return [key, value === null || column.codec === undefined ? value : codecOf(column).toDriver(value)];
    });
    return Object.fromEntries(values);
  }

  seal(row: Record<string, unknown>): void {
    if (this.#sealed !== undefined) row.checksum = checksumOf(row, this.#sealed);
  }

  /** Changes a row, as the driver read it, and its checksum. A damaged row stays damaged. */
  change(row: Record<string, unknown>, values: Partial<Record<keyof Row, string | number | null>>): void {
    const isSealed = this.damageOf(row) === undefined;
    Object.assign(row, values);
    if (isSealed) this.seal(row);
  }

  /** Says that a row, as the driver read it, is damaged. A row that a join did not find is not: all its values are NULL. */
  damageOf(row: Readonly<Record<string, unknown>>): string | undefined {
    if (this.#sealed === undefined || row.checksum === checksumOf(row, this.#sealed)) return undefined;
    if (this.#columns.every(([key]) => row[key] === null)) return undefined;
    const key = row[this.#columns[0]![0]];
    return `row ${Buffer.isBuffer(key) ? key.toString("hex") : key} of ${this.#table.name} is damaged`;
  }

  /** Decodes a row in place. @throws {DamageError} if the row is damaged. */
  decode(row: Record<string, unknown>): void {
    const damage = this.damageOf(row);
    if (damage !== undefined) throw new DamageError(damage);
    for (const [key, { fromDriver }] of this.#coded) {
      if (row[key] !== null) row[key] = fromDriver(row[key]);
    }
  }

  of(alias: string): Columns<Row> {
    return new Columns(this.#table, this.keys, `${alias}.`);
  }

  without<K extends keyof Row & string>(...keys: readonly K[]): Columns<Omit<Row, K>> {
    const others = this.keys.filter((key) => !keys.includes(key as K));
    return new Columns(this.#table, others, this.alias);
  }

  toString(): string {
    return this.#columns.map(([key, { name }]) => this.expressionOf(key, this.alias + name)).join(", ");
  }

  protected expressionOf(key: string, name: string): string {
    return name === this.alias + key ? name : `${name} AS ${key}`;
  }

  /** An INSERT whose parameters are named like the columns in the schema. SQLite computes generated columns. */
  insert(): Insert {
    const written = this.#columns.filter(([, { isGenerated }]) => !isGenerated);
    const names = written.map(([, { name }]) => name);
    const values = written.map(([key]) => `@${key}`);
    return new Insert(this, `INSERT INTO ${this.#table.name} (${names}) VALUES (${values})`);
  }

  /** An INSERT that overwrites the row with the same primary key. It does not change `fixed` columns. */
  upsert(...fixed: (keyof Row)[]): Insert {
    const { primary } = this.#table;
    const changing = this.#columns.filter(
      ([key, { name }]) => !primary.includes(name) && !fixed.includes(key as keyof Row),
    );
    const updates = changing.map(([, { name }]) => `${name} = excluded.${name}`);
    return new Insert(this, `${this.insert()} ON CONFLICT (${primary}) DO UPDATE SET ${updates}`);
  }
}

class Insert {
  readonly columns: Columns<unknown>;
  readonly #sql: string;

  constructor(columns: Columns<unknown>, sql: string) {
    this.columns = columns;
    this.#sql = sql;
  }

  toString(): string {
    return this.#sql;
  }
}

export type RowOf<C> = C extends Columns<infer Row> ? Row : never;

/** The type of a row that is inserted. Its checksum is added. */
export type InsertOf<C> = Omit<RowOf<C>, "checksum">;

/** @param keys  Names in the schema. All columns unless given. */
export function columns<Row, K extends keyof Row & string>(
  table: Table<Row>,
  ...keys: readonly K[]
): Columns<Pick<Row, K>> {
  return new Columns(table as Table, keys.length > 0 ? keys : Object.keys(table.columns));
}

/** Up to this length, the loop is faster than a call of zlib. */
const SHORT_BYTES_MAX = 64;

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++)
    remainder = (remainder & 1) === 0 ? remainder >>> 1 : (remainder >>> 1) ^ 0xedb88320;
  return remainder;
});

/** Returns the CRC-32 of some values of a row as the driver reads them. It does not detect tampering. */
export function checksumOf(row: Readonly<Record<string, unknown>>, keys: readonly string[]): number {
  let checksum = 0;
  let text = "";
  for (const key of keys) {
    const value = row[key];
    if (typeof value === "object" && Buffer.isBuffer(value)) checksum = crcOf(value, checksum);
    else text += `${value}\0`;
  }
  return crc32(text, checksum);
}

function crcOf(bytes: Buffer, checksum: number): number {
  if (bytes.length > SHORT_BYTES_MAX) return crc32(bytes, checksum);
  let remainder = ~checksum;
  for (const byte of bytes) remainder = TABLE[(remainder ^ byte) & 0xff]! ^ (remainder >>> 8);
  return ~remainder >>> 0;
}

/** The tables whose rows have checksums, with the columns that are not covered because they often change. */
export const UNSEALED: ReadonlyMap<Table, readonly string[]> = new Map<Table, readonly string[]>([
  [TABLES.sessions, ["frontierVersion"]],
  [TABLES.messages, ["parentId", "embedding", "embedderId", "storedText"]],
  [TABLES.unions, []],
  [TABLES.undoneUnions, []],
  [TABLES.sharedPasts, []],
  [TABLES.clusters, ["settledAt", "subjectParentId"]],
  [TABLES.themes, []],
  [TABLES.actions, []],
  [TABLES.entries, ["id"]],
  [TABLES.items, ["id"]],
  [TABLES.themeCheckpoints, ["id"]],
  [TABLES.forgottenMessages, ["sessionId"]],
  [TABLES.messageArtifacts, []],
  [TABLES.frontierMoves, []],
  [TABLES.discardedCosts, []],
  [TABLES.tombstones, []],
  [TABLES.storeSettings, []],
  [TABLES.generations, ["createdAtMs", "rewriteCount"]],
  [TABLES.summaries, ["claimedUntilMs"]],
]);
