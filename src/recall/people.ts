import { namedDates } from "../core/named-times.ts";
import { searchStem } from "../models/search-words.ts";
import { isStopWord, STOP_WORDS } from "../models/stop-words.ts";
import { nearness } from "./dates.ts";
import { PEOPLE_WEIGHTS } from "./people-weights.ts";
import { byScore, type Candidate, type Ranked, type ScoreParts } from "./ranking.ts";
import { shapeOf, wantedBy } from "./shape.ts";
import { WordStatistics } from "./word-statistics.ts";

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
  const scores2 = candidates.map((_, at) => words.scoreOf(words.window(at, 2), 1.5));
  const scoreMax2 = Math.max(...scores2, Number.MIN_VALUE);
  const wanted = wantedBy(question);
  const dates = namedDates(question);
  return candidates.map(({ seq, isNamed, createdAtMs, datedness, closeness }, at) => {
    const [before, after] = [words.beside(at, -1), words.beside(at, 1)];
    const session = words.sessionOf(at);
    const shape = shapes[at]!;
    const shapeBefore = before === undefined ? undefined : shapes[before]!;
    const scoreBefore = before === undefined ? 0 : words.scores[before]!;
    const features: Record<Feature, number> = {
      words: words.scores[at]! / words.scoreMax,
      share: words.shareOf(words.window(at, 0)),
      words2: scores2[at]! / scoreMax2,
      words4: words.scoreOf(words.window(at, 4), 2),
      share1: words.shareOf(words.window(at, 1)),
      share2: words.shareOf(words.window(at, 2)),
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

/** These stop words say nothing about the subject of a question, even when people talk. */
const BARE = new Set(
  `a an the of to in on at for and or is are was were be been has have had do does did what when where who which how why
  her his their its with from by as that this it he she they i you my your me we our him them will would could can might`
    .trim()
    .split(/\s+/),
);

/** The share of a frequency that does not depend on the length of the text, as in BM25. */
const LENGTH_FREE = 0.25;

/**
 * Counts the stop words of a question in texts. The index has no stop words. But when people talk, words like "go", "want" and
 * "together" say what was done.
 *
 * @returns for each of these words, its frequency in each text, relative to the text's length.
 */
export function spokenWords(question: string, texts: readonly string[]): Float64Array[] {
  const stems = new Set<string>();
  for (const word of question.toLowerCase().match(/[a-z]+/g) ?? []) {
    if (isStopWord(word) && !BARE.has(word)) stems.add(searchStem(word));
  }
  const charsMean = texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
  return Array.from(stems, (stem) => {
    const forms = STOP_WORDS.filter((word) => searchStem(word) === stem);
    const pattern = new RegExp(`\\b(?:${forms.join("|")})\\b`, "gi");
    return Float64Array.from(texts, (text) => {
      const count = text.match(pattern)?.length ?? 0;
      return count === 0 ? 0 : count / (LENGTH_FREE + (1 - LENGTH_FREE) * (text.length / charsMean));
    });
  });
}
