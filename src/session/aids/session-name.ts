import { unless } from "../../core/errors.ts";
import type { Store } from "../store.ts";

/** Returns the names of sessions by id. A damaged session has none. */
export function sessionNames(store: Store, ids: Iterable<string>): Map<string, string> {
  const names = new Map<string, string>();
  for (const id of new Set(ids)) {
    const name = unlessDamaged(() => store.resume(id).info().name);
    if (name != null) names.set(id, name);
  }
  return names;
}

export function unlessDamaged<T>(read: () => T): T | undefined {
  return unless(["STORE_CORRUPT", "SESSION_NOT_FOUND"], read);
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
