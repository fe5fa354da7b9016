import type { Store } from "../../src/index.ts";
import { mean } from "./measures.ts";

/** A question whose evidence is known. */
export interface SubjectQuestion {
  text: string;
  project: string;
  /** Ids of the sessions that hold its evidence. */
  goldSessions: readonly string[];
}

/** Measures of the way from a first hit to other evidence through its subject. */
export interface SubjectFigures {
  /** The largest subject's share of the clusters of its project, over all projects, in [0, 1]. */
  largestShare: number;
  /** `reach` divided by `expectedReach`; 0 if no subject reaches another session. 1 is as good as chance. */
  lift: number;
  /** The mean share of a question's other gold sessions that the first hit's subject reaches, in [0, 1]. */
  reach: number;
  /** The expected reach of a random set of as many sessions. */
  expectedReach: number;
  /** The number of questions with gold in at least two sessions for which the search has a hit. */
  questionCount: number;
}

/**
 * Measures how well subjects lead from a first hit to the other sessions that hold evidence.
 *
 * A random set of `s` of the `n` other sessions holds each gold session with probability `s / n`, so its expected share is
 * computed without drawing sets.
 *
 * @param store  A store with all sessions of the questions' projects, whose upkeep is done.
 * @param firstHit  Returns the id of the first message that a search finds; undefined if there is none.
 */
export async function subjectFigures(
  store: Store,
  questions: readonly SubjectQuestion[],
  firstHit: (question: SubjectQuestion) => Promise<number | undefined> | number | undefined,
): Promise<SubjectFigures> {
  const reached: number[] = [];
  const expected: number[] = [];
  for (const question of questions) {
    const gold = new Set(question.goldSessions);
    if (gold.size < 2) continue;
    const hit = await firstHit(question);
    if (hit === undefined) continue;
    const { sessionId, subject } = store.expand(hit, { limit: 0 }).place!;
    gold.delete(sessionId);
    const others = store.sessions({ project: question.project }).filter(({ id }) => id !== sessionId);
    const sessions = sessionsOf(store, subject);
    sessions.delete(sessionId);
    reached.push([...gold].filter((id) => sessions.has(id)).length / gold.size);
    expected.push(sessions.size / others.length);
  }
  const [reach, expectedReach] = [mean(reached), mean(expected)];
  return {
    largestShare: largestShareOf(store),
    lift: expectedReach === 0 ? 0 : reach / expectedReach,
    reach,
    expectedReach,
    questionCount: reached.length,
  };
}

function sessionsOf(store: Store, subject: string | null): Set<string> {
  if (subject === null) return new Set();
  const root = /^subject:(\d+)/.exec(subject)![1]!;
  const rows = store.query(`SELECT DISTINCT session_id FROM subject_members WHERE subject_id = ${root}`);
  return new Set(rows.map(({ session_id }) => session_id as string));
}

function largestShareOf(store: Store): number {
  const [row] = store.query(
    `WITH sizes AS (SELECT project, subject_id, count(*) AS size FROM subject_members GROUP BY project, subject_id),
          projects AS (SELECT s.project, count(*) AS size FROM clusters c JOIN sessions s ON s.id = c.session_id GROUP BY s.project)
     SELECT max(1.0 * sizes.size / projects.size) AS share FROM sizes JOIN projects ON projects.project IS sizes.project`,
  );
  return (row!.share as number | null) ?? 0;
}
