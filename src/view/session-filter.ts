import { TIME_MS_MAX } from "../core/limits.ts";
import type { DaysAnswer, SessionOverview } from "./api.ts";
import type { Query } from "./requests.ts";

// What the server and a page in a file choose alike.

const DAY_MS = 24 * 60 * 60 * 1_000;
const MINUTE_MS = 60_000;

export type Conditions = Omit<Query<"/api/sessions">, "limit" | "offset">;

/** Returns what decides whether a session meets some conditions. */
export function meets({ project, source, sinceMs, untilMs, text }: Conditions): (session: SessionOverview) => boolean {
  const words = text?.toLowerCase();
  return (session) => {
    if (project !== undefined && session.project !== project) return false;
    if (source !== undefined && session.source !== source) return false;
    if (sinceMs !== undefined && session.updatedAtMs < sinceMs) return false;
    if (untilMs !== undefined && session.updatedAtMs >= untilMs) return false;
    if (words === undefined) return true;
    return [session.name, session.opening, session.id, ...session.tags].some((field) =>
      field?.toLowerCase().includes(words),
    );
  };
}

/** Counts the days of sessions. @param offsetMinutes  To add to UTC for the reader's days. */
export function daysOf(sessions: Iterable<SessionOverview>, offsetMinutes: number): DaysAnswer["days"] {
  const days = new Map<string, DaysAnswer["days"][number]>();
  for (const { updatedAtMs, messageCount, tokenCount } of sessions) {
    const shift = offsetMinutes * MINUTE_MS;
    const local = Math.floor(Math.max(-TIME_MS_MAX, Math.min(updatedAtMs + shift, TIME_MS_MAX)) / DAY_MS) * DAY_MS;
    // A year after 9999 has more digits.
    const [day] = new Date(local).toISOString().split("T") as [string];
    const entry = days.get(day) ?? { day, fromMs: local - shift, sessionCount: 0, messageCount: 0, tokenCount: 0 };
    entry.sessionCount += 1;
    entry.messageCount += messageCount;
    entry.tokenCount += tokenCount;
    days.set(day, entry);
  }
  return [...days.values()];
}
