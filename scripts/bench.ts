import { parseArgs } from "node:util";
import { benchStore } from "./bench/store.ts";

const BENCHMARKS: Record<
  string,
  (messagesLarge?: number) => Promise<{ name: string; figures: Record<string, number> }>
> = {
  store: benchStore,
};

/** `npm run --silent bench -- store [--messages N] [--json]`. */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { messages: { type: "string" }, json: { type: "boolean", default: false } },
});
const bench = BENCHMARKS[positionals[0] ?? ""];
if (bench === undefined) {
  console.error(`Usage: npm run --silent bench -- <${Object.keys(BENCHMARKS).join("|")}> [--messages N] [--json]`);
  process.exit(2);
}
const result = await bench(values.messages === undefined ? undefined : Number(values.messages));
if (values.json) console.log(JSON.stringify(result));
else
  for (const [name, figure] of Object.entries(result.figures))
    console.log(`${name.padEnd(28)} ${Number(figure.toPrecision(4))}`);
