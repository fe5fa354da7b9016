import { parseArgs } from "node:util";
import { evaluateClusters } from "./eval/clusters.ts";
import { evaluateContext } from "./eval/context.ts";
import { evaluateImport } from "./eval/import.ts";
import { evaluateRecall } from "./eval/recall.ts";

/** The figures of an evaluation by name. The function that computes a figure says if it is in percent or a share in [0, 1]. */
export interface Evaluation {
  name: string;
  figures: Record<string, number>;
}

const EVALUATIONS: Record<string, (dataFolder: string) => Promise<Evaluation>> = {
  clusters: evaluateClusters,
  context: evaluateContext,
  import: evaluateImport,
  recall: evaluateRecall,
};

/** `npm run --silent eval -- clusters --data DIR [--json]` measures on conversations that are not in the repository. */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { data: { type: "string" }, json: { type: "boolean", default: false } },
});
const evaluate = EVALUATIONS[positionals[0] ?? ""];
if (evaluate === undefined || values.data === undefined) {
  console.error(`Usage: npm run --silent eval -- <${Object.keys(EVALUATIONS).join("|")}> --data DIR [--json]`);
  process.exit(2);
}
const evaluation = await evaluate(values.data);
if (values.json) console.log(JSON.stringify(evaluation));
else for (const [name, figure] of Object.entries(evaluation.figures)) console.log(`${name.padEnd(28)} ${figure}`);
