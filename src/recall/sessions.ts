import type { TimeRange } from "../core/named-times.ts";
import { closeness } from "./dates.ts";
import type { Ranked } from "./ranking.ts";

/** The weights of the best messages of a session. Many weak matches must not outweigh a few good ones. */
const SHARES = [4 / 7, 2 / 7, 1 / 7];

/** A session gains up to `NEAR` if it went on near the asked time, and up to `DATED` if the query names one of its days. */
const NEAR = 1.2;
const DATED = 0.5;

export interface RankedSession {
  sessionId: string;
  /** Comparable only with the scores of the same call. */
  score: number;
}

/**
 * Ranks sessions by the words of their best messages and the messages beside these, and by their times. Who speaks does not
 * matter: a session that worked on something shows it in calls as well as in words. Of equal sessions, the one that ended last
 * comes first.
 *
 * @param ranking  Messages, each once.
 * @param times  The times around which the caller or the query asks.
 */
export function rankSessions(ranking: readonly Ranked[], times: readonly TimeRange[]): RankedSession[] {
  const sessions = new Map<string, { matches: number[]; dated: number; range: TimeRange }>();
  for (const { candidate, parts } of ranking) {
    const { sessionId, createdAtMs, datedness } = candidate;
    const range = { fromMs: createdAtMs, toMs: createdAtMs };
    const session = sessions.get(sessionId) ?? { matches: [], dated: 0, range };
    session.matches.push(parts.words + parts.neighborhood);
    session.dated = Math.max(session.dated, datedness);
    session.range.fromMs = Math.min(session.range.fromMs, createdAtMs);
    session.range.toMs = Math.max(session.range.toMs, createdAtMs);
    sessions.set(sessionId, session);
  }
  const ranked = Array.from(sessions, ([sessionId, { matches, dated, range }]) => {
    const best = matches.sort((left, right) => right - left);
    const words = SHARES.reduce((sum, share, at) => sum + share * (best[at] ?? 0), 0);
    return { sessionId, score: words + DATED * dated + NEAR * closeness(times, range), toMs: range.toMs };
  });
  return ranked.sort((left, right) => {
    return right.score - left.score || right.toMs - left.toMs || (left.sessionId < right.sessionId ? 1 : -1);
  });
}
