import { quantile } from "../bench/messages.ts";
import { readThreads } from "./cluster-data.ts";
import { BUDGETS } from "./experiment/budgets.ts";
import { codingSessions, type RenderOutcome } from "./experiment/coding.ts";
import { CODING_MEASURES } from "./experiment/contents.ts";
import { measureFigures, percent, tableOf, tokenFigures } from "./experiment/figures.ts";
import { RECORDED_MEASURES, recordings } from "./experiment/recorded.ts";
import { reportOf } from "./experiment/report.ts";
import { experimentSummarizer } from "./experiment/summarize.ts";
import { TALK_MEASURES, talkProjects } from "./experiment/talk.ts";
import type { Task, TaskResult } from "./experiment/tasks.ts";
import { mean } from "./measures.ts";
import { inParallel } from "./parallel.ts";
import { figuresOf, sumOf } from "./replay.ts";

export interface Experiment {
  name: "experiment";
  figures: Record<string, number>;
  /** Percent by measure, conversation and arm, at 4,000 tokens. */
  byConversation: Record<string, Record<string, Record<string, number>>>;
  report: string;
}

/** A run measures one of this many. */
const EVERY = {
  full: { cuts: 1, questions: 1, replays: 1 },
  quick: { cuts: 3, questions: 20, replays: 6 },
};
/** The number of pieces of the replays. */
const REPLAY_PIECES = 8;
const TABLE_BUDGET = 4_000;

/**
 * Compares how much of what is needed next is in contexts with equal numbers of tokens: in those of `session.render`, and in those
 * that simpler ways of filling the same room give. A token is four characters. `experiment/arms.ts` explains the arms, and
 * `experiment/figures.ts` the statistics.
 *
 * Coding sessions of `entire/`, at the cuts of `cutsOf`, without a query; B is a budget of 1,000 to 16,000 tokens:
 *
 * - `lines@B.ARM`, `symbols@B.ARM`, `files@B.ARM`: of the lines, names and files that the next 30 calls use again, the mean share
 *   that the context contains word for word.
 * - `.shipped-query`, `.published-query`: with the newest message of the user as the query.
 * - `tokens@B.ARM`: the mean tokens that the contexts use.
 * - `unused@B`, `unusedShareMax`: the largest share of the budget that a shipped context leaves unused although it only names some
 *   messages.
 * - `renderMs@B`, `.p95`: the processor time of the first render after an append, in milliseconds.
 * - `legal`, `overBudget`, `unaccounted`: see legality.ts.
 *
 * Conversations of LoCoMo, each as one session that is rendered at its end, and again with each question as the query
 * (`.ARM-query`):
 *
 * - `answers@B.ARM`: the share of questions (categories 1 and 4) with all words of the answer in the context.
 * - `evidence@B.ARM`: the share of questions with all turns of the evidence in the context. `answerTokens@B.ARM`: the tokens used.
 *
 * Two conversations and a session with the summaries that a model wrote of them, which are recorded in `model-summaries/`:
 *
 * - `recordedAnswers@B.ARM`, `recordedLines@B.ARM`, `recordedSymbols@B.ARM`: as above. `recorded.ts` explains the arms.
 * - `modelTokensPerSourceToken`, `.overviews`: the tokens of the calls, those that the model writes five times, for each token of the
 *   messages. `statementCalls`: the number of calls.
 *
 * `summaryTokensVsFlat.threads` and `.generated` are the tokens of summaries of `bench gemini`, and `prefixKept` is that of
 * legality.ts. All other figures are in percent.
 *
 * @param dataFolder  The folder with `entire/`, `locomo/`, `model-summaries/`, `threads/` and `transcripts/`. What is missing is left out.
 * @param quick  Measures every third cut, every twentieth query, and every sixth replay.
 */
export async function evaluateExperiment(dataFolder: string, { quick }: { quick: boolean }): Promise<Experiment> {
  const every = quick ? EVERY.quick : EVERY.full;
  const { id, isLocal } = experimentSummarizer();
  if (isLocal !== true)
    console.error(`Summaries are made by ${id}, because there is a key. This costs thousands of calls.`);
  const results = await inParallel<Task, TaskResult>(new URL("experiment/tasks.ts", import.meta.url), [
    ...talkProjects(dataFolder).map((project): Task => {
      return { kind: "talk", dataFolder, project, every: every.questions };
    }),
    ...codingSessions(dataFolder).map((sid): Task => {
      return { kind: "coding", dataFolder, sid, every: every.cuts };
    }),
    ...recordings(dataFolder).map((name): Task => ({ kind: "recorded", dataFolder, name, every: every.questions })),
    ...(readThreads(dataFolder, 1).length > 0 ? [{ kind: "summaries", name: "threads", dataFolder } as const] : []),
    { kind: "summaries", name: "generated", dataFolder: undefined },
    ...Array.from({ length: REPLAY_PIECES }, (_, from): Task => {
      return {
        kind: "replay",
        dataFolder,
        strategy: "union-find",
        from: from * every.replays,
        every: REPLAY_PIECES * every.replays,
      };
    }),
  ]);
  const coding = ofKind(results, "coding");
  const codingOutcomes = coding.flatMap(({ outcomes }) => outcomes);
  const talkOutcomes = ofKind(results, "talk").flatMap(({ outcomes }) => outcomes);
  if (coding.length === 0) console.error(`No coding sessions in ${dataFolder}: their figures are left out.`);
  if (talkOutcomes.length === 0) console.error(`No LoCoMo in ${dataFolder}: its figures are left out.`);
  const figures: Record<string, number> = {};
  for (const measure of CODING_MEASURES) Object.assign(figures, measureFigures(codingOutcomes, measure));
  for (const measure of TALK_MEASURES) Object.assign(figures, measureFigures(talkOutcomes, measure));
  Object.assign(figures, tokenFigures(codingOutcomes, "tokens"), tokenFigures(talkOutcomes, "answerTokens"));
  Object.assign(figures, renderFigures(coding.flatMap(({ renders }) => renders)));
  for (const { name, ratio } of ofKind(results, "summaries")) {
    figures[`summaryTokensVsFlat.${name}`] = Number(ratio.toFixed(3));
  }
  const recorded = ofKind(results, "recorded");
  const recordedOutcomes = recorded.flatMap(({ outcomes }) => outcomes);
  for (const measure of RECORDED_MEASURES) {
    Object.assign(
      figures,
      measureFigures(recordedOutcomes, measure, { own: "levels", rivals: ["shipped", "running"] }),
    );
  }
  if (recorded.length > 0) {
    const sum = (count: (result: (typeof recorded)[number]) => number) =>
      recorded.reduce((all, one) => all + count(one), 0);
    const sourceTokens = sum((one) => one.sourceTokens);
    figures.modelTokensPerSourceToken = Number((sum((one) => one.modelTokens) / sourceTokens).toFixed(2));
    figures["modelTokensPerSourceToken.overviews"] = Number(
      (sum((one) => one.overviewTokens) / sourceTokens).toFixed(2),
    );
    figures.statementCalls = sum((one) => one.calls);
  }
  const { prefixKept } = figuresOf(sumOf(ofKind(results, "replay").map(({ tally }) => tally)));
  figures.prefixKept = prefixKept!;
  const byConversation = {
    ...Object.fromEntries(CODING_MEASURES.map((measure) => [measure, tableOf(codingOutcomes, measure, TABLE_BUDGET)])),
    ...Object.fromEntries(TALK_MEASURES.map((measure) => [measure, tableOf(talkOutcomes, measure, TABLE_BUDGET)])),
  };
  return { name: "experiment", figures, byConversation, report: reportOf(figures, byConversation) };
}

function ofKind<K extends TaskResult["kind"]>(results: readonly TaskResult[], kind: K) {
  return results.filter((result): result is Extract<TaskResult, { kind: K }> => result.kind === kind);
}

function renderFigures(renders: readonly RenderOutcome[]): Record<string, number> {
  if (renders.length === 0) return {};
  const figures: Record<string, number> = {};
  for (const budget of BUDGETS) {
    const at = renders.filter((render) => render.budget === budget);
    const ms = at.map((render) => render.ms);
    figures[`unused@${budget}`] = percent(Math.max(...at.map(({ unused }) => unused)));
    figures[`unusedMean@${budget}`] = percent(mean(at.map(({ unused }) => unused)));
    figures[`renderMs@${budget}`] = Number(quantile(ms, 0.5).toFixed(2));
    figures[`renderMs@${budget}.p95`] = Number(quantile(ms, 0.95).toFixed(2));
  }
  return {
    ...figures,
    unusedShareMax: percent(Math.max(...renders.map(({ unused }) => unused))),
    legal: percent(mean(renders.map(({ isLegal }) => Number(isLegal)))),
    overBudget: renders.filter(({ overBudget }) => overBudget).length,
    unaccounted: renders.reduce((sum, { unaccounted }) => sum + unaccounted, 0),
  };
}
