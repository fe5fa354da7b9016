import type { Unreadable } from "../session/moving/export.ts";
import { Failure } from "./failure.ts";
import { formatCount } from "./screen/text.ts";

/** A failure names at most this many sessions and messages. */
const NAMED_MAX = 5;

/** The hint of commands that show the rest of a damaged session. */
export const LEFT_OUT_HINT = "Parts of them are left out. `coppice verify` says what is damaged.";

export function placeOf({ sessionId, seq }: Unreadable): string {
  return seq === undefined ? sessionId : `${sessionId} #${seq}`;
}

/** Returns a failure that names what could not be read; undefined if everything could. */
export function unreadableFailure(code: string, unreadable: readonly Unreadable[], hint: string): Failure | undefined {
  if (unreadable.length === 0) return undefined;
  const sessionCount = unreadable.filter(({ seq }) => seq === undefined).length;
  const messageCount = unreadable.length - sessionCount;
  const counts = [
    ...(sessionCount > 0 ? [formatCount(sessionCount, "session")] : []),
    ...(messageCount > 0 ? [formatCount(messageCount, "message")] : []),
  ];
  const named = unreadable.slice(0, NAMED_MAX).map(placeOf).join(", ");
  const more = unreadable.length > NAMED_MAX ? ", …" : "";
  return new Failure(code, `${counts.join(" and ")} could not be read: ${named}${more}.`, { hint });
}
