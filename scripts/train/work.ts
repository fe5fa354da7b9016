import { join } from "node:path";
import { openStore } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { type Example, fitWeights, scoreOf } from "../../src/recall/listwise.ts";
import { parseQuery } from "../../src/recall/query.ts";
import { queryVector } from "../../src/recall/query-vector.ts";
import { nominate } from "../../src/recall/search.ts";
import { FITTED_SHARE, WORK_FEATURES, wordsOfWork, workFeatures } from "../../src/recall/work.ts";
import { dot } from "../../src/vector/vector.ts";
import { type AskedOfWork, codingFigures, readCoding, storeCoding } from "../eval/coding.ts";
import { inFolder } from "../eval/folder.ts";
import { readingStore } from "./reading-store.ts";

/** The penalty on large weights. From 2 to 10, results are equal within two points. */
const PENALTY = 3;

/** The weights are fitted to a question's answers, this many of the best other messages, and this many of the rest. */
const HARDEST = 60;
const OTHERS = 40;

/** The most candidates of a question, as in recall. */
const LIMIT = 500;

/** What each weight belongs to: the features, and the cosine of the default embedder. */
export const WEIGHED = [...WORK_FEATURES, "similarity"] as const;

/** The first weight is the unit of the others. */
const PRECISION = 3;

/** A question about work with tools, and the messages that recall ranks for it. Messages that say the same are there once. */
interface WorkQuestion {
  asked: AskedOfWork;
  found: { id: string; sessionId: string }[];
  /** The score of each message by its own words. */
  own: number[];
  rows: Float64Array[];
}

/** Reads the questions of a folder with `coding/` and `entire/`, with the features that recall has of each message. */
export async function readWorkQuestions(dataFolder: string): Promise<WorkQuestion[]> {
  const data = readCoding(dataFolder);
  const questions: WorkQuestion[] = [];
  if (data === undefined) return questions;
  const { corpus, asked } = data;
  await inFolder(async (folder) => {
    const path = join(folder, "work.db");
    const store = openStore(path);
    const names = await storeCoding(store, corpus);
    store.close();
    readingStore(path, (repositories, source) => {
      for (const question of asked) {
        const query = { ...parseQuery(question.text), phrases: [] };
        const scope = { project: corpus.project };
        const { candidates, weights, terms } = nominate({ source, clock: () => 0 }, query, undefined, scope, LIMIT);
        const ids = candidates.map(({ messageId }) => messageId);
        const vector = queryVector({ repositories, embedder: hashingEmbedder }, question.text, undefined)!;
        const embeddings = source.embeddings(ids, vector.embedderId);
        const texts = source.textsOf(ids);
        const words = wordsOfWork(candidates, weights, terms);
        const features = workFeatures(candidates, words);
        const seen = new Set<string>();
        const first = ids
          .map((_, at) => at)
          .filter((at) => {
            const text = texts.get(ids[at]!)!;
            return text.trim() !== "" && seen.size < seen.add(text).size;
          });
        questions.push({
          asked: question,
          found: first.map((at) => ({ id: names.get(ids[at]!)!, sessionId: candidates[at]!.sessionId })),
          own: first.map((at) => words.scores[at]!),
          rows: first.map((at) => {
            const embedding = embeddings.get(ids[at]!);
            return Float64Array.of(...features[at]!, embedding === undefined ? 0 : dot(embedding, vector.embedding));
          }),
        });
      }
    });
  });
  return questions;
}

/** Returns the weights of `WEIGHED` that fit the questions best, in units of the first. */
export function fitWork(questions: readonly WorkQuestion[]): number[] {
  const answered = questions.filter(({ asked, found }) => found.some(({ id }) => asked.gold.has(id)));
  const [unit, ...others] = fitWeights(answered.map(exampleOf), PENALTY, "any");
  return [1, ...others.map((weight) => Number((weight / unit!).toFixed(PRECISION)))];
}

/** Ranks each question with weights that were fitted to the questions about other sessions. Resumed sessions are one. */
export function leaveSessionsOut(
  questions: readonly WorkQuestion[],
  others: readonly WorkQuestion[],
): Record<string, number> {
  const fitted = new Map<string, number[]>();
  const ranked = questions.map(({ asked, found, own, rows }) => {
    const conversation = conversationOf(asked.sid);
    const weights =
      fitted.get(conversation) ?? fitWork(others.filter((other) => conversationOf(other.asked.sid) !== conversation));
    fitted.set(conversation, weights);
    const scores = rows.map((row, at) => own[at]! + FITTED_SHARE * scoreOf(row, Float64Array.from(weights)));
    const order = found.map((_, at) => at).sort((left, right) => scores[right]! - scores[left]! || right - left);
    return order.map((at) => found[at]!);
  });
  return codingFigures(
    "",
    questions.map(({ asked }) => asked),
    ranked,
  );
}

/** The id of a session begins with its date. A resumed session has another date. */
function conversationOf(sessionId: string): string {
  return sessionId.slice("2026-01-01-".length);
}

function exampleOf({ asked: { gold }, found, rows }: WorkQuestion): Example {
  const near = (at: number): number => rows[at]![0]! + rows[at]!.at(-1)!;
  const answers = found.map((_, at) => at).filter((at) => gold.has(found[at]!.id));
  const rest = found.map((_, at) => at).filter((at) => !gold.has(found[at]!.id));
  rest.sort((left, right) => near(right) - near(left) || left - right);
  const easy = rest.splice(HARDEST);
  const every = Math.max(1, Math.ceil(easy.length / OTHERS));
  const chosen = [...answers, ...rest, ...easy.filter((_, index) => index % every === 0)];
  return { rows: chosen.map((at) => rows[at]!), isGold: chosen.map((_, index) => index < answers.length) };
}
