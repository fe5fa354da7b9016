import { changedSession } from "../database-sessions.ts";
import type { DatabaseFile } from "../foreign-database.ts";
import type { ImportEvent } from "../importer.ts";
import { OpencodeDatabase } from "./database.ts";
import { SessionTranslator } from "./session.ts";

export async function* opencodeEvents(file: DatabaseFile): AsyncGenerator<ImportEvent> {
  const database = new OpencodeDatabase(file.path);
  try {
    for (const session of await database.sessions()) {
      const { row, fingerprint } = session;
      yield* changedSession(file, String(row.id), fingerprint, () =>
        new SessionTranslator(file, row).translate(database.messages(session)),
      );
    }
  } finally {
    database.close();
  }
  // Damage to some rows costs no others.
  if (database.damage !== undefined) throw database.damage;
}
