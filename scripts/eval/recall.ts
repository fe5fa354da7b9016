import { join } from "node:path";
import { openStore, type RecallHit, type RecallOptions, type RenderResult, type Store } from "../../src/index.ts";
import type { ScoreParts } from "../../src/recall/ranking.ts";
import { withProgress } from "../progress.ts";
import { leaveOneOut, readPeopleQuestions } from "../train/people.ts";
import { changedFigures } from "./changed.ts";
import { coverageFigures } from "./coverage.ts";
import { inFolder } from "./folder.ts";
import { mean } from "./measures.ts";
import { nearestFigures } from "./nearest.ts";
import { bm25OfUsers, plainFts5 } from "./recall-baseline.ts";
import { type Corpus, type CorpusMessage, readBeam, readCommits, readEntire, readLocomo } from "./recall-data.ts";
import { interval, MEASURES, type Measure, type Outcome, outcomeOf, percent } from "./retrieval-measures.ts";
import { simulatedFigures } from "./simulated.ts";
import { type SubjectFigures, type SubjectQuestion, subjectFigures } from "./subjects.ts";

/** The number of hits requested: all that are ranked, so that sessions can be found and hits ranked by parts of the score. */
const LIMIT = 500;

/** The data sets by name. Questions ask for messages, or for sessions, which are ranked by their first hits. */
const DATA_SETS: Record<string, { read: (dataFolder: string) => Corpus[]; finds: "messages" | "sessions" }> = {
  locomo: { read: readLocomo, finds: "messages" },
  beam: { read: readBeam, finds: "messages" },
  entire: { read: readEntire, finds: "sessions" },
  "commits.words": { read: readCommits, finds: "sessions" },
};

/** The number of hits that people see, because it is the default. */
const FIRST = 10;

/** The kinds of questions that ask for a set, by data set and category. */
const SETS: Record<string, string> = {
  "locomo.1": "multihop",
  "beam.event_ordering": "order",
  "beam.summarization": "summary",
};
const SET_TOKENS = 1_500;

/** The baseline of BEAM counts the words of users three times, because most evidence is in their messages. */
const USER_FACTOR = 3;

/**
 * The rows of the ablation. Each adds one part to the row before. All rows order the same hits, those that the
 * whole score has chosen, so they understate what the later parts add.
 */
const PARTS: readonly (keyof ScoreParts)[] = ["words", "neighborhood", "session", "speaker", "time", "vector"];

/** The weight of a hit's cluster in the last row. Recall does not use this part. */
const CLUSTER_WEIGHT = 0.2;

/**
 * Measures how well recall finds the evidence for a question, compared with a plain FTS5 table of the same messages.
 *
 * The figures of each data set are `any@k`, `all@k`, `rec@k` and `mrr` in percent, each with its 95 % interval (`.low`, `.high`).
 * There are also rows for `.bm25`, for `.user3` (BM25 with the scores of users' messages multiplied by three), for
 * `.limit10` (only ten hits are requested), for each category, and for the `.ablation`, which orders the hits by some parts of their
 * scores, then by all parts, and then by all parts and the score of their clusters.
 *
 * `locomo.loco`: each conversation is ranked with weights that were fitted to the others (@see leaveOneOut).
 *
 * `commits.words`: like `entire`, without messages that tell which commit was made (@see readCommits). `commits.time`: the same
 * with the time of the commit as `near`.
 *
 * `quoted` counts the questions with a title or a name in quotes. `quotedLost` counts those of them that find less of their
 * evidence with the quotes than without, among the first ten hits or among all.
 *
 * `sets.KIND.rec@1500`: the mean share of the evidence, in percent, that is among the hits in 1,500 tokens; `.ten`: among ten hits in as
 * many tokens; `.render`: in a context of as many tokens. `sets.rec@1500` is the mean over the kinds.
 *
 * `coverage@B` and `coverage.mix@B`: @see coverageFigures, with four characters as a token.
 *
 * `clusters.*`: @see nearestFigures, over the coding sessions.
 *
 * `simulated.*`: @see simulatedFigures, over LoCoMo.
 *
 * `changed.*`: @see changedFigures.
 *
 * `subjects.lift` and `.largestShare`: @see subjectFigures, over the questions of all data sets.
 *
 * @param dataFolder  The folder with `locomo/`, `beam/` and `entire/`. A missing one is skipped, with a note on stderr.
 */
export async function evaluateRecall(dataFolder: string): Promise<{ name: "recall"; figures: Record<string, number> }> {
  const figures: Record<string, number> = {};
  const subjects: SubjectFigures[] = [];
  const quoted: boolean[] = [];
  for (const [name, { read, finds }] of Object.entries(DATA_SETS)) {
    const corpora = read(dataFolder);
    if (corpora.length === 0) {
      console.error(`No ${name} in ${dataFolder}: its figures are left out.`);
      continue;
    }
    const own = await dataSetFigures(name, corpora, finds);
    Object.assign(figures, own.figures);
    quoted.push(...own.isQuotedLost);
    if (own.subjects.questionCount > 0) {
      subjects.push(own.subjects);
      figures[`subjects.${name}.lift`] = Number(own.subjects.lift.toFixed(2));
    }
  }
  if (subjects.length > 0) {
    const sum = (of: (set: SubjectFigures) => number) => subjects.reduce((total, set) => total + of(set), 0);
    const reached = sum(({ reach, questionCount }) => reach * questionCount);
    const expected = sum(({ expectedReach, questionCount }) => expectedReach * questionCount);
    figures["subjects.lift"] = Number((expected === 0 ? 0 : reached / expected).toFixed(2));
    figures["subjects.largestShare"] = Number(Math.max(...subjects.map((set) => set.largestShare)).toFixed(3));
  }
  const left = leaveOneOut(await readPeopleQuestions(dataFolder));
  if (left.length > 0) {
    for (const measure of MEASURES) Object.assign(figures, row(`locomo.loco.${measure}`, left, measure));
  }
  const locomo = readLocomo(dataFolder);
  if (locomo.length > 0) Object.assign(figures, await simulatedFigures(locomo));
  Object.assign(figures, await changedFigures(dataFolder));
  const entire = readEntire(dataFolder);
  if (entire.length > 0) Object.assign(figures, await nearestFigures(entire));
  const kinds = Object.values(SETS).flatMap((kind) => figures[`sets.${kind}.rec@${SET_TOKENS}`] ?? []);
  if (kinds.length > 0) figures[`sets.rec@${SET_TOKENS}`] = rounded(mean(kinds));
  figures.quoted = quoted.length;
  figures.quotedLost = quoted.filter(Boolean).length;
  for (const [name, figure] of Object.entries(await coverageFigures(dataFolder, ["chars4."]))) {
    figures[name.replace("chars4.", "")] = figure;
  }
  return { name: "recall", figures };
}

async function dataSetFigures(
  name: string,
  corpora: readonly Corpus[],
  finds: "messages" | "sessions",
): Promise<{ figures: Record<string, number>; subjects: SubjectFigures; isQuotedLost: boolean[] }> {
  const outcomes: Outcome[] = [];
  const limited: Outcome[] = [];
  const timed: Outcome[] = [];
  const baseline: Outcome[] = [];
  const userBaseline: Outcome[] = [];
  const isQuotedLost: boolean[] = [];
  const ablation = PARTS.map((): Outcome[] => []);
  const clustered: Outcome[] = [];
  const sets: Record<string, number[]> = {};
  let subjects: SubjectFigures | undefined;
  await inFolder(async (folder) => {
    const store = openStore(join(folder, "recall.db"));
    const names = new Map<number, string>();
    for (const corpus of withProgress(`conversations of ${name}, stored`, corpora)) await fill(store, corpus, names);
    for (const corpus of withProgress(`conversations of ${name}, asked`, corpora)) {
      const plain = plainFts5(corpus);
      const plainOfUsers = bm25OfUsers(corpus, USER_FACTOR);
      for (const { text, gold, category, atMs } of corpus.questions) {
        const idsOf = (found: readonly { id: string; sessionId: string }[]) => [
          ...new Set(found.map(({ id, sessionId }) => (finds === "messages" ? id : sessionId))),
        ];
        const add = (to: Outcome[], found: readonly { id: string; sessionId: string }[]) => {
          to.push(outcomeOf(idsOf(found), gold, category));
        };
        const hits = await store.recall(text, { project: corpus.project, limit: LIMIT, explain: true, neighbors: 0 });
        const found = async (asked: string, limit: number | undefined, options: RecallOptions = {}) => {
          const by = finds === "sessions" ? "session" : "message";
          const found = await store.recall(asked, {
            project: corpus.project,
            ...(limit !== undefined && { limit }),
            neighbors: 0,
            by,
            ...options,
          });
          return named(found, finds, names);
        };
        add(outcomes, finds === "sessions" ? await found(text, LIMIT) : named(hits, finds, names));
        if (atMs !== undefined) add(timed, await found(text, LIMIT, { near: { fromMs: atMs, toMs: atMs } }));
        add(limited, await found(text, FIRST));
        add(baseline, plain(text, LIMIT));
        add(userBaseline, plainOfUsers(text));
        const kind = SETS[`${name}.${category}`];
        if (kind !== undefined) {
          const shown = {
            "": await found(text, undefined, { tokensMax: SET_TOKENS }),
            ".ten": await found(text, FIRST, { tokensMax: SET_TOKENS }),
            ".render": contextFor(store, corpus, text).map(({ messageId, sessionId }) => ({
              id: names.get(messageId)!,
              sessionId,
            })),
          };
          for (const [arm, messages] of Object.entries(shown)) {
            const held = idsOf(messages).filter((id) => gold.has(id));
            const figure = `sets.${kind}.rec@${SET_TOKENS}${arm}`;
            sets[figure] = [...(sets[figure] ?? []), held.length / gold.size];
          }
        }
        if (text.includes('"')) {
          const asked = idsOf(await found(text, LIMIT));
          const unquoted = idsOf(await found(text.replaceAll('"', " "), LIMIT));
          const countIn = (ids: readonly string[], k: number) => ids.slice(0, k).filter((id) => gold.has(id)).length;
          isQuotedLost.push([FIRST, LIMIT].some((k) => countIn(asked, k) < countIn(unquoted, k)));
        }
        PARTS.forEach((_, index) => {
          add(ablation[index]!, named(reordered(hits, PARTS.slice(0, index + 1)), finds, names));
        });
        add(clustered, named(byCluster(hits), finds, names));
      }
    }
    subjects = await subjectFigures(store, corpora.flatMap(questionsOf(finds)), async ({ text, project }) => {
      const [hit] = await store.recall(text, { project, limit: 1, neighbors: 0 });
      return hit?.messageId;
    });
    store.close();
  });
  const figures = Object.fromEntries(Object.entries(sets).map(([arm, shares]) => [arm, rounded(100 * mean(shares))]));
  for (const measure of MEASURES) {
    Object.assign(figures, row(`${name}.${measure}`, outcomes, measure), {
      [`${name}.bm25.${measure}`]: rounded(percent(baseline, measure)),
      [`${name}.user3.${measure}`]: rounded(percent(userBaseline, measure)),
      [`${name}.limit${FIRST}.${measure}`]: rounded(percent(limited, measure)),
    });
  }
  if (name === "commits.words") {
    for (const measure of MEASURES) Object.assign(figures, row(`commits.time.${measure}`, timed, measure));
  }
  for (const category of new Set(outcomes.map((outcome) => outcome.category))) {
    const own = outcomes.filter((outcome) => outcome.category === category);
    for (const measure of MEASURES) figures[`${name}.${category}.${measure}`] = rounded(percent(own, measure));
  }
  const rows = [...PARTS.map((part, index) => [part, ablation[index]!] as const), ["cluster", clustered] as const];
  for (const [part, own] of rows) {
    const label = part === "words" ? part : `+${part}`;
    for (const measure of MEASURES) figures[`${name}.ablation.${label}.${measure}`] = rounded(percent(own, measure));
  }
  return { figures, subjects: subjects!, isQuotedLost };
}

/** Returns the messages in a context that another session of the project makes for a question. */
function contextFor(store: Store, { project }: Corpus, query: string): RenderResult["recalled"] {
  return store.session(`${project}-fresh`, { project }).render({ tokensMax: SET_TOKENS, query, scope: "project" })
    .recalled;
}

/** Returns the questions of a corpus with the sessions that hold their evidence. */
function questionsOf(finds: "messages" | "sessions"): (corpus: Corpus) => SubjectQuestion[] {
  return ({ project, sessions, questions }) => {
    const sessionOf = new Map(sessions.flatMap(({ id, messages }) => messages.map((message) => [message.id, id])));
    return questions.map(({ text, gold }) => ({
      text,
      project,
      goldSessions: [...new Set([...gold].map((id) => (finds === "sessions" ? id : sessionOf.get(id)!)))],
    }));
  };
}

function row(name: string, outcomes: readonly Outcome[], measure: Measure): Record<string, number> {
  const [low, high] = interval(outcomes, measure);
  return {
    [name]: rounded(percent(outcomes, measure)),
    [`${name}.low`]: rounded(low),
    [`${name}.high`]: rounded(high),
  };
}

/** Appends a corpus, and does all background work. */
async function fill(store: Store, { project, sessions }: Corpus, names: Map<number, string>): Promise<void> {
  for (const { id, messages } of sessions) {
    const session = store.session(id, { project });
    const results = session.append(messages.map(({ input }: CorpusMessage) => input));
    results.forEach(({ messageId }, index) => void names.set(messageId, messages[index]!.id));
  }
  await store.upkeep();
}

function reordered(hits: readonly RecallHit[], parts: readonly (keyof ScoreParts)[]): RecallHit[] {
  const scoreOf = (hit: RecallHit) => parts.reduce((sum, part) => sum + hit.parts![part], 0);
  return hits.toSorted((left, right) => scoreOf(right) - scoreOf(left));
}

/** Orders hits by their scores and by the scores of their clusters, relative to the best cluster. */
function byCluster(hits: readonly RecallHit[]): RecallHit[] {
  const worth = new Map<string, number>();
  for (const { root, parts } of hits) if (root !== null) worth.set(root, (worth.get(root) ?? 0) + parts!.words);
  const most = Math.max(...worth.values(), Number.MIN_VALUE);
  const scoreOf = ({ root, score }: RecallHit) =>
    score + (root === null ? 0 : (CLUSTER_WEIGHT * worth.get(root)!) / most);
  return hits.toSorted((left, right) => scoreOf(right) - scoreOf(left));
}

/** Returns the ids that were found, in order. Copies of a hit count as found sessions, but not as found messages. */
function named(
  hits: readonly RecallHit[],
  finds: "messages" | "sessions",
  names: ReadonlyMap<number, string>,
): { id: string; sessionId: string }[] {
  const found = finds === "messages" ? hits : hits.flatMap((hit) => [hit, ...hit.copies]);
  return found.map(({ messageId, sessionId }) => ({ id: names.get(messageId)!, sessionId }));
}

function rounded(figure: number): number {
  return Number(figure.toFixed(1));
}
