import { addTo } from "../core/groups.ts";

/** A message of the host's array or of the session, as `sync` compares them. */
export interface SyncKey {
  externalId: string | undefined;
  /**
   * Equal messages have equal digests. The digest of a tool message is made of its call ids, because hosts shorten old
   * outputs. For other messages see `digestOf`.
   */
  digest: string;
  /** For a message of the host's array that was forgotten in the session: the digests of the places that it may match. */
  places?: readonly string[];
}

/** The digest of the place of a forgotten message among those of the session. */
export const FORGOTTEN_PLACE = "";

/** The same for a message that had an id. */
export const NAMED_FORGOTTEN_PLACE = "id";

/** Most stored messages with the same content that are compared: "ok" may be said ten thousand times. */
const CANDIDATES_MAX = 64;

/**
 * Returns the indexes in `history` of the messages that the session does not hold, in order.
 *
 * The host passes its whole array each turn. It may have dropped old messages or replaced them by a summary, so
 * positions mean nothing. Two messages are the same if their ids are equal. If one has no id, their content is
 * compared. The longest common subsequence aligns the array with the known messages:
 *
 * - A message after the last match is new, even if the same words were said before.
 * - An earlier unmatched message is new, unless the session holds an equal message that is also unmatched. So a system
 * prompt that the host keeps at the front is stored only once.
 *
 * A forgotten message matches as if it were still stored: its place is known, and its content by a digest. So it is not new again,
 * but the same words are if they are said after the last match, or under another id.
 *
 * A new message at the front may be the host's summary of everything, after which old words are said again. So if the
 * match does not include the newest known message and a new message comes before it, only matches at the front of the
 * array count. If no new message comes before the match, the host has only gone back a few messages.
 *
 * @param stored  The session's messages in order.
 * @param last  The host's array of the last call, if known. All of it is stored. Of `stored` and `last`, the longer
 * match counts. Their orders differ: the host puts its summary before messages that were stored earlier.
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

/** Finds the known messages that may be the same as one of the host's. */
class KnownMessages {
  readonly #keys: readonly SyncKey[];
  readonly #ofId = new Map<string, number>();
  readonly #ofContent = new Map<string, number[]>();

  constructor(keys: readonly SyncKey[]) {
    this.#keys = keys;
    keys.forEach(({ externalId, digest }, index) => {
      if (externalId !== undefined) this.#ofId.set(externalId, index);
      addTo(this.#ofContent, digest, index);
    });
  }

  get count(): number {
    return this.#keys.length;
  }

  /** The index of the newest message that is still stored; -1 if there is none. */
  get newest(): number {
    return this.#keys.findLastIndex(({ digest }) => digest !== FORGOTTEN_PLACE && digest !== NAMED_FORGOTTEN_PLACE);
  }

  holdsId({ externalId }: SyncKey): boolean {
    return externalId !== undefined && this.#ofId.has(externalId);
  }

  of({ externalId, digest, places = [] }: SyncKey): readonly number[] {
    const byId = externalId === undefined ? undefined : this.#ofId.get(externalId);
    if (byId !== undefined) return [byId];
    const lists = [digest, ...places].map((one) => this.#ofContent.get(one) ?? []).filter(({ length }) => length > 0);
    const indexes = lists.length < 2 ? (lists[0] ?? []) : lists.flat().sort((left, right) => left - right);
    return externalId === undefined ? indexes : indexes.filter((index) => this.#keys[index]!.externalId === undefined);
  }
}

function matchedIndexes(history: readonly SyncKey[], known: KnownMessages): Set<number> {
  // If both histories end with the same message, equal messages are this many indexes apart.
  const shift = known.count - history.length;
  const candidates = history.map((key, index) => nearest(known.of(key), index + shift));
  const { indexes, knownLast } = longestCommonSubsequence(candidates, known.count);
  const matched = new Set(indexes);
  // True if nothing before the match is new. A known summary is stored after the messages that follow it in the array.
  const isFrontKnown = history
    .slice(0, indexes[0])
    .every((key, index) => matched.has(index) || known.of(key).length > 0);
  if (knownLast >= known.newest || isFrontKnown) return matched;
  const front = new Set<number>();
  while (matched.has(front.size)) front.add(front.size);
  return front;
}

/** Returns at most `CANDIDATES_MAX` of the rising indexes, half of them on each side of the given index. */
function nearest(indexes: readonly number[], index: number): readonly number[] {
  let [from, to] = [0, indexes.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (indexes[middle]! < index) from = middle + 1;
    else to = middle;
  }
  const first = Math.max(0, Math.min(from - CANDIDATES_MAX / 2, indexes.length - CANDIDATES_MAX));
  return indexes.slice(first, first + CANDIDATES_MAX);
}

/** A chain of matches, newest first. */
interface Match {
  index: number;
  knownIndex: number;
  length: number;
  /** The sum of the known indexes. Of two chains of equal length, the larger sum is later in the stored history. */
  knownSum: number;
  before: Match | undefined;
}

/**
 * Returns the longest chain of (index, known index) pairs that rises in both. Of chains of equal length, the latest
 * wins. A Fenwick tree holds, for every known index, the best chain that ends before it (Hunt and Szymanski, "A fast
 * algorithm for computing longest common subsequences", CACM 20(5), 1977).
 *
 * @param candidates  For each index the known indexes that it may match, in rising order.
 * @returns the indexes of the chain, and its last known index, which is -1 if the chain is empty.
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
  candidates.forEach((knownIndexes, index) => {
    // From the last to the first, so that no chain matches one index twice.
    for (const knownIndex of knownIndexes.toReversed()) {
      let before: Match | undefined;
      for (let node = knownIndex; node > 0; node -= node & -node) {
        const match = best[node];
        if (match !== undefined && isBetter(match, before)) before = match;
      }
      const match = {
        index,
        knownIndex,
        length: (before?.length ?? 0) + 1,
        knownSum: (before?.knownSum ?? 0) + knownIndex,
        before,
      };
      for (let node = knownIndex + 1; node <= knownCount; node += node & -node)
        if (isBetter(match, best[node])) best[node] = match;
      if (isBetter(match, longest)) longest = match;
    }
  });
  const indexes: number[] = [];
  for (let match = longest; match !== undefined; match = match.before) indexes.push(match.index);
  return { indexes, knownLast: longest?.knownIndex ?? -1 };
}
