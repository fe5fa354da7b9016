import { StoreError } from "../../core/errors.ts";
import type { NewEntry } from "../facts/entries.ts";
import type { NewItem } from "../facts/items.ts";
import type { Repositories } from "../repositories.ts";

// The events of entries and items, like those of messages in write.ts.

export interface EntryResult {
  position: number;
  /** False if the session already held an entry with this id. */
  appended: boolean;
}

/** Appends entries. An entry whose id the session holds is skipped, or replaces the stored one in its position. */
export function appendEntries(
  { database, sessions, messages, entries, paths }: Repositories,
  sessionId: string,
  rows: readonly Omit<NewEntry, "sessionId" | "beforeSeq">[],
  known: "skip" | "replace",
): EntryResult[] {
  return database.write("entries.append", () => {
    if (sessions.byId(sessionId) === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    const beforeSeq = messages.nextSeq({ sessionId });
    return rows.map((row) => {
      const found = row.externalId === null ? undefined : entries.byExternalId(sessionId, row.externalId);
      if (found === undefined) return { position: entries.add({ ...row, sessionId, beforeSeq }), appended: true };
      const { holderId, ...held } = found;
      if (known === "replace") {
        paths.assertUnsharedMessage(sessionId, { sessionId: holderId, seq: held.beforeSeq }, "change");
        entries.replace({ ...row, ...held, sessionId });
      }
      return { position: held.id, appended: false };
    });
  });
}

/**
 * Appends entries that came from another store. Those that the session has already are left out: they have the same id or time.
 *
 * @param seenAt  How many of the file's entries without an id had a time so far. It is changed.
 * @returns for each if it was added.
 */
export function restoreEntries(
  { database, entries }: Repositories,
  sessionId: string,
  rows: readonly Omit<NewEntry, "sessionId">[],
  seenAt: Map<number, number>,
): boolean[] {
  return database.write("entries.append", () => {
    const heldAt = new Map(entries.timesOf({ sessionId }).map(({ createdAtMs, count }) => [createdAtMs, count]));
    const isHeld = ({ externalId, createdAtMs }: (typeof rows)[number]): boolean => {
      if (externalId !== null) return entries.isHeld(sessionId, externalId);
      const seen = (seenAt.get(createdAtMs) ?? 0) + 1;
      seenAt.set(createdAtMs, seen);
      return seen <= (heldAt.get(createdAtMs) ?? 0);
    };
    return rows.map((row) => {
      if (isHeld(row)) return false;
      entries.add({ ...row, sessionId });
      return true;
    });
  });
}

/** Stores an item that came from another store. @returns false if the name is taken: the stored item stays. */
export function restoreItem({ database, items }: Repositories, item: NewItem, createdAtMs: number): boolean {
  return database.write("items.put", () => {
    if (items.has(item.namespace, item.key)) return false;
    items.put(item, createdAtMs);
    return true;
  });
}

export function putItem({ database, sessions, items }: Repositories, item: NewItem): void {
  database.write("items.put", () => {
    const { sessionId } = item;
    if (sessionId !== null) {
      const session = sessions.byId(sessionId);
      if (session === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
      if (session.author !== null) throw new StoreError("SESSION_COPIED", { sessionId, author: session.author });
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
