import { spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import Database from "better-sqlite3";
import { HookLog } from "../../src/hooks/hook-log.ts";
import { openStore } from "../../src/index.ts";
import { buildPackage } from "../build/package.ts";
import { type Fired, fireHook } from "./hook-process.ts";
import { median } from "./messages.ts";
import { questions } from "./recall-questions.ts";
import { recallStore } from "./recall-store.ts";

const MESSAGES = 100_000;
const STARTS = 11;
const CALLS = 60;
const WARMING = 20;
const SEED = 4;
/** A hook that takes longer is not silent: somebody waits for it. Its own limit is three seconds. */
const SILENT_MS_MAX = 5_000;
const NOBODY = 65_534;

export interface HookBenchOptions {
  messages?: number | undefined;
  /** The folder that keeps the store for later runs. Without it, the store is made for each run. */
  folder?: string | undefined;
}

/**
 * Measures how long an agent waits for its hooks: the processor time of the hook's own process at the start of a session and at a
 * prompt, and the time of a call through a running MCP server. Then it counts the faults at which a hook is not silent.
 */
export async function benchHook({ messages = MESSAGES, folder }: HookBenchOptions = {}): Promise<{
  name: "hook";
  figures: Record<string, number>;
}> {
  const scratch = mkdtempSync(join(tmpdir(), "coppice-bench-hook-"));
  try {
    // Beside `node_modules`, where the program finds the driver.
    const built = mkdtempSync(join(process.cwd(), "node_modules", ".cache", "coppice-hook-"));
    try {
      await buildPackage(built);
      const bin = join(built, "coppice.cjs");
      const path = join(folder ?? scratch, `recall-${messages}.db`);
      await recallStore(path, messages);
      giveFolder(path);
      const cold = await coldFigures(bin, path);
      const warm = await warmFigures(bin, path);
      // A hook that fails is silent and quick.
      const failed = new HookLog(path).entries().find(({ failure }) => failure !== undefined);
      if (failed !== undefined) throw new Error(`A hook failed: ${failed.failure}`);
      return {
        name: "hook",
        figures: {
          messages,
          ...cold,
          ...warm,
          hookFaultsNotSilent: await faultsNotSilent(bin, scratch),
        },
      };
    } finally {
      rmSync(built, { recursive: true, force: true });
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The folder of the project whose hooks are measured. */
const FOLDER = "/home/mira/project-0";

interface FireOptions {
  /** What the agent writes: see `fireHook`. */
  stdin: string;
  uid?: number;
  env?: Record<string, string>;
  /** Node's own options. */
  node?: readonly string[];
}

function fire(
  bin: string,
  db: string,
  event: string,
  { stdin, uid, env = {}, node = [] }: FireOptions,
): Promise<Fired> {
  return fireHook([...node, bin, "hook", event, "--agent", "claude-code", "--db", db], stdin, {
    env: { PATH: process.env.PATH, ...env },
    ...(uid !== undefined && { uid }),
  });
}

/** The sessions of the store have names of projects. Hooks speak of a folder. */
function giveFolder(path: string): void {
  const store = openStore(path);
  if (store.projects().every(({ project }) => project !== FOLDER))
    store.renameProject("project-0", FOLDER, { merge: true });
  store.close();
}

function inputOf(session: string, prompt: string): string {
  return JSON.stringify({ session_id: session, cwd: FOLDER, source: "startup", prompt });
}

/** Measures hooks in new processes, and a bare process of Node. `hookColdCpuMs` is the larger of the two medians of hooks. */
async function coldFigures(bin: string, db: string): Promise<Record<string, number>> {
  const meter = join(tmpdir(), `coppice-hook-meter-${process.pid}.cjs`);
  // The processor time of the whole process, threads and start included.
  writeFileSync(
    meter,
    `process.on("exit", () => { const { user, system } = process.cpuUsage();
      require("node:fs").writeFileSync(process.env.METER, String((user + system) / 1000)); });`,
  );
  const times: Record<string, number[]> = { bare: [], "session-start": [], prompt: [] };
  try {
    const asked = questions(STARTS, SEED);
    for (let start = 0; start < STARTS; start++) {
      for (const [event, found] of Object.entries(times)) {
        const stdin = inputOf(`cold-${process.pid}-${start}`, event === "prompt" ? asked[start]!.text : "");
        const options = { stdin, env: { METER: `${meter}.ms` }, node: ["--require", meter] };
        const { exitCode, stderr } = event === "bare" ? await bare(options) : await fire(bin, db, event, options);
        if (exitCode !== 0 || stderr !== "") throw new Error(`The hook failed: ${stderr}`);
        found.push(Number(readFileSync(`${meter}.ms`, "utf8")));
      }
    }
  } finally {
    for (const file of [meter, `${meter}.ms`]) rmSync(file, { force: true });
  }
  const [nodeColdCpuMs, startCpuMs, promptCpuMs] = Object.values(times).map(median);
  return {
    nodeColdCpuMs: nodeColdCpuMs!,
    hookStartColdCpuMs: startCpuMs!,
    hookPromptColdCpuMs: promptCpuMs!,
    hookColdCpuMs: Math.max(startCpuMs!, promptCpuMs!),
  };
}

function bare({ env, node = [] }: FireOptions): Promise<{ exitCode: number | null; stderr: string }> {
  const child = spawn(process.execPath, [...node, "-e", "0"], { stdio: "ignore", env: { ...process.env, ...env } });
  return new Promise((resolve) => child.once("close", (exitCode) => resolve({ exitCode, stderr: "" })));
}

/** Measures calls through a running MCP server: the time of one, and the processor time of the server for one where Linux tells it. */
async function warmFigures(bin: string, db: string): Promise<Record<string, number>> {
  const client = new Client({ name: "bench", version: "1" });
  const args = [bin, "mcp", "--db", db];
  const transport = new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" });
  await client.connect(transport);
  try {
    const times: number[] = [];
    let cpuMsBefore = 0;
    for (const [index, { text: prompt }] of questions(CALLS + WARMING, SEED).entries()) {
      if (index === WARMING) cpuMsBefore = cpuMsOf(transport.pid!);
      const session_id = `warm-${process.pid}-${index}`;
      const from = performance.now();
      const { isError, content } = await client.callTool({
        name: "hook",
        arguments: { event: "prompt", cwd: FOLDER, session_id, prompt },
      });
      if (isError) throw new Error(JSON.stringify(content));
      if (index >= WARMING) times.push(performance.now() - from);
    }
    return { hookWarmP50Ms: median(times), hookWarmCpuMs: (cpuMsOf(transport.pid!) - cpuMsBefore) / CALLS };
  } finally {
    await client.close();
  }
}

/** Returns the processor time of a process so far, in steps of 10 ms; NaN on other systems than Linux. */
function cpuMsOf(pid: number): number {
  try {
    const afterName = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return (Number(afterName[11]) + Number(afterName[12])) * 10;
  } catch {
    return Number.NaN;
  }
}

/** Counts the faults at which a hook prints anything, fails, or takes too long. */
async function faultsNotSilent(bin: string, scratch: string): Promise<number> {
  const folder = join(scratch, "faults");
  mkdirSync(folder, { mode: 0o755 });
  chmodSync(scratch, 0o755);
  const db = join(folder, "agent.db");
  const store = openStore(db);
  store
    .session("earlier", { project: FOLDER })
    .append({ role: "user", content: "We deploy to Oslo, for the latency." });
  store.close();
  const prompt = "Where do we deploy, is it Oslo, and was that for the latency?";
  const stdin = inputOf("faults", prompt);
  const damaged = join(folder, "damaged.db");
  copyFileSync(db, damaged);
  const bytes = readFileSync(damaged);
  bytes.fill(0x5a, 4_096);
  writeFileSync(damaged, bytes);
  const secret = join(folder, "secret.db");
  copyFileSync(db, secret);
  chmodSync(secret, 0);
  const locked = join(folder, "locked.db");
  copyFileSync(db, locked);
  const other = new Database(locked);
  other.pragma("locking_mode = EXCLUSIVE");
  other.exec("BEGIN EXCLUSIVE");
  // A store is in WAL mode, in which SQLite cannot open it in a folder that it cannot write to.
  const readOnly = join(scratch, "read-only");
  mkdirSync(readOnly);
  copyFileSync(db, join(readOnly, "agent.db"));
  chmodSync(join(readOnly, "agent.db"), 0o444);
  chmodSync(readOnly, 0o555);
  // The superuser may read every file, so another user runs these hooks.
  const asNobody = process.getuid?.() === 0 ? { uid: NOBODY } : {};
  chmodSync(join(bin, ".."), 0o755);
  const faults: [name: string, db: string, options: FireOptions][] = [
    ["no store", join(folder, "none.db"), { stdin }],
    ["no folder", join(folder, "none", "agent.db"), { stdin }],
    ["locked", locked, { stdin }],
    ["damaged", damaged, { stdin }],
    ["read-only folder", join(readOnly, "agent.db"), { stdin, ...asNobody }],
    ["no permission", secret, { stdin, ...asNobody }],
    ["huge prompt", db, { stdin: inputOf("huge", `${"x".repeat(30)} `.repeat(400_000)) }],
    ["rubbish", db, { stdin: "\u0000rubbish{" }],
    ["endless input", db, { stdin: "endless" }],
    ["open input", db, { stdin: "open" }],
    ["no input", db, { stdin: "none" }],
  ];
  try {
    // A hook that is silent at everything would pass, so one without a fault must speak.
    const { stdout } = await fire(bin, db, "prompt", { stdin: inputOf("sound", prompt) });
    if (!stdout.includes("Oslo")) throw new Error(`The hook said nothing without a fault: ${stdout}`);
    let loud = 0;
    for (const [name, path, options] of faults) {
      const { exitCode, ms, ...printed } = await fire(bin, path, "prompt", options);
      if (exitCode === 0 && printed.stdout === "" && printed.stderr === "" && ms < SILENT_MS_MAX) continue;
      console.error(`Not silent: ${name}`, { exitCode, ms, ...printed });
      loud += 1;
    }
    return loud;
  } finally {
    other.close();
    chmodSync(readOnly, 0o755);
  }
}
