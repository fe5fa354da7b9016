import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { grantTeam } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { type Hub, openHub } from "../../src/hub/index.ts";
import { openStore, type RecallHit, type Store } from "../../src/index.ts";
import type { PostgresServer } from "../../test/support/postgres.ts";
import { startHub } from "../hub/server.ts";
import { median, quantile, take } from "./messages.ts";
import { questions } from "./recall-questions.ts";
import { projectOf, SESSIONS, sessionOf } from "./recall-store.ts";

const MESSAGES = 200_000;
const APPENDED_AT_ONCE = 100;
const QUESTIONS = 300;
/** Asked before any question is timed, so that code is compiled. The first of them also fetches the segments. */
const WARMING = 60;
const SEED = 1;
/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

/**
 * Pushes messages of real length in 500 sessions of eight projects to a hub, merges its word index, and asks the questions of
 * `bench -- recall` there and in the store, in turn. The hub is asked by a role that row-level security filters.
 *
 * @returns Milliseconds of whole calls; `hubRecallFirstMs`: of the first, which fetches the segments. `hubRecallSame`: the share of
 *   the questions without a project that have the same hits with the same scores. (For one of several projects, a store weighs words
 *   by all of its messages, and a hub by those of the project.) `hubRecallClientMs`, `hubRecallBackendMs`: processor time of a question here
 *   and in the server. `hubKeepMicrosPerMessage`: processor time of the keeper here.
 */
export async function measureHubRecall(folder: string, messageCount = MESSAGES): Promise<Record<string, number>> {
  const store = storeOf(join(folder, "recall.db"), messageCount);
  const server = await startHub({ isDurable: false });
  try {
    const admin = await HubConnection.to(server.url);
    await admin.transaction((client) => client.query("CREATE ROLE reader LOGIN"));
    await grantTeam(admin, "reader", "web", "read");
    const keeper = await openHub(server.url);
    await keeper.push(store, { projects: projects() });
    const keepFrom = process.cpuUsage();
    await keeper.keep();
    const keeping = process.cpuUsage(keepFrom);
    await keeper.close();
    await admin.transaction((client) => client.query("ANALYZE"));
    await admin.close();
    const url = new URL(server.url);
    url.username = "reader";
    const hub = await openHub(url.href);
    try {
      const hubKeepMicrosPerMessage = Math.round((keeping.user + keeping.system) / messageCount);
      return { ...(await asked(hub, store, server)), hubKeepMicrosPerMessage };
    } finally {
      await hub.close();
    }
  } finally {
    await server.remove();
    store.close();
  }
}

function projects(): string[] {
  return [...new Set(Array.from({ length: SESSIONS }, (_, number) => projectOf(number)))];
}

function storeOf(path: string, messageCount: number): Store {
  const store = openStore(path);
  for (let number = 0; number < SESSIONS; number++) {
    const session = store.session(`session-${number}`, { project: projectOf(number) });
    const messages = sessionOf(number);
    for (let left = messageCount / SESSIONS; left > 0; left -= APPENDED_AT_ONCE) {
      session.append(take(messages, Math.min(left, APPENDED_AT_ONCE)));
    }
  }
  return store;
}

async function asked(hub: Hub, store: Store, server: PostgresServer): Promise<Record<string, number>> {
  const [local, remote]: [number[], number[]] = [[], []];
  let [comparedCount, sameCount, clientMicros, backendFrom] = [0, 0, 0, 0];
  for (const [index, { text, options }] of questions(WARMING + QUESTIONS, SEED).entries()) {
    if (index === WARMING) [clientMicros, backendFrom] = [0, backendMs(server)];
    const from = performance.now();
    const own = await store.recall(text, options);
    const [between, cpu] = [performance.now(), process.cpuUsage()];
    const found = await hub.recall(text, options);
    const { user, system } = process.cpuUsage(cpu);
    local.push(between - from);
    remote.push(performance.now() - between);
    clientMicros += user + system;
    if (options.project !== undefined) continue;
    const scoresOf = (hits: readonly RecallHit[]) => hits.map(({ messageId, score }) => `${messageId} ${score}`).join();
    comparedCount += 1;
    if (scoresOf(own) === scoresOf(found)) sameCount += 1;
  }
  const backend = backendMs(server) - backendFrom;
  const first = remote[0]!;
  for (const times of [local, remote]) times.splice(0, WARMING);
  const rounded = (ms: number): number => Math.round(10 * ms) / 10;
  return {
    hubRecallP50Ms: rounded(median(remote)),
    hubRecallP95Ms: rounded(quantile(remote, 0.95)),
    hubRecallFirstMs: rounded(first),
    hubRecallClientMs: rounded(clientMicros / 1_000 / QUESTIONS),
    hubRecallBackendMs: rounded(backend / QUESTIONS),
    localRecallP50Ms: rounded(median(local)),
    localRecallP95Ms: rounded(quantile(local, 0.95)),
    hubRecallSame: sameCount / comparedCount,
  };
}

/** Processor time of all processes of a server, in milliseconds. NaN where there is no `/proc`. */
export function backendMs({ folder }: Pick<PostgresServer, "folder">): number {
  try {
    const [postmaster] = readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n");
    let ticks = 0;
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      const [, parent, ...fields] = statOf(pid) ?? [];
      const [own, ended] = [Number(fields[9]) + Number(fields[10]), Number(fields[11]) + Number(fields[12])];
      if (parent === postmaster || pid === postmaster) ticks += own;
      if (pid === postmaster) ticks += ended; // processes of the server that are over
    }
    return ticks * TICK_MS;
  } catch {
    return Number.NaN;
  }
}

/** What `/proc/PID/stat` says after the name: the state, the parent, and so on. Undefined if the process has ended. */
function statOf(pid: string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}
