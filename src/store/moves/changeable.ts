import type { FactTables } from "../facts/fact-rows.ts";
import type { Repositories } from "../repositories.ts";
import { rowText } from "./row-text.ts";

// A title and items are overwritten in place, so rows that come from elsewhere may be older or newer than those of the store.

export interface Changeable {
  title: string | null;
  items: readonly FactTables["items"][];
}

export function changeableIn({ sessions, factRows }: Repositories, sessionId: string): Changeable | undefined {
  const session = sessions.byId(sessionId);
  return session && { title: session.title, items: factRows.itemsOf(sessionId) };
}

/**
 * Merges titles and items: the title is the one that came, and the items are those of both, with the values that came.
 *
 * @returns also what was replaced, in sentences.
 */
export function mergedOf(own: Changeable, came: Changeable): Changeable & { notes: string[] } {
  const notes: string[] = [];
  const title = came.title ?? own.title;
  if (own.title !== null && own.title !== title) {
    notes.push(`The title "${own.title}" of this store was replaced with the one that came.`);
  }
  const lines = new Map(came.items.map((row) => [nameOf(row), rowText({ table: "items", row })]));
  for (const row of own.items) {
    const line = lines.get(nameOf(row));
    if (line !== undefined && line !== rowText({ table: "items", row })) {
      notes.push(`The item "${row.key}" of this store was replaced with the one that came.`);
    }
  }
  return { title, items: [...came.items, ...own.items.filter((row) => !lines.has(nameOf(row)))], notes };
}

/** Gives a session a title and items. @returns what could not be taken over, in sentences. */
export function putChangeable(repositories: Repositories, sessionId: string, { title, items }: Changeable): string[] {
  const { sessions, factRows } = repositories;
  const before = sessions.known(sessionId);
  if (title !== null && title !== before.title) sessions.rename(sessionId, title);
  factRows.deleteItemsOf(sessionId);
  return items.flatMap((row) => {
    const isWritten = factRows.insertUnlessThere("items", { ...row, id: null });
    return isWritten ? [] : [`The item "${row.key}" stays as it is in this store.`];
  });
}

function nameOf({ namespace, key }: FactTables["items"]): string {
  return JSON.stringify([namespace, key]);
}
