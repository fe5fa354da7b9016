import { StoreError } from "../core/errors.ts";
import type { NewEntry } from "./entries.ts";
import type { NewItem } from "./items.ts";
import type { Repositories } from "./repositories.ts";

// The events of entries and items, like those of messages in write.ts.

export interface EntryResult {
  position: number;
  /** False if the session already held an entry with this id. */
  appended: boolean;
}

/** Entries were appended. An entry whose id the session holds is skipped, or replaces the other in its place. */
export function appendEntries(
  { database, sessions, messages, entries }: Repositories,
  sessionId: string,
  rows: readonly Omit<NewEntry, "sessionId" | "beforeSeq">[],
  known: "skip" | "replace",
): EntryResult[] {
  return database.write("entries.append", () => {
    if (sessions.byId(sessionId) === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    const beforeSeq = messages.nextSeq({ sessionId });
    return rows.map((row) => {
      const held = row.externalId === null ? undefined : entries.byExternalId(sessionId, row.externalId);
      if (held === undefined) return { position: entries.add({ ...row, sessionId, beforeSeq }), appended: true };
      if (known === "replace") entries.replace({ ...row, ...held, sessionId });
      return { position: held.id, appended: false };
    });
  });
}

export function putItem({ database, sessions, items }: Repositories, item: NewItem): void {
  database.write("items.put", () => {
    const { sessionId } = item;
    if (sessionId !== null && sessions.byId(sessionId) === undefined) {
      throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    }
    items.put(item);
  });
}

export function deleteItem({ database, items }: Repositories, namespace: readonly string[], key: string): boolean {
  return database.write("items.delete", () => items.delete(namespace, key));
}

export function deleteItems({ database, items }: Repositories, prefix: readonly string[]): number {
  return database.write("items.deleteAll", () => items.deleteAll(prefix));
}
