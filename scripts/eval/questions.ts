import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { walkFiles } from "../../src/importers/files.ts";
import { ImportRun } from "../../src/imports/import-run.ts";
import { openStore } from "../../src/index.ts";
import { inFolder } from "./folder.ts";
import { plainFts5 } from "./recall-baseline.ts";

const QUESTIONS = fileURLToPath(new URL("questions/", import.meta.url));

/** The number of hits among which the first answer is looked for. */
const LIMIT = 10;

/** The questions about one public project. The transcripts are not in the repository, and no question has their text. */
interface ProjectQuestions {
  /** Where the transcripts are, on GitHub. */
  repository: string;
  commit?: string;
  under?: string;
  questions: { question: string; kind: string; answers: Record<string, number[]> }[];
}

/**
 * Measures how well recall answers questions about past sessions of several projects and agents, beside a plain FTS5 table of the messages.
 * Each project is searched alone. A message that says the same as an answer, word for word, is an answer.
 *
 * Figures in percent, for all questions and for each project: `any@1`, `any@5`, `any@10` and `mrr`, and the same as `fts5.*`.
 *
 * @param dataFolder  A folder with the transcripts of each project in a folder of its own, named as the file of its questions. A missing
 *   one is skipped, with a note on stderr.
 */
export async function evaluateQuestions(
  dataFolder: string,
): Promise<{ name: "questions"; figures: Record<string, number> }> {
  const figures: Record<string, number> = {};
  const all: Ranks[] = [];
  for (const file of readdirSync(QUESTIONS)) {
    const project = basename(file, ".json");
    const { questions } = JSON.parse(readFileSync(join(QUESTIONS, file), "utf8")) as ProjectQuestions;
    const transcripts = join(dataFolder, project);
    if (!existsSync(transcripts)) {
      console.error(`No ${project} in ${dataFolder}: its figures are left out.`);
      continue;
    }
    const ranks = await ranksOf(transcripts, questions);
    all.push(...ranks);
    Object.assign(figures, figuresOf(`${project}.`, ranks));
  }
  return { name: "questions", figures: { ...figures, ...figuresOf("", all) } };
}

/** The place of the first answer, from 1; 0 if none of the first ten hits is one. */
interface Ranks {
  recall: number;
  fts5: number;
}

interface Row {
  id: number;
  sessionId: string;
  seq: number;
  text: string;
}

async function ranksOf(transcripts: string, questions: ProjectQuestions["questions"]): Promise<Ranks[]> {
  const ranks: Ranks[] = [];
  await inFolder(async (folder) => {
    const path = join(folder, "questions.db");
    const store = openStore(path);
    const run = new ImportRun(store, { format: "auto", onProgress: () => {} });
    for await (const file of walkFiles([transcripts])) await run.read(file);
    const database = new Database(path, { readonly: true });
    const rows = database
      .prepare<[], Row>("SELECT id, session_id AS sessionId, seq, text FROM messages WHERE trim(text) != ''")
      .all();
    database.close();
    const fts5 = plainFts5({
      project: "",
      questions: [],
      sessions: [{ id: "", messages: rows.map(({ id, text }) => ({ id: String(id), text, input: { role: "user" } })) }],
    });
    for (const { question, answers } of questions) {
      const isAnswer = ({ sessionId, seq }: Row): boolean => answers[sessionId]?.includes(seq) === true;
      const texts = new Set(rows.filter(isAnswer).map(({ text }) => text.trim()));
      const ids = new Set(rows.filter(({ text }) => texts.has(text.trim())).map(({ id }) => id));
      if (ids.size === 0) console.error(`No answer in ${transcripts}: ${question}`);
      const hits = await store.recall(question, { limit: LIMIT, neighbors: 0 });
      ranks.push({
        recall: hits.findIndex(({ messageId }) => ids.has(messageId)) + 1,
        fts5: fts5(question, LIMIT).findIndex(({ id }) => ids.has(Number(id))) + 1,
      });
    }
    store.close();
  });
  return ranks;
}

function figuresOf(prefix: string, ranks: readonly Ranks[]): Record<string, number> {
  const mean = (values: readonly number[]): number =>
    Number(((100 * values.reduce((sum, value) => sum + value, 0)) / Math.max(1, values.length)).toFixed(1));
  return Object.fromEntries(
    (["recall", "fts5"] as const).flatMap((name) => {
      const found = ranks.map((rank) => rank[name]);
      const label = name === "fts5" ? `${prefix}fts5.` : prefix;
      return [
        ...[1, 5, 10].map((k) => [`${label}any@${k}`, mean(found.map((rank) => Number(rank > 0 && rank <= k)))]),
        [`${label}mrr`, mean(found.map((rank) => (rank === 0 ? 0 : 1 / rank)))],
      ];
    }),
  );
}
