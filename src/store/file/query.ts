import type Database from "better-sqlite3";
import { StoreError } from "../../core/errors.ts";
import { textValue } from "../../core/options.ts";
import { type Connection, connect } from "./connect.ts";
import { type StoreDatabase, storeErrorOf } from "./open.ts";

const SPACE = String.raw`(?:\s|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*`;
/** Matches the first word of a statement, or of the one that it explains, after white space and comments. */
const FIRST_WORD = new RegExp(`^${SPACE}(?:EXPLAIN\\b${SPACE}(?:QUERY\\b${SPACE}PLAN\\b${SPACE})?)?([a-z]+)`, "i");

export type QueryValue = string | number | bigint | null | Buffer;
export type QueryRow = Record<string, QueryValue>;
/** Values for `?` by position, or for `:name`, `@name` and `$name` by name. */
export type QueryParams = readonly QueryParam[] | Readonly<Record<string, QueryParam>>;
type QueryParam = string | number | bigint | null | Uint8Array;

/** Runs statements of users with a connection that can only read. It stays open for the next statement. */
export class Queries {
  readonly #database: StoreDatabase;
  #idle: Connection | undefined;

  constructor(database: StoreDatabase) {
    this.#database = database;
  }

  close(): void {
    this.#idle?.client.close();
    this.#idle = undefined;
  }

  /**
   * Runs one SQL statement of a user, which may only read. PRAGMA and ATTACH are refused, because they can reach other
   * files. The snapshot that it reads stays open until the generator ends.
   *
   * @param options.params  Values for the parameters of the statement.
   * @param options.heapBytesMax  The most memory that SQLite may use, in the whole process. By default, there is no limit.
   * @yields rows in order. An integer beyond 2^53 is a `bigint`.
   * @throws {StoreError} `QUERY_REFUSED` with the reason. If the statement does not parse or fails, it is SQLite's
   * reason.
   */
  *rows(
    query: string,
    { params = [], heapBytesMax }: { params?: QueryParams; heapBytesMax?: number } = {},
  ): Generator<QueryRow> {
    const { path, client } = this.#database;
    this.#database.assertOpen();
    if (path === ":memory:")
      throw new StoreError("QUERY_REFUSED", { reason: "a store in memory has no second connection" });
    textValue("the query", query);
    if (typeof params !== "object" || params === null)
      throw new StoreError("OPTION_INVALID", { option: "params", expected: "a list or an object", actual: params });
    // Some PRAGMAs take effect when they are compiled, also where they are only explained.
    const keyword = FIRST_WORD.exec(query)?.[1]?.toUpperCase();
    if (keyword === undefined || !["SELECT", "WITH", "VALUES"].includes(keyword))
      throw new StoreError("QUERY_REFUSED", { reason: `it begins with ${keyword ?? "no word"}` });
    this.#database.assertInPlace(); // the path might lead to another store by now
    let connection = this.#idle;
    this.#idle = undefined; // another statement may run before this one ends
    try {
      connection ??= connectToRead(path);
      if (heapBytesMax !== undefined) connection.client.pragma(`hard_heap_limit = ${heapBytesMax}`);
      const statement = prepare(connection.client, query);
      if (!statement.reader || !statement.readonly)
        throw new StoreError("QUERY_REFUSED", { reason: "it does not only read" });
      const names = uniqueNames(statement.columns().map(({ name }) => name));
      for (const values of statement.safeIntegers().raw().iterate(params)) yield rowOf(names, values as QueryValue[]);
      // After an error, or in the middle of a statement, a connection is closed. A copy in memory would go out of date.
      if (client.open && this.#idle === undefined && !connection.isCopy) {
        this.#idle = connection;
        connection = undefined;
      }
    } catch (error) {
      const known = storeErrorOf(error, path);
      // The driver's own errors are about parameters: one without a value, or a value that SQLite cannot store.
      throw StoreError.is(known) ? known : refusal(known as Error);
    } finally {
      connection?.client.close();
    }
  }
}

function connectToRead(path: string): Connection {
  const connection = connect(path, { readonly: true, busyTimeoutMs: 5_000 });
  connection.client.pragma("query_only = ON");
  connection.client.pragma("trusted_schema = OFF");
  return connection;
}

function prepare(client: Database.Database, query: string): Database.Statement {
  try {
    return client.prepare(query);
  } catch (cause) {
    throw refusal(cause as Error);
  }
}

function refusal(cause: Error): StoreError {
  return new StoreError("QUERY_REFUSED", { reason: cause.message }, { cause });
}

/** Names columns with equal names like SQLite's shell: `id`, `id:1`. */
function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let number = 1; taken.has(unique); number++) unique = `${name}:${number}`;
    taken.add(unique);
    return unique;
  });
}

/** A number cannot hold every integer of SQLite. */
function rowOf(names: readonly string[], values: readonly QueryValue[]): QueryRow {
  return Object.fromEntries(
    values.map((value, index) => {
      const fits = typeof value === "bigint" && Number.isSafeInteger(Number(value));
      return [names[index]!, fits ? Number(value) : value];
    }),
  );
}
