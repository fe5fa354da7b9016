import { idfOf, SATURATION_MAX, saturate, unsaturate } from "./bm25.ts";
import type { Candidate } from "./ranking.ts";

/** The largest distance of a message that counts as beside another one. */
const REACH = 4;
const DISTANCES = Array.from({ length: 2 * REACH + 1 }, (_, index) => index - REACH);

interface SessionWords {
  sums: Float64Array;
  /** The highest score of a message. */
  best: number;
  /** The place of the session among all by the words of its messages together, from 0. */
  rank: number;
}

/** How often each word of a query occurs in some messages, and in those beside them. */
export class WordStatistics {
  /** The score of each message by its own words, as a share of the highest possible score. */
  readonly scores: readonly number[];
  readonly scoreMax: number;
  readonly #weights: readonly number[];
  readonly #weightSum: number;
  readonly #frequencies: readonly Float64Array[];
  /** The indexes of the messages at each distance from -4 to 4, by message. */
  readonly #beside: readonly (number | undefined)[][];
  readonly #sessions = new Map<string, SessionWords>();
  readonly #candidates: readonly Candidate[];

  /**
   * @param weights  The positive weight of each word of the query.
   * @param spoken  How often each message has further words, which have no `wordScores`. By default none.
   */
  constructor(candidates: readonly Candidate[], weights: readonly number[], spoken: readonly Float64Array[] = []) {
    this.#candidates = candidates;
    const spokenWeights = spoken.map((counts) => idfOf(counts.filter((count) => count > 0).length, counts.length));
    this.#weights = [...weights, ...spokenWeights];
    this.#weightSum = this.#weights.reduce((sum, weight) => sum + weight, 0) || 1;
    this.#frequencies = candidates.map(({ wordScores }, at) => {
      const frequencies = new Float64Array(this.#weights.length);
      for (let word = 0; word < weights.length; word++)
        frequencies[word] = unsaturate(wordScores[word]! / weights[word]!);
      for (let word = 0; word < spoken.length; word++) frequencies[weights.length + word] = spoken[word]![at]!;
      return frequencies;
    });
    const places = new Map<string, Map<number, number>>();
    for (const [at, { sessionId, seq }] of candidates.entries()) {
      places.set(sessionId, (places.get(sessionId) ?? new Map<number, number>()).set(seq, at));
    }
    this.#beside = candidates.map(({ sessionId, seq }) => {
      const inSession = places.get(sessionId)!;
      return DISTANCES.map((distance) => inSession.get(seq + distance));
    });
    this.scores = this.#frequencies.map((own) => this.scoreOf(own, 1));
    this.scoreMax = Math.max(...this.scores, Number.MIN_VALUE);
    candidates.forEach(({ sessionId }, at) => {
      const session = this.#sessions.get(sessionId) ?? {
        sums: new Float64Array(this.#weights.length),
        best: 0,
        rank: 0,
      };
      addTo(session.sums, this.#frequencies[at]!);
      session.best = Math.max(session.best, this.scores[at]!);
      this.#sessions.set(sessionId, session);
    });
    const sessions = Array.from(this.#sessions.values(), (session) => ({
      session,
      score: this.scoreOf(session.sums, 1),
    }));
    sessions.sort((left, right) => right.score - left.score);
    for (const [rank, { session }] of sessions.entries()) session.rank = rank;
  }

  sessionOf(at: number): SessionWords {
    return this.#sessions.get(this.#candidates[at]!.sessionId)!;
  }

  /** Returns the index of the message at a distance from -4 to 4, if it is one of these. */
  beside(at: number, distance: number): number | undefined {
    return this.#beside[at]![REACH + distance];
  }

  /** Returns how often each word occurs in a message and in those up to `radius` places away. */
  window(at: number, radius: number): Float64Array {
    const sums = new Float64Array(this.#weights.length);
    for (let index = REACH - radius; index <= REACH + radius; index++) {
      const other = this.#beside[at]![index];
      if (other !== undefined) addTo(sums, this.#frequencies[other]!);
    }
    return sums;
  }

  /** Returns how often each word occurs in two messages together. */
  both(at: number, other: number): Float64Array {
    const sums = this.#frequencies[at]!.slice();
    addTo(sums, this.#frequencies[other]!);
    return sums;
  }

  /** @param length  The assumed length of the text, in messages of mean length. */
  scoreOf(frequencies: Float64Array, length: number): number {
    let score = 0;
    for (let word = 0; word < frequencies.length; word++) {
      if (frequencies[word]! > 0) score += this.#weights[word]! * saturate(frequencies[word]! / length);
    }
    return score / (this.#weightSum * SATURATION_MAX);
  }

  /** The weight of the words that occur, as a share of the weight of all. */
  shareOf(frequencies: Float64Array): number {
    let sum = 0;
    for (let word = 0; word < frequencies.length; word++) if (frequencies[word]! > 0) sum += this.#weights[word]!;
    return sum / this.#weightSum;
  }
}

function addTo(sums: Float64Array, others: Float64Array): void {
  for (let index = 0; index < sums.length; index++) sums[index]! += others[index]!;
}
