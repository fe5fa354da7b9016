import { fileURLToPath } from "node:url";
import { type MigrationMeta, readMigrationFiles } from "drizzle-orm/migrator";

/** Every migration of this version, in order. The build replaces this module by its value. */
export const MIGRATIONS: readonly MigrationMeta[] = readMigrationFiles({
  migrationsFolder: fileURLToPath(new URL("../../../migrations", import.meta.url)),
});
