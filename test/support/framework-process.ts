import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const CHILD = fileURLToPath(new URL("./framework-child.ts", import.meta.url));

export interface WorkOptions {
  framework: "langgraph" | "adk" | "ai-sdk" | "openai-agents" | "claude-agent-sdk";
  path: string;
  name: string;
  count: number;
  /** The process dies before this statement of the piece after the last. */
  dyingStatement?: number;
  /** The compiled child, if it does not run from its source. */
  compiled?: string;
}

/** Lets another process work. @returns how many pieces it said were done, and whether it was killed. */
export async function workElsewhere(options: WorkOptions): Promise<{ done: number; isKilled: boolean }> {
  const { framework, path, name, count, dyingStatement, compiled } = options;
  const program = compiled === undefined ? [...process.execArgv, CHILD] : [compiled];
  const work = [
    framework,
    path,
    name,
    String(count),
    ...(dyingStatement === undefined ? [] : [String(dyingStatement)]),
  ];
  const child = spawn(process.execPath, [...program, ...work], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  let done = 0;
  for await (const _ of createInterface({ input: child.stdout })) done += 1;
  const [exitCode, signal] = await closed;
  if (signal !== "SIGKILL" && exitCode !== 0) throw new Error(`The process ended with ${exitCode}.`);
  return { done, isKilled: signal === "SIGKILL" };
}
