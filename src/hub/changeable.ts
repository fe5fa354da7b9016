import type { FactTables } from "../store/fact-rows.ts";
import type { HubNotes } from "../store/hub-notes.ts";
import type { Repositories } from "../store/repositories.ts";
import { rowText } from "../store/row-text.ts";
import { digestOf } from "./rows.ts";

// A title and items are overwritten in place. Digests of what the store and the hub last had in common tell which of the two has
// changed them since.

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
  return digestOf(text).toString("hex");
}

/**
 * Merges titles and items. What only one of the two has changed is taken from it. If both have, the title is the hub's, and the items
 * are those of both, with the hub's values.
 *
 * @param agreed  Undefined if it is not known.
 * @returns also what was replaced, in sentences.
 */
export function mergedOf(
  own: Changeable,
  onHub: Changeable,
  agreed: HubNotes["agreed"],
): Changeable & { notes: string[] } {
  const [here, there] = [agreedOn(own), agreedOn(onHub)];
  const side = (name: keyof typeof here): "own" | "hub" | "both" =>
    there[name] === agreed?.[name]
      ? "own"
      : here[name] === agreed?.[name] || here[name] === there[name]
        ? "hub"
        : "both";
  const notes: string[] = [];
  const title = side("title") === "own" ? own.title : (onHub.title ?? own.title);
  if (side("title") === "both" && own.title !== null && own.title !== title) {
    notes.push(`The title "${own.title}" of this store was replaced with the hub's.`);
  }
  if (side("items") !== "both") return { title, items: side("items") === "own" ? own.items : onHub.items, notes };
  const lines = new Map(onHub.items.map((row) => [nameOf(row), rowText({ table: "items", row })]));
  for (const row of own.items) {
    const line = lines.get(nameOf(row));
    if (line !== undefined && line !== rowText({ table: "items", row })) {
      notes.push(`The item "${row.key}" of this store was replaced with the hub's.`);
    }
  }
  return { title, items: [...onHub.items, ...own.items.filter((row) => !lines.has(nameOf(row)))], notes };
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
