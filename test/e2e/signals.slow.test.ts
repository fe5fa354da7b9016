import { execFileSync } from "node:child_process";
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { randomFrom } from "../../scripts/bench/messages.ts";
import { openStore } from "../../src/index.ts";
import { CliFolder, longSession } from "../support/cli.ts";
import { RawClient } from "../support/mcp.ts";
import { letterEmbedder } from "../support/other-embedders.ts";

/**
 * Goal: SIGINT and SIGTERM end every command soon, at any moment, with nothing lost and nothing left behind.
 * Method: start the real command line, signal it after a random time, look at what is left, and run it again to its end.
 */

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
type Signal = (typeof SIGNALS)[number];

/** How often each command gets each signal: with COPPICE_ROUNDS=20 and COPPICE_SEED=random, a long search. */
const ROUNDS = Number(process.env.COPPICE_ROUNDS ?? 1);

/** A command that is told to end needs at most two seconds. A loaded machine takes longer. */
const END_MS_MAX = 6_000;

const seed = process.env.COPPICE_SEED;
const random = randomFrom(seed === "random" ? Date.now() : Number(seed ?? 1));

const SESSIONS = 20;
const MESSAGES = 40;
const ALL = SESSIONS * MESSAGES;
const source = new CliFolder();
const transcripts = join(source.path, "transcripts");

beforeAll(async () => {
  mkdirSync(transcripts);
  for (let index = 0; index < SESSIONS; index++) {
    const lines = longSession(`s${index}`, MESSAGES).map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(join(transcripts, `s${index}.jsonl`), lines.join(""));
  }
  await source.json("import", transcripts);
});

/** A folder with a store in which all transcripts are. */
function filled(): CliFolder {
  const folder = new CliFolder();
  copyFileSync(source.db, folder.db);
  return folder;
}

/**
 * Signals a command at a random time, and expects no temporary file of it. Returns its output and its exit code, or the signal if it
 * did not handle it yet.
 */
async function signalled(
  folder: CliFolder,
  args: readonly string[],
  signal: Signal,
  msMax: number,
  use = (_: Running) => {},
) {
  const TMPDIR = join(folder.path, "tmp");
  mkdirSync(TMPDIR, { recursive: true });
  const running = folder.start(args, { env: { TMPDIR } });
  use(running);
  await Promise.race([wait(random() * msMax), running.ended]);
  const fromMs = performance.now();
  running.child.kill(signal);
  const end = await running.ended;
  expect(performance.now() - fromMs).toBeLessThan(END_MS_MAX);
  expect(readdirSync(folder.path).filter((name) => !KEPT.test(name))).toEqual([]);
  expect(readdirSync(TMPDIR)).toEqual([]);
  return { end, stdout: running.stdout() };
}

type Running = ReturnType<CliFolder["start"]>;

/** The files that a command may leave: the store with its log, and the index of clusters. */
const KEPT = /^(agent\.db(-wal|-shm)?|agent\.db\..*(hnsw|json)|copy\.db|tmp)$/;

const codeOf = (signal: Signal): number => ({ SIGINT: 130, SIGTERM: 143 })[signal];

/** Expects that a store is whole. Returns how many messages it has. */
function countIn(path: string): number {
  if (!existsSync(path)) return 0;
  const store = openStore(path, { readonly: true, embedder: letterEmbedder });
  try {
    expect(store.verify().problems).toEqual([]);
    return store.stats().messageCount;
  } finally {
    store.close();
  }
}

const cases = SIGNALS.flatMap((signal) => Array.from({ length: ROUNDS }, () => ({ signal })));

test.each(cases)("import ends at $signal, and a second import completes it", async ({ signal }) => {
  const folder = new CliFolder();
  const { end } = await signalled(folder, ["import", transcripts], signal, 4_000);
  expect([0, codeOf(signal), signal]).toContain(end);
  const before = countIn(folder.db);
  expect(await folder.json("import", transcripts)).toMatchObject({ newCount: ALL - before, knownCount: before });
  expect(countIn(folder.db)).toBe(ALL);
});

const watches = cases.flatMap(({ signal }) => [["watch"], ["watch", "--once"]].map((args) => ({ signal, args })));

test.each(watches)("$args ends at $signal with everything that it reported", async ({ signal, args }) => {
  const folder = new CliFolder();
  const { end, stdout } = await signalled(folder, [...args, transcripts, "--json"], signal, 5_000);
  expect([0, signal]).toContain(end);
  const events = stdout.split("\n").filter(Boolean);
  const imported = events.map((line) => JSON.parse(line)).filter(({ event }) => event === "imported");
  const reported = imported.reduce((sum, { newCount }) => sum + newCount, 0);
  expect(countIn(folder.db)).toBeGreaterThanOrEqual(reported);
  expect((await folder.run(["watch", "--once", transcripts])).exitCode).toBe(0);
  expect(countIn(folder.db)).toBe(ALL);
});

test.each(cases)("a dry run of an import ends at $signal without its copy of the store", async ({ signal }) => {
  const folder = new CliFolder();
  await folder.json("import", join(transcripts, "s0.jsonl"));
  const { end } = await signalled(folder, ["import", transcripts, "--dry-run"], signal, 3_000);
  expect([0, codeOf(signal), signal]).toContain(end);
  expect(countIn(folder.db)).toBe(MESSAGES);
});

test.each(cases)("backup ends at $signal, with a whole copy or none", async ({ signal }) => {
  const folder = filled();
  const { end } = await signalled(folder, ["backup", "copy.db"], signal, 1_500);
  expect([0, codeOf(signal), signal]).toContain(end);
  expect([0, ALL]).toContain(countIn(join(folder.path, "copy.db")));
});

test.each(cases)("reembed ends at $signal, and a second one completes it", async ({ signal }) => {
  const folder = filled();
  const store = openStore(folder.db);
  await store.reembed({ embedder: letterEmbedder });
  store.close();
  const { end } = await signalled(folder, ["reembed", "--embedder", "hashing"], signal, 3_000);
  expect([0, codeOf(signal), signal]).toContain(end);
  await folder.json("reembed", "--embedder", "hashing");
  expect((await folder.json("doctor")).stats).toMatchObject({ messageCount: ALL, embedderId: "hashing-v1-384" });
  expect((await folder.json("verify")).ok).toBe(true);
});

test.each(cases)("mcp ends at $signal with everything that it acknowledged", async ({ signal }) => {
  const folder = filled();
  let acknowledged = 0;
  const append = async ({ child }: Running): Promise<void> => {
    const client = new RawClient(child.stdin, child.stdout);
    await client.initialize();
    for (let index = 0; ; index++) {
      const { isError } = await client.call("append", { sessionId: "said", role: "user", content: `Lamp ${index}.` });
      if (!isError) acknowledged += 1;
    }
  };
  const { end } = await signalled(folder, ["mcp", "--allow-append"], signal, 4_000, append);
  expect(end).toBe(signal);
  const appended = countIn(folder.db) - ALL;
  expect([acknowledged, acknowledged + 1]).toContain(appended);
});

test.each(cases)("verify --rebuild and forget end at $signal, whole or not at all", async ({ signal }) => {
  const folder = filled();
  for (const args of [
    ["forget", "s1", "--yes"],
    ["verify", "--rebuild"],
  ]) {
    expect([0, signal]).toContain((await signalled(folder, args, signal, 1_500)).end);
  }
  expect([ALL, ALL - MESSAGES]).toContain(countIn(folder.db));
});

test.each(SIGNALS)("%s ends an import of a pipe whose writer is silent within two seconds", async (signal) => {
  const folder = new CliFolder();
  const pipe = join(folder.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  const writer = openSync(pipe, "r+");
  onTestFinished(() => closeSync(writer));
  const { child, ended } = folder.start(["import", pipe]);
  await wait(3_000); // it has begun to read
  const startMs = performance.now();
  child.kill(signal);
  expect(await ended).toBe(signal === "SIGINT" ? 130 : 143);
  expect(performance.now() - startMs).toBeLessThan(END_MS_MAX);
});
