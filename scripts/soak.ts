import { parseArgs } from "node:util";
import { Progress } from "./progress.ts";
import { soak } from "./soak/run.ts";

/**
 * `npm run soak -- run [--minutes N] [--seed S] [--json]` lets processes of every kind work on a store for N minutes, and kills
 * them. The exit code is 1 if anything was lost, wrong, or failed with an error that is not the store's own.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (positionals[0] !== "run" || !(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error("Usage: npm run --silent soak -- run [--minutes N] [--seed S] [--json]");
  process.exit(2);
}
const summary = (figures: Record<string, number>): string =>
  Object.entries(figures)
    .map(([name, figure]) => `${name} ${Number(figure.toPrecision(4))}`)
    .join(", ");
const progress = new Progress("minutes", minutes);
const figures = await soak({
  minutes,
  seed,
  onFault: (fault, folder) => console.error(`${folder}: ${fault}`),
  onRound: (sofar) => progress.reach(sofar.minutes, summary(sofar)),
});
progress.end();
if (values.json) console.log(JSON.stringify({ name: "soak", figures }));
else console.log(summary(figures));
process.exitCode = figures.lost + figures.wrong + figures.untyped > 0 ? 1 : 0;
