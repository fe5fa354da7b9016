import type { DatabaseFile } from "../foreign-database.ts";
import type { ImportEvent } from "../importer.ts";
import { isNotYet } from "../message-event.ts";
import { OpencodeDatabase } from "./database.ts";
import { SessionTranslator } from "./session.ts";

/** Reads a database. While it is followed, unfinished messages give no warnings, because they will come later. */
export async function* opencodeEvents(file: DatabaseFile): AsyncGenerator<ImportEvent> {
  const { path, fingerprints, isFinished } = file;
  const database = new OpencodeDatabase(path);
  try {
    for (const session of await database.sessions()) {
      const { row, fingerprint } = session;
      const id = String(row.id);
      const known = fingerprints?.get(id);
      // A session with an unfinished message is read again when the database is finished.
      const fingerprintHolding = `${fingerprint} holding`;
      if (known !== undefined && (known === fingerprint || (known === fingerprintHolding && !isFinished))) continue;
      let isHolding = false;
      for await (const event of new SessionTranslator(file, row).translate(database.messages(session))) {
        const isHeld = isNotYet(event);
        isHolding ||= isHeld;
        if (!isHeld || fingerprints === undefined) yield event;
      }
      if (fingerprint !== undefined) fingerprints?.set(id, isHolding ? fingerprintHolding : fingerprint);
    }
  } finally {
    database.close();
  }
  // Damage to some rows costs no others.
  if (database.damage !== undefined) throw database.damage;
}
