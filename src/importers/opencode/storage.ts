import { dirname, join } from "node:path";
import { type JsonFile, jsonFilesIn } from "../beside.ts";
import { type DamagedLine, isObject, type JsonObject } from "../lines.ts";
import { objectOf, stringOf } from "../values.ts";
import type { StoredMessage } from "./message.ts";

/**
 * Returns true for a session as versions before the database wrote it, to `storage/session/<project>/<session>.json`. Its messages
 * are in `storage/message/<session>/`, and their parts in `storage/part/<message>/`, one file each.
 */
export function isStoredSession({ id, projectID, time }: JsonObject): boolean {
  return /^ses_\w+$/.test(String(id)) && stringOf(projectID) !== undefined && isObject(time);
}

/** Returns the messages of the session in the file `path`, in order. The line of a message is its number. */
export async function* readStorage(path: string, session: JsonObject): AsyncGenerator<StoredMessage | DamagedLine> {
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
