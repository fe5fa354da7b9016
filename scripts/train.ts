import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FEATURES } from "../src/recall/people.ts";
import { MEASURES, percent } from "./eval/retrieval-measures.ts";
import { fitPeople, leaveOneOut, readPeopleQuestions } from "./train/people.ts";
import { fitWork, leaveSessionsOut, readWorkQuestions, WEIGHED } from "./train/work.ts";

/**
 * `npm run train -- people DIR` fits the ranker for people to the questions in `DIR/locomo/`, writes `src/recall/people-weights.ts`,
 * and prints how well each conversation's questions are answered by weights fitted to the other conversations.
 *
 * `npm run train -- work DIR...` fits the ranker for work with tools to the questions in each `DIR/coding/` about the sessions in
 * `DIR/entire/`, writes `src/recall/work-weights.ts`, and prints how well each folder's questions are answered by weights fitted to
 * all questions about other sessions.
 *
 * The result is the same for the same data.
 */
const { positionals } = parseArgs({ allowPositionals: true });
const [ranker, ...dataFolders] = positionals;
if (ranker === "people" && dataFolders.length === 1) await trainPeople(dataFolders[0]!);
else if (ranker === "work" && dataFolders.length > 0) await trainWork(dataFolders);
else {
  console.error("Usage: npm run train -- people DIR, or npm run train -- work DIR...");
  process.exit(2);
}

async function trainPeople(dataFolder: string): Promise<void> {
  const conversations = await readPeopleQuestions(dataFolder);
  write("people", "people, fitted to LoCoMo", FEATURES, [...fitPeople(conversations.flat())]);
  const outcomes = leaveOneOut(conversations);
  for (const measure of MEASURES) print(measure, percent(outcomes, measure));
}

async function trainWork(dataFolders: readonly string[]): Promise<void> {
  const sets = [];
  for (const folder of dataFolders) sets.push(await readWorkQuestions(folder));
  const all = sets.flat();
  if (all.length === 0) throw new Error("No coding/questions.json and entire/sessions.jsonl.gz in these folders.");
  write("work", "work with tools, fitted to questions about coding sessions", WEIGHED, fitWork(all));
  for (const [index, questions] of sets.entries()) {
    console.log(`${dataFolders[index]}: ${questions.length} questions`);
    for (const [measure, figure] of Object.entries(leaveSessionsOut(questions, all))) print(measure, figure);
  }
}

function write(ranker: string, what: string, features: readonly string[], weights: readonly number[]): void {
  const lines = features.map((feature, index) => `  ${feature}: ${Number(weights[index]!.toFixed(3))},\n`);
  writeFileSync(
    fileURLToPath(new URL(`../src/recall/${ranker}-weights.ts`, import.meta.url)),
    `/** The weights of the ranker for ${what}. \`npm run train\` writes this file. */
export const ${ranker.toUpperCase()}_WEIGHTS = {
${lines.join("")}};
`,
  );
}

function print(measure: string, figure: number): void {
  console.log(`${measure.padEnd(10)} ${figure.toFixed(1)}`);
}
