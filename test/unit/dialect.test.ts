import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { getTableColumns, is } from "drizzle-orm";
import { SQLiteTable } from "drizzle-orm/sqlite-core";
import { expect, test } from "vitest";
import * as schema from "../../src/store/sql/schema.ts";

// Holds the section "Dialect" of src/store/DESIGN.md.

const STORE = fileURLToPath(new URL("../../src/store", import.meta.url));

/** Files that speak to the driver: connections, pragmas, migrations, copies, users' queries. Each with its reason. */
const SPEAKS_TO_DRIVER: Record<string, string> = {
  "statement.ts": "it compiles statements",
  "open.ts": "it looks at a file that may be another program's",
  "door.ts": "it looks at a file that may be another program's",
  "connect.ts": "it looks at a file that may be another program's",
  "migrate.ts": "it runs before the schema holds",
  "backup.ts": "it reads a copy through a connection of its own",
  "query.ts": "it runs what a user wrote",
  "database-findings.ts": "it looks for what is wrong with a store, once for each time a user asks",
  "quick-reader.ts": "an agent waits for it, and loading the schema takes longer than what it reads",
  "verify-indexes.ts": "it counts the rows of every index",
  "row-check.ts": "it runs the checks of SQLite, and compares every index with its table",
  "verify-full-text.ts": "its tables are temporary, and exist only while it does",
  "stats.ts": "it counts through views, once for each time a user asks",
};

const paths = new Map(
  readdirSync(STORE, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [basename(path), join(STORE, path)]),
);
const files = [...paths.keys()];
const sourceOf = (file: string): string => readFileSync(paths.get(file)!, "utf8");
const withoutComments = (source: string): string => source.replace(/^\s*(\/\/|\*[ /]|\/\*\*).*$/gm, "");
/** The fields at the beginning of a repository: everything before its first method. */
const fieldsOf = (source: string): string =>
  /^export class \w+ extends [\s\S]*?(?=^ {2}(?!return )[#*]?\w[^=\n]*\{$)/m.exec(source)?.[0] ?? "";
const countOf = (pattern: RegExp, source: string): number => source.match(pattern)?.length ?? 0;
const STATEMENT = /\bthis\.statement</g;

test("the statements are seen", () => {
  const withStatements = files.filter((file) => STATEMENT.test(fieldsOf(sourceOf(file))));
  expect(withStatements).toContain("messages.ts");
  expect(withStatements.length).toBeGreaterThan(12);
  expect(countOf(STATEMENT, fieldsOf(sourceOf("messages.ts")))).toBeGreaterThan(15);
});

test("only the listed files prepare statements of the driver", () => {
  const preparing = files.filter((file) => /\.prepare\b/.test(withoutComments(sourceOf(file))));
  expect(preparing).toContain("statement.ts");
  expect(preparing.filter((file) => !Object.hasOwn(SPEAKS_TO_DRIVER, file))).toEqual([]);
});

test("no statement is a query of drizzle, which has the schema alone", () => {
  const querying = files.filter((file) => /from "drizzle-orm\/better-sqlite3"/.test(sourceOf(file)));
  const composing = files.filter((file) =>
    /import \{[^}]*\b(?:eq|and|or|sql)\b[^}]*\} from "drizzle-orm"/.test(sourceOf(file)),
  );
  expect(querying).toEqual([]);
  expect(composing).toEqual(["schema.ts"]);
});

test("written SQL is in the first fields of a repository", () => {
  const strays = files.filter((file) => {
    const source = withoutComments(sourceOf(file));
    const tagged = countOf(/\bstatement</g, source);
    return (
      tagged !== countOf(STATEMENT, fieldsOf(source)) &&
      !["statement.ts", "repository.ts", "full-text.ts"].includes(file)
    );
  });
  expect(strays).toEqual([]);
});

test("written SQL begins with the reason for it", () => {
  const unexplained = files.filter((file) => {
    const fields = fieldsOf(sourceOf(file));
    return countOf(STATEMENT, fields) > 0 && !/^export class .* \{\n {2}\/\/ /.test(fields);
  });
  expect(unexplained).toEqual([]);
});

test("no list of columns spells out the names that the schema gives them", () => {
  const known = Object.values(schema)
    .filter((table) => is(table, SQLiteTable))
    .flatMap((table) => Object.entries(getTableColumns(table)).map(([key, { name }]) => `${name} AS ${key}`));
  const renamed = [...new Set(known)].filter((column) => column.includes("_"));
  expect(renamed).toContain("session_id AS sessionId");
  const withSchema = files.filter((file) => file !== "quick-reader.ts");
  const copies = withSchema.flatMap((file) => {
    const source = withoutComments(sourceOf(file));
    return renamed.filter((column) => source.includes(column)).map((column) => `${file}: ${column}`);
  });
  expect(copies).toEqual([]);
});
