import { StoreError } from "../../core/errors.ts";
import type { Store } from "../store.ts";

/** Returns the names of sessions by id. A damaged session has none. */
export function sessionNames(store: Store, ids: Iterable<string>): Map<string, string> {
  const names = new Map<string, string>();
  for (const id of new Set(ids)) {
    const name = nameOf(store, id);
    if (name !== undefined) names.set(id, name);
  }
  return names;
}

function nameOf(store: Store, id: string): string | undefined {
  try {
    return store.resume(id).info().name ?? undefined;
  } catch (error) {
    if (StoreError.is(error, "STORE_CORRUPT") || StoreError.is(error, "SESSION_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** Returns true if a title says what was asked. */
export function isSame(asked: string | null, title: string | null): boolean {
  if (asked === null || title === null) return false;
  const [left, right] = [asked, title].map((text) =>
    text
      .toLowerCase()
      .replace(/[…\s]+/g, " ")
      .trim(),
  );
  return left!.startsWith(right!) || right!.startsWith(left!);
}
