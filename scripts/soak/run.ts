import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Embedder, openStore } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { randomFrom } from "../bench/messages.ts";
import { compile } from "../crash/compile.ts";
import { readDamaged } from "./damage.ts";
import { Ledger, type Line } from "./ledger.ts";
import { kindOf, OTHER, WRITING } from "./said.ts";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));
const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** The number of processes that work at the same time. */
const AT_ONCE = 5;
/** The longest time that a process works before it is killed, in milliseconds. */
const WORKING_MS_MAX = 4_000;
/** The longest time before a process is killed while it starts, in milliseconds, and the share of processes that are. */
const STARTING_MS_MAX = 1_000;
const STARTING_SHARE = 0.15;
/** The time after which a process that has not opened the store is said to hang, in milliseconds. */
const HANGING_MS = 60_000;
/** After this many messages, or this time, the store is checked and a new one is begun. Checking a larger one takes too long. */
const MESSAGES_MAX = 4_000;
const ROUND_MS_MAX = 60_000;
/** The number of damaged copies that are read after each round. */
const COPIES = 6;
/** In one of this many rounds, an older copy replaces the store's file while processes write to it. */
const REPLACED_EVERY = 4;

/** Two writers share one session. Others have one each. */
const ACTORS = [...WRITING, ...OTHER].map((kind) => `${kind}-0`).concat("shared-1", "append-1", "read-1");

export interface SoakFigures extends Record<string, number> {
  kills: number;
  acknowledged: number;
  lost: number;
  /** Wrong data that was read without an error, half transactions, and findings of `verify`. */
  wrong: number;
  untyped: number;
  minutes: number;
}

export interface SoakOptions {
  minutes: number;
  seed: number;
  onFault: (fault: string, folder: string) => void;
  onRound: (figures: SoakFigures & SoakCounts) => void;
}

/** The events of a soak other than kills. */
export interface SoakCounts extends Record<string, number> {
  rounds: number;
  typed: number;
  fullDisks: number;
  replacedFiles: number;
  damagedCopies: number;
}

/**
 * Lets processes of every kind work on one store at the same time, kills them at random, fills their disks, lets their clocks
 * jump, replaces the file, and compares everything that is read with what was acknowledged.
 */
export async function soak({ minutes, seed, onFault, onRound }: SoakOptions): Promise<SoakFigures & SoakCounts> {
  const random = randomFrom(seed);
  const figures = { kills: 0, acknowledged: 0, lost: 0, wrong: 0, untyped: 0, minutes: 0 };
  const counts = { rounds: 0, typed: 0, fullDisks: 0, replacedFiles: 0, damagedCopies: 0 };
  const compiled = compile(WORKER, CLI);
  const from = performance.now();
  try {
    while (performance.now() - from < 60_000 * minutes) {
      const msLeft = 60_000 * minutes - (performance.now() - from);
      const round = new Round(compiled.path, random);
      await round.work(Math.min(ROUND_MS_MAX, msLeft), counts.rounds % REPLACED_EVERY === REPLACED_EVERY - 1);
      await round.check();
      counts.rounds += 1;
      for (const [name, count] of Object.entries(round.counts)) {
        if (name in figures) figures[name as keyof typeof figures] += count;
        else counts[name as keyof typeof counts] += count;
      }
      figures.minutes = (performance.now() - from) / 60_000;
      for (const fault of round.faults) onFault(fault, round.folder);
      if (round.faults.length === 0) rmSync(round.folder, { recursive: true, force: true });
      onRound({ ...figures, ...counts });
    }
    return { ...figures, ...counts };
  } finally {
    compiled.remove();
  }
}

/** The two embedders of the workers. */
const embedderOf = (id: string): Embedder => (id === hashingEmbedder.id ? hashingEmbedder : { ...hashingEmbedder, id });

/** One store, from its first message to its check. */
class Round {
  readonly folder = mkdtempSync(join(tmpdir(), "coppice-soak-"));
  readonly faults: string[] = [];
  readonly counts = {
    kills: 0,
    acknowledged: 0,
    lost: 0,
    wrong: 0,
    untyped: 0,
    typed: 0,
    fullDisks: 0,
    replacedFiles: 0,
    damagedCopies: 0,
  };
  readonly #path = join(this.folder, "agent.db");
  readonly #worker: string;
  readonly #random: () => number;
  readonly #running = new Map<string, ChildProcess>();
  #ledger = new Ledger();
  #ended = false;
  /** The inode number of the file that each process has opened. */
  readonly #open = new Map<ChildProcess, number>();
  /** When the store's file was replaced, by which one. Processes that had the older one open must store nothing that began later. */
  #replaced: { atMs: number; ino: number } | undefined;
  readonly #late = new Set<ChildProcess>();

  constructor(worker: string, random: () => number) {
    this.#worker = worker;
    this.#random = random;
  }

  async work(ms: number, isReplaced: boolean): Promise<void> {
    openStore(this.#path).close();
    const end = performance.now() + ms;
    const hands = Array.from({ length: AT_ONCE }, () => this.#work(end));
    const filling = this.#fillDisks(end);
    if (isReplaced) await this.#replace(end);
    await Promise.all([...hands, filling]);
    this.#ended = true;
    this.counts.acknowledged = this.#ledger.acknowledged;
  }

  async check(): Promise<void> {
    const store = openStore(this.#path, { embedder: embedderOf });
    const { lost, wrong, faults } = this.#ledger.check(store);
    this.counts.lost += lost;
    this.counts.wrong += wrong;
    this.faults.push(...faults);
    const { path, copy } = { path: this.#path, copy: join(this.folder, "damaged.db") };
    for (let number = 0; number < COPIES; number++) {
      // Half of the copies have a log beside the file, because the store is open.
      if (number === COPIES / 2) store.close();
      const { wrong, untyped } = await readDamaged(path, copy, this.#random);
      this.counts.damagedCopies += 1;
      this.counts.wrong += wrong.length;
      this.counts.untyped += untyped.length;
      this.faults.push(...wrong, ...untyped);
    }
  }

  /** Runs one process after another until the round ends. */
  async #work(end: number): Promise<void> {
    while (performance.now() < end && this.#ledger.acknowledged < MESSAGES_MAX) {
      const free = ACTORS.filter((actor) => !this.#running.has(actor));
      const actor = free[Math.floor(this.#random() * free.length)]!;
      const seed = String(Math.floor(this.#random() * 2 ** 32));
      const args = [this.#worker, this.#path, actor, seed, String(this.#ledger.nextOf(actor))];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      this.#running.set(actor, child);
      const closed = once(child, "close");
      const isEarly = this.#random() < STARTING_SHARE;
      const killAfter = (ms: number): NodeJS.Timeout => setTimeout(() => child.kill("SIGKILL"), ms);
      let isWorking = false;
      let killing = killAfter(isEarly ? this.#random() * STARTING_MS_MAX : HANGING_MS);
      for await (const text of createInterface({ input: child.stdout! })) {
        this.#hear(actor, child, text);
        if (isEarly || !this.#open.has(child) || isWorking) continue;
        isWorking = true;
        clearTimeout(killing);
        killing = killAfter(this.#random() * WORKING_MS_MAX);
      }
      clearTimeout(killing);
      const [exitCode, signal] = await closed;
      this.#running.delete(actor);
      if (signal === "SIGKILL" && !isEarly && !isWorking) this.#blame("wrong", `${actor} opened nothing`);
      if (signal === "SIGKILL") this.counts.kills += 1;
      else if (exitCode !== 0) this.#blame("untyped", `${actor} ended with ${exitCode ?? signal}`);
    }
  }

  #hear(actor: string, child: ChildProcess, text: string): void {
    const line = lineOf(text);
    if (line === undefined) return;
    if (line.say === "typed") this.counts.typed += 1;
    if (line.say === "untyped" || line.say === "wrong") this.#blame(line.say, `${actor}: ${line.text}`);
    if (line.say === "open") this.#open.set(child, line.ino);
    if (this.#replaced !== undefined && this.#open.has(child) && this.#open.get(child) !== this.#replaced.ino) {
      if (line.say === "begin" && line.at > this.#replaced.atMs) this.#late.add(child);
      // An MCP server opens the newer file by itself.
      const isLate = this.#late.has(child) && kindOf(actor) !== "mcp";
      if (line.say === "stored" && isLate) this.#blame("lost", `${actor}: stored in a replaced file`);
      return;
    }
    const lost = this.#ledger.hear(actor, line);
    if (lost > 0) this.#blame("lost", `${actor}: ${lost} messages are gone, or a batch is half there`, lost);
  }

  #blame(what: "lost" | "wrong" | "untyped", fault: string, count = 1): void {
    this.counts[what] += count;
    this.faults.push(`${what}: ${fault}`);
  }

  /** Again and again, keeps the files of one process from growing for a while. */
  async #fillDisks(end: number): Promise<void> {
    if (process.platform !== "linux") return;
    while (performance.now() < end && !this.#ended) {
      await sleep(1_000 + this.#random() * 4_000);
      const children = [...this.#running.values()];
      const child = children[Math.floor(this.#random() * children.length)];
      const log = `${this.#path}-wal`;
      const bytes = (existsSync(log) ? statSync(log).size : 0) + Math.floor(this.#random() * 65_536);
      if (child?.pid === undefined || !limitFiles(child.pid, String(bytes))) continue;
      this.counts.fullDisks += 1;
      await sleep(this.#random() * 1_000);
      limitFiles(child.pid, "unlimited");
    }
  }

  /** Puts an older copy in the place of the store's file, while processes work on it. */
  async #replace(end: number): Promise<void> {
    await sleep(Math.max(0, (end - performance.now()) / 3));
    const copy = join(this.folder, "older.db");
    const store = openStore(this.#path, { readonly: true, embedder: embedderOf });
    await store.backup(copy, { overwrite: true });
    store.close();
    // The copy may hold more than was acknowledged by then, so its own messages count.
    const copied = openStore(copy, { readonly: true, embedder: embedderOf });
    let ledger: Ledger;
    try {
      ledger = this.#ledger.asIn(copied);
    } catch (error) {
      return this.#blame("wrong", `a copy of the store: ${error}`);
    } finally {
      copied.close();
    }
    await sleep(2_000);
    renameSync(copy, this.#path);
    for (const suffix of ["-wal", "-shm"]) rmSync(this.#path + suffix, { force: true });
    this.#replaced = { atMs: Date.now() + 5, ino: statSync(this.#path).ino };
    this.#ledger = ledger;
    this.counts.replacedFiles += 1;
  }
}

function limitFiles(pid: number, bytes: string): boolean {
  try {
    execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`], { stdio: "ignore" });
    return true;
  } catch {
    return false; // the process has ended
  }
}

function lineOf(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined; // the kill cut it short
  }
}
