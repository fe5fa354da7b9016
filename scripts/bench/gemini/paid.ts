import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openStore, type Store } from "../../../src/index.ts";
import { answerTo } from "../../../test/support/gemini-model.ts";
import { type RecordedRequest, type Reply, startGeminiServer } from "../../../test/support/gemini-server.ts";
import { randomFrom } from "../messages.ts";
import { LATENCY_MS } from "./speed.ts";

const PAID_CHILD = fileURLToPath(new URL("./paid-child.ts", import.meta.url));
const KILLS = 50;
const KILL_AFTER_MS = 900;
const STOP_MS = 20;
/** The other process is suspended before each of these kills, for longer than its claims last by the clock of the child. */
const SLOW_EVERY = 10;
const SLOW_MS = 6_000;

/** A reply that the service has been paid for. */
export interface Payment {
  /** The key of the process that asked. */
  owner: string;
  content: string;
}

/**
 * Lets two processes resolve the sessions of one store. One of them also appends. The other is killed again and again, at random
 * moments after its first call, and started again. Sometimes the first process is suspended before a kill, as if the
 * machine were overloaded.
 *
 * @returns `paidTwice`: the number of requests that were sent before, word for word, plus findings of `verify` and
 *   duplicate summaries. For each claim that a killed process left behind, one repeated request is not counted.
 */
export async function paidFigures(kills = KILLS): Promise<{ paidTwice: number }> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-"));
  const payments: Payment[] = [];
  const model: Reply = { afterMs: LATENCY_MS, reply: { says: (request) => paid(payments, request) } };
  const server = await startGeminiServer(model);
  const path = join(folder, "agent.db");
  openStore(path).close();
  const children = new Set<ChildProcess>();
  const start = (owner: string, role: "appends" | "resolves"): ChildProcess => {
    const args = ["--import", "tsx", PAID_CHILD, path, server.url, owner, role, String(startedAtMs)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    children.add(child);
    return child;
  };
  const startedAtMs = Date.now();
  const store = openStore(path, { readonly: true });
  try {
    const random = randomFrom(1);
    const survivor = start("survivor", "appends");
    const seen = new Set<string>();
    while (seen.size === 0) {
      await sleep(5);
      for (const claimant of claims(store).keys()) seen.add(claimant);
    }
    const leftBy = new Map<string, number>();
    for (let number = 0; number < kills; number++) {
      const owner = `killed-${number}`;
      const child = start(owner, "resolves");
      while (!server.requests.some((request) => keyOf(request) === owner)) {
        if (child.exitCode !== null || survivor.exitCode !== null) throw new Error("a process ended by itself");
        await sleep(5);
      }
      if (number % SLOW_EVERY === 0) {
        survivor.kill("SIGSTOP");
        await sleep(SLOW_MS);
        survivor.kill("SIGCONT");
      }
      await sleep(random() * KILL_AFTER_MS);
      // The process is suspended first, because the other one takes the claims of a dead process at once.
      child.kill("SIGSTOP");
      await sleep(STOP_MS);
      leftBy.set(owner, claimsOfNew(claims(store), seen));
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    survivor.kill("SIGKILL");
    await once(survivor, "exit");
    await sleep(2 * LATENCY_MS); // calls under way are paid for, too
    const twice = paidTwice(payments, leftBy);
    console.error(`${payments.length} calls, ${kills} kills; again after a kill: ${twice.afterKill}.`);
    return { paidTwice: twice.needlessly + faultsOf(path) };
  } finally {
    store.close();
    for (const child of children) child.kill("SIGKILL");
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

function paid(payments: Payment[], request: RecordedRequest): string {
  const prompt = (request.body.contents ?? []).flatMap(({ parts }) => parts.map(({ text = "" }) => text)).join("\n");
  payments.push({ owner: keyOf(request), content: prompt });
  return answerTo(prompt);
}

function keyOf({ headers }: RecordedRequest): string {
  return String(headers["x-goog-api-key"]);
}

/** Returns the number of calls under way, by claimant. */
function claims(store: Store): Map<string, number> {
  const rows = store.query("SELECT claimant, count(*) AS n FROM summaries WHERE status = 'claimed' GROUP BY claimant");
  return new Map(rows.map(({ claimant, n }) => [String(claimant), Number(n)]));
}

/** Counts the claims of claimants that were not seen before, and adds these to `seen`. */
function claimsOfNew(standing: ReadonlyMap<string, number>, seen: Set<string>): number {
  let count = 0;
  for (const [claimant, claimed] of standing) {
    if (!seen.has(claimant)) count += claimed;
    seen.add(claimant);
  }
  return count;
}

/**
 * Counts the payments for requests that were paid for before: those that a kill explains, and those that were needless.
 *
 * @param payments  The payments in order of time.
 * @param leftBy  The number of claims that each killed process left behind, by owner.
 */
export function paidTwice(
  payments: readonly Payment[],
  leftBy: ReadonlyMap<string, number>,
): { afterKill: number; needlessly: number } {
  const left = new Map(leftBy);
  const ownerOf = new Map<string, string>();
  const counts = { afterKill: 0, needlessly: 0 };
  for (const { owner, content } of payments) {
    const before = ownerOf.get(content);
    ownerOf.set(content, owner);
    if (before === undefined) continue;
    const claims = left.get(before) ?? 0;
    left.set(before, claims - 1);
    if (claims > 0) counts.afterKill++;
    else counts.needlessly++;
  }
  return counts;
}

function faultsOf(path: string): number {
  const store = openStore(path);
  try {
    const same = store.query(
      "SELECT count(*) AS n FROM summaries WHERE status = 'done' AND stands_in = 0 GROUP BY root_id, log_position HAVING n > 1",
    );
    return store.verify().problemCount + same.length;
  } finally {
    store.close();
  }
}
