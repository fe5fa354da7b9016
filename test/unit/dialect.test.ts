import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getTableColumns, is } from "drizzle-orm";
import { SQLiteTable } from "drizzle-orm/sqlite-core";
import { expect, test } from "vitest";
import * as schema from "../../src/store/schema.ts";

// Holds the section "Dialect" of src/store/DESIGN.md.

const STORE = fileURLToPath(new URL("../../src/store", import.meta.url));

/** Files that speak to the driver: connections, pragmas, migrations, copies, users' queries. Each with its reason. */
const SPEAKS_TO_DRIVER: Record<string, string> = {
  "statement.ts": "it compiles statements",
  "open.ts": "it looks at a file that may be another program's",
  "connect.ts": "it looks at a file that may be another program's",
  "migrate.ts": "it runs before the schema holds",
  "backup.ts": "it reads a copy through a connection of its own",
  "query.ts": "it runs what a user wrote",
  "database-findings.ts": "it looks for what is wrong with a store, once for each time a user asks",
  "stats.ts": "it counts through views, once for each time a user asks",
};

const files = readdirSync(STORE).filter((file) => file.endsWith(".ts"));
const sourceOf = (file: string): string => readFileSync(join(STORE, file), "utf8");
const withoutComments = (source: string): string => source.replace(/^\s*(\/\/|\*|\/\*\*).*$/gm, "");
const withoutStatements = (source: string): string => source.replace(/^const statements = [\s\S]*?^\}\);$/gm, "");
const statementsOf = (source: string): string =>
  source.match(/^const statements = [\s\S]*?^\}\);$/gm)?.join("\n") ?? "";

test("the statements are seen", () => {
  const withStatements = files.filter((file) => statementsOf(sourceOf(file)) !== "");
  expect(withStatements).toContain("messages.ts");
  expect(withStatements.length).toBeGreaterThan(12);
  expect(statementsOf(sourceOf("messages.ts")).match(/: statement</g)!.length).toBeGreaterThan(15);
});

test("only the listed files prepare statements of the driver", () => {
  const preparing = files.filter((file) => /\.prepare\b/.test(withoutComments(sourceOf(file))));
  expect(preparing).toContain("statement.ts");
  expect(preparing.filter((file) => !Object.hasOwn(SPEAKS_TO_DRIVER, file))).toEqual([]);
});

test("written SQL is in the statements at the top of a repository, once for each file", () => {
  const strays = files.filter((file) => {
    const source = withoutComments(sourceOf(file));
    return /\bstatement</.test(withoutStatements(source)) && !["statement.ts", "full-text.ts"].includes(file);
  });
  expect(strays).toEqual([]);
  const split = files.filter((file) => (sourceOf(file).match(/^const statements = /gm)?.length ?? 0) > 1);
  expect(split).toEqual([]);
});

test("written SQL begins with the reason for it", () => {
  const unexplained = files.filter((file) => {
    const source = sourceOf(file);
    return (
      statementsOf(source) !== "" && !/^\/\/ .*\nconst statements = |^const statements = .*\n {2}\/\/ /m.test(source)
    );
  });
  expect(unexplained).toEqual([]);
});

test("no list of columns spells out the names that the schema gives them", () => {
  const known = Object.values(schema)
    .filter((table) => is(table, SQLiteTable))
    .flatMap((table) => Object.entries(getTableColumns(table)).map(([key, { name }]) => `${name} AS ${key}`));
  const renamed = [...new Set(known)].filter((column) => column.includes("_"));
  expect(renamed).toContain("session_id AS sessionId");
  const copies = files.flatMap((file) => {
    const source = withoutComments(sourceOf(file));
    return renamed.filter((column) => source.includes(column)).map((column) => `${file}: ${column}`);
  });
  expect(copies).toEqual([]);
});
