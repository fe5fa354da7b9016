import { parseArgs } from "node:util";
import { benchBuilds } from "./bench/builds.ts";
import { benchContext } from "./bench/context.ts";
import { benchDamage } from "./bench/damage.ts";
import { benchDay } from "./bench/day.ts";
import { benchFrameworks } from "./bench/frameworks.ts";
import { benchFuzz } from "./bench/fuzz.ts";
import { benchGemini } from "./bench/gemini.ts";
import { benchHead } from "./bench/head.ts";
import { benchHook } from "./bench/hook.ts";
import { benchHub } from "./bench/hub.ts";
import { benchImport } from "./bench/import.ts";
import { benchMcp } from "./bench/mcp.ts";
import { benchMillion } from "./bench/million.ts";
import { benchPackage } from "./bench/package.ts";
import { benchRecall } from "./bench/recall.ts";
import { benchStore } from "./bench/store.ts";
import { benchTests } from "./bench/tests.ts";
import { benchView } from "./bench/view.ts";
import { benchWatch } from "./bench/watch.ts";

interface Options {
  against?: string | undefined;
  megabytes?: string | undefined;
  seconds?: string | undefined;
  messages?: string | undefined;
  folder?: string | undefined;
  data?: string | undefined;
  peers?: string | undefined;
  copies?: string | undefined;
  inputs?: string | undefined;
  seed?: string | undefined;
  random?: boolean | undefined;
  only?: string | undefined;
  "build-million"?: boolean | undefined;
}

const BENCHMARKS: Record<string, (options: Options) => Promise<{ name: string; figures: Record<string, number> }>> = {
  store: ({ messages, only }) =>
    benchStore({ messagesLarge: messages === undefined ? undefined : Number(messages), only }),
  builds: ({ against }) => benchBuilds(against),
  context: ({ folder }) => benchContext({ folder }),
  damage: ({ copies, seed, only }) =>
    benchDamage(copies === undefined ? undefined : Number(copies), {
      isByColumn: only === "columns",
      seed: seed === undefined ? undefined : Number(seed),
    }),
  day: ({ seconds }) => benchDay(seconds === undefined ? undefined : Number(seconds)),
  fuzz: ({ inputs, seed, random, only }) =>
    benchFuzz({
      inputs: inputs === undefined ? undefined : Number(inputs),
      seed: random ? Date.now() : seed === undefined ? undefined : Number(seed),
      only,
    }),
  frameworks: ({ messages, peers }) =>
    benchFrameworks({ messages: messages === undefined ? undefined : Number(messages), peers }),
  gemini: ({ data }) => benchGemini({ data }),
  head: ({ messages }) => benchHead(messages === undefined ? undefined : Number(messages)),
  hook: ({ messages, folder }) =>
    benchHook({ messages: messages === undefined ? undefined : Number(messages), folder }),
  hub: ({ only, messages }) => benchHub({ only, messages: messages === undefined ? undefined : Number(messages) }),
  import: ({ megabytes }) => benchImport(megabytes === undefined ? undefined : Number(megabytes)),
  mcp: ({ messages, folder }) => benchMcp({ messages: messages === undefined ? undefined : Number(messages), folder }),
  million: ({ folder }) => benchMillion(folder),
  package: ({ folder }) => benchPackage({ folder }),
  recall: ({ folder, "build-million": buildMillion }) => benchRecall({ folder, buildMillion }),
  tests: () => benchTests(),
  view: ({ messages, folder }) =>
    benchView({ messages: messages === undefined ? undefined : Number(messages), folder }),
  watch: ({ megabytes, seconds }) =>
    benchWatch({
      ...(megabytes !== undefined && { megabytes: Number(megabytes) }),
      ...(seconds !== undefined && { idleSeconds: Number(seconds) }),
    }),
};

/** `npm run --silent bench -- NAME [options] [--json]` runs a benchmark. Without a name, it prints the options of each. */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: "string" },
    megabytes: { type: "string" },
    seconds: { type: "string" },
    messages: { type: "string" },
    folder: { type: "string" },
    data: { type: "string" },
    peers: { type: "string" },
    copies: { type: "string" },
    inputs: { type: "string" },
    seed: { type: "string" },
    random: { type: "boolean" },
    only: { type: "string" },
    "build-million": { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const bench = BENCHMARKS[positionals[0] ?? ""];
if (bench === undefined) {
  console.error(
    "Usage: npm run --silent bench -- store [--messages N | --only append] [--json] | builds [--against COMMIT] [--json] | context [--folder DIR] [--json] | damage [--copies N] [--seed S] [--only columns] [--json] | fuzz [--inputs N] [--seed S | --random] [--only TARGET:NUMBER[-NUMBER]] [--json] | frameworks [--messages N] [--peers DIR] [--json] | gemini [--data DIR] [--json] | head [--messages N] [--json] | hook [--messages N] [--folder DIR] [--json] | hub [--only push|follow|everywhere|faults|cuts] [--messages N] [--json] | import [--megabytes N] [--json] | mcp [--messages N] [--folder DIR] [--json] | million --folder DIR [--json] | package [--folder DIR] [--json] | recall [--folder DIR [--build-million]] [--json] | view [--messages N] [--folder DIR] [--json] | watch [--megabytes N] [--seconds N] [--json]",
  );
  process.exit(2);
}
const result = await bench(values);
if (values.json) console.log(JSON.stringify(result));
else
  for (const [name, figure] of Object.entries(result.figures))
    console.log(`${name.padEnd(28)} ${Number(figure.toPrecision(4))}`);
