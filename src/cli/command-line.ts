import { type Command as CommanderCommand, CommanderError } from "commander";
import type { AnyCommand, Output } from "./command.ts";
import { Failure, failureJson, failureOf, failureText } from "./failure.ts";
import { misuseOf } from "./misuse.ts";
import type { OpenedStores } from "./opened-stores.ts";
import { type CommandLine, programOf } from "./program.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Run the command that was typed.
 *
 * @param argv  What follows the program's name.
 * @returns the exit code: 0 done, 1 failed, 2 misused, 130 interrupted. Whatever went wrong has been reported on stderr
 *   by then.
 */
export async function runCommandLine(argv: readonly string[], commandLine: CommandLine): Promise<number> {
  const { terminal } = commandLine;
  const program = programOf(commandLine, argv.includes("--json"), (command, subcommand) =>
    run(command, subcommand, terminal),
  );
  try {
    await program.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // `--help` and `--version` end this way
    const typed = argv.find((word) => program.commands.some((command) => command.name() === word));
    const failure = error instanceof CommanderError ? misuseOf(error, typed) : failureOf(error);
    reportFailure(failure, argv, terminal);
    return failure.exitCode;
  }
}

/** @param argv  What was typed: where it asks for JSON, so the failure is. */
export function reportFailure(failure: Failure, argv: readonly string[], terminal: Terminal): void {
  const debug = process.env.COPPICE_DEBUG === "1";
  const text = argv.includes("--json")
    ? failureJson(failure, debug)
    : failureText(failure, debug).replace(/^coppice:/, (name) => terminal.styleNote(["bold", "red"], name));
  terminal.note(text);
}

/** Run it with what was parsed, and print what comes of it. */
async function run(command: AnyCommand, parsed: CommanderCommand, terminal: Terminal): Promise<void> {
  const { db, json = false } = parsed.optsWithGlobals<{ db?: string; json?: boolean }>();
  // As of a variable that is not set; the user's own store is not what was meant.
  if (db === "") throw new Failure("USAGE_INVALID", "`--db` is given without a file.", { exitCode: 2 });
  let stores: OpenedStores | undefined;
  const loadStores = async (): Promise<OpenedStores> => {
    const { OpenedStores } = await import("./opened-stores.ts"); // half the time of a command goes into it
    stores ??= new OpenedStores(db);
    return stores;
  };
  try {
    const call = { args: parsed.args, options: parsed.opts(), terminal, json };
    const output = await ("runEarly" in command
      ? command.runEarly({ ...call, loadStores })
      : command.run({ ...call, stores: await loadStores() }));
    await print(output, json, terminal);
    const failure = typeof output.failure === "function" ? output.failure() : output.failure;
    if (failure !== undefined) throw failure;
  } finally {
    terminal.endProgress();
    stores?.close();
  }
}

async function print({ value, elements, lines }: Output, json: boolean, terminal: Terminal): Promise<void> {
  if (json && elements === undefined) return terminal.print(JSON.stringify(value));
  for (const line of json ? arrayLines(elements!) : lines) {
    terminal.print(line);
    if (!(await terminal.taken())) return;
  }
}

/** A JSON array, an element a line. */
function* arrayLines(elements: Iterable<unknown>): Generator<string> {
  let last: string | undefined;
  for (const element of elements) {
    // The first is there before anything is printed: a failure would leave half a value behind.
    yield last === undefined ? "[" : `${last},`;
    last = JSON.stringify(element);
  }
  if (last === undefined) return yield "[]";
  yield last;
  yield "]";
}
