import { sessionIds } from "../../session/aids/session-ids.ts";
import type { Store } from "../../session/store.ts";
import type { Terminal } from "./terminal.ts";

/** Also with something before it, such as a date: `2026-01-15-<UUID>`. */
const UUID = /^(.*-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** `fork-<hash>` or `agent-<hash>`. */
const HASH = /^([a-z]+-)[0-9a-f]{16,}$/;

/** UUIDs and hashes are cut to one of these lengths, where the groups of a UUID end. */
const LENGTHS = [8, 13, 18, 23];

/**
 * Shortens UUIDs and hashes in ids for a terminal, to the first length that keeps all ids of the store apart, and with which
 * no other id begins. Other names stay whole. `findSession` accepts the result.
 */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const counts = new Map<string, number>();
  for (const short of ids.flatMap((id) => [...new Set(LENGTHS.map((length) => cutId(id, length)))])) {
    counts.set(short, (counts.get(short) ?? 0) + 1);
  }
  const sorted = ids.toSorted();
  const isOf = (id: string, short: string): boolean => {
    for (let index = firstFrom(sorted, short); sorted[index]?.startsWith(short); index++) {
      if (sorted[index] !== id && !sorted[index]!.startsWith(`${id}/`)) return false;
    }
    return counts.get(short) === 1;
  };
  return (id) => LENGTHS.map((length) => cutId(id, length)).find((short) => isOf(id, short)) ?? id;
}

/** Returns how a terminal shows the ids of the store's sessions. A pipe gets them whole. */
export function idsShown(store: Store, terminal: Terminal): (id: string) => string {
  return terminal.width === undefined ? (id) => id : shortIds(sessionIds(store));
}

/** Returns the index of the first of sorted texts that is not before a text. */
function firstFrom(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Cuts each name of an id such as `<UUID>/fork-<hash>`. */
function cutId(id: string, length: number): string {
  const cutName = (name: string): string => {
    const match = UUID.exec(name) ?? HASH.exec(name);
    return match === null ? name : name.slice(0, (match[1] ?? "").length + length);
  };
  return id.split("/").map(cutName).join("/");
}
