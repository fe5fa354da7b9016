import type { Candidate, Placed, Ranked } from "./ranking.ts";

/** The exponent of a score relative to the best score. Chosen on LoCoMo, where 5 to 8 give about equal results. */
const WORTH_EXPONENT = 5;

/** Returns the messages of people who talk to each other: users with names, if there are at least two names. */
export function peopleAmong(candidates: readonly Candidate[]): Candidate[] {
  const people = candidates.filter(({ name }) => name !== null);
  const [first] = people;
  return people.some(({ name }) => name !== first!.name) ? people : [];
}

/**
 * Yields the messages of a ranking, with the messages of people in an order of their own. Scores of the two rankings cannot be
 * compared, so the first ranking only decides which places the messages of people get.
 *
 * @param ranking  All messages, or none if all are of people.
 * @param ofPeople  The messages of people.
 */
export function* interleaved(
  ranking: Iterable<Ranked>,
  ofPeople: Iterable<Ranked>,
  people: ReadonlySet<Candidate>,
): Generator<Placed> {
  const placed = placedPeople(ofPeople);
  let best: number | undefined;
  for (const ranked of ranking) {
    if (people.has(ranked.candidate)) yield placed.next().value!;
    else {
      best ??= ranked.score;
      yield { ...ranked, worth: Math.max(0, ranked.score / best) ** WORTH_EXPONENT };
    }
  }
  yield* placed;
}

/** Turns the scores of people's messages, which are logarithms of odds, into worths: 1 for the best message, down to 0. */
function* placedPeople(ranking: Iterable<Ranked>): Generator<Placed, undefined> {
  let best: number | undefined;
  for (const ranked of ranking) {
    best ??= ranked.score;
    yield { ...ranked, worth: Math.exp(ranked.score - best) };
  }
}
