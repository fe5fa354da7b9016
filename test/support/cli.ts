import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, inject } from "vitest";
import { runCommandLine } from "../../src/cli/command-line.ts";
import { COMMAND_GROUPS } from "../../src/cli/commands.ts";
import { hookWords } from "../../src/cli/hook-words.ts";
import { Terminal } from "../../src/cli/terminal.ts";
import { VERSION } from "../../src/core/version.ts";
import { TESTS_ALL } from "./effort.ts";
import { FakeStream } from "./fake-terminal.ts";
import { inSurroundings } from "./surroundings.ts";

export const MAIN = join(inject("packageFolder"), "dist", "coppice.cjs");
export const FIXTURES = fileURLToPath(new URL("../fixtures/importers", import.meta.url));

export interface CliResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  env?: Record<string, string>;
  stdin?: string;
}

/** A folder of its own, and the built command line with a store and a home in it. The folder goes after the file's tests. */
export class CliFolder {
  readonly path = mkdtempSync(join(tmpdir(), "coppice-cli-"));
  readonly db = join(this.path, "agent.db");

  constructor() {
    afterAll(() => rmSync(this.path, { recursive: true, force: true }));
  }

  /** Write a file of the neutral format into the folder. Returns its path. */
  jsonl(name: string, lines: readonly (object | string)[]): string {
    const path = join(this.path, name);
    writeFileSync(path, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
    return path;
  }

  /** Run `coppice …` to its end: in this process, because starting one takes most of the time, and in `test:all` in its own. */
  run(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return TESTS_ALL || hookWords(args) !== undefined ? this.runAlone(args, options) : this.#runHere(args, options);
  }

  #runHere(args: readonly string[], { env = {}, stdin = "" }: CliOptions): Promise<CliResult> {
    const own = { PATH: process.env.PATH, HOME: this.path, TMPDIR: tmpdir(), TZ: "UTC", COPPICE_DB: this.db, ...env };
    return inSurroundings({ cwd: this.path, env: own, stdin }, async () => {
      const [stdout, stderr] = [new FakeStream(), new FakeStream()];
      const terminal = new Terminal(stdout, stderr, process.env);
      const exitCode = await runCommandLine(args, { groups: COMMAND_GROUPS, version: VERSION, terminal });
      return { exitCode, stdout: stdout.text, stderr: stderr.text };
    });
  }

  /** Run `coppice …` as a process of its own, to its end. */
  runAlone(args: readonly string[], { env = {}, stdin = "" }: CliOptions = {}): Promise<CliResult> {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: this.path,
      env: { PATH: process.env.PATH, HOME: this.path, TZ: "UTC", COPPICE_DB: this.db, ...env },
    });
    child.stdin.on("error", () => {}); // a command that reads nothing may be gone before it was told so
    child.stdin.end(stdin);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (exitCode) => resolve({ exitCode, stdout, stderr }));
    });
  }

  /** Run it with `--json`, expect it to succeed in silence, and return the value. */
  // biome-ignore lint/suspicious/noExplicitAny: what it is, is what the tests look at.
  async json(...args: string[]): Promise<any> {
    const { exitCode, stdout, stderr } = await this.run([...args, "--json"]);
    if (exitCode !== 0 || stderr !== "") throw new Error(`coppice ${args.join(" ")}: exit ${exitCode}\n${stderr}`);
    return JSON.parse(stdout);
  }
}

export interface JsonlLine {
  session: string;
  id: string;
  role: string;
  content: string;
  createdAt: string;
}

/** A session of `count` messages of about 30 tokens each: half of them of one subject, then half of another. */
export function longSession(session: string, count: number): JsonlLine[] {
  return Array.from({ length: count }, (_, index) => {
    const subject =
      index < count / 2
        ? `The lighthouse lamp ${index} needs a new lens, and the lens grinder in the harbor has quoted a price for the glass.`
        : `The bakery oven ${index} burns the bread, so the baker wants the thermostat and the yeast supplier checked today.`;
    return {
      session,
      id: `m${index}`,
      role: index % 2 === 0 ? "user" : "assistant",
      content: subject,
      createdAt: `2026-03-01T${String(Math.floor(index / 60)).padStart(2, "0")}:${String(index % 60).padStart(2, "0")}:00Z`,
    };
  });
}
