import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, expect, onTestFinished, type TestContext } from "vitest";
import { inThisProcess } from "./cli-here.ts";
import { TESTS_ALL } from "./effort.ts";
import { PROGRAM, PROGRAM_ENV } from "./program.ts";

export const FIXTURES = fileURLToPath(new URL("../fixtures/importers", import.meta.url));

export interface CliResult {
  /** The signal, if one ended the process. */
  exitCode: number | NodeJS.Signals;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  env?: Record<string, string>;
  stdin?: string;
}

export interface StartOptions {
  env?: Record<string, string> | undefined;
  /** What a shell does before it turns into the process, such as `ulimit -f 100`. */
  before?: string;
  /** True to give it a process group of its own. */
  isGroup?: boolean;
}

/** A process of the command line. */
export interface CliProcess {
  child: ChildProcessWithoutNullStreams;
  stdout(): string;
  stderr(): string;
  /** The exit code, or the signal that ended it. */
  ended: Promise<CliResult["exitCode"]>;
}

/** A folder of its own, and the command line with a store and a home in it. The folder goes after the file's tests. */
export class CliFolder {
  readonly path = mkdtempSync(join(tmpdir(), "coppice-cli-"));
  readonly db = join(this.path, "agent.db");

  readonly #isHere: boolean;

  /** @param isHere  True to run commands within this process in `npm run test:all`, too: some files of tests run each as a process. */
  constructor({ isHere = !TESTS_ALL } = {}) {
    this.#isHere = isHere;
    afterAll(() => rmSync(this.path, { recursive: true, force: true }));
  }

  /** The environment of a process in this folder. */
  env(more: Record<string, string> = {}): Record<string, string> {
    const { PATH = "", TMPDIR = "" } = process.env;
    return { PATH, TMPDIR, HOME: this.path, TZ: "UTC", COPPICE_DB: this.db, ...PROGRAM_ENV, ...more };
  }

  /** Write a file of the neutral format into the folder. Returns its path. */
  jsonl(name: string, lines: readonly (object | string)[]): string {
    const path = join(this.path, name);
    writeFileSync(path, lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
    return path;
  }

  /** Run `coppice …` to its end: within this process, or in a process of its own in `npm run test:all`. */
  async run(args: readonly string[], { env, stdin = "" }: CliOptions = {}): Promise<CliResult> {
    if (this.#isHere) {
      const input = Readable.from(stdin === "" ? [] : [Buffer.from(stdin)]);
      return inThisProcess(args, { cwd: this.path, env: this.env(env), stdin: input });
    }
    const { child, stdout, stderr, ended } = this.#spawn(args, { env });
    child.stdin.end(stdin);
    return { exitCode: await ended, stdout: stdout(), stderr: stderr() };
  }

  /** Start `coppice …` as a process of its own. It is killed after the test: a concurrent one passes its context. */
  start(
    args: readonly string[],
    options?: StartOptions,
    context: Pick<TestContext, "onTestFinished"> = { onTestFinished },
  ): CliProcess {
    const started = this.#spawn(args, options);
    context.onTestFinished(() => void started.child.kill("SIGKILL"));
    return started;
  }

  /** Run it with `--json`, expect it to succeed in silence, and return the value. */
  // biome-ignore lint/suspicious/noExplicitAny: what it is, is what the tests look at.
  async json(...args: string[]): Promise<any> {
    const { exitCode, stdout, stderr } = await this.run([...args, "--json"]);
    if (exitCode !== 0 || stderr !== "") throw new Error(`coppice ${args.join(" ")}: exit ${exitCode}\n${stderr}`);
    return JSON.parse(stdout);
  }

  /** Run it, expect it to fail with an exit code and to print nothing, and return what it says about that. */
  async refusal(exitCode: number, ...args: string[]): Promise<string> {
    const { stderr, ...outcome } = await this.run(args);
    expect(outcome, stderr).toEqual({ exitCode, stdout: "" });
    return stderr;
  }

  #spawn(args: readonly string[], { env, before = "", isGroup = false }: StartOptions = {}): CliProcess {
    const words = [process.execPath, PROGRAM, ...args];
    const [file, ...others] = before === "" ? words : ["bash", "-c", `${before}; exec "$0" "$@"`, ...words];
    const child = spawn(file!, others, { cwd: this.path, env: this.env(env), detached: isGroup });
    child.stdin.on("error", () => {}); // a command that reads nothing may be gone before it was told so
    const texts = [child.stdout, child.stderr].map((stream) => {
      let text = "";
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      return () => text;
    });
    const ended = new Promise<CliResult["exitCode"]>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (exitCode, signal) => resolve(signal ?? exitCode!));
    });
    return { child, stdout: texts[0]!, stderr: texts[1]!, ended };
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
