import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { openStore } from "../../src/index.ts";
import { compile } from "../crash/compile.ts";
import { median, quantile } from "./messages.ts";
import { questions } from "./recall-questions.ts";
import { recallStore } from "./recall-store.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const MESSAGES = 100_000;
const STARTS = 11;
const CALLS = 60;
/** The number of calls before any is timed. */
const WARMING = 20;
const SEED = 3;

export interface McpBenchOptions {
  messages?: number | undefined;
  /** The folder that keeps the store for later runs. Without it, the store is made for each run. */
  folder?: string | undefined;
}

/**
 * Measures how long an agent waits for the MCP server: from the start of the process to the answer to `initialize`, and for
 * each tool, with the official client over a pipe and all checks on both sides. The store is that of the recall benchmark.
 */
export async function benchMcp({ messages = MESSAGES, folder }: McpBenchOptions = {}): Promise<{
  name: "mcp";
  figures: Record<string, number>;
}> {
  const scratch = mkdtempSync(join(tmpdir(), "coppice-bench-mcp-"));
  const compiled = compile(MAIN);
  try {
    const path = join(folder ?? scratch, `recall-${messages}.db`);
    await recallStore(path, messages);
    const args = [compiled.path, "mcp", "--db", path];
    const starts: number[] = [];
    for (let start = 0; start < STARTS; start++) starts.push(await startMs(args));
    return {
      name: "mcp",
      figures: {
        messages,
        startP50Ms: median(starts),
        startMaxMs: Math.max(...starts),
        ...(await toolFigures(args, path)),
      },
    };
  } finally {
    compiled.remove();
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function startMs(args: readonly string[]): Promise<number> {
  const from = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  await once(child.stdout, "data");
  const ms = performance.now() - from;
  child.stdin.end();
  await once(child, "exit");
  return ms;
}

async function toolFigures(args: string[], path: string): Promise<Record<string, number>> {
  const store = openStore(path, { readonly: true });
  const sessionIds = store.sessions().map(({ id }) => id);
  const roots = sessionIds.slice(0, CALLS + WARMING).flatMap((id) => store.resume(id).roots().slice(0, 1));
  store.close();
  const asked = questions(CALLS + WARMING, SEED);
  const sessionAt = (index: number): string => sessionIds[index % sessionIds.length]!;
  const argumentsOf: Record<string, (index: number) => Record<string, unknown>> = {
    recall: (index) => ({ query: asked[index]!.text }),
    expand: (index) => ({ target: roots[index % roots.length]!.root }),
    get_context: (index) => ({ sessionId: sessionAt(index) }),
    get_context_query: (index) => ({ sessionId: sessionAt(index), query: asked[index]!.text, scope: "project" }),
    list_sessions: () => ({}),
    list_subjects: () => ({}),
  };
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }));
  const figures: Record<string, number> = {};
  try {
    for (const [name, argumentsAt] of Object.entries(argumentsOf)) {
      const times: number[] = [];
      for (let index = 0; index < CALLS + WARMING; index++) {
        const from = performance.now();
        const call = { name: name.replace("_query", ""), arguments: argumentsAt(index) };
        const { isError, content } = await client.callTool(call);
        if (isError) throw new Error(`${name}: ${JSON.stringify(content)}`);
        if (index >= WARMING) times.push(performance.now() - from);
      }
      figures[`${name}P50Ms`] = median(times);
      figures[`${name}P95Ms`] = quantile(times, 0.95);
    }
  } finally {
    await client.close();
  }
  return figures;
}
