import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { openHub } from "../../src/hub/index.ts";
import { openStore, type Store } from "../../src/index.ts";
import type { PostgresServer } from "../../test/support/postgres.ts";
import { saidIn } from "./cuts.ts";
import { startHub } from "./server.ts";

const CHILD = fileURLToPath(new URL("./pusher-child.ts", import.meta.url));
const SESSIONS = 12;
const PUSHERS = 2;

/** How often each happens at least. */
export interface FaultCounts {
  /** Backends of the server that are terminated while they serve a pusher. */
  backends: number;
  /** Times that all processes of the server end at once. */
  crashes: number;
  /** Pushers that are killed. */
  pushers: number;
}

export interface FaultFigures extends FaultCounts {
  messages: number;
  /** Messages of the store that the hub lacks. */
  lost: number;
  /** Messages that the hub has twice, or that no store has. */
  doubled: number;
  /** Messages that are in another place. */
  altered: number;
  seconds: number;
}

/** While sessions grow, two processes push them, and all that can break breaks. In the end every fact is compared. */
export async function hubFaults(wanted: FaultCounts): Promise<FaultFigures> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "coppice-hub-faults-"));
  const path = join(folder, "agent.db");
  const server = await startHub({ isDurable: true });
  const store = openStore(path, { busyTimeoutMs: 60_000 });
  const pushers = new Set<ChildProcess>();
  try {
    const done: FaultCounts = { backends: 0, crashes: 0, pushers: 0 };
    const start = (): void => {
      const child = spawn(process.execPath, [...process.execArgv, CHILD, path, server.url], {
        stdio: ["pipe", "ignore", "inherit"],
      });
      pushers.add(child);
      child.on("exit", () => pushers.delete(child));
    };
    append(store, 0);
    for (let number = 0; number < PUSHERS; number++) start();
    let round = 0;
    for (
      ;
      Object.keys(wanted).some((kind) => done[kind as keyof FaultCounts] < wanted[kind as keyof FaultCounts]);
      round++
    ) {
      append(store, round);
      await wait(Math.random() * 120);
      if (done.backends < wanted.backends) done.backends += await terminateBackend(server);
      const isDue = (kind: "crashes" | "pushers"): boolean => done[kind] < wanted[kind] && Math.random() < 0.5;
      if (round % 4 === 1 && isDue("pushers")) {
        const [child] = pushers;
        if (child !== undefined) {
          child.kill("SIGKILL");
          await once(child, "exit");
          done.pushers += 1;
        }
      }
      if (round % 12 === 7 && isDue("crashes")) {
        await server.crash();
        append(store, round);
        await server.start();
        done.crashes += 1;
      }
      while (pushers.size < PUSHERS) start();
    }
    for (const child of pushers) child.stdin!.end();
    while (pushers.size > 0) await wait(50);
    const hub = await openHub(server.url);
    await hub.push(store, { projects: ["web"] });
    await hub.close();
    const seconds = (performance.now() - startedAt) / 1_000;
    return { ...done, ...(await compare(server.url, store)), seconds };
  } finally {
    for (const child of pushers) child.kill("SIGKILL");
    await server.remove();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function append(store: Store, round: number): void {
  for (let number = 0; number < SESSIONS; number++) {
    const session = store.session(`session-${number}`, { project: "web" });
    const text = `round ${round} of session ${number}: ${"the deploy of the region failed ".repeat((round * 7 + number) % 40)}`;
    session.append([
      { role: "user", content: text },
      { role: "assistant", content: `Answer to ${text}` },
    ]);
  }
}

/** Terminates a backend that is in a transaction of a pusher. @returns how many: 0 or 1. */
async function terminateBackend(server: PostgresServer): Promise<number> {
  const client = new Client({ connectionString: server.url });
  try {
    await client.connect();
    const { rowCount } = await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'coppice' AND xact_start IS NOT NULL ORDER BY random() LIMIT 1`,
    );
    return rowCount!;
  } finally {
    await client.end();
  }
}

async function compare(url: string, store: Store) {
  const figures = { messages: 0, lost: 0, doubled: 0, altered: 0 };
  const [hub, reader] = [await openHub(url), openStore(":memory:")];
  for (let number = 0; number < SESSIONS; number++) {
    const id = `session-${number}`;
    await hub.pull(reader, id);
    const [here, there] = [saidIn(store, id), saidIn(reader, id)];
    const [own, theirs] = [new Set(here), new Set(there)];
    figures.messages += here.length;
    figures.lost += here.filter((line) => !theirs.has(line)).length;
    figures.doubled += there.length - theirs.size + there.filter((line) => !own.has(line)).length;
    figures.altered += here.filter((line, index) => there[index] !== line).length;
  }
  await hub.close();
  reader.close();
  return figures;
}
