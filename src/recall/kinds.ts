import type { Candidate, Placed, Ranked } from "./ranking.ts";

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
 * @param odds  By how much the logarithm of the odds that a message answers rises with a score in `ranking` that is higher by 1. The
 *   scores of people's messages are such logarithms.
 */
export function* interleaved(
  ranking: Iterable<Ranked>,
  ofPeople: Iterable<Ranked>,
  people: ReadonlySet<Candidate>,
  odds: number,
): Generator<Placed> {
  const placed = placedBy(ofPeople, 1);
  for (const ranked of placedBy(ranking, odds)) {
    if (people.has(ranked.candidate)) yield placed.next().value!;
    else yield ranked;
  }
  yield* placed;
}

function* placedBy(ranking: Iterable<Ranked>, odds: number): Generator<Placed, undefined> {
  let best: number | undefined;
  for (const ranked of ranking) {
    best ??= ranked.score;
    yield { ...ranked, worth: Math.exp(odds * (ranked.score - best)) };
  }
}
