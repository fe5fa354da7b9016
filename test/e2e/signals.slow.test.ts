import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { randomFrom } from "../../scripts/bench/messages.ts";
import { openStore } from "../../src/index.ts";
import { CliFolder, longSession, MAIN } from "../support/cli.ts";
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
const source = new CliFolder();
const transcripts = join(source.path, "transcripts");

beforeAll(() => {
  mkdirSync(transcripts);
  for (let index = 0; index < SESSIONS; index++) {
    const lines = longSession(`s${index}`, MESSAGES).map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(join(transcripts, `s${index}.jsonl`), lines.join(""));
  }
});

function start(folder: CliFolder, args: readonly string[]) {
  const temporary = join(folder.path, "tmp");
  mkdirSync(temporary, { recursive: true });
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: folder.path, COPPICE_DB: folder.db, TMPDIR: temporary },
  });
  child.stdin.on("error", () => {});
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.resume();
  const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | Signal);
  return { child, ended, stdout: () => stdout };
}

/** Signals a command at a random time. Returns what it ended with: a number, or the signal if it had none of its own yet. */
async function signalled({ child, ended }: ReturnType<typeof start>, signal: Signal, ms: number) {
  await Promise.race([wait(random() * ms), ended]);
  const fromMs = performance.now();
  child.kill(signal);
  const end = await ended;
  expect(performance.now() - fromMs).toBeLessThan(END_MS_MAX);
  return end;
}

/** The files that a command may leave: the store with its log, and the index of clusters. */
const KEPT = /^(agent\.db(-wal|-shm)?|agent\.db\..*(hnsw|json)|copy\.db|tmp)$/;

function leftovers(folder: CliFolder): string[] {
  const temporary = readdirSync(join(folder.path, "tmp")).map((name) => join("tmp", name));
  return [...readdirSync(folder.path).filter((name) => !KEPT.test(name)), ...temporary];
}

const codeOf = (signal: Signal): number => ({ SIGINT: 130, SIGTERM: 143 })[signal];

const cases = SIGNALS.flatMap((signal) => Array.from({ length: ROUNDS }, () => ({ signal })));

test.each(cases)("import ends at $signal, and a second import completes it", async ({ signal }) => {
  const folder = new CliFolder();
  const end = await signalled(start(folder, ["import", transcripts]), signal, 4_000);
  expect([0, codeOf(signal), signal]).toContain(end);
  expect(leftovers(folder)).toEqual([]);
  const before = existsSync(folder.db) ? (await folder.json("stats")).messageCount : 0;
  expect(await folder.json("import", transcripts)).toMatchObject({
    newCount: SESSIONS * MESSAGES - before,
    knownCount: before,
  });
  expect(await folder.json("verify")).toMatchObject({ ok: true, messageCount: SESSIONS * MESSAGES });
});

const watches = cases.flatMap(({ signal }) => [["watch"], ["watch", "--once"]].map((args) => ({ signal, args })));

test.each(watches)("$args ends at $signal with everything that it reported", async ({ signal, args }) => {
  const folder = new CliFolder();
  const watch = start(folder, [...args, transcripts, "--json"]);
  const end = await signalled(watch, signal, 5_000);
  expect([0, signal]).toContain(end);
  expect(leftovers(folder)).toEqual([]);
  const events = watch.stdout().split("\n").filter(Boolean);
  const reported = events
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event === "imported")
    .reduce((sum, { newCount }) => sum + newCount, 0);
  const stored = existsSync(folder.db) ? (await folder.json("stats")).messageCount : 0;
  expect(stored).toBeGreaterThanOrEqual(reported);
  expect((await folder.run(["watch", "--once", transcripts])).exitCode).toBe(0);
  expect(await folder.json("verify")).toMatchObject({ ok: true, messageCount: SESSIONS * MESSAGES });
});

test.each(cases)("a dry run of an import ends at $signal without its copy of the store", async ({ signal }) => {
  const folder = new CliFolder();
  await folder.json("import", join(transcripts, "s0.jsonl"));
  const end = await signalled(start(folder, ["import", transcripts, "--dry-run"]), signal, 3_000);
  expect([0, codeOf(signal), signal]).toContain(end);
  expect(leftovers(folder)).toEqual([]);
  expect((await folder.json("stats")).messageCount).toBe(MESSAGES);
});

test.each(cases)("backup ends at $signal, with a whole copy or none", async ({ signal }) => {
  const folder = new CliFolder();
  await folder.json("import", transcripts);
  const end = await signalled(start(folder, ["backup", "copy.db"]), signal, 1_500);
  expect([0, codeOf(signal), signal]).toContain(end);
  expect(leftovers(folder)).toEqual([]);
  const copy = join(folder.path, "copy.db");
  if (existsSync(copy)) {
    expect(await folder.json("verify", "--db", copy)).toMatchObject({ ok: true, messageCount: SESSIONS * MESSAGES });
  }
});

test.each(cases)("reembed ends at $signal, and a second one completes it", async ({ signal }) => {
  const folder = new CliFolder();
  await folder.json("import", transcripts);
  const store = openStore(folder.db);
  await store.reembed({ embedder: letterEmbedder });
  store.close();
  const end = await signalled(start(folder, ["reembed", "--embedder", "hashing"]), signal, 3_000);
  expect([0, codeOf(signal), signal]).toContain(end);
  expect(leftovers(folder)).toEqual([]);
  expect((await folder.json("stats")).messageCount).toBe(SESSIONS * MESSAGES);
  await folder.json("reembed", "--embedder", "hashing");
  expect((await folder.json("stats")).embedderId).toBe("hashing-v1-384");
  expect((await folder.json("verify")).ok).toBe(true);
});

test.each(cases)("mcp ends at $signal with everything that it acknowledged", async ({ signal }) => {
  const folder = new CliFolder();
  await folder.json("import", join(transcripts, "s0.jsonl"));
  const server = start(folder, ["mcp", "--allow-append"]);
  const client = new RawClient(server.child.stdin, server.child.stdout);
  let acknowledged = 0;
  void (async () => {
    await client.initialize();
    for (let index = 0; ; index++) {
      const { isError } = await client.call("append", { sessionId: "said", role: "user", content: `Lamp ${index}.` });
      if (!isError) acknowledged += 1;
    }
  })();
  expect([signal]).toContain(await signalled(server, signal, 4_000));
  expect(leftovers(folder)).toEqual([]);
  const { messageCount } = await folder.json("stats");
  expect(messageCount - MESSAGES).toBeGreaterThanOrEqual(acknowledged);
  expect(messageCount - MESSAGES).toBeLessThanOrEqual(acknowledged + 1);
  expect((await folder.json("verify")).ok).toBe(true);
});

test.each(cases)("verify --rebuild and forget end at $signal, whole or not at all", async ({ signal }) => {
  const folder = new CliFolder();
  await folder.json("import", transcripts);
  expect([0, signal]).toContain(await signalled(start(folder, ["forget", "s1", "--yes"]), signal, 1_500));
  expect([0, signal]).toContain(await signalled(start(folder, ["verify", "--rebuild"]), signal, 1_500));
  expect(leftovers(folder)).toEqual([]);
  const { messageCount } = await folder.json("stats");
  expect([SESSIONS * MESSAGES, (SESSIONS - 1) * MESSAGES]).toContain(messageCount);
  expect((await folder.json("verify")).ok).toBe(true);
});
