import { parseArgs } from "node:util";
import { crashFrameworks, KILLED_FRAMEWORKS } from "./crash/frameworks.ts";
import { crash } from "./crash/run.ts";
import { Progress } from "./progress.ts";

/**
 * `npm run crash -- --kills N [--seed S]` kills processes that work on a store at random moments, and checks the store.
 * With `--framework langgraph`, `adk` or `openai-agents`, they die in the middle of a `put`, an `appendEvent` or an
 * `applyHistoryTransaction`. Prints the figures as JSON. The exit code is 1 if anything that was acknowledged is lost.
 */
const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    framework: { type: "string" },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
if (!Number.isSafeInteger(kills) || kills < 1 || !Number.isSafeInteger(seed)) {
  console.error(`Usage: npm run crash -- [--kills N] [--seed S] [--framework ${KILLED_FRAMEWORKS.join("|")}]`);
  process.exit(2);
}
const progress = new Progress("kills", kills);
const framework = KILLED_FRAMEWORKS.find((name) => name === values.framework);
if (framework !== undefined) {
  const found = await crashFrameworks(framework, kills, seed, (done) => progress.reach(done));
  progress.end();
  console.log(JSON.stringify({ framework, seed, ...found }));
  process.exit(found.lost + found.unsound > 0 ? 1 : 0);
}
const figures = await crash({
  kills,
  seed,
  onKill: ({ kills: done, files, acknowledged }) =>
    progress.reach(done, `${files} files, ${acknowledged} messages acknowledged`),
  onFault: (fault, folder) => console.error(`${folder}: ${fault}`),
});
progress.end();
console.log(JSON.stringify(figures));
process.exitCode = figures.lost + figures.altered + figures.verifyFailures > 0 ? 1 : 0;
