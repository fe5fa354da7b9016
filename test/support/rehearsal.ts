import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inDatabase } from "./rows.ts";
import { temporaryFolder } from "./temporary-store.ts";

const MIGRATIONS = fileURLToPath(new URL("../../migrations", import.meta.url));

/** Our migrations and one more, as a later version would carry them. */
export function migrationsAnd(statements: readonly string[]): string {
  const folder = temporaryFolder();
  cpSync(MIGRATIONS, folder, { recursive: true });
  const file = join(folder, "meta", "_journal.json");
  const journal = JSON.parse(readFileSync(file, "utf8")) as { entries: { idx: number; when: number; tag: string }[] };
  const last = journal.entries.at(-1)!;
  journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1, tag: "9999_rehearsal" });
  writeFileSync(file, JSON.stringify(journal));
  writeFileSync(join(folder, "9999_rehearsal.sql"), statements.join("\n--> statement-breakpoint\n"));
  return folder;
}

/**
 * Statements that make a table anew with one more column, as drizzle-kit writes them where SQLite cannot alter one: a new
 * table, a copy of the rows, the old one dropped, the new one renamed, its indexes made again.
 */
export function rebuildOf(path: string, table: string, column: string): string[] {
  return inDatabase(path, (database) => {
    const sqlOf = (type: string): string[] =>
      database
        .prepare<[string, string], string>(
          "SELECT sql FROM sqlite_master WHERE type = ? AND tbl_name = ? AND sql IS NOT NULL ORDER BY name",
        )
        .pluck()
        .all(type, table);
    const columns = database.prepare<[string], string>("SELECT name FROM pragma_table_info(?)").pluck().all(table);
    const create = sqlOf("table")[0]!.replace(`\`${table}\``, `\`__new_${table}\``);
    return [
      "PRAGMA foreign_keys=OFF;",
      `${create.replaceAll(`"${table}".`, `"__new_${table}".`)};`,
      `ALTER TABLE \`__new_${table}\` ADD COLUMN ${column};`,
      `INSERT INTO \`__new_${table}\` (${columns}) SELECT ${columns} FROM \`${table}\`;`,
      `DROP TABLE \`${table}\`;`,
      `ALTER TABLE \`__new_${table}\` RENAME TO \`${table}\`;`,
      ...sqlOf("index").map((sql) => `${sql};`),
      "PRAGMA foreign_keys=ON;",
    ];
  });
}
