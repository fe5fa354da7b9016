import Database from "better-sqlite3";
import { checkDriver } from "../../core/driver.ts";
import { StoreError } from "../../core/errors.ts";
import { APPLICATION_ID } from "./application-id.ts";
import { type Connection, connect, prepareFile } from "./connect.ts";
import { refuseForeignLog } from "./foreign-log.ts";
import { migrate } from "./migrate.ts";
import { refuseLinkedName } from "./one-name.ts";

/**
 * Opens a store to read it. Hooks and readers come in here, so that neither reads what the other refuses.
 * @throws {StoreError} `FILE_NOT_FOUND`, `FILE_NOT_USABLE`, `NOT_A_STORE`, `FORMAT_UNSUPPORTED`, `STORE_BUSY`; or the driver's error.
 */
export function openToRead(file: string, busyTimeoutMs: number): Connection {
  admitPath(file, true);
  refuseForeignLog(file);
  const connection = connect(file, { readonly: true, busyTimeoutMs });
  const { client } = connection;
  try {
    refuseForeign(client, file);
    admit(client, file, true);
    return connection;
  } catch (error) {
    client.close();
    throw error;
  }
}

/** Refuses a path before SQLite sees it. */
export function admitPath(file: string, readonly: boolean): void {
  checkDriver(Database);
  if (file === ":memory:") return;
  prepareFile(file, readonly);
  refuseLinkedName(file);
}

/** Refuses a file of another format. A writer brings an older one up to date. */
export function admit(client: Database.Database, file: string, readonly: boolean): void {
  client.pragma("foreign_keys = ON");
  client.pragma("trusted_schema = OFF");
  migrate(client, file, { applicationId: APPLICATION_ID, readonly });
}

export function refuseForeign(client: Database.Database, path: string): void {
  // One snapshot, because another process may be creating the file.
  const { applicationId, tableCount } = client.transaction(() => ({
    applicationId: client.pragma("application_id", { simple: true }),
    tableCount: client.prepare("SELECT count(*) FROM sqlite_master").pluck().get(),
  }))();
  if (applicationId === APPLICATION_ID || (applicationId === 0 && tableCount === 0)) return;
  const reason = `it is an SQLite database of another program (application_id ${applicationId}, ${tableCount} tables and indexes)`;
  throw new StoreError("NOT_A_STORE", { path, reason });
}
