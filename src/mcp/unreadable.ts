import { visibleText } from "../core/markup.ts";

/** An answer names at most this many damaged sessions. */
const NAMED_MAX = 5;

/** Returns a function that collects the ids of sessions that cannot be read. */
export function noteIn(damaged: string[]): (unreadable: { sessionId: string }) => void {
  return ({ sessionId }) => void damaged.push(visibleText(sessionId));
}

/** Returns a sentence that names damaged sessions, with a space before it; "" if there are none. */
export function damageNote(damaged: readonly string[], how: string): string {
  if (damaged.length === 0) return "";
  const named = damaged.length > NAMED_MAX ? [...damaged.slice(0, NAMED_MAX), "…"] : damaged;
  return ` Damaged and ${how}: ${named.join(", ")}.`;
}
