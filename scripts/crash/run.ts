import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/index.ts";
import { randomFrom } from "../bench/messages.ts";
import { check } from "./check.ts";
import { compile } from "./compile.ts";
import { type Line, Promises } from "./promises.ts";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** The messages after which a new file is begun. Checking a larger file takes longer than working on it. */
const MESSAGES_MAX = 1_500;
/** The longest time that a process works before it is killed, in milliseconds. It makes some hundred changes in that time. */
const WORKING_MS_MAX = 250;
/** The longest time before a process is killed while it starts: before or while it opens the file. In milliseconds. */
const STARTING_MS_MAX = 400;
/** The share of processes that are killed while they start. */
const STARTING_SHARE = 0.2;

export interface CrashFigures extends Record<string, number> {
  seed: number;
  kills: number;
  files: number;
  /** Kills between the beginning of an append or a forget and its acknowledgement. */
  killsInWrite: number;
  /** Kills between the deletion of derived rows and the end of their rebuild. */
  killsInRebuild: number;
  /** Messages that were acknowledged before a kill. */
  acknowledged: number;
  lost: number;
  altered: number;
  /** Kills after which the file had half a transaction, a missing fact, or a finding of `verify`. */
  verifyFailures: number;
}

export interface CrashOptions {
  kills: number;
  /** Decides what the processes do and when they are killed. How far a process comes depends on the machine. */
  seed: number;
  /** Called after each kill. */
  onKill?: (figures: CrashFigures) => void;
  /** Called with each fault and the folder of its file, which is not deleted. */
  onFault?: (fault: string, folder: string) => void;
}

/**
 * Kills processes that work on a store, one after another, and compares the file with what they were promised.
 *
 * Each file is used until it is large; then a new one is begun. A file with a fault is not deleted.
 *
 * @throws {Error} if a process ends by itself.
 */
export async function crash({ kills, seed, onKill, onFault }: CrashOptions): Promise<CrashFigures> {
  const random = randomFrom(seed);
  const figures: CrashFigures = {
    seed,
    kills: 0,
    files: 0,
    killsInWrite: 0,
    killsInRebuild: 0,
    acknowledged: 0,
    lost: 0,
    altered: 0,
    verifyFailures: 0,
  };
  const worker = compile(WORKER);
  try {
    while (figures.kills < kills) {
      const folder = mkdtempSync(join(tmpdir(), "coppice-crash-"));
      const path = join(folder, "agent.db");
      const promises = new Promises();
      const faults: string[] = [];
      figures.files += 1;
      while (figures.kills < kills && promises.messageCount < MESSAGES_MAX && faults.length === 0) {
        const countBefore = promises.messageCount;
        await workUntilKilled([worker.path, path, String(Math.floor(random() * 2 ** 32))], promises, random);
        figures.kills += 1;
        figures.acknowledged += promises.messageCount - countBefore;
        if (promises.changing !== undefined) figures.killsInWrite += 1;
        if (promises.isDamaged) figures.killsInRebuild += 1;
        const store = openStore(path);
        const verdict = check(store, promises);
        store.close();
        figures.lost += verdict.lost;
        figures.altered += verdict.altered;
        if (verdict.isUnsound) figures.verifyFailures += 1;
        faults.push(...verdict.faults);
        promises.startOver(verdict.counts);
        onKill?.(figures);
      }
      for (const fault of faults) onFault?.(fault, folder);
      if (faults.length === 0) rmSync(folder, { recursive: true });
    }
    return figures;
  } finally {
    worker.remove();
  }
}

async function workUntilKilled(args: string[], promises: Promises, random: () => number): Promise<void> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  const isEarly = random() < STARTING_SHARE;
  const delayMs = random() * (isEarly ? STARTING_MS_MAX : WORKING_MS_MAX);
  const killing = isEarly ? killAfter(child, delayMs) : undefined;
  // `readline` yields the last line even if the kill cut it short. Its content was not acknowledged.
  for await (const line of createInterface({ input: child.stdout! })) {
    const heard = lineOf(line);
    if (heard === undefined) break;
    promises.hear(heard);
    if (heard.say === "open" && !isEarly) void killAfter(child, delayMs);
  }
  await killing;
  const [exitCode, signal] = await closed;
  if (signal !== "SIGKILL")
    throw new Error(`The process should work until it is killed, but it ended with ${exitCode}.`);
}

async function killAfter(child: ChildProcess, ms: number): Promise<void> {
  await sleep(ms);
  child.kill("SIGKILL");
}

function lineOf(text: string): Line | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
