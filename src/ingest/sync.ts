/** A message of the host's array, or a stored one, as `sync` compares them. */
export interface SyncKey {
  externalId: string | undefined;
  /**
   * What makes two messages the same: of a tool message the calls it answers, because hosts clear or shorten old outputs;
   * of any other its role, name and parts, see `digestOf`.
   */
  digest: string;
}

/** Places in the stored history at which one content is looked for: "ok" is said ten thousand times. */
const CANDIDATES_MAX = 64;

/**
 * Which messages of a host's array are new: the indexes into `history` of those the session does not hold, in order.
 *
 * The host passes its whole array each turn. It only ever appends at the end, but it may have dropped old messages or put
 * a summary of its own in their place, so positions mean nothing. Two messages with ids are the same if their ids are;
 * otherwise their content decides. The longest common subsequence with what is known tells where the host's array stands:
 *
 * - what follows its last match is new, even if the same words were said before;
 * - what stands before that without a match is new, too, unless the session holds it at a place that nothing matched: the
 *   host's summary and the system prompt stay at the front while the history moves on, and are stored once.
 *
 * A match that does not reach the end of what is known, and has something new before it, is believed only as far as the
 * host's array matches from its front: it may have gone back a few messages, but behind a new front (its summary of
 * everything) the same words are said anew.
 *
 * O((h + s) log s) for h and s messages.
 *
 * @param stored  The session's messages in order.
 * @param last  The host's array as it last was, if it is known, all of it stored. Of the two orders the one with the longer
 *   match counts: a summary is stored when it comes, after the messages that the host puts it before.
 */
export function newMessages(
  history: readonly SyncKey[],
  stored: readonly SyncKey[],
  last: readonly SyncKey[] = [],
): number[] {
  const known = new Places(stored);
  const byLast = matchedIndexes(history, new Places(last));
  const byStored = matchedIndexes(history, known);
  const matched = byStored.size > byLast.size ? byStored : byLast;
  let lastMatched = -1;
  for (const index of matched) lastMatched = Math.max(lastMatched, index);
  const claimed = new Map<string, number>();
  const claim = ({ digest }: SyncKey): void => void claimed.set(digest, (claimed.get(digest) ?? 0) + 1);
  for (const index of matched) claim(history[index]!);
  const fresh: number[] = [];
  history.forEach((key, index) => {
    if (matched.has(index) || known.holdsId(key)) return;
    const isSpare = index < lastMatched && known.of(key).length > (claimed.get(key.digest) ?? 0);
    if (isSpare) claim(key);
    else fresh.push(index);
  });
  return fresh;
}

/** Where in a list of messages one of the host's may stand. */
class Places {
  readonly #keys: readonly SyncKey[];
  readonly #ofId = new Map<string, number>();
  readonly #ofContent = new Map<string, number[]>();

  constructor(keys: readonly SyncKey[]) {
    this.#keys = keys;
    keys.forEach(({ externalId, digest }, place) => {
      if (externalId !== undefined) this.#ofId.set(externalId, place);
      const places = this.#ofContent.get(digest);
      if (places === undefined) this.#ofContent.set(digest, [place]);
      else places.push(place);
    });
  }

  get count(): number {
    return this.#keys.length;
  }

  holdsId({ externalId }: SyncKey): boolean {
    return externalId !== undefined && this.#ofId.has(externalId);
  }

  /** Rising. */
  of({ externalId, digest }: SyncKey): readonly number[] {
    const byId = externalId === undefined ? undefined : this.#ofId.get(externalId);
    if (byId !== undefined) return [byId];
    const places = this.#ofContent.get(digest) ?? [];
    return externalId === undefined ? places : places.filter((place) => this.#keys[place]!.externalId === undefined);
  }
}

/** Indexes into `history` that the longest common subsequence with the known messages has. */
function matchedIndexes(history: readonly SyncKey[], known: Places): Set<number> {
  // Where a message stands if both histories end alike; new messages at the end move it by their number.
  const shift = known.count - history.length;
  const candidates = history.map((key, index) => nearest(known.of(key), index + shift));
  const { indexes, placeLast } = longestCommonSubsequence(candidates, known.count);
  const matched = new Set(indexes);
  // A known summary is stored after the messages that the host puts it before: nothing in front of the match is new.
  const isFrontKnown = history
    .slice(0, indexes[0])
    .every((key, index) => matched.has(index) || known.of(key).length > 0);
  if (placeLast === known.count - 1 || isFrontKnown) return matched;
  const front = new Set<number>();
  while (matched.has(front.size)) front.add(front.size);
  return front;
}

/** At most `CANDIDATES_MAX` of the places, as many before the given one as after it where there are. @param places  Rising. */
function nearest(places: readonly number[], place: number): readonly number[] {
  let [from, to] = [0, places.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (places[middle]! < place) from = middle + 1;
    else to = middle;
  }
  const first = Math.max(0, Math.min(from - CANDIDATES_MAX / 2, places.length - CANDIDATES_MAX));
  return places.slice(first, first + CANDIDATES_MAX);
}

/** A chain of matches, newest first. */
interface Match {
  index: number;
  place: number;
  length: number;
  /** Sum of the places: the later in the stored history, the better among equals. */
  placeSum: number;
  before: Match | undefined;
}

/**
 * The longest chain of (index, place) pairs rising in both. A Fenwick tree holds, for every place, the best chain that
 * ends before it.
 *
 * Hunt and Szymanski, "A fast algorithm for computing longest common subsequences", CACM 20(5), 1977. Of equal chains the
 * one that lies latest among the places.
 *
 * @param candidates  For each index its places, rising.
 * @returns the indexes of the chain, and its last place; -1 for an empty one.
 */
function longestCommonSubsequence(
  candidates: readonly (readonly number[])[],
  placeCount: number,
): { indexes: number[]; placeLast: number } {
  const best = new Array<Match | undefined>(placeCount + 1);
  const isBetter = (match: Match, than: Match | undefined): boolean =>
    than === undefined ||
    match.length > than.length ||
    (match.length === than.length && match.placeSum > than.placeSum);
  let longest: Match | undefined;
  candidates.forEach((places, index) => {
    // From the last place to the first, so that no chain takes two places for one index.
    for (const place of places.toReversed()) {
      let before: Match | undefined;
      for (let node = place; node > 0; node -= node & -node) {
        const match = best[node];
        if (match !== undefined && isBetter(match, before)) before = match;
      }
      const match = {
        index,
        place,
        length: (before?.length ?? 0) + 1,
        placeSum: (before?.placeSum ?? 0) + place,
        before,
      };
      for (let node = place + 1; node <= placeCount; node += node & -node)
        if (isBetter(match, best[node])) best[node] = match;
      if (isBetter(match, longest)) longest = match;
    }
  });
  const indexes: number[] = [];
  for (let match = longest; match !== undefined; match = match.before) indexes.push(match.index);
  return { indexes, placeLast: longest?.place ?? -1 };
}
