import { join } from "node:path";
import { openStore } from "../../src/index.ts";
import { type Example, fitWeights, scoreOf } from "../../src/recall/listwise.ts";
import { FEATURES, peopleFeatures } from "../../src/recall/people.ts";
import { parseQuery } from "../../src/recall/query.ts";
import { nominate } from "../../src/recall/search.ts";
import { inFolder } from "../eval/folder.ts";
import { readLocomo } from "../eval/recall-data.ts";
import { type Outcome, outcomeOf } from "../eval/retrieval-measures.ts";
import { readingStore } from "./reading-store.ts";

/** The penalty on large weights. From 10 to 100, results are equal within half a point. */
const PENALTY = 40;

/** The weights are fitted to a question's evidence, this many of the best other messages, and this many of the rest. */
const HARDEST = 100;
const OTHERS = 40;

/** The most candidates of a question, as in recall. */
const LIMIT = 500;

/** A question with the messages that recall ranks for it. */
interface RankedQuestion {
  rows: Float64Array[];
  /** The names of the messages in the data. */
  ids: string[];
  gold: ReadonlySet<string>;
  category: string;
}

/** Reads the questions of each conversation of LoCoMo, with the features that the ranker for people has of each message. */
export async function readPeopleQuestions(dataFolder: string): Promise<RankedQuestion[][]> {
  const corpora = readLocomo(dataFolder);
  const found: RankedQuestion[][] = [];
  await inFolder(async (folder) => {
    const path = join(folder, "people.db");
    const names = new Map<number, string>();
    const store = openStore(path);
    for (const { project, sessions } of corpora) {
      for (const { id, messages } of sessions) {
        const results = store.session(id, { project }).append(messages.map(({ input }) => input));
        for (const [index, { messageId }] of results.entries()) names.set(messageId, messages[index]!.id);
      }
    }
    await store.upkeep();
    store.close();
    readingStore(path, (_, source) => {
      for (const { project, questions } of corpora) {
        found.push(
          questions.map(({ text, gold, category }) => {
            const query = { ...parseQuery(text), phrases: [] };
            const { candidates, weights } = nominate({ source, clock: () => 0 }, query, undefined, { project }, LIMIT);
            const texts = source.textsOf(candidates.map(({ messageId }) => messageId));
            const ids = candidates.map(({ messageId }) => names.get(messageId)!);
            return { rows: peopleFeatures(candidates, weights, text, texts), ids, gold, category };
          }),
        );
      }
    });
  });
  return found;
}

/** Returns the weights of `FEATURES` that fit the questions best. */
export function fitPeople(questions: readonly RankedQuestion[]): Float64Array {
  return fitWeights(questions.filter(({ ids, gold }) => ids.some((id) => gold.has(id))).map(exampleOf), PENALTY);
}

/** Ranks the questions of each conversation with weights that were fitted to the other conversations. */
export function leaveOneOut(conversations: readonly RankedQuestion[][]): Outcome[] {
  return conversations.flatMap((questions) => {
    const weights = fitPeople(conversations.filter((other) => other !== questions).flat());
    return questions.map(({ rows, ids, gold, category }) => {
      const scores = rows.map((row) => scoreOf(row, weights));
      const order = ids.map((_, at) => at).sort((left, right) => scores[right]! - scores[left]! || right - left);
      return outcomeOf(
        order.map((at) => ids[at]!),
        gold,
        category,
      );
    });
  });
}

function exampleOf({ rows, ids, gold }: RankedQuestion): Example {
  const nearWords = FEATURES.flatMap((feature, index) => (/^(?:words|words2|share1)$/.test(feature) ? [index] : []));
  const scoreOf = (at: number) => nearWords.reduce((sum, index) => sum + rows[at]![index]!, 0);
  const evidence = ids.map((_, at) => at).filter((at) => gold.has(ids[at]!));
  const rest = ids.map((_, at) => at).filter((at) => !gold.has(ids[at]!));
  rest.sort((left, right) => scoreOf(right) - scoreOf(left) || left - right);
  const easy = rest.splice(HARDEST);
  const every = Math.max(1, Math.ceil(easy.length / OTHERS));
  const chosen = [...evidence, ...rest, ...easy.filter((_, index) => index % every === 0)];
  return { rows: chosen.map((at) => rows[at]!), isGold: chosen.map((_, index) => index < evidence.length) };
}
