import Database from "better-sqlite3";
import type { MigrationMeta } from "drizzle-orm/migrator";
import { assert } from "../../core/damage.ts";
import { StoreError } from "../../core/errors.ts";
import { once } from "../../core/once.ts";
import { MIGRATIONS } from "./migrations.ts";
import { giveSerial } from "./serial.ts";

/** `drizzle-kit` reads this table. */
const CREATE_APPLIED = `CREATE TABLE IF NOT EXISTS __drizzle_migrations (id INTEGER PRIMARY KEY, hash text NOT NULL, created_at numeric)`;

/**
 * Brings a file to this version's format, or refuses it and leaves it unchanged.
 *
 * drizzle's own migrator does not notice an edited migration or a newer file, and deletes every child row of a table
 * that it rebuilds. Here, foreign keys are off during the one transaction and are checked at its end. Views and
 * triggers are created again after each migration. Each table keeps its last id, so that ids of forgotten rows are not
 * given again.
 *
 * @throws {StoreError} `FORMAT_UNSUPPORTED`, `STORE_CORRUPT`.
 */
export function migrate(
  client: Database.Database,
  path: string,
  options: { applicationId: number; readonly: boolean; migrations?: readonly MigrationMeta[] },
): void {
  const known = options.migrations ?? MIGRATIONS;
  if (checkApplied(client, path, known) === known.length) return;
  if (options.readonly) {
    const reason = "it has an older format, which a reader cannot convert; open it once for writing";
    const hint = "`coppice watch --once` and `coppice import <path>` open it for writing. The file was not changed.";
    throw Object.assign(new StoreError("FORMAT_UNSUPPORTED", { path, reason }), { hint });
  }
  client.pragma("foreign_keys = OFF"); // has no effect inside a transaction
  try {
    client.transaction(() => applyMissing(client, path, known, options.applicationId)).immediate();
  } finally {
    client.pragma("foreign_keys = ON");
  }
}

/** Describes each table, view, index or trigger that is missing or differs from a new store's. Others are ignored. */
export function schemaProblems(client: Database.Database): string[] {
  const found = definitionsIn(client);
  return [...expectedDefinitions()].flatMap(([name, expected]) => {
    const definition = found.get(name);
    if (definition === undefined) return [`the definition of ${name} is missing`];
    const isComplete = [...expected].every((part) => definition.has(part));
    return isComplete ? [] : [`the definition of ${name} is not the one of this version`];
  });
}

const expectedDefinitions = once(() => {
  const fresh = new Database(":memory:");
  try {
    migrate(fresh, ":memory:", { applicationId: 0, readonly: false });
    return definitionsIn(fresh);
  } finally {
    fresh.close();
  }
});

/** Returns the columns of each plain table and what it computes, and the SQL of everything else, by kind and name. */
function definitionsIn(client: Database.Database): Map<string, Set<string>> {
  const rows = client
    .prepare<[], { type: string; name: string; sql: string | null }>("SELECT type, name, sql FROM sqlite_master")
    .all();
  return new Map(
    rows.map(({ type, name, sql }) => [
      `${type} ${name}`,
      new Set(type === "table" && !isVirtual(sql) ? [...columnsOf(client, name), ...computedIn(sql)] : [sql ?? ""]),
    ]),
  );
}

/** A virtual table has options in its SQL, such as a tokenizer, which its columns do not show. */
function isVirtual(sql: string | null): boolean {
  return sql?.startsWith("CREATE VIRTUAL TABLE") ?? false;
}

/** Returns the column names of a table. The SQL of tables is not compared, because a migration that rebuilds a table changes it. */
function columnsOf(client: Database.Database, table: string): string[] {
  try {
    return client
      .prepare(`SELECT * FROM "${table}"`)
      .columns()
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

function computedIn(sql: string | null): string[] {
  return sql?.match(/GENERATED ALWAYS AS[\s\S]*? VIRTUAL/g) ?? [];
}

function checkApplied(client: Database.Database, path: string, known: readonly MigrationMeta[]): number {
  const hasTable = client.prepare("SELECT 1 FROM sqlite_master WHERE name = '__drizzle_migrations'").get();
  if (hasTable === undefined) return 0;
  const applied = client
    .prepare<[], { hash: string; created_at: number }>(
      "SELECT hash, created_at FROM __drizzle_migrations ORDER BY created_at",
    )
    .all();
  applied.forEach(({ hash, created_at }, index) => {
    const expected = known[index];
    if (expected === undefined) {
      const reason = `a newer version has written it (${applied.length} migrations; this version knows ${known.length})`;
      throw new StoreError("FORMAT_UNSUPPORTED", { path, reason });
    }
    if (hash !== expected.hash || Number(created_at) !== expected.folderMillis) {
      const reason = "another version has written it, in a format of its own";
      const hint =
        "Move the file away, and import the transcripts again: `coppice watch --once`, or `coppice import <path>`. The file was not changed.";
      throw Object.assign(new StoreError("FORMAT_UNSUPPORTED", { path, reason }), { hint });
    }
  });
  return applied.length;
}

function applyMissing(
  client: Database.Database,
  path: string,
  known: readonly MigrationMeta[],
  applicationId: number,
): void {
  // Another process may have migrated the file while this one waited for the lock.
  const appliedCount = checkApplied(client, path, known);
  client.exec(CREATE_APPLIED);
  const lastIds = lastIdsOf(client);

  const record = client.prepare("INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)");
  for (const migration of known.slice(appliedCount)) {
    const dependents = dropDependents(client);
    for (const statement of migration.sql) client.exec(statement);
    createDependents(client, dependents);
    record.run(migration.hash, migration.folderMillis);
  }
  keepLastIds(client, lastIds);
  const orphans = client.pragma("foreign_key_check") as unknown[];
  if (orphans.length > 0) {
    throw new StoreError("STORE_CORRUPT", { path, reason: `${orphans.length} rows point to rows that do not exist` });
  }
  client.pragma(`application_id = ${applicationId}`);
  if (appliedCount === 0) giveSerial(client);
  assert(checkApplied(client, path, known) === known.length, "every known migration is recorded");
}

type Dependent = { type: string; name: string; sql: string };

function dropDependents(client: Database.Database): Dependent[] {
  const dependents = client
    .prepare<[], Dependent>(
      "SELECT type, name, sql FROM sqlite_master WHERE type IN ('view', 'trigger') AND sql IS NOT NULL",
    )
    .all();
  for (const { type, name } of dependents) client.exec(`DROP ${type} IF EXISTS "${name}"`);
  return dependents;
}

/** Skips those that the migration has created. */
function createDependents(client: Database.Database, dependents: readonly Dependent[]): void {
  const exists = client.prepare("SELECT 1 FROM sqlite_master WHERE name = ?");
  for (const { name, sql } of dependents) {
    if (exists.get(name) === undefined) client.exec(sql);
  }
}

type LastId = { name: string; seq: number };

/** Returns the last id of each table with AUTOINCREMENT. */
function lastIdsOf(client: Database.Database): LastId[] {
  const hasAny = client.prepare("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'").get() !== undefined;
  return hasAny ? client.prepare<[], LastId>("SELECT name, seq FROM sqlite_sequence").all() : [];
}

function keepLastIds(client: Database.Database, lastIds: readonly LastId[]): void {
  const now = new Map(lastIdsOf(client).map(({ name, seq }) => [name, seq]));
  const tables = client.prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
  for (const { name, seq } of lastIds) {
    if (!tables.includes(name) || (now.get(name) ?? -1) >= seq) continue;
    client.prepare("DELETE FROM sqlite_sequence WHERE name = ?").run(name);
    client.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(name, seq);
  }
}
