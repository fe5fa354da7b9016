import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FEATURES } from "../src/recall/people.ts";
import { MEASURES, percent } from "./eval/retrieval-measures.ts";
import { fitPeople, leaveOneOut, readPeopleQuestions } from "./train/people.ts";

/**
 * `npm run train -- DIR` fits the ranker for people to the questions in `DIR/locomo/`, writes `src/recall/people-weights.ts`, and
 * prints how well each conversation's questions are answered by weights fitted to the other conversations. The result is the same
 * for the same data.
 */
const WEIGHTS_FILE = fileURLToPath(new URL("../src/recall/people-weights.ts", import.meta.url));

const { positionals } = parseArgs({ allowPositionals: true });
const [dataFolder] = positionals;
if (dataFolder === undefined) {
  console.error("Usage: npm run train -- DIR");
  process.exit(2);
}
const conversations = await readPeopleQuestions(dataFolder);
const weights = fitPeople(conversations.flat());
const lines = FEATURES.map((feature, index) => `  ${feature}: ${Number(weights[index]!.toFixed(3))},\n`);
writeFileSync(
  WEIGHTS_FILE,
  `/** The weights of the ranker for people, fitted to LoCoMo. \`npm run train\` writes this file. */
export const PEOPLE_WEIGHTS = {
${lines.join("")}};
`,
);
const outcomes = leaveOneOut(conversations);
for (const measure of MEASURES) console.log(`${measure.padEnd(8)} ${percent(outcomes, measure).toFixed(1)}`);
