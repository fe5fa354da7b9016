import { namedDates } from "../core/named-times.ts";
import { idfOf, SATURATION_MAX, saturate, unsaturate } from "./bm25.ts";
import { nearness } from "./dates.ts";
import { PEOPLE_WEIGHTS } from "./people-weights.ts";
import { byScore, type Candidate, type Ranked, type ScoreParts } from "./ranking.ts";
import { shapeOf, wantedBy } from "./shape.ts";
import { spokenWords } from "./spoken-words.ts";

/** The features of a message for a question, and the part of the score that each adds to. */
const PART_OF = {
  words: "words",
  share: "words",
  words2: "neighborhood",
  words4: "neighborhood",
  share1: "neighborhood",
  share2: "neighborhood",
  before: "neighborhood",
  after: "neighborhood",
  beforeIfQuestion: "neighborhood",
  sessionBest: "session",
  sessionRank: "session",
  opening: "session",
  named: "speaker",
  beforeNamed: "speaker",
  selfNamed: "speaker",
  endsInQuestion: "speaker",
  numberWanted: "speaker",
  placeWanted: "speaker",
  capitals: "speaker",
  isGreeting: "speaker",
  dated: "time",
  near: "time",
  timeWanted: "time",
  hasTime: "time",
} as const satisfies Record<string, keyof ScoreParts>;

export type Feature = keyof typeof PART_OF;
export const FEATURES = Object.keys(PART_OF) as Feature[];

const WEIGHTS: Readonly<Record<Feature, number>> = PEOPLE_WEIGHTS;

/** The largest distance of a message that counts as beside another one. */
const REACH = 4;
const DISTANCES = Array.from({ length: 2 * REACH + 1 }, (_, index) => index - REACH);

/** The first messages of a session, in which people tell their news. */
const OPENING = 3;

/**
 * Ranks what people say to each other. The score is linear in the features, with weights that `npm run train` fits. They
 * hold only for people: in a conversation with an assistant, long answers would be first.
 *
 * A score is a logarithm of odds: a message whose score is higher by 1 is e times as likely to answer.
 *
 * @param candidates  Messages of people, each once.
 * @param weights  The positive weight of each word of the query, as in `rankCandidates`.
 * @param texts  The text of each message, by its id.
 */
export function rankPeople(
  candidates: readonly Candidate[],
  weights: readonly number[],
  question: string,
  texts: ReadonlyMap<number, string>,
): Ranked[] {
  const rows = peopleFeatures(candidates, weights, question, texts);
  return candidates
    .map((candidate, at): Ranked => {
      const parts = { words: 0, neighborhood: 0, session: 0, speaker: 0, time: 0, vector: 0 };
      FEATURES.forEach((feature, index) => {
        parts[PART_OF[feature]] += WEIGHTS[feature] * rows[at]![index]!;
      });
      const score = Object.values(parts).reduce((sum, part) => sum + part, 0);
      return { candidate, score, parts };
    })
    .sort(byScore);
}

/** Returns the features of each candidate, in the order of `FEATURES`. */
export function peopleFeatures(
  candidates: readonly Candidate[],
  weights: readonly number[],
  question: string,
  texts: ReadonlyMap<number, string>,
): Float64Array[] {
  const said = candidates.map(({ messageId }) => texts.get(messageId)!);
  const shapes = said.map(shapeOf);
  const words = new WordStatistics(candidates, weights, spokenWords(question, said));
  const wanted = wantedBy(question);
  const dates = namedDates(question);
  return candidates.map(({ seq, isNamed, createdAtMs, datedness, closeness }, at) => {
    const { session, before, after, own, window1, window2, window4 } = words.of(at);
    const shape = shapes[at]!;
    const shapeBefore = before === undefined ? undefined : shapes[before]!;
    const scoreBefore = before === undefined ? 0 : words.scores[before]!;
    const features: Record<Feature, number> = {
      words: words.scores[at]! / words.scoreMax,
      share: words.shareOf(own),
      words2: words.scoreOf(window2, 1.5) / words.scoreMax2,
      words4: words.scoreOf(window4, 2),
      share1: words.shareOf(window1),
      share2: words.shareOf(window2),
      before: scoreBefore,
      after: after === undefined ? 0 : words.scores[after]!,
      beforeIfQuestion: shapeBefore?.hasQuestion ? scoreBefore : 0,
      sessionBest: session.best / words.scoreMax,
      sessionRank: 1 / (1 + session.rank),
      opening: Number(seq < OPENING),
      named: Number(isNamed),
      beforeNamed: Number(before !== undefined && candidates[before]!.isNamed),
      selfNamed: isNamed ? shape.selves : 0,
      endsInQuestion: Number(shape.endsInQuestion),
      numberWanted: Number(wanted.number && shape.hasNumber),
      placeWanted: Number(wanted.place && shape.hasPlace),
      capitals: shape.capitals,
      isGreeting: Number(shape.isGreeting),
      dated: datedness,
      near: Math.max(nearness(dates, createdAtMs), closeness),
      timeWanted: Number(wanted.time && shape.hasTime),
      hasTime: Number(shape.hasTime),
    };
    const row = new Float64Array(FEATURES.length);
    for (let index = 0; index < row.length; index++) row[index] = features[FEATURES[index]!];
    return row;
  });
}

/** How often each word of a query occurs in some messages, and in those beside them. */
class WordStatistics {
  /** The score of each message by its own words, as a share of the highest possible score. */
  readonly scores: readonly number[];
  readonly scoreMax: number;
  /** The highest score of a message and the two messages on both sides. */
  readonly scoreMax2: number;
  readonly #weights: readonly number[];
  readonly #weightSum: number;
  readonly #frequencies: readonly Float64Array[];
  /** The indexes of the messages at each distance from -4 to 4, by message. */
  readonly #beside: readonly (number | undefined)[][];
  readonly #sessions = new Map<string, { sums: Float64Array; best: number; rank: number }>();
  readonly #candidates: readonly Candidate[];

  constructor(candidates: readonly Candidate[], weights: readonly number[], spoken: readonly Float64Array[]) {
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
    this.scoreMax2 = Math.max(...candidates.map((_, at) => this.scoreOf(this.#window(at, 2), 1.5)), Number.MIN_VALUE);
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

  of(at: number) {
    return {
      session: this.#sessions.get(this.#candidates[at]!.sessionId)!,
      before: this.#beside[at]![REACH - 1],
      after: this.#beside[at]![REACH + 1],
      own: this.#frequencies[at]!,
      window1: this.#window(at, 1),
      window2: this.#window(at, 2),
      window4: this.#window(at, REACH),
    };
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

  #window(at: number, radius: number): Float64Array {
    const sums = new Float64Array(this.#weights.length);
    for (let index = REACH - radius; index <= REACH + radius; index++) {
      const other = this.#beside[at]![index];
      if (other !== undefined) addTo(sums, this.#frequencies[other]!);
    }
    return sums;
  }
}

function addTo(sums: Float64Array, others: Float64Array): void {
  for (let index = 0; index < sums.length; index++) sums[index]! += others[index]!;
}
