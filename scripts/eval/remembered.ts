import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { importFiles } from "../../src/imports/import-files.ts";
import { openStore } from "../../src/session/opened-store.ts";
import type { Evaluation } from "../eval.ts";
import { withProgress } from "../progress.ts";
import { inFolder } from "./folder.ts";

const RANK_MAX = 10;

/** A question as a person would type it, and where it is answered: messages of sessions whose ids begin with `session`. */
interface Question {
  question: string;
  gold: { session: string; from: number; to: number }[];
}

/**
 * Reads a file of questions: `{transcripts, now, questions}`. `transcripts` is a path from the file's folder, and `now` the time at
 * which the questions are asked, because some name a time such as "last week".
 *
 * `inFirst`, `inThree`, `inTen`: the questions with a message of their answer among the first 1, 3 and 10 hits.
 */
export async function evaluateRemembered(path: string): Promise<Evaluation> {
  const { transcripts, now, questions } = JSON.parse(readFileSync(path, "utf8")) as {
    transcripts: string;
    now: string;
    questions: Question[];
  };
  const ranks: { question: string; rank: number | undefined }[] = [];
  await inFolder(async (folder) => {
    const nowMs = Date.parse(now);
    const store = openStore(join(folder, "remembered.db"), { clock: () => nowMs });
    await importFiles(store, [resolve(dirname(path), transcripts)], { summarize: false });
    for (const { question, gold } of withProgress("questions", questions)) {
      const hits = await store.recall(question, { limit: RANK_MAX });
      const rank = hits.findIndex(({ sessionId, seq }) =>
        gold.some(({ session, from, to }) => sessionId.startsWith(session) && seq >= from && seq <= to),
      );
      ranks.push({ question, rank: rank === -1 ? undefined : rank + 1 });
    }
    store.close();
  });
  const within = (last: number): number => ranks.filter(({ rank = Number.POSITIVE_INFINITY }) => rank <= last).length;
  const lines = ranks.map(({ question, rank }) => `${String(rank ?? "–").padStart(2)}  ${question}`);
  const figures = { questions: ranks.length, inFirst: within(1), inThree: within(3), inTen: within(RANK_MAX) };
  const summary = Object.entries(figures).map(([name, figure]) => `${name} ${figure}`);
  return { name: "remembered", figures, report: [...lines, summary.join(" · ")].join("\n") };
}
