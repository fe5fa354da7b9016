import { mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { api } from "./api.ts";
import { cli } from "./cli.ts";
import { importers } from "./importers.ts";
import { mcp } from "./mcp.ts";
import { isCallers } from "./odd-values.ts";
import { Random } from "./random.ts";
import { rows } from "./rows.ts";
import type { Target } from "./target.ts";
import { tools } from "./tools.ts";

const TARGETS: Record<string, Target> = { importers, api, mcp, cli, tools, rows };

/** Inputs of one target, which share a store. */
export interface Job {
  target: string;
  seed: number;
  from: number;
  to: number;
}

export type Reply =
  | { kind: "ready" }
  | { kind: "untyped"; number: number; error: string }
  | { kind: "done"; rssMb: number };

const NUMBER_BYTES = 8;

async function run({ target: name, seed, from, to }: Job): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-fuzz-"));
  process.chdir(folder);
  const bytes = Buffer.alloc(NUMBER_BYTES);
  let number = from;
  const report = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    reply({ kind: "untyped", number, error: text });
  };
  // A promise of the caller's own that nobody waits for is the caller's. `run` must let Node find it before the next input.
  const onRejection = (error: unknown): void => void (isCallers(error) || report(error));
  process.on("unhandledRejection", onRejection);
  try {
    const target = await TARGETS[name]!.open(folder);
    for (; number < to; number++) {
      bytes.writeDoubleLE(number);
      writeSync(numberFile, bytes, 0, NUMBER_BYTES, 0);
      await target.feed(new Random(`${name}:${seed}:${number}`)).catch(report);
      await turn();
    }
    number -= 1;
    await target.close().catch(report);
    await turn();
  } finally {
    process.off("unhandledRejection", onRejection);
    process.chdir(tmpdir());
    rmSync(folder, { recursive: true, force: true });
  }
  // What is garbage must not look like a leak in the memory that the next job begins with.
  gc!();
  reply({ kind: "done", rssMb: process.resourceUsage().maxRSS / 1_024 });
}

function reply(message: Reply): void {
  process.send!(message);
}

// Before each input, its number is written to a file, where the parent finds it even after this process has died.
const numberFile = openSync(process.argv[2]!, "r+");
process.on("message", (job: Job) => void run(job));
reply({ kind: "ready" });
