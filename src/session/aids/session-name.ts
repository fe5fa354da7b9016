import { StoreError } from "../../core/errors.ts";
import { titleOfRequest } from "../../models/title.ts";
import type { SessionOverview } from "../../store/index.ts";
import type { Store } from "../store.ts";

const TAG = /<\/?[a-z][\w:.-]*(?:\s[^<>]*)?\/?>/gi;

/** Returns the title of a session, or one made of the first words of its user; undefined if there are none. */
export function sessionName({ title, opening }: Pick<SessionOverview, "title" | "opening">): string | undefined {
  if (title || !opening) return title || undefined;
  return titleOfRequest(opening) || opening.replace(TAG, " ").replace(/\s+/g, " ").trim() || undefined;
}

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
    return sessionName(store.resume(id).info());
  } catch (error) {
    if (StoreError.is(error, "STORE_CORRUPT") || StoreError.is(error, "SESSION_NOT_FOUND")) return undefined;
    throw error;
  }
}
