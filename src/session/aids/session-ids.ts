import { HIDDEN, tagNamespace } from "../../core/tags.ts";
import { isRemembered } from "../../core/verdicts.ts";
import type { OpenedStore } from "../opened-store.ts";
import type { Store } from "../store.ts";

/** The date before a UUID, in ids such as `2026-01-15-<UUID>`. */
const DATE = /^\d{4}-\d{2}-\d{2}-(?=[0-9a-f]{8}-[0-9a-f]{4}-)/i;

export interface SessionIdsOptions {
  /** The beginning of the id, or of the external id. */
  prefix?: string;
  project?: string | undefined;
  /** False leaves out sessions with the tag `hidden`, and those of what people asked to remember. */
  hidden?: boolean;
}

/** Returns the ids of sessions in alphabetical order. `store.sessions` takes 200 times as long, because it counts messages. */
export function sessionIds(store: Store, { prefix = "", project, hidden = true }: SessionIdsOptions = {}): string[] {
  const opened = store as OpenedStore; // not by `internalsOf`, which a command that opens no store would load
  const { database, sessions, items } = opened.repositories;
  return database.read(() => {
    const ids = sessions.idsWith(prefix, project && opened.projectNow(project));
    const namespace = JSON.stringify(tagNamespace(HIDDEN));
    return hidden ? ids : ids.filter((id) => !isRemembered(id) && !items.has(namespace, id));
  });
}

/**
 * Returns the ids of the sessions whose own or external id begins with a text, shortest first. For a subagent's id,
 * `<session>/agent-…`, the text may shorten both halves. A date before a UUID may be left out. If all other matches are subagents of one match, only that one is
 * returned. An empty text has no matches.
 */
export function sessionIdsWithPrefix(store: Store, typed: string, project?: string): string[] {
  if (typed === "") return [];
  const ids = (prefix: string): string[] => sessionIds(store, { prefix, project });
  const idsWith = (prefix: string): string[] => {
    const begun = ids(prefix);
    return begun.length > 0 ? begun : ids("").filter((id) => id.replace(DATE, "").startsWith(prefix));
  };
  const [first = "", ...others] = typed.split("/");
  let found = idsWith(typed);
  if (found.length === 0 && others.length > 0 && first !== "") {
    found = idsWith(first).filter((id) => {
      const [, ...pieces] = id.split("/");
      return others.every((piece, index) => pieces[index]?.startsWith(piece));
    });
  }
  const [shortest] = found.sort((left, right) => left.length - right.length);
  return found.every((id) => id === shortest || id.startsWith(`${shortest}/`)) ? found.slice(0, 1) : found;
}
