import type { Command as CommanderCommand } from "commander";
import { printableJson } from "../core/markup.ts";
import type { AnyCommand, Output } from "./command.ts";
import { homeCommand } from "./commands/home.ts";
import { Failure, failureFrom, failureJson, failureText } from "./failure.ts";
import { type CommandLine, createProgram, fullName, namedCommand, optionsOf, runProgram } from "./program.ts";
import { openPager } from "./screen/pager.ts";
import type { Terminal } from "./screen/terminal.ts";
import type { OpenedStores } from "./stores/opened-stores.ts";
import { storePath } from "./stores/store-path.ts";

/**
 * Runs the command that the words name, and reports a failure on stderr.
 *
 * @param argv  The words after the program's name.
 * @returns the exit code: 0 if the command succeeded, 1 if it failed, 2 if it was misused, 128 and more if a signal ended it.
 */
export async function runCommandLine(argv: readonly string[], commandLine: CommandLine): Promise<number> {
  const { terminal } = commandLine;
  const program = createProgram(commandLine, argv.includes("--json"), (command, parsed) =>
    run(command, parsed, terminal),
  );
  const begin = argv.findIndex((word) => namedCommand(program, [word]) !== undefined);
  const command = begin === -1 ? undefined : namedCommand(program, argv.slice(begin));
  try {
    const name = command && fullName(command).replace("coppice", "coppice help");
    const hint = name === undefined ? "`coppice help` lists the commands." : `\`${name}\` explains it.`;
    await runProgram(program, namesNothing(argv) ? [...argv, homeCommand.usage] : argv, hint);
    return 0;
  } catch (error) {
    const failure = failureFrom(error);
    reportFailure(failure, argv, terminal);
    return failure.exitCode;
  }
}

/** True if the words are nothing but options that all commands have. */
function namesNothing(argv: readonly string[]): boolean {
  if (["--db", "--color"].includes(argv.at(-1)!)) return false; // it lacks its value
  return argv.every((word, index) => {
    if (/^--(?:json$|(?:db|color)(?:=|$))/.test(word)) return true;
    return ["--db", "--color"].includes(argv[index - 1]!);
  });
}

export function reportFailure(failure: Failure, argv: readonly string[], terminal: Terminal): void {
  const debug = process.env.COPPICE_DEBUG === "1";
  const text = argv.includes("--json")
    ? failureJson(failure, debug)
    : failureText(failure, debug).replace(/^coppice:/, (name) => terminal.styleNote(["bold", "red"], name));
  terminal.note(text);
}

async function run(command: AnyCommand, parsed: CommanderCommand, terminal: Terminal): Promise<void> {
  const { db, json = false } = parsed.optsWithGlobals<{ db?: string; json?: boolean }>();
  // An unset shell variable gives an empty name. To open the default store instead would be a surprise.
  if (db === "") throw new Failure("USAGE_INVALID", "`--db` needs a file.");
  let stores: OpenedStores | undefined;
  const loadStores = async (): Promise<OpenedStores> => {
    const { OpenedStores } = await import("./stores/opened-stores.ts");
    stores ??= new OpenedStores(db);
    return stores;
  };
  try {
    const output = await command.run({
      args: parsed.args,
      options: optionsOf(parsed),
      terminal,
      json,
      storePath: storePath(db),
      loadStores,
    });
    const closePager = command.paged && !json ? openPager(terminal) : undefined;
    try {
      await print(output, json, terminal);
    } finally {
      await closePager?.();
    }
    const failure = typeof output.failure === "function" ? output.failure() : output.failure;
    if (failure !== undefined) throw failure;
  } finally {
    terminal.endProgress();
    stores?.close();
  }
}

async function print({ value, elements, lines }: Output, json: boolean, terminal: Terminal): Promise<void> {
  if (json && elements === undefined) return terminal.print(printableJson(value));
  for (const line of json ? arrayLines(elements!) : lines) {
    terminal.print(line);
    if (!(await terminal.taken())) return;
  }
}

function* arrayLines(elements: Iterable<unknown>): Generator<string> {
  let last: string | undefined;
  for (const element of elements) {
    // `[` is printed with the first element, so that a failure before it leaves stdout empty.
    yield last === undefined ? "[" : `${last},`;
    last = printableJson(element);
  }
  if (last === undefined) return yield "[]";
  yield last;
  yield "]";
}
