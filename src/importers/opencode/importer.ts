import { StoreError } from "../../core/errors.ts";
import { headElements, readElements } from "../documents.ts";
import { isDatabase, peek } from "../head.ts";
import type { ImportEvent, ImportedSession, Importer, ImportFile } from "../importer.ts";
import type { DamagedLine, JsonObject } from "../lines.ts";
import { isNotYet, notYet } from "../message-event.ts";
import { Translator } from "../translator.ts";
import { millisecondsOf, objectOf, objectsOf, projectOf, saidOf, stringOf } from "../values.ts";
import { isOpencode, OpencodeDatabase } from "./database.ts";
import { entriesOf, type StoredMessage } from "./message.ts";

const HEAD_BYTES = 100;

/**
 * Reads the database of opencode, `~/.local/share/opencode/opencode.db`, with all of its sessions and subagents; or one session
 * as `opencode export` writes it. In warnings about a database, the line is the row id.
 */
export const opencode: Importer = {
  name: "opencode",

  detect(head) {
    for (const { key, value } of headElements(head)) {
      const { info, parts } = objectOf(value);
      if (key === "messages" && Array.isArray(parts) && stringOf(objectOf(info).sessionID)) return true;
    }
    return false;
  },

  detectDatabase: isOpencode,

  async *read(file) {
    const { head, chunks, close } = await peek(file.chunks, HEAD_BYTES);
    if (!isDatabase(head)) {
      const info: JsonObject = {};
      yield* new ExportTranslator(file, info).translate(readExport({ ...file, chunks }, info));
      return;
    }
    await close();
    yield* readDatabase(file);
  },
};

/** Reads a database. While it is followed, unfinished messages give no warnings, because they will come later. */
async function* readDatabase(file: ImportFile): AsyncGenerator<ImportEvent> {
  const { path, fingerprints, isFinished, signal } = file;
  if (path === "-") throw new StoreError("IMPORT_UNREADABLE", { path, reason: "a database is read from a file" });
  const database = new OpencodeDatabase(path, signal);
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

/** Adds the facts about the session to `session`. */
async function* readExport(file: ImportFile, session: JsonObject): AsyncGenerator<StoredMessage | DamagedLine> {
  for await (const element of readElements(file)) {
    const { line } = element;
    if ("problem" in element) yield element;
    else if (element.key === undefined) yield { line, problem: "expected a field of a session" };
    else if (element.key === "info") Object.assign(session, objectOf(element.value));
    else if (element.key === "messages") {
      const message = objectOf(element.value);
      const info = objectOf(message.info);
      const id = stringOf(info.id);
      if (id === undefined) yield { line, problem: "info.id: expected a string" };
      else yield { line, id, info, parts: objectsOf(message.parts) };
    }
  }
}

class SessionTranslator extends Translator<StoredMessage> {
  readonly #session: JsonObject;

  /** @param session  A row of the database, or the `info` of an export. */
  constructor(file: ImportFile, session: JsonObject) {
    super(file);
    this.#session = session;
  }

  override read(stored: StoredMessage): void {
    const { line, info } = stored;
    const { entries, problem, isUnfinished } = entriesOf(stored, this.file.isFinished === true);
    this.open("", () => sessionOf({ id: info.sessionID ?? "unknown", ...this.#session })).add(entries);
    if (problem !== undefined) this.warn(line, problem);
    if (isUnfinished) this.warn(line, notYet(`message ${stored.id} is still being written`));
  }
}

class ExportTranslator extends SessionTranslator {
  protected override end(): void {
    // An export is always complete.
    this.finish(true);
  }
}

function sessionOf(row: JsonObject): ImportedSession {
  const { id, parent_id, parentID, directory, title, time_created, time, version, share_url } = row;
  const session: ImportedSession = { externalId: String(id), source: "opencode" };
  const parent = stringOf(parent_id) ?? stringOf(parentID);
  if (parent !== undefined) session.parentExternalId = parent;
  if (stringOf(directory)) session.project = projectOf(directory as string);
  if (stringOf(title)) session.title = title as string;
  const createdAtMs = millisecondsOf(time_created) ?? millisecondsOf(objectOf(time).created);
  if (createdAtMs !== undefined) session.createdAtMs = createdAtMs;
  session.metadata = saidOf({ cwd: directory, version, share_url });
  return session;
}
