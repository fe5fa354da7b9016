import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { evaluateLongMemEval } from "../../scripts/eval/longmemeval.ts";
import { temporaryPath } from "../support/temporary-store.ts";

interface Talk {
  id: string;
  date: string;
  said: [user: string, assistant: string];
}

const TALKS: Talk[] = [
  {
    id: "answer_bike_1",
    date: "2023/05/20 (Sat) 02:21",
    said: ["I bought a red Trek bike.", "A fine choice for hills."],
  },
  {
    id: "sharegpt_soup",
    date: "2023/05/21 (Sun) 09:00",
    said: ["How long does lentil soup take?", "About forty minutes."],
  },
  { id: "answer_bike_2", date: "2023/05/22 (Mon) 19:40", said: ["The bike got new brakes today.", "Ride safely."] },
  {
    id: "ultrachat_tax",
    date: "2023/05/23 (Tue) 11:05",
    said: ["When is the tax form due?", "In the middle of April."],
  },
];

/** A question in the shape of the public files, over all talks. */
function asked(id: string, type: string, question: string, answers: string[]) {
  return {
    question_id: id,
    question_type: type,
    question,
    answer: "unused",
    question_date: "2023/05/30 (Tue) 23:40",
    haystack_dates: TALKS.map(({ date }) => date),
    haystack_session_ids: TALKS.map(({ id }) => id),
    haystack_sessions: TALKS.map(({ said: [user, assistant] }) => [
      { role: "user", content: user, has_answer: true },
      { role: "assistant", content: assistant },
    ]),
    answer_session_ids: answers,
  };
}

function fileOf(questions: unknown): string {
  const path = temporaryPath();
  writeFileSync(path, JSON.stringify(questions));
  return path;
}

test("a file of LongMemEval is scored by session, with and without the questions that have no answer", async () => {
  const path = fileOf([
    asked("q1", "multi-session", "What happened to my bike?", ["answer_bike_1", "answer_bike_2"]),
    asked("q2", "single-session-user", "How long does the lentil soup take?", ["sharegpt_soup"]),
    // Its evidence cannot be found by any word.
    asked("q3", "single-session-user", "How long does the lentil soup take?", ["ultrachat_tax"]),
    asked("q4_abs", "multi-session", "What happened to my bike?", ["ultrachat_tax"]),
  ]);
  const { figures } = await evaluateLongMemEval(path);
  expect(figures).toMatchObject({
    "longmemeval.questions": 4,
    "longmemeval.hit@1": 50,
    "longmemeval.hit@10": 50,
    "longmemeval.mrr": 50,
    "longmemeval.rec@10": 50,
    "longmemeval.answerable.questions": 3,
    "longmemeval.answerable.hit@5": 66.7,
    "longmemeval.multi-session.questions": 1,
    "longmemeval.multi-session.rec@10": 100,
    "longmemeval.single-session-user.hit@1": 50,
  });
});

test("a file of another shape is refused", async () => {
  await expect(evaluateLongMemEval(fileOf([{ question: "What?" }]))).rejects.toThrow("question_id");
  const [question] = [asked("q1", "multi-session", "What happened to my bike?", ["answer_bike_1"])];
  await expect(evaluateLongMemEval(fileOf([{ ...question, haystack_dates: ["soon"] }]))).rejects.toThrow("soon");
});
