import { readFileSync } from "node:fs";
import * as z from "zod/mini";
import { openStore } from "../../src/index.ts";
import { withProgress } from "../progress.ts";
import { type Measure, type Outcome, outcomeOf, percent } from "./retrieval-measures.ts";

/** The most sessions that are asked for. The small file has about fifty for each question. */
const LIMIT = 100;

/** The names of the figures. */
const FIGURES: Record<string, Measure> = {
  "hit@1": "any@1",
  "hit@5": "any@5",
  "hit@10": "any@10",
  mrr: "mrr",
  "rec@10": "rec@10",
};

const FILE = z.array(
  z.object({
    question_id: z.string(),
    question_type: z.string(),
    question: z.string(),
    question_date: z.string(),
    haystack_dates: z.array(z.string()),
    haystack_session_ids: z.array(z.string()),
    haystack_sessions: z.array(z.array(z.object({ role: z.enum(["user", "assistant"]), content: z.string() }))),
    answer_session_ids: z.array(z.string()),
  }),
);
type Asked = z.infer<typeof FILE>[number];

/**
 * Measures on a file of LongMemEval (Wu et al., ICLR 2025), such as `longmemeval_s.json`, which session recall ranks first. Each question
 * has sessions of its own, and is asked on its date, by session.
 *
 * Figures in percent: `longmemeval.hit@K`, the questions with a session that holds evidence among the first K; `.mrr`, one over the rank
 * of the first; `.rec@10`, the share of these sessions among the first ten. `longmemeval.answerable.*` leaves out the questions that
 * have no answer, and `longmemeval.TYPE.*` has those of a type. `.questions` counts them.
 *
 * @param file  The path of the file.
 * @throws if the file does not have this shape.
 */
export async function evaluateLongMemEval(
  file: string,
): Promise<{ name: "longmemeval"; figures: Record<string, number> }> {
  const questions = z.parse(FILE, JSON.parse(readFileSync(file, "utf8")));
  const outcomes: { outcome: Outcome; isAnswerable: boolean }[] = [];
  for (const asked of withProgress("questions", questions)) {
    const gold = new Set(asked.answer_session_ids);
    outcomes.push({
      outcome: outcomeOf(await sessionsFor(asked), gold, asked.question_type),
      isAnswerable: !asked.question_id.endsWith("_abs"),
    });
  }
  const all = outcomes.map(({ outcome }) => outcome);
  const answerable = outcomes.filter(({ isAnswerable }) => isAnswerable).map(({ outcome }) => outcome);
  const ofType = (type: string) => answerable.filter(({ category }) => category === type);
  const types = [...new Set(all.map(({ category }) => category))].sort();
  return {
    name: "longmemeval",
    figures: {
      ...figuresOf("longmemeval", all),
      ...figuresOf("longmemeval.answerable", answerable),
      ...Object.assign({}, ...types.map((type) => figuresOf(`longmemeval.${type}`, ofType(type)))),
    },
  };
}

function figuresOf(name: string, outcomes: readonly Outcome[]): Record<string, number> {
  const figures = Object.entries(FIGURES).map(([figure, measure]) => {
    return [`${name}.${figure}`, Number(percent(outcomes, measure).toFixed(1))] as const;
  });
  return { [`${name}.questions`]: outcomes.length, ...Object.fromEntries(figures) };
}

/** Stores the sessions of a question, and returns their ids as recall ranks them. */
async function sessionsFor(asked: Asked): Promise<string[]> {
  const { question, question_date, haystack_dates, haystack_session_ids, haystack_sessions } = asked;
  const store = openStore(":memory:", { clock: () => timeOf(question_date) });
  for (const [index, messages] of haystack_sessions.entries()) {
    const createdAt = timeOf(haystack_dates[index]!);
    const said = messages.filter(({ content }) => content.trim() !== "");
    const inputs = said.map(({ role, content }, at) => ({ role, content, createdAt: createdAt + at }));
    store.session(haystack_session_ids[index]!).append(inputs);
  }
  await store.upkeep();
  const hits = await store.recall(question, { by: "session", limit: LIMIT, neighbors: 0 });
  store.close();
  return [...new Set(hits.flatMap((hit) => [hit, ...hit.copies].map(({ sessionId }) => sessionId)))];
}

/** Reads a time such as "2023/05/20 (Sat) 02:21". */
function timeOf(date: string): number {
  const parsed = Date.parse(`${date.replace(/\s*\([^)]*\)/, "")} UTC`);
  if (Number.isNaN(parsed)) throw new Error(`Not a date of LongMemEval: ${date}`);
  return parsed;
}
