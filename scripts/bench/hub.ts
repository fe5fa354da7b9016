import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { follow, openHub } from "../../src/hub/index.ts";
import { encodeBody } from "../../src/hub/log.ts";
import { type MessageInput, openStore, type Store } from "../../src/index.ts";
import type { SessionEvent } from "../../src/session/moving/copies.ts";
import { compile } from "../crash/compile.ts";
import { cutEverywhere, WORKS } from "../hub/cuts.ts";
import { hubFaults } from "../hub/faults.ts";
import { startHub } from "../hub/server.ts";
import { sessionMessages, take } from "./messages.ts";
import { questions } from "./recall-questions.ts";
import { SESSIONS, sessionOf } from "./recall-store.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const APPENDED = 100;
/** So many messages are pushed by a store. What is followed beyond is put on the hub. */
const PUSHED_MAX = 100_000;
const LENGTHS = [1_000, 40_000];
const SINGLE_PUSHES = 15;
/** How often the connection is cut at each statement. */
const CUTS = 3;
const FAULTS = { backends: 60, crashes: 20, pushers: 60 };
const QUESTIONS = 20;
/** How often a command runs; the median counts. */
const RUNS = 5;

/**
 * Measures pushing, following and searching with a server on this machine. Counts what faults lose (see `hubFaults`) and what is not
 * right after a connection was cut (see `cutEverywhere`).
 *
 * @param only  `push`, `follow`, `everywhere`, `faults` or `cuts`, or several with commas between; by default all.
 * @param messages  How many are followed and searched.
 * @returns `ingestMicros`: processor time of a first push, a message. `bytesPerMessage`: of the hub's tables. `pushMs…`: a push of one
 *   message to a session of this length, the median. `followCpuSeconds`, `followRssMb`: to copy all messages into an empty store.
 *   `storeBytesPerMessage`: what they take there. `syncMs`: a sync with nothing new. `recallMs`: an answer from what is followed.
 *   `recallCommandMs`, `fileCommandMs`, `recapCommandMs`: of a process. `everywhereMs`: a search. All are medians, and `…Max` the slowest.
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
  const isWanted = (name: string): boolean => only === undefined || only.split(",").includes(name);
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

function grow(store: Store, id: string, count: number, said: Generator<MessageInput>): void {
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
    figures[`pushMs${length}`] = middleOf(times);
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
  const perSession = messages / SESSIONS;
  const pushedCount = Math.min(messages, PUSHED_MAX) / perSession;
  for (let number = 0; number < pushedCount; number++) grow(home, `session-${number}`, perSession, sessionOf(number));
  const hub = await openHub(url);
  const pushing = process.cpuUsage();
  const { messageCount } = await hub.push(home, { projects: ["web"] });
  figures.ingestMicros = microsSince(pushing) / messageCount;
  for (let number = pushedCount; number < SESSIONS; number++) await insert(url, number, perSession);
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
    Object.assign(figures, await measureAnswers(away));
    away.close();
    Object.assign(figures, measureCommands(away.path));
  }
  if (isWanted("everywhere")) {
    const admin = await HubConnection.to(url, "web");
    await initHub(admin, "web", true);
    await admin.close();
    figures.wordsBytesPerMessage = (await sizeOf(url, ["words"])) / messages;
    const times = await timesOf((question) => hub.everywhere(question));
    figures.everywhereMs = middleOf(times);
    figures.everywhereMsMax = Math.max(...times);
  }
  await hub.close();
  return figures;
}

/** Gives a hub a session that no store here has. */
async function insert(url: string, number: number, count: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const nothing = { metadata: null, source: null, parent: null, forkSeq: null, settings: {}, items: [] };
  const head = encodeBody({ title: `Session ${number}`, createdAtMs: Date.now(), ...nothing });
  const { rows } = await client.query<{ no: number }>(
    `INSERT INTO coppice_web.sessions (origin, session_id, holder, project, head, length, message_count, last_at_ms)
     SELECT id, $1, id, 'web', $2, $3, $3, $4 FROM gen_random_uuid() AS id RETURNING session_no AS no`,
    [`session-${number}`, head, count, Date.now()],
  );
  const said = sessionOf(number);
  for (let n = 0; n < count; n += APPENDED) {
    const events = take(said, Math.min(APPENDED, count - n)).map(({ role, content, parts }) => {
      const said = parts ?? [{ type: "text" as const, text: content as string }];
      return { message: { role, parts: said, createdAtMs: Date.now() } };
    });
    const sql = "INSERT INTO coppice_web.log (session_no, n, body) VALUES ($1, $2, $3)";
    await client.query(sql, [rows[0]!.no, n, encodeBody(events as SessionEvent[])]);
  }
  await client.end();
}

/** Asks each question twice, and returns the times of the second answers in milliseconds. */
async function timesOf(ask: (question: string) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (const { text } of questions(QUESTIONS, 4)) {
    await ask(text);
    const startedAt = performance.now();
    await ask(text);
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function measureAnswers(store: Store): Promise<Record<string, number>> {
  const times = await timesOf((question) => store.recall(question));
  return { recallMs: middleOf(times), recallMsMax: Math.max(...times) };
}

/** Runs commands in processes of their own on a store. */
function measureCommands(path: string): Record<string, number> {
  const compiled = compile(MAIN);
  const commands = { recall: questions(1, 4)[0]!.text, file: readPath(), recap: undefined };
  const figures: Record<string, number> = {};
  for (const [command, argument] of Object.entries(commands)) {
    const args = [compiled.path, command, "--db", path, ...(argument === undefined ? [] : [argument])];
    const times = Array.from({ length: RUNS }, () => {
      const startedAt = performance.now();
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
      if (status !== 0) throw new Error(stderr);
      return performance.now() - startedAt;
    });
    figures[`${command}CommandMs`] = middleOf(times);
  }
  compiled.remove();
  return figures;
}

/** A file that a session has read. */
function readPath(): string {
  const parts = take(sessionOf(7), 50).flatMap(({ parts = [] }) => parts);
  const call = parts.find((part) => part.type === "tool_call")!;
  return (call.args as { path: string }).path;
}

function middleOf(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)]!;
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
