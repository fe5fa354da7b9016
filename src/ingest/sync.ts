/** A message of the host's array, or a stored one, as `sync` compares them. */
export interface SyncKey {
  externalId: string | undefined;
  /**
   * Equal for messages that are the same. For a tool message it is the calls that it answers, because hosts clear or shorten
   * old outputs; for any other, its role, name and parts, see `digestOf`.
   */
  digest: string;
}

/** Most stored messages that are compared with one content: "ok" may be said ten thousand times. */
const CANDIDATES_MAX = 64;

/**
 * Returns which messages of a host's array the session does not hold: their indexes in `history`, in order.
 *
 * The host passes its whole array each turn. It appends at the end, but it may have dropped old messages or replaced them by
 * a summary of its own, so indexes mean nothing. Two messages with ids are the same if their ids are equal; otherwise their
 * content decides. The longest common subsequence with the known messages aligns the two:
 *
 * - A message after the last match is new, even if the same words were said before.
 * - A message before it without a match is new, too, unless the session holds it unmatched elsewhere. The host's summary and
 *   the system prompt stay at the front while the history moves on, and are stored once.
 *
 * A match that does not reach the newest known message, and has something new before it, counts only as far as the array
 * matches from its front. A host may go back a few messages. But behind a new front, its summary of everything, the same
 * words are said again.
 *
 * O((h + s) log s) for h and s messages.
 *
 * @param stored  The session's messages in order.
 * @param last  The host's array of the last call, if known, all of it stored. The order with the longer match counts. The two
 *   differ, because a host's summary is stored after the messages that the host puts it before.
 */
export function newMessages(
  history: readonly SyncKey[],
  stored: readonly SyncKey[],
  last: readonly SyncKey[] = [],
): number[] {
  const known = new KnownMessages(stored);
  const byLast = matchedIndexes(history, new KnownMessages(last));
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

/** Finds the messages of a list that may be the same as one of the host's, by their indexes in the list. */
class KnownMessages {
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

  /** Returns indexes in rising order. */
  of({ externalId, digest }: SyncKey): readonly number[] {
    const byId = externalId === undefined ? undefined : this.#ofId.get(externalId);
    if (byId !== undefined) return [byId];
    const places = this.#ofContent.get(digest) ?? [];
    return externalId === undefined ? places : places.filter((place) => this.#keys[place]!.externalId === undefined);
  }
}

/** Returns the indexes in `history` of the longest common subsequence with the known messages. */
function matchedIndexes(history: readonly SyncKey[], known: KnownMessages): Set<number> {
  // If both histories end with the same message, equal messages are this many indexes apart.
  const shift = known.count - history.length;
  const candidates = history.map((key, index) => nearest(known.of(key), index + shift));
  const { indexes, knownLast } = longestCommonSubsequence(candidates, known.count);
  const matched = new Set(indexes);
  // True if nothing in front of the match is new. A known summary is stored after the messages that follow it in the array.
  const isFrontKnown = history
    .slice(0, indexes[0])
    .every((key, index) => matched.has(index) || known.of(key).length > 0);
  if (knownLast === known.count - 1 || isFrontKnown) return matched;
  const front = new Set<number>();
  while (matched.has(front.size)) front.add(front.size);
  return front;
}

/** Returns at most `CANDIDATES_MAX` of the places, as many before the given one as after it. @param places  In rising order. */
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
  /** The sum of the places. Between chains of one length the larger sum wins: it is later in the stored history. */
  knownSum: number;
  before: Match | undefined;
}

/**
 * Returns the longest chain of (index, place) pairs that rises in both. A Fenwick tree holds, for every place, the best chain
 * that ends before it (Hunt and Szymanski, "A fast algorithm for computing longest common subsequences", CACM 20(5), 1977).
 * Between equal chains the latest wins.
 *
 * @param candidates  For each index its places, in rising order.
 * @returns the indexes of the chain, and its last place; -1 if it is empty.
 */
function longestCommonSubsequence(
  candidates: readonly (readonly number[])[],
  knownCount: number,
): { indexes: number[]; knownLast: number } {
  const best = new Array<Match | undefined>(knownCount + 1);
  const isBetter = (match: Match, than: Match | undefined): boolean =>
    than === undefined ||
    match.length > than.length ||
    (match.length === than.length && match.knownSum > than.knownSum);
  let longest: Match | undefined;
  candidates.forEach((places, index) => {
    // From the last place to the first, so that no chain gets two places for one index.
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
        knownSum: (before?.knownSum ?? 0) + place,
        before,
      };
      for (let node = place + 1; node <= knownCount; node += node & -node)
        if (isBetter(match, best[node])) best[node] = match;
      if (isBetter(match, longest)) longest = match;
    }
  });
  const indexes: number[] = [];
  for (let match = longest; match !== undefined; match = match.before) indexes.push(match.index);
  return { indexes, knownLast: longest?.place ?? -1 };
}
