import { dirname, join } from "node:path";
import { type JsonFile, jsonFilesIn } from "../beside.ts";
import { databaseImporter } from "../database-reader.ts";
import { headElements, readElements } from "../documents.ts";
import type { ImportEvent, Importer, ImportFile } from "../importer.ts";
import { type DamagedLine, isObject, type JsonObject } from "../lines.ts";
import { objectOf, objectsOf, stringOf } from "../values.ts";
import type { StoredMessage } from "./message.ts";
import { SessionTranslator } from "./session.ts";

/**
 * Reads the database of opencode, `~/.local/share/opencode/opencode.db`, with all of its sessions and subagents; or one session
 * as `opencode export` writes it, or as older versions kept it in `~/.local/share/opencode/storage`. In warnings about a database,
 * the line is the row id.
 */
export const opencode: Importer = {
  ...databaseImporter("opencode", readText),

  detect(head) {
    const fields: JsonObject = {};
    for (const { key, value } of headElements(head)) {
      const { info, parts } = objectOf(value);
      if (key === "messages" && Array.isArray(parts) && stringOf(objectOf(info).sessionID)) return true;
      Object.assign(fields, key === undefined ? objectOf(value) : { [key]: value });
    }
    return isStoredSession(fields);
  },
};

function readText(file: ImportFile): AsyncIterable<ImportEvent> {
  const info: JsonObject = {};
  return new ExportTranslator(file, info).translate(readExport(file, info));
}

/** Adds the facts about the session to `session`. */
async function* readExport(file: ImportFile, session: JsonObject): AsyncGenerator<StoredMessage | DamagedLine> {
  const fields: JsonObject = {};
  for await (const element of readElements(file)) {
    const { line } = element;
    if ("problem" in element) yield element;
    else if (element.key === undefined) {
      if (isStoredSession(objectOf(element.value))) Object.assign(fields, element.value);
      else yield { line, problem: "expected a field of a session" };
    } else if (element.key === "info") Object.assign(session, objectOf(element.value));
    else if (element.key === "messages") {
      const message = objectOf(element.value);
      const info = objectOf(message.info);
      const id = stringOf(info.id);
      if (id === undefined) yield { line, problem: "info.id: expected a string" };
      else yield { line, id, info, parts: objectsOf(message.parts) };
    } else fields[element.key] = element.value;
  }
  if (!isStoredSession(fields)) return;
  Object.assign(session, fields);
  yield* readStorage(file.path, fields);
}

class ExportTranslator extends SessionTranslator {
  protected override end(): void {
    // An export is always complete.
    this.finish(true);
  }
}

/**
 * Returns true for a session as versions before the database wrote it, to `storage/session/<project>/<session>.json`. Its messages
 * are in `storage/message/<session>/`, and their parts in `storage/part/<message>/`, one file each.
 */
function isStoredSession({ id, projectID, time }: JsonObject): boolean {
  return /^ses_\w+$/.test(String(id)) && stringOf(projectID) !== undefined && isObject(time);
}

/** Returns the messages of the session in the file `path`, in order. The line of a message is its number. */
async function* readStorage(path: string, session: JsonObject): AsyncGenerator<StoredMessage | DamagedLine> {
  const storage = join(dirname(path), "..", "..");
  const messages = await jsonFilesIn(join(storage, "message", String(session.id)));
  const createdAt = ({ value }: JsonFile) => Number(objectOf(objectOf(value).time).created ?? 0);
  messages.sort((a, b) => createdAt(a) - createdAt(b));
  for (const [index, { name, value, problem }] of messages.entries()) {
    const line = index + 1;
    if (problem !== undefined) yield { line, problem: `message ${name}: ${problem}` };
    const parts: JsonObject[] = [];
    for (const part of await jsonFilesIn(join(storage, "part", name))) {
      if (part.problem === undefined) parts.push(objectOf(part.value));
      else yield { line, problem: `part ${part.name}: ${part.problem}` };
    }
    if (problem === undefined) yield { line, id: name, info: objectOf(value), parts };
  }
}
