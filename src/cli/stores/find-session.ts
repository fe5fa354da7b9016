import { StoreError } from "../../core/errors.ts";
import { nearest } from "../../core/suggestion.ts";
import { sessionIds, sessionIdsWithPrefix } from "../../session/aids/session-ids.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { Failure } from "../failure.ts";
import { cutToWidth } from "../screen/display-width.ts";
import { formatAge, oneLine } from "../screen/text.ts";
import { projectHere } from "./find-project.ts";

export const SESSION_MEANING = "its id, the beginning of its id, or @last";

/** What a person types for the session that was used last. */
export const LAST = "@last";
/** So many sessions are looked at first: programs may have begun some and said nothing yet. */
const LOOKED_AT = 20;

const CANDIDATES_MAX = 8;

const TITLE_WIDTH = 48;

const HANDLE = /^(message|cluster|theme|subject|span):\d/;

/**
 * Finds a session by its id, by the beginning of its id or of its external id, or by `@last`.
 *
 * @throws {Failure} `SESSION_NOT_FOUND`; `SESSION_AMBIGUOUS` with the candidates if there are several.
 */
export function findSession(store: Store, typed: string): Session {
  try {
    return store.resume(typed);
  } catch (error) {
    if (!StoreError.is(error, "SESSION_NOT_FOUND")) throw error;
    const candidates = typed === LAST ? lastSessions(store).map(({ id }) => id) : sessionIdsWithPrefix(store, typed);
    if (candidates.length === 0) throw notFound(store, typed, error);
    if (candidates.length > 1) throw ambiguous(store, typed, candidates);
    return store.resume(candidates[0]!);
  }
}

/** Returns the id of the session that was used last in the project of this folder, if it has one. */
export function lastHere(store: Store): string | undefined {
  const project = projectHere(store);
  return project === undefined ? undefined : lastSessions(store, { project })[0]?.id;
}

/** Returns the session that was used last, or none. One with messages goes before those without. */
export function lastSessions(store: Store, of: { project?: string } = {}): ReturnType<Session["info"]>[] {
  const newest = store.sessions({ ...of, limit: 1, hidden: false });
  for (let offset = 0, limit = LOOKED_AT; ; offset += limit, limit *= 2) {
    const found = store.sessions({ ...of, limit, offset, hidden: false });
    const said = found.find(({ messageCount }) => messageCount > 0);
    if (said !== undefined) return [said];
    if (found.length < limit) return newest;
  }
}

function notFound(store: Store, typed: string, cause: StoreError): Failure {
  if (typed === LAST) {
    const hint = "Import one with `coppice import <path>`.";
    return new Failure(cause.code, "The store has no sessions yet.", { hint, cause });
  }
  const best = nearest(typed, sessionIds(store));
  let hint = "`coppice sessions` lists them.";
  if (HANDLE.test(typed)) hint = `That is a handle: coppice expand ${typed}`;
  else if (best !== undefined) hint = `Did you mean ${best}? ${hint}`;
  return new Failure(cause.code, cause.message, { hint, cause });
}

function ambiguous(store: Store, typed: string, candidates: readonly string[]): Failure {
  const now = Date.now();
  const lines = candidates.slice(0, CANDIDATES_MAX).map((id) => {
    const overview = store.resume(id).info();
    const { updatedAtMs } = overview;
    const name = cutToWidth(oneLine(overview.name ?? ""), TITLE_WIDTH);
    return `  ${[id, formatAge(updatedAtMs, now), name].filter(Boolean).join("  ")}`;
  });
  const moreCount = candidates.length - lines.length;
  if (moreCount > 0) lines.push(`  … and ${moreCount} more`);
  const message = `The ids of ${candidates.length} sessions begin with "${typed}".`;
  return new Failure("SESSION_AMBIGUOUS", message, { hint: ["Type more of the id:", ...lines].join("\n") });
}
