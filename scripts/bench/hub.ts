import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { openHub } from "../../src/hub/index.ts";
import { openStore } from "../../src/index.ts";
import { cutEverywhere, WORKS } from "../hub/cuts.ts";
import { hubFaults } from "../hub/faults.ts";
import { forgetAgainstPushes } from "../hub/forget-race.ts";
import { hubSchedules } from "../hub/schedules.ts";
import { startHub } from "../hub/server.ts";
import { measurePull } from "./hub-pull.ts";
import { measureHubRecall } from "./hub-recall.ts";
import { measureHubVectors } from "./hub-vectors.ts";

const SESSIONS = 40;
const MESSAGES = 20_000;
const PULLED = 100_000;
const VECTORS = { clusters: 4_200, messages: 20_000 };
const SCHEDULES = 300;
/**
 * A run of all schedules fails if one of these never occurred. `expired` goes by the server's clock, which no schedule moves; the
 * tests of pushes have it.
 */
const REQUIRED_OUTCOMES = [
  ...["sent", "moved", "gone", "behind", "diverged"].map((name) => `push ${name}`),
  ...["new", "continued", "known", "continued with fork", "SESSION_DIVERGED", "SESSION_FORGOTTEN"].map(
    (name) => `pull ${name}`,
  ),
  ...["taken before a push", "taken after a push"],
];
const FORGET_ROUNDS = 200;
/** How often the connection is cut at each statement. */
const CUTS = 3;
const FAULTS = { backends: 60, crashes: 20, pushers: 60 };

/**
 * Measures a push to a server on this machine, a pull (see `measurePull`), and searches (see `measureHubRecall`). Counts what faults lose (see `hubFaults`) and what
 * is not right after a connection was cut (see `cutEverywhere`), and runs random schedules (see
 * `hubSchedules`) and forgetting against running pushes (see `forgetAgainstPushes`).
 *
 * @param only  `ingest`, `pull`, `recall`, `vectors`, `faults`, `cuts`, `schedules` or `forget`; by default all.
 * @returns `ingestPerSecond`: messages of a first push. `extraBytesPerMessage`: bytes on the hub beside the rows of messages and
 *   their key. `hubVectorShare`, `hubVectorMs`: see `measureHubVectors`. `faults`: backends, servers and pushers that ended; `lost`, `doubled` and `altered` count messages and facts.
 *   `cuts`, `cutsWrong`: connections that were cut, and those after which something was not right.
 *   `rowsLeft`, `wordsLeft` and `wordsInStores` count what is left of forgotten messages.
 */
export async function benchHub({
  only,
  seed = 1,
}: {
  only?: string | undefined;
  seed?: number | undefined;
} = {}): Promise<{ name: "hub"; figures: Record<string, number> }> {
  const figures: Record<string, number> = {};
  const [, part, first = 1, last = first === 1 ? SCHEDULES : first] = (
    /^(\w+)(?::(\d+)(?:-(\d+))?)?$/.exec(only ?? "") ?? []
  ).map((text, index) => (index > 1 && text !== undefined ? Number(text) : text)) as [
    string,
    string?,
    number?,
    number?,
  ];
  const isWanted = (name: string): boolean => part === undefined || part === name;
  if (isWanted("ingest")) Object.assign(figures, await measureIngest());
  if (isWanted("pull")) Object.assign(figures, await onServer((url) => measurePull(url, PULLED)));
  if (isWanted("recall")) Object.assign(figures, await inFolder(measureHubRecall));
  if (isWanted("vectors")) Object.assign(figures, await measureHubVectors(VECTORS.clusters, VECTORS.messages));
  if (isWanted("faults")) {
    const { backends, crashes, pushers, messages, lost, doubled, altered } = await hubFaults(FAULTS);
    const faults = backends + crashes + pushers;
    Object.assign(figures, { faults, faultMessages: messages, lost, doubled, altered });
  }
  if (isWanted("cuts")) Object.assign(figures, await onServer(countCuts));
  if (isWanted("schedules")) {
    const report = ({ message, cause }: Error): void => console.error(message, (cause as Error).stack);
    const range = { seed, from: first, to: last };
    const { schedules, steps, outcomes } = await onServer((url) => hubSchedules(url, range, report));
    const missing = REQUIRED_OUTCOMES.filter((name) => outcomes[name] === undefined);
    if (schedules >= SCHEDULES && missing.length > 0)
      throw new Error(`No schedule had the outcome ${missing.join(", ")}`);
    Object.assign(figures, { schedules, scheduleSteps: steps, ...outcomes });
  }
  if (isWanted("forget")) {
    const { rounds, ...left } = await onServer((url) => forgetAgainstPushes(url, FORGET_ROUNDS));
    Object.assign(figures, { forgetRounds: rounds, ...left });
  }
  return { name: "hub", figures };
}

async function countCuts(url: string): Promise<{ cuts: number; cutsWrong: number }> {
  const total = { cuts: 0, cutsWrong: 0 };
  for (let time = 0; time < CUTS; time++) {
    for (const name of Object.keys(WORKS) as (keyof typeof WORKS)[]) {
      const { cuts, wrong } = await cutEverywhere(url, name);
      for (const problem of wrong) console.error(problem);
      total.cuts += cuts;
      total.cutsWrong += wrong.length;
    }
  }
  return total;
}

async function inFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-hub-"));
  try {
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onServer<T>(run: (url: string) => Promise<T>): Promise<T> {
  const server = await startHub({ isDurable: false });
  try {
    return await run(server.url);
  } finally {
    await server.remove();
  }
}

async function measureIngest(): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-hub-"));
  const server = await startHub({ isDurable: true });
  const store = openStore(join(folder, "agent.db"));
  try {
    for (let number = 0; number < SESSIONS; number++) {
      const session = store.session(`session-${number}`, { project: "web" });
      for (let seq = 0; seq < MESSAGES / SESSIONS; seq += 50) {
        const contents = Array.from({ length: 50 }, (_, index) => textOf(number, seq + index));
        session.append(contents.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content })));
      }
    }
    const hub = await openHub(server.url);
    const [cpu, startedAt] = [process.cpuUsage(), performance.now()];
    const { messageCount } = await hub.push(store, { projects: ["web"] });
    const seconds = (performance.now() - startedAt) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    await hub.close();
    const client = new Client({ connectionString: server.url });
    await client.connect();
    const { rows } = await client.query<{ whole: string; messages: string }>(
      `SELECT sum(pg_total_relation_size(oid)) AS whole, sum(pg_relation_size(oid) + pg_relation_size('coppice.messages_pkey'))
         FILTER (WHERE relname = 'messages') AS messages
       FROM pg_class WHERE relnamespace = 'coppice'::regnamespace AND relkind = 'r'`,
    );
    await client.end();
    const [whole, own] = [Number(rows[0]!.whole), Number(rows[0]!.messages)];
    return {
      ingestPerSecond: Math.round(messageCount / seconds),
      clientCpuMicrosPerMessage: Math.round((user + system) / messageCount),
      bytesPerMessage: Math.round(own / messageCount),
      extraBytesPerMessage: Math.round((whole - own) / messageCount),
    };
  } finally {
    await server.remove();
    store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** About 850 characters, as messages of real conversations have on average. */
function textOf(session: number, seq: number): string {
  const words = ["deploy", "region", "lock", "failed", "index", "render", "config", "retry", "cluster", "migration"];
  const pick = (index: number): string => words[(session * 31 + seq * 7 + index * index) % words.length]!;
  return Array.from({ length: 95 }, (_, index) => `${pick(index)}${(seq * index) % 97}`).join(" ");
}
