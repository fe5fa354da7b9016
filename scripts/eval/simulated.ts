import { join } from "node:path";
import { type LocalEmbedder, openStore, type Store } from "../../src/index.ts";
import { normalize } from "../../src/vector/vector.ts";
import { randomFrom } from "../bench/messages.ts";
import { inFolder } from "./folder.ts";
import type { Corpus } from "./recall-data.ts";
import { type Outcome, outcomeOf, percent } from "./retrieval-measures.ts";

/** The mean cosine of a question and an unrelated message. */
const BACKGROUND = 0.55;

/** The mean cosine of a question and its only answer, for each simulated embedder. */
const ANSWERS = { strong: 0.76, middling: 0.68, useless: BACKGROUND };

/** With 96 dimensions, cosines deviate by 0.045, as those of real encoders do, and `strong` finds 99 % by vectors alone. */
const DIMENSION = 96;

/**
 * How near a message is to the next one, relative to how near an answer is to its question. On LoCoMo, the Universal Sentence
 * Encoder has 0.7.
 */
const NEIGHBORS = 0.5;

/**
 * Measures recall with simulated embedders, in percent of the evidence among the first ten hits.
 *
 * All vectors of a simulated embedder have one direction in common, which makes unrelated texts as similar as the background. The
 * rest of a question's vector is random. So is the rest of a message's vector, except that it shares a part with the messages beside
 * it, and contains a part of the vector of each question that it answers. A message has the same vector for all questions, and
 * every cosine has noise, so only a higher cosine marks an answer. The vectors of `useless` are the same without the shared parts.
 *
 * `simulated.words.rec@10`: without vectors. `simulated.NAME.rec@10`: with vectors. `simulated.NAME.alone.rec@10`: by vectors
 * alone.
 */
export async function simulatedFigures(corpora: readonly Corpus[]): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  const silent: LocalEmbedder = { id: "silent-96", dimension: DIMENSION, similarityMin: 0.5, embed: () => undefined };
  figures["simulated.words.rec@10"] = await recallWith(silent, corpora);
  for (const [name, answers] of Object.entries(ANSWERS)) {
    const vectors = new Map<string, Float32Array>();
    for (const [index, corpus] of corpora.entries()) addVectors(vectors, corpus, answers, index + 1);
    const embedder: LocalEmbedder = {
      id: `${name}-${DIMENSION}`,
      dimension: DIMENSION,
      similarityMin: 0.9,
      embed: (text) => vectors.get(text),
    };
    figures[`simulated.${name}.rec@10`] = await recallWith(embedder, corpora);
    figures[`simulated.${name}.alone.rec@10`] = alone(vectors, corpora);
  }
  return figures;
}

/** Adds the vectors of a corpus's questions and messages, by text. */
function addVectors(vectors: Map<string, Float32Array>, corpus: Corpus, answers: number, seed: number): void {
  const random = randomFrom(seed);
  const direction = (): Float32Array => normalize(Float32Array.from({ length: DIMENSION }, () => normal(random)));
  const common = direction();
  const rest = (): Float32Array => {
    const vector = direction();
    const along = sumOf(vector.map((value, index) => value * common[index]!));
    return normalize(vector.map((value, index) => value - along * common[index]!));
  };
  const near = (answers - BACKGROUND) / (1 - BACKGROUND);
  const asked = new Map<string, Float32Array>();
  for (const { text, gold } of corpus.questions) {
    const vector = rest();
    vectors.set(text, placed(common, vector));
    for (const id of gold) {
      asked.set(
        id,
        (asked.get(id) ?? new Float32Array(DIMENSION)).map((value, index) => value + near * vector[index]!),
      );
    }
  }
  const shared = Math.sqrt(2 * NEIGHBORS * near);
  for (const { messages } of corpus.sessions) {
    let before = rest();
    for (const { id, input } of messages) {
      const after = rest();
      const own = rest();
      const noise = normalize(
        own.map((value, index) => {
          const both = (before[index]! + after[index]!) / Math.SQRT2;
          return Math.sqrt(1 - shared ** 2) * value + shared * both;
        }),
      );
      before = after;
      const answer = asked.get(id) ?? new Float32Array(DIMENSION);
      const left = Math.sqrt(Math.max(0, 1 - sumOf(answer.map((value) => value ** 2))));
      const vector = normalize(answer.map((value, index) => value + left * noise[index]!));
      vectors.set(input.content as string, placed(common, vector));
    }
  }
}

function placed(common: Float32Array, rest: Float32Array): Float32Array {
  return normalize(
    common.map((value, index) => Math.sqrt(BACKGROUND) * value + Math.sqrt(1 - BACKGROUND) * rest[index]!),
  );
}

async function recallWith(embedder: LocalEmbedder, corpora: readonly Corpus[]): Promise<number> {
  const outcomes: Outcome[] = [];
  await inFolder(async (folder) => {
    const store = openStore(join(folder, "simulated.db"), { embedder });
    const names = new Map<number, string>();
    for (const corpus of corpora) fill(store, corpus, names);
    for (const { project, questions } of corpora) {
      for (const { text, gold, category } of questions) {
        const hits = await store.recall(text, { project, limit: 10, neighbors: 0 });
        outcomes.push(
          outcomeOf(
            hits.map(({ messageId }) => names.get(messageId)!),
            gold,
            category,
          ),
        );
      }
    }
    store.close();
  });
  return Number(percent(outcomes, "rec@10").toFixed(1));
}

function alone(vectors: ReadonlyMap<string, Float32Array>, corpora: readonly Corpus[]): number {
  const outcomes = corpora.flatMap(({ sessions, questions }) => {
    const messages = sessions.flatMap((session) => session.messages);
    return questions.map(({ text, gold, category }) => {
      const asked = vectors.get(text)!;
      const cosines = messages.map(({ id, input }) => {
        const vector = vectors.get(input.content as string)!;
        return { id, cosine: sumOf(vector.map((value, index) => value * asked[index]!)) };
      });
      cosines.sort((left, right) => right.cosine - left.cosine);
      return outcomeOf(
        cosines.slice(0, 10).map(({ id }) => id),
        gold,
        category,
      );
    });
  });
  return Number(percent(outcomes, "rec@10").toFixed(1));
}

function fill(store: Store, { project, sessions }: Corpus, names: Map<number, string>): void {
  for (const { id, messages } of sessions) {
    const results = store.session(id, { project }).append(messages.map(({ input }) => input));
    results.forEach(({ messageId }, index) => void names.set(messageId, messages[index]!.id));
  }
}

/** Returns a normally distributed number, by the Box–Muller transform. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function sumOf(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}
