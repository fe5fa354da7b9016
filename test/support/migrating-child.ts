import Database from "better-sqlite3";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { migrate } from "../../src/store/file/migrate.ts";

// Brings the store `argv[2]` to the format of the migrations in `argv[3]` when told to, and says so.
const [, , path, folder] = process.argv;
process.on("message", () => {
  const client = new Database(path!);
  migrate(client, path!, {
    applicationId: 0x43_6f_70_70,
    readonly: false,
    migrations: readMigrationFiles({ migrationsFolder: folder! }),
  });
  client.close();
  process.send!("done");
});
process.send!("ready");
