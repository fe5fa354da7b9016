import { hash } from "node:crypto";
import type { HubNotes } from "../changes/hub-notes.ts";
import type { FactTables } from "../facts/fact-rows.ts";
import type { Repositories } from "../repositories.ts";
import { rowText } from "./row-text.ts";

// A title and items are overwritten in place, so rows that come from elsewhere may be older or newer than those of the store. Digests
// of what the store and a hub last had in common tell which of the two has changed them since.

/** As many as digests of facts on the hub have. */
const DIGEST_CHARACTERS = 32;

export interface Changeable {
  title: string | null;
  items: readonly FactTables["items"][];
}

export function changeableIn({ sessions, factRows }: Repositories, sessionId: string): Changeable | undefined {
  const session = sessions.byId(sessionId);
  return session && { title: session.title, items: factRows.itemsOf(sessionId) };
}

export function agreedOn({ title, items }: Changeable): NonNullable<HubNotes["agreed"]> {
  const lines = items.map((row) => rowText({ table: "items", row }));
  return { title: hex(JSON.stringify(title)), items: hex(lines.sort().join("\n")) };
}

function hex(text: string): string {
  return hash("sha256", text, "hex").slice(0, DIGEST_CHARACTERS);
}

/**
 * Merges titles and items. What only one of the two has changed is taken from it. If both have, the title is the one that
 * came, and the items are those of both, with the values that came.
 *
 * @param agreed  Undefined if it is not known.
 * @returns also what was replaced, in sentences.
 */
export function mergedOf(
  own: Changeable,
  came: Changeable,
  agreed: HubNotes["agreed"],
): Changeable & { notes: string[] } {
  const [here, there] = [agreedOn(own), agreedOn(came)];
  const side = (name: keyof typeof here): "own" | "came" | "both" =>
    there[name] === agreed?.[name]
      ? "own"
      : here[name] === agreed?.[name] || here[name] === there[name]
        ? "came"
        : "both";
  const notes: string[] = [];
  const title = side("title") === "own" ? own.title : (came.title ?? own.title);
  if (side("title") === "both" && own.title !== null && own.title !== title) {
    notes.push(`The title "${own.title}" of this store was replaced with the one that came.`);
  }
  if (side("items") !== "both") return { title, items: side("items") === "own" ? own.items : came.items, notes };
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
  const before = changeableIn(repositories, sessionId)!;
  if (title !== null && title !== before.title) sessions.rename(sessionId, title);
  if (agreedOn({ title, items }).items === agreedOn(before).items) return [];
  factRows.deleteItemsOf(sessionId);
  return items.flatMap((row) => {
    const isWritten = factRows.insertUnlessThere("items", { ...row, id: null });
    return isWritten ? [] : [`The item "${row.key}" stays as it is in this store.`];
  });
}

function nameOf({ namespace, key }: FactTables["items"]): string {
  return JSON.stringify([namespace, key]);
}
