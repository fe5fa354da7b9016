import { PassThrough, type Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { runCommandLine } from "../../src/cli/command-line.ts";
import { COMMAND_GROUPS } from "../../src/cli/commands.ts";
import { hookWords } from "../../src/cli/hook-words.ts";
import { processTerminal } from "../../src/cli/screen/terminal.ts";
import { storePath } from "../../src/cli/stores/store-path.ts";
import { VERSION } from "../../src/core/version.ts";
import { HookRun } from "../../src/hooks/run-hook.ts";
import { PROGRAM } from "./program.ts";

/** What a command finds in its process. */
export interface Surroundings {
  cwd: string;
  env: Readonly<Record<string, string>>;
  stdin: Readable;
}

/** Ends when no command runs any more. */
let idle: Promise<unknown> = Promise.resolve();

/**
 * Runs the command line within this process, in surroundings of its own. It does what `main.ts` and `bin.ts` do, but for what ends
 * the process. Commands run one after the other, because they share the process.
 */
export function inThisProcess(
  args: readonly string[],
  surroundings: Surroundings,
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const run = idle.then(async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const texts = Promise.all([text(stdout), text(stderr)]);
    const restore = surround({ ...surroundings, stdout, stderr });
    try {
      const exitCode = await runHere(args);
      stdout.end();
      stderr.end();
      const [printed, noted] = await texts;
      return { exitCode, stdout: printed, stderr: noted };
    } finally {
      restore();
    }
  });
  idle = run.catch(() => {});
  return run;
}

async function runHere(args: readonly string[]): Promise<number> {
  const call = hookWords(args);
  if (call === undefined) {
    return runCommandLine(args, { groups: COMMAND_GROUPS, version: VERSION, terminal: processTerminal() });
  }
  const hook = new HookRun({ ...call, storePath: storePath(call.db) });
  await hook.answer(process.stdin, (answer) => process.stdout.write(answer));
  return 0;
}

/** Gives the process these surroundings. Returns the function that takes them away. */
function surround({ cwd, env, ...streams }: Surroundings & { stdout: PassThrough; stderr: PassThrough }): () => void {
  const before = { cwd: process.cwd(), env: { ...process.env }, argv: process.argv };
  const descriptors = Object.entries(streams).map(([name, value]) => {
    const descriptor = Object.getOwnPropertyDescriptor(process, name)!;
    Object.defineProperty(process, name, { value, configurable: true });
    return [name, descriptor] as const;
  });
  process.chdir(cwd);
  process.argv = [process.execPath, PROGRAM];
  replaceEnv(env);
  return () => {
    replaceEnv(before.env);
    process.argv = before.argv;
    process.chdir(before.cwd);
    for (const [name, descriptor] of descriptors) Object.defineProperty(process, name, descriptor);
  };
}

/** Changes the variables one by one: native code would not notice another object. */
function replaceEnv(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
}
