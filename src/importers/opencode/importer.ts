import { StoreError } from "../../core/errors.ts";
import type { Branches } from "../branches.ts";
import type { Element } from "../document-scanner.ts";
import { headElements, readElements } from "../documents.ts";
import { isDatabase, peek } from "../head.ts";
import type { ImportEvent, ImportedSession, Importer, ImportFile } from "../importer.ts";
import type { JsonObject } from "../lines.ts";
import { readTranscript, Transcript, type Translator } from "../transcript.ts";
import { millisecondsOf, objectOf, objectsOf, projectOf, saidOf, stringOf } from "../values.ts";
import { isOpencode, OpencodeDatabase } from "./database.ts";
import { entriesOf, type StoredMessage } from "./message.ts";

/** Enough to recognize a database. */
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

  async *read(file: ImportFile): AsyncGenerator<ImportEvent> {
    const { head, chunks, close } = await peek(file.chunks, HEAD_BYTES);
    if (!isDatabase(head)) {
      const elements = readElements({ ...file, chunks });
      yield* readTranscript(file, elements, (transcript) => new ExportTranslator(file.isFinished === true, transcript));
      return;
    }
    // A database is opened by its path.
    await close();
    yield* readDatabase(file);
  },
};

/** A suffix for the fingerprint of a session in which a message is not complete. */
const HOLDING = " holding";

/** Reads a database. If it is followed, messages that are not finished will come later and are no warnings. */
async function* readDatabase({ path, fingerprints, isFinished = false }: ImportFile): AsyncGenerator<ImportEvent> {
  if (path === "-") throw new StoreError("IMPORT_UNREADABLE", { path, reason: "a database is read from a file" });
  const database = new OpencodeDatabase(path);
  let failure: unknown;
  try {
    const isFollowed = fingerprints !== undefined;
    const found = isFollowed ? database.fingerprints() : new Map<string, string>();
    for (const row of database.sessions()) {
      const id = String(row.id);
      const fingerprint = found.get(id);
      const known = fingerprints?.get(id);
      if (known !== undefined && (known === fingerprint || (!isFinished && known === `${fingerprint}${HOLDING}`)))
        continue;
      const transcript = new Transcript();
      const branches = transcript.open("", () => sessionOf(row));
      let isHolding = false;
      try {
        for (const message of database.messages(id)) {
          if ("problem" in message) transcript.warn(message.row, message.problem);
          else if (addStored(message, message.row, { transcript, branches, isFinished, isFollowed })) isHolding = true;
          yield* transcript.takeEvents();
        }
      } catch (error) {
        // Damage to one session costs no other.
        if (!StoreError.is(error, "IMPORT_UNREADABLE")) throw error;
        failure ??= error;
      }
      transcript.finish(isFinished);
      for (const event of transcript.takeEvents()) {
        if (event.kind === "warning") isHolding = true;
        if (event.kind !== "warning" || !isFollowed) yield event;
      }
      if (fingerprint !== undefined)
        fingerprints?.set(id, isHolding && !isFinished ? `${fingerprint}${HOLDING}` : fingerprint);
    }
  } finally {
    database.close();
  }
  if (failure !== undefined) throw failure;
}

/** Adds a message. Returns true if words are left out because they are still being written. */
function addStored(
  stored: StoredMessage,
  line: number,
  to: { transcript: Transcript; branches: Branches; isFinished: boolean; isFollowed?: boolean },
): boolean {
  const { entries, problem, isUnfinished = false } = entriesOf(stored, line, to.isFinished);
  to.branches.add(entries);
  if (problem !== undefined) to.transcript.warn(line, problem);
  if (isUnfinished && !to.isFollowed) to.transcript.warn(line, `message ${stored.id} is still being written`);
  return isUnfinished;
}

/** Translates an export: the fields of one session. */
class ExportTranslator implements Translator<Element> {
  readonly #isFinished: boolean;
  readonly #transcript: Transcript;
  #info: JsonObject = {};

  constructor(isFinished: boolean, transcript: Transcript) {
    this.#isFinished = isFinished;
    this.#transcript = transcript;
  }

  read({ line, key, value }: Element): void {
    const transcript = this.#transcript;
    if (key === "info") this.#info = objectOf(value);
    else if (key === undefined) transcript.warn(line, "expected a field of a session");
    else if (key === "messages") {
      const { info, parts } = objectOf(value);
      const { id, sessionID } = objectOf(info);
      if (!stringOf(id)) {
        transcript.warn(line, "info.id: expected a string");
        return;
      }
      const branches = transcript.open("", () => sessionOf({ id: sessionID ?? "unknown", ...this.#info }));
      const stored = { id: id as string, info: objectOf(info), parts: objectsOf(parts) };
      addStored(stored, line, { transcript, branches, isFinished: this.#isFinished });
    }
  }

  end(): void {
    // An export is complete in any case.
    this.#transcript.finish(true);
  }
}

/** Returns the session in a row of the database or in the `info` of an export. */
function sessionOf(row: JsonObject): ImportedSession {
  const { id, parent_id, parentID, directory, title, time_created, time, version, share_url } = row;
  const session: ImportedSession = { externalId: String(id), source: "opencode" };
  const parent = stringOf(parent_id) ?? stringOf(parentID);
  if (parent !== undefined) session.parentExternalId = parent;
  if (stringOf(directory)) session.project = projectOf(directory as string);
  if (stringOf(title)) session.title = title as string;
  const createdAtMs = millisecondsOf(time_created) ?? millisecondsOf(objectOf(time).created);
  if (createdAtMs !== undefined) session.createdAtMs = createdAtMs;
  session.metadata = saidOf({ cwd: directory ?? null, version: version ?? null, share_url: share_url ?? null });
  return session;
}
