import { copyFileSync, readFileSync } from "node:fs";
import Database from "better-sqlite3";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { describe, expect, test } from "vitest";
import { openStore } from "../../../src/index.ts";
import { migrate } from "../../../src/store/file/migrate.ts";
import { race } from "../../support/race.ts";
import { migrationsAnd, rebuildOf } from "../../support/rehearsal.ts";
import { allRows, inDatabase } from "../../support/rows.ts";
import { talk } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

// What a later version may do to the tables that everything hangs on, tried on the real ones.

const APPLICATION_ID = 0x43_6f_70_70;

/** A store with a forest, forgotten last messages and a trigger on its messages. */
async function storeFile(): Promise<string> {
  const path = temporaryPath();
  const store = openStore(path, { summarizer: scriptedSummarizer("good") });
  const session = store.session("harbor", { hotSize: 4, overlap: 2, evictBatch: 4 });
  session.append(talk(40, 100));
  await session.resolveDirty();
  store.session("pier").append(talk(4));
  store.close();
  inDatabase(path, (database) => {
    database.exec("CREATE TABLE notes (text text)");
    database.exec(
      "CREATE TRIGGER messages_noted AFTER INSERT ON messages BEGIN INSERT INTO notes VALUES (new.session_id); END",
    );
    database.exec("UPDATE sqlite_sequence SET seq = 1000 WHERE name = 'messages'");
  });
  return path;
}

/** A migration that makes `messages` and `sessions` anew, each with one more column. */
function rebuilding(path: string, more: readonly string[] = []): string {
  return migrationsAnd([
    ...rebuildOf(path, "messages", "mood text"),
    ...rebuildOf(path, "sessions", "harbor integer NOT NULL DEFAULT 7"),
    ...more,
  ]);
}

function migrateFile(path: string, folder: string, readonly = false): void {
  const client = new Database(path, { readonly });
  try {
    client.pragma("foreign_keys = ON");
    migrate(client, path, {
      applicationId: APPLICATION_ID,
      readonly,
      migrations: readMigrationFiles({ migrationsFolder: folder }),
    });
  } finally {
    expect(client.pragma("foreign_keys", { simple: true })).toBe(1);
    client.close();
  }
}

/** Every table with the number of its rows, but the record of migrations. */
function rowCounts(path: string): Record<string, number> {
  return inDatabase(path, (database) => {
    const tables = database
      .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> '__drizzle_migrations'")
      .pluck()
      .all();
    const countOf = (table: string): number =>
      database.prepare<[], number>(`SELECT count(*) FROM "${table}"`).pluck().get()!;
    return Object.fromEntries(tables.map((table) => [table, countOf(table)]));
  });
}

function schemaOf(path: string, ...types: string[]): string[] {
  return inDatabase(path, (database) =>
    database
      .prepare<[string], string>(
        "SELECT name || ': ' || sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN (SELECT value FROM json_each(?)) ORDER BY name",
      )
      .pluck()
      .all(JSON.stringify(types)),
  );
}

/** As if this version carried the migration: its record is taken back, and its new columns are no harm. */
function forgetMigration(path: string): void {
  inDatabase(path, (database) =>
    database.exec(
      "DELETE FROM __drizzle_migrations WHERE created_at = (SELECT max(created_at) FROM __drizzle_migrations)",
    ),
  );
}

describe("a migration that rebuilds messages and sessions", () => {
  test("keeps every row of every table, every view, trigger and index, and what points to what", async () => {
    const path = await storeFile();
    const [counts, others] = [rowCounts(path), schemaOf(path, "view", "trigger", "index")];
    expect(counts).toMatchObject({ sessions: 2, messages: 44 });
    for (const table of ["unions", "clusters", "themes"]) expect(counts[table]).toBeGreaterThan(0);
    migrateFile(path, rebuilding(path));
    expect(rowCounts(path)).toEqual(counts);
    expect(schemaOf(path, "view", "trigger", "index")).toEqual(others);
    inDatabase(path, (database) => {
      expect(database.pragma("foreign_key_check")).toEqual([]);
      expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
      expect(database.prepare("SELECT DISTINCT harbor FROM sessions").pluck().all()).toEqual([7]);
      expect(database.prepare("SELECT count(*) FROM messages WHERE mood IS NULL").pluck().get()).toBe(44);
      expect(database.prepare("SELECT count(*) FROM theme_members").pluck().get()).toBeGreaterThan(20);
    });
  });

  test("leaves a store that shows, appends and deletes as before", async () => {
    const path = await storeFile();
    const copy = temporaryPath();
    copyFileSync(path, copy);
    const before = openedStore(copy).resume("harbor").render();
    migrateFile(path, rebuilding(path));
    forgetMigration(path);
    const store = openedStore(path);
    expect(store.resume("harbor").render()).toEqual(before);
    expect(store.verify()).toMatchObject({ ok: true, messageCount: 44 });
    // The trigger is back, and no id is given twice although the newest messages have been forgotten.
    expect(store.resume("pier").append({ role: "user", content: "And at the third gate?" }).messageId).toBe(1_001);
    expect(store.query("SELECT * FROM notes")).toEqual([{ text: "pier" }]);
    inDatabase(path, (database) => {
      database.pragma("foreign_keys = ON");
      database.exec("DELETE FROM sessions WHERE id = 'harbor'");
    });
    expect(rowCounts(path)).toMatchObject({ messages: 5, unions: 0, clusters: 0, themes: 0, summaries: 0 });
  });

  test.each([
    ["fails at its end", "INSERT INTO nowhere VALUES (1);", "no such table: nowhere"],
    ["leaves messages without their session", "DELETE FROM sessions WHERE id = 'pier';", "rows point to rows"],
  ])("and %s leaves the file as it was", async (_, statement, message) => {
    const path = await storeFile();
    const [rows, schema] = [allRows(path), schemaOf(path, "table", "view", "trigger", "index")];
    expect(() => migrateFile(path, rebuilding(path, [statement]))).toThrow(message);
    expect(allRows(path)).toEqual(rows);
    expect(schemaOf(path, "table", "view", "trigger", "index")).toEqual(schema);
    expect(openedStore(path).verify().ok).toBe(true);
  });

  test("is not made by a reader, who says what to do", async () => {
    const path = await storeFile();
    const before = readFileSync(path);
    expect(() => migrateFile(path, rebuilding(path), true)).toThrow(
      expect.objectContaining({
        code: "FORMAT_UNSUPPORTED",
        message: `The store ${path} has a format that this version cannot read: it has an older format, which a reader cannot convert; open it once for writing.`,
        hint: expect.stringContaining("coppice watch --once"),
      }),
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("is made once where two processes come to it at the same moment", async () => {
    const path = await storeFile();
    const [counts, folder] = [rowCounts(path), rebuilding(path)];
    await race(new URL("../../support/migrating-child.ts", import.meta.url), Array(2).fill([path, folder]));
    expect(rowCounts(path)).toEqual(counts);
    inDatabase(path, (database) => {
      const twice = database.prepare("SELECT hash FROM __drizzle_migrations GROUP BY hash HAVING count(*) > 1").all();
      expect(twice).toEqual([]);
      expect(database.prepare("SELECT count(*) FROM sessions WHERE harbor = 7").pluck().get()).toBe(2);
    });
  });
});
