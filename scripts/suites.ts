import { parseArgs } from "node:util";
import { runSuite, type Suite } from "./suites/run.ts";
import { SUITES } from "./suites/suites.ts";

/**
 * `npm run suites -- --openai-agents PATH --claude-agent-sdk PATH --adk PATH` runs the suites of other projects with our classes in place of
 * theirs. Each path is a checkout of the project outside this repository. `suites/suites.ts` names what is run.
 */
const options = Object.fromEntries(SUITES.map(({ option }) => [option, { type: "string" }] as const));
const { values } = parseArgs({ options });
const asked = SUITES.flatMap((suite): [Suite, string][] => {
  const checkout = values[suite.option];
  return typeof checkout === "string" ? [[suite, checkout]] : [];
});
if (asked.length === 0) {
  throw new Error(`Give the checkout of a project: ${SUITES.map(({ option }) => `--${option} PATH`).join(", ")}.`);
}
let isGreen = true;
for (const [suite, checkout] of asked) {
  const result = await runSuite(suite, checkout).catch(({ message }: Error) => message);
  if (typeof result === "string") {
    console.error(result);
    isGreen = false;
    continue;
  }
  const { passed, failed, excused, idle } = result;
  console.log(`${suite.option}: ${passed.length} passed, ${failed.length} failed, ${excused.length} excused`);
  for (const name of excused) console.log(`  excused: ${name}: ${suite.excused?.[name]}`);
  for (const name of idle) console.log(`  excused without need: ${name}`);
  for (const { name, message } of failed) console.log(`  failed: ${name}\n    ${message}`);
  isGreen &&= failed.length === 0 && idle.length === 0 && passed.length > 0;
}
process.exitCode = isGreen ? 0 : 1;
