import type { Verdict } from "../core/verdicts.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import { sentencesOf } from "../models/sentences.ts";
import type { Placed } from "./ranking.ts";
import type { Source } from "./source.ts";
import { givesAnotherValue, type ValueStatement, valueStatementIn } from "./value-statement.ts";

/** This many of the best messages are compared with each other. */
const COMPARED_MAX = 10;
/** A sentence with less of the query's words is about something else. */
const ASKED_MIN = 0.5;

/** A longer sentence tells of several things. */
const SENTENCE_CHARS_MAX = 180;

const SAME_WORK_MS = 86_400_000;

/** Questions about how it was. */
const ASKS_FOR_PAST =
  /\b(?:first|originally|initially|before|earlier|previous(?:ly)?|used to|at first|back then|history|old)\b/i;

interface Told {
  placed: Placed;
  statement: ValueStatement;
}

/**
 * Yields a ranking in which a message comes after the one that replaces it, as a person has said, or that is newer, of its project, and
 * gives the same thing another value: that one takes its place. Of each of the best messages, only the statement that has most of the query's words is compared.
 *
 * @param snippetOf  Returns the part of a message that has most of the query's words.
 * @param replaced  Gets the ids of the older messages, each with the id of the newest that replaces it.
 */
export function* newestFirst(
  ranking: Iterable<Placed>,
  query: string,
  weights: ReadonlyMap<string, number>,
  snippetOf: (messageId: number) => string,
  source: Pick<Source, "areOfOneProject" | "verdictsOn">,
  replaced: Map<number, number>,
): Generator<Placed> {
  const iterator = ranking[Symbol.iterator]();
  const first: Placed[] = [];
  while (first.length < COMPARED_MAX) {
    const { done, value } = iterator.next();
    if (done) break;
    first.push(value);
  }
  if (first.length > 1 && !ASKS_FOR_PAST.test(query)) {
    const verdicts = source.verdictsOn(first.map(({ candidate }) => candidate.messageId));
    const told = first.map((placed) => toldIn(placed, weights, snippetOf));
    reorder(first, told, source.areOfOneProject, replaced, verdicts);
  }
  yield* first;
  for (let next = iterator.next(); !next.done; next = iterator.next()) yield next.value;
}

function reorder(
  first: Placed[],
  told: (Told | undefined)[],
  areOfOneProject: Source["areOfOneProject"],
  replaced: Map<number, number>,
  verdicts: ReadonlyMap<number, Verdict>,
): void {
  for (let at = 0; at < told.length; at++) {
    const older = told[at];
    const { messageId } = first[at]!.candidate;
    const verdict = verdicts.get(messageId);
    const named = verdict?.kind === "replaced" ? verdict.messageId : undefined;
    let newest: number | undefined = first.findIndex(({ candidate }) => candidate.messageId === named);
    if (newest === -1) newest = undefined;
    for (let other = 0; older !== undefined && named === undefined && other < told.length; other++) {
      const newer = told[other];
      if (newer === undefined || other === at || !replaces(newer, older, areOfOneProject)) continue;
      if (newest === undefined || isNewer(newer.placed, told[newest]!.placed)) newest = other;
    }
    if (newest === undefined) continue;
    replaced.set(messageId, first[newest]!.candidate.messageId);
    if (newest < at) continue;
    first.splice(at, 0, ...first.splice(newest, 1).map((placed) => raised(placed, first[at]!)));
    told.splice(at, 0, ...told.splice(newest, 1));
  }
}

/** Returns a message with the score of another one, so that scores fall from hit to hit. What it gains is for its time. */
function raised(placed: Placed, to: Placed): Placed {
  const gain = to.score - placed.score;
  if (gain <= 0) return placed;
  return { ...placed, score: to.score, parts: { ...placed.parts, time: placed.parts.time + gain } };
}

/** Returns the statement of a message that has most of the query's words; undefined if none has half of them. */
function toldIn(
  placed: Placed,
  weights: ReadonlyMap<string, number>,
  snippetOf: (messageId: number) => string,
): Told | undefined {
  // People who talk with each other say the same in other words, and change nothing by it.
  if (placed.candidate.speaker === "tool" || placed.candidate.name !== null) return undefined;
  let best: Told | undefined;
  let bestWeight = ASKED_MIN * sumOf(weights.values());
  for (const { text, kind } of sentencesOf(snippetOf(placed.candidate.messageId))) {
    if (kind !== "prose" || text.endsWith("?") || text.length > SENTENCE_CHARS_MAX) continue;
    const statement = valueStatementIn(text);
    if (statement === undefined) continue;
    const stems = new Set(searchWords(text).map(searchStem));
    const weight = sumOf([...stems].map((stem) => weights.get(stem) ?? 0));
    if (weight < bestWeight) continue;
    best = { placed, statement };
    bestWeight = weight;
  }
  return best;
}

function replaces(newer: Told, older: Told, areOfOneProject: Source["areOfOneProject"]): boolean {
  const [candidate, before] = [newer.placed.candidate, older.placed.candidate];
  if (!isNewer(newer.placed, older.placed) || !givesAnotherValue(newer.statement, older.statement)) return false;
  if (candidate.speaker === "assistant") {
    // An agent that goes on with its work changes nothing by it, and often repeats what a user has said.
    const isSameWork =
      candidate.sessionId === before.sessionId && candidate.createdAtMs - before.createdAtMs < SAME_WORK_MS;
    if (isSameWork || !newer.statement.isChange) return false;
  }
  return areOfOneProject(candidate.sessionId, before.sessionId);
}

function isNewer({ candidate: one }: Placed, { candidate: other }: Placed): boolean {
  return one.createdAtMs > other.createdAtMs || (one.sessionId === other.sessionId && one.seq > other.seq);
}

function sumOf(weights: Iterable<number>): number {
  let sum = 0;
  for (const weight of weights) sum += weight;
  return sum;
}
