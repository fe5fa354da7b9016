import { StoreError } from "../../core/errors.ts";
import { headEntries, readEntries } from "../documents.ts";
import { isDatabase, peek } from "../head.ts";
import type { ImportEvent, ImportedSession, Importer, ImportFile } from "../importer.ts";
import type { JsonObject } from "../lines.ts";
import { Thread } from "../thread.ts";
import { millisecondsOf, objectOf, objectsOf, projectOf, saidOf, stringOf } from "../values.ts";
import { isOpencode, OpencodeDatabase, type RowProblem } from "./database.ts";
import { draftsOf, type StoredMessage } from "./message.ts";

/** Enough to tell a database. */
const HEAD_BYTES = 100;

/**
 * opencode's database, `~/.local/share/opencode/opencode.db`, with all of its sessions, subagents' as children; or one session
 * as `opencode export` writes it. In warnings about a database the line is the number of the row.
 */
export const opencode: Importer = {
  name: "opencode",

  detect(head) {
    for (const { key, value } of headEntries(head)) {
      const { info, parts } = objectOf(value);
      if (key === "messages" && Array.isArray(parts) && stringOf(objectOf(info).sessionID)) return true;
    }
    return false;
  },

  detectDatabase: isOpencode,

  async *read(file: ImportFile): AsyncGenerator<ImportEvent> {
    const { head, chunks, close } = await peek(file.chunks, HEAD_BYTES);
    if (!isDatabase(head)) {
      yield* readExport({ ...file, chunks });
      return;
    }
    // A database is read by its path.
    await close();
    yield* readDatabase(file);
  },
};

/** Behind the look of a session of which something waits for more. */
const HOLDING = " holding";

/** Where it is followed, what is not finished yet will come: that is worth no warning then. */
async function* readDatabase({ path, fingerprints, isFinished = false }: ImportFile): AsyncGenerator<ImportEvent> {
  if (path === "-") throw new StoreError("IMPORT_UNREADABLE", { path, reason: "a database is read from a file" });
  const database = new OpencodeDatabase(path);
  let failure: unknown;
  try {
    const isFollowed = fingerprints !== undefined;
    const looks = isFollowed ? database.looks() : new Map<string, string>();
    for (const row of database.sessions()) {
      const id = String(row.id);
      const look = looks.get(id);
      const known = fingerprints?.get(id);
      if (known !== undefined && (known === look || (!isFinished && known === `${look}${HOLDING}`))) continue;
      const thread = new Thread(sessionOf(row));
      let isHolding = false;
      try {
        for (const found of database.messages(id)) {
          if (yield* eventsOf(found, thread, { isFollowed, isFinished })) isHolding = true;
        }
      } catch (error) {
        // The damage of one session costs no other.
        if (!StoreError.is(error, "IMPORT_UNREADABLE")) throw error;
        failure ??= error;
      }
      for (const event of thread.finish(isFinished)) {
        if (event.kind === "warning") isHolding = true;
        if (event.kind !== "warning" || !isFollowed) yield event;
      }
      if (look !== undefined) fingerprints?.set(id, isHolding && !isFinished ? `${look}${HOLDING}` : look);
    }
  } finally {
    database.close();
  }
  if (failure !== undefined) throw failure;
}

/** @returns whether words are left out that are still being written. */
function* eventsOf(
  found: { row: number } & (StoredMessage | RowProblem),
  thread: Thread,
  { isFollowed, isFinished }: { isFollowed: boolean; isFinished: boolean },
): Generator<ImportEvent, boolean> {
  if ("problem" in found) {
    yield { kind: "warning", line: found.row, reason: found.problem };
    return false;
  }
  const { drafts, warnings, isUnfinished } = draftsOf(found, found.row, isFinished);
  for (const draft of drafts) yield* thread.push(draft);
  if (isUnfinished && !isFollowed) warnings.push(unfinished(found.id));
  for (const reason of warnings) yield { kind: "warning", line: found.row, reason };
  return isUnfinished;
}

function unfinished(id: string): string {
  return `message ${id} is still being written`;
}

async function* readExport(file: ImportFile): AsyncGenerator<ImportEvent> {
  let about: JsonObject = {};
  let thread: Thread | undefined;
  for await (const entry of readEntries(file)) {
    const { line } = entry;
    if ("problem" in entry) yield { kind: "warning", line, reason: entry.problem };
    else if (entry.key === "info") about = objectOf(entry.value);
    else if (entry.key === undefined) yield { kind: "warning", line, reason: "expected a field of a session" };
    else if (entry.key === "messages") {
      const { info, parts } = objectOf(entry.value);
      const { id, sessionID } = objectOf(info);
      if (!stringOf(id)) {
        yield { kind: "warning", line, reason: "info.id: expected a string" };
        continue;
      }
      thread ??= new Thread(sessionOf({ id: sessionID ?? "unknown", ...about }));
      const stored = { id: id as string, info: objectOf(info), parts: objectsOf(parts) };
      const { drafts, warnings, isUnfinished } = draftsOf(stored, line, file.isFinished === true);
      if (isUnfinished) warnings.push(unfinished(stored.id));
      for (const draft of drafts) yield* thread.push(draft);
      for (const reason of warnings) yield { kind: "warning", line, reason };
    }
  }
  if (thread !== undefined) yield* thread.finish(true);
}

/** A session as a row of the database or as the `info` of an export. */
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
