import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { describe, expect, onTestFinished, test } from "vitest";
import { migrate } from "../../../src/store/file/migrate.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";

const FIRST = `
CREATE TABLE shelves (id integer PRIMARY KEY, label text);
--> statement-breakpoint
CREATE TABLE books (id integer PRIMARY KEY, shelf_id integer NOT NULL REFERENCES shelves(id) ON DELETE CASCADE, title text);
--> statement-breakpoint
CREATE VIEW titles AS SELECT s.label, b.title FROM books b JOIN shelves s ON s.id = b.shelf_id;
--> statement-breakpoint
CREATE TABLE log (entry text);
--> statement-breakpoint
CREATE TRIGGER books_logged AFTER INSERT ON books BEGIN INSERT INTO log VALUES (new.title); END;`;

/** A folder of migrations as drizzle-kit lays it out. */
function migrationsOf(...migrations: string[]): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "meta"));
  const entries = migrations.map((sql, idx) => {
    writeFileSync(join(folder, `000${idx}_m.sql`), sql);
    return { idx, version: "6", when: 1_000 + idx, tag: `000${idx}_m`, breakpoints: true };
  });
  writeFileSync(join(folder, "meta", "_journal.json"), JSON.stringify({ version: "7", dialect: "sqlite", entries }));
  return folder;
}

function libraryWith(folder: string): Database.Database {
  const database = new Database(":memory:");
  onTestFinished(() => void database.close());
  run(database, folder);
  database.exec(
    "INSERT INTO shelves VALUES (1, 'sea'), (2, 'sky'); INSERT INTO books VALUES (1, 1, 'Moby Dick'), (2, 2, 'Vol de nuit')",
  );
  return database;
}

function run(database: Database.Database, folder: string): void {
  migrate(database, "library.db", {
    applicationId: 7,
    readonly: false,
    migrations: readMigrationFiles({ migrationsFolder: folder }),
  });
}

function versionOf(database: Database.Database): number {
  return database.prepare<[], number>("SELECT count(*) FROM __drizzle_migrations").pluck().get()!;
}

// `test/upgrade/rehearsal.test.ts` rebuilds tables of a real store.
describe("migrate", () => {
  test("replaces a view that a migration makes anew", () => {
    const database = libraryWith(migrationsOf(FIRST));
    run(database, migrationsOf(FIRST, "CREATE VIEW titles AS SELECT upper(title) AS title FROM books;"));
    expect(database.prepare("SELECT title FROM titles ORDER BY 1").pluck().all()).toEqual(["MOBY DICK", "VOL DE NUIT"]);
  });

  test("does nothing the second time", () => {
    const folder = migrationsOf(FIRST);
    const database = libraryWith(folder);
    run(database, folder);
    expect(versionOf(database)).toBe(1);
    expect(database.prepare("SELECT count(*) FROM books").pluck().get()).toBe(2);
  });

  test("notices one edited letter of a migration that has run", () => {
    const folder = migrationsOf(FIRST);
    const database = libraryWith(folder);
    const edited = temporaryFolder();
    cpSync(folder, edited, { recursive: true });
    const file = join(edited, "0000_m.sql");
    writeFileSync(file, readFileSync(file, "utf8").replace("title text", "title TEXT"));
    expect(() => run(database, edited)).toThrow(expect.objectContaining({ code: "FORMAT_UNSUPPORTED" }));
  });
});
