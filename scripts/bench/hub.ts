import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { follow, openHub } from "../../src/hub/index.ts";
import { openStore, type Store } from "../../src/index.ts";
import { cutEverywhere, WORKS } from "../hub/cuts.ts";
import { hubFaults } from "../hub/faults.ts";
import { startHub } from "../hub/server.ts";
import { sessionMessages, take } from "./messages.ts";

const SESSIONS = 40;
const APPENDED = 100;
const LENGTHS = [1_000, 40_000];
const SINGLE_PUSHES = 15;
/** How often the connection is cut at each statement. */
const CUTS = 3;
const FAULTS = { backends: 60, crashes: 20, pushers: 60 };
const QUESTIONS = ["why did the deploy fail", "config retry", "which index was wrong", "render cluster migration lock"];

/**
 * Measures pushing, following and searching with a server on this machine. Counts what faults lose (see `hubFaults`) and what is not
 * right after a connection was cut (see `cutEverywhere`).
 *
 * @param only  `push`, `follow`, `everywhere`, `faults` or `cuts`; by default all.
 * @param messages  How many are followed and searched.
 * @returns `ingestMicros`: processor time of a first push, a message. `bytesPerMessage`: of the hub's tables. `pushMs…`: a push of one
 *   message to a session of this length, the median. `followCpuSeconds`, `followRssMb`: to copy all messages into an empty store.
 *   `storeBytesPerMessage`: what they take there. `syncMs`: a sync with nothing new. `everywhereMs`: the slowest search.
 *   `wordsBytesPerMessage`: the word index. `cuts`, `cutsWrong`: connections that were cut, and those after which something was not right.
 */
export async function benchHub({
  only,
  messages = 100_000,
}: {
  only?: string | undefined;
  messages?: number | undefined;
} = {}): Promise<{ name: "hub"; figures: Record<string, number> }> {
  const figures: Record<string, number> = {};
  const isWanted = (name: string): boolean => only === undefined || only === name;
  if (isWanted("push")) Object.assign(figures, await inFolder(measurePushes));
  if (isWanted("follow") || isWanted("everywhere")) {
    Object.assign(figures, await inFolder((url, folder) => measureTeam(url, folder, messages, isWanted)));
  }
  if (isWanted("faults")) {
    const { backends, crashes, pushers, messages, lost, doubled, altered } = await hubFaults(FAULTS);
    const faults = backends + crashes + pushers;
    Object.assign(figures, { faults, faultMessages: messages, lost, doubled, altered });
  }
  if (isWanted("cuts")) Object.assign(figures, await inFolder(countCuts));
  return { name: "hub", figures };
}

async function countCuts(url: string): Promise<{ cuts: number; cutsWrong: number }> {
  const total = { cuts: 0, cutsWrong: 0 };
  for (let time = 0; time < CUTS; time++) {
    for (const name of Object.keys(WORKS) as (keyof typeof WORKS)[]) {
      const { cuts, wrong } = await cutEverywhere({ url, team: "web" }, name);
      for (const problem of wrong) console.error(problem);
      total.cuts += cuts;
      total.cutsWrong += wrong.length;
    }
  }
  return total;
}

async function inFolder<T>(run: (url: string, folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-hub-"));
  const server = await startHub({ isDurable: true });
  try {
    return await run(server.url, folder);
  } finally {
    await server.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

function grow(store: Store, id: string, count: number, said: ReturnType<typeof sessionMessages>): void {
  const session = store.session(id, { project: "web" });
  for (let seq = 0; seq < count; seq += APPENDED) session.append(take(said, Math.min(APPENDED, count - seq)));
}

async function measurePushes(url: string, folder: string): Promise<Record<string, number>> {
  const store = openStore(join(folder, "agent.db"));
  const hub = await openHub(url);
  const figures: Record<string, number> = {};
  const said = sessionMessages(1);
  for (const length of LENGTHS) {
    const id = `of-${length}`;
    grow(store, id, length, said);
    await hub.push(store, { sessions: [id] });
    const times: number[] = [];
    for (let count = 0; count < SINGLE_PUSHES; count++) {
      grow(store, id, 1, said);
      const startedAt = performance.now();
      await hub.push(store, { sessions: [id] });
      times.push(performance.now() - startedAt);
    }
    figures[`pushMs${length}`] = times.sort((left, right) => left - right)[Math.floor(SINGLE_PUSHES / 2)]!;
  }
  await hub.close();
  store.close();
  return figures;
}

async function measureTeam(
  url: string,
  folder: string,
  messages: number,
  isWanted: (name: string) => boolean,
): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  const home = openStore(join(folder, "home.db"));
  for (let number = 0; number < SESSIONS; number++) {
    grow(home, `session-${number}`, messages / SESSIONS, sessionMessages(number));
  }
  const hub = await openHub(url);
  const pushing = process.cpuUsage();
  await hub.push(home, { projects: ["web"] });
  figures.ingestMicros = microsSince(pushing) / messages;
  figures.bytesPerMessage = (await sizeOf(url, ["log", "sessions"])) / messages;
  home.close();
  if (isWanted("follow")) {
    const away = openStore(join(folder, "away.db"));
    follow(away, "web");
    const following = process.cpuUsage();
    let rss = 0;
    await hub.sync(away, { onProgress: () => (rss = Math.max(rss, process.memoryUsage.rss())) });
    figures.followCpuSeconds = microsSince(following) / 1e6;
    figures.followRssMb = rss / 1e6;
    const startedAt = performance.now();
    await hub.sync(away);
    figures.syncMs = performance.now() - startedAt;
    const [size] = away.query("SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()");
    figures.storeBytesPerMessage = (size!.bytes as number) / messages;
    away.close();
  }
  if (isWanted("everywhere")) {
    const admin = await HubConnection.to(url, "web");
    await initHub(admin, "web", true);
    await admin.close();
    figures.wordsBytesPerMessage = (await sizeOf(url, ["words"])) / messages;
    figures.everywhereMs = 0;
    for (const question of QUESTIONS) {
      await hub.everywhere(question);
      const startedAt = performance.now();
      await hub.everywhere(question);
      figures.everywhereMs = Math.max(figures.everywhereMs, performance.now() - startedAt);
    }
  }
  await hub.close();
  return figures;
}

function microsSince(cpu: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(cpu);
  return user + system;
}

async function sizeOf(url: string, tables: readonly string[]): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const names = tables.map((table) => `pg_total_relation_size('coppice_web.${table}')`);
  const { rows } = await client.query<{ bytes: string }>(`SELECT ${names.join(" + ")} AS bytes`);
  await client.end();
  return Number(rows[0]!.bytes);
}
