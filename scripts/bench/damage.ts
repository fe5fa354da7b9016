import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Progress } from "../progress.ts";
import type { Outcome, Work } from "./damage/child.ts";
import { writeStore } from "./damage/store.ts";

const CHILD = fileURLToPath(new URL("./damage/child.ts", import.meta.url));
const COPIES = 3_000;
/** The longest time that one copy may take, in milliseconds. */
const COPY_MS_MAX = 60_000;

export interface DamageFigures extends Record<string, number> {
  copies: number;
  /** Copies of which a read showed a text, a name, a time or an order of messages that was not stored, without an error. */
  wrongShown: number;
  /** Copies of which a read showed only what was stored, and not all of it, or other numbers, without an error. */
  missing: number;
  /** Copies in which `verify` found something. */
  found: number;
  /** Copies of which a read differed, without an error, and in which `verify` found nothing. */
  unfound: number;
  /** Copies of which a read failed with an error that is not the store's own. */
  untyped: number;
  /** Copies that ended the process, or kept it busy for a minute. */
  crashes: number;
  /** Copies in which `verify({ rebuild: true })` found no problem left although a read still differs. */
  notHealed: number;
  /** Reads that failed with an error of the store. */
  refusedReads: number;
}

/**
 * Reads damaged copies of a store in every way that programs can, and compares the answers with those of the original.
 *
 * @param isByColumn  Hits all columns equally often. Most bytes are text, so random bits seldom hit a column of small numbers.
 * @param source  A file that `writeStore` has written; by default a new one.
 */
export async function benchDamage(
  copies = COPIES,
  {
    seed = 0,
    isByColumn = false,
    source = "",
    onFault = (fault: string) => console.error(fault),
  }: { seed?: number | undefined; isByColumn?: boolean; source?: string; onFault?: (fault: string) => void } = {},
): Promise<{ name: "damage"; figures: DamageFigures }> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-damage-"));
  const figures: DamageFigures = {
    ...{ copies: 0, wrongShown: 0, missing: 0, found: 0, unfound: 0 },
    ...{ untyped: 0, crashes: 0, notHealed: 0, refusedReads: 0 },
  };
  const work = { source: source || join(folder, "own.db"), target: join(folder, "copy.db") };
  const progress = new Progress("copies", copies);
  const count = (outcome: Outcome): void => {
    figures.copies += 1;
    progress.reach(figures.copies);
    figures.found += Number(outcome.isFound);
    figures.refusedReads += outcome.refusedCount;
    for (const [figure, reads] of [
      ["wrongShown", outcome.wrong],
      ["missing", outcome.missing],
      ["unfound", outcome.isFound ? [] : [...outcome.wrong, ...outcome.missing]],
      ["untyped", outcome.untyped],
      ["notHealed", outcome.notHealed],
    ] as const) {
      if (reads.length === 0) continue;
      figures[figure] += 1;
      onFault(`${figure}, copy ${outcome.seed} (${outcome.damage}): ${[...new Set(reads)].join("; ")}`);
    }
  };
  try {
    if (source === "") await writeStore(work.source);
    for (let next = seed; next < seed + copies; ) {
      next = await readCopies({ ...work, isByColumn, seedFrom: next, seedTo: seed + copies }, count);
      if (next === seed + copies) break;
      onFault(`crash, copy ${next}`);
      figures.copies += 1;
      figures.crashes += 1;
      next += 1;
    }
    progress.end();
    return { name: "damage", figures };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Lets a process read copies. @returns the seed of the copy at which it died, or the end of the range. */
async function readCopies(work: Work, count: (outcome: Outcome) => void): Promise<number> {
  const child: ChildProcess = fork(CHILD, {
    execArgv: ["--import", "tsx"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  let next = work.seedFrom;
  let watchdog: NodeJS.Timeout | undefined;
  child.on("message", (outcome: Outcome) => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => child.kill("SIGKILL"), COPY_MS_MAX);
    count(outcome);
    next = outcome.seed + 1;
  });
  child.send(work);
  await once(child, "exit");
  clearTimeout(watchdog);
  return next;
}
