import { Command as CommanderCommand, CommanderError, type Option } from "commander";
import { Failure, failureJson, failureOf, failureText } from "./failure.ts";
import { OpenedStores } from "./opened-stores.ts";
import type { Terminal } from "./terminal.ts";

/**
 * One word of the command line. It translates what was typed into calls of the library, and what comes back into a
 * value and lines; it decides nothing itself.
 */
export interface Command<Options = object> {
  name: string;
  summary: string;
  /** What the summary leaves open, for `--help`. */
  details?: string;
  /** In commander's notation: `<session>` must be given, `[path]` may be, `<paths...>` are one or more. */
  arguments?: readonly { name: string; meaning: string }[];
  options?: readonly Option[];
  /** What one would type after the command's name. */
  examples: readonly string[];
  run(call: Call<Options>): Output | Promise<Output>;
}

/** A command that was typed, with everything it needs to run. */
export interface Call<Options> {
  /** The arguments, those of `<paths...>` one by one. */
  args: readonly string[];
  options: Options;
  terminal: Terminal;
  /** Whether the value is wanted, and stderr is to stay empty but for a failure. */
  json: boolean;
  /** Opens the store. It is closed when the output has been printed. */
  stores: OpenedStores;
}

export interface Output {
  /** What `--json` prints. */
  value: unknown;
  /** What is printed otherwise. Asked for only then. */
  lines: Iterable<string>;
  /** Why this is no success although there is something to print. */
  failure?: Failure | undefined;
}

/** A command among others: what its options parse to is its own business. */
// biome-ignore lint/suspicious/noExplicitAny: commander gives options as it parsed them.
export type AnyCommand = Command<any>;

export interface CommandLine {
  commands: readonly AnyCommand[];
  version: string;
  terminal: Terminal;
}

/**
 * Run the command that was typed.
 *
 * @param argv  What follows the program's name.
 * @returns the exit code: 0 done, 1 failed, 2 misused. Whatever went wrong has been reported on stderr by then.
 */
export async function runCommandLine(argv: readonly string[], commandLine: CommandLine): Promise<number> {
  try {
    await programOf(commandLine).parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0; // `--help` and `--version` end this way
    const failure = error instanceof CommanderError ? misuseOf(error) : failureOf(error);
    const debug = process.env.COPPICE_DEBUG === "1";
    commandLine.terminal.note(argv.includes("--json") ? failureJson(failure, debug) : failureText(failure, debug));
    return failure.exitCode;
  }
}

function programOf({ commands, version, terminal }: CommandLine): CommanderCommand {
  const program = new CommanderCommand("coppice")
    .description("Keeps the conversations of LLM agents: every message, with old ones behind summaries that expand.")
    .version(version)
    .option("--db <file>", "the store (default: $COPPICE_DB, else agent.db in your data folder)")
    .option("--json", "print one JSON value instead of text; errors too, on stderr")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
      outputError: () => {}, // reported like all other errors
    })
    .exitOverride();
  for (const command of commands) addCommand(program, command, terminal);
  return program;
}

function addCommand(program: CommanderCommand, command: AnyCommand, terminal: Terminal): void {
  const examples = command.examples.map((example) => `  coppice ${command.name} ${example}`.trimEnd());
  const subcommand = program
    .command(command.name)
    .summary(command.summary)
    .description(command.details === undefined ? command.summary : `${command.summary}\n\n${command.details}`)
    .addHelpText("after", `\nExamples:\n${examples.join("\n")}`);
  for (const { name, meaning } of command.arguments ?? []) subcommand.argument(name, meaning);
  for (const option of command.options ?? []) subcommand.addOption(option);
  subcommand.action(async () => {
    const { db, json = false } = program.opts<{ db?: string; json?: boolean }>();
    const stores = new OpenedStores(db);
    try {
      const call = { args: subcommand.args, options: subcommand.opts(), terminal, json, stores };
      const { value, lines, failure } = await command.run(call);
      if (json) terminal.print(JSON.stringify(value));
      else for (const line of lines) terminal.print(line);
      if (failure !== undefined) throw failure;
    } finally {
      stores.close();
    }
  });
}

function misuseOf(error: CommanderError): Failure {
  if (error.code === "commander.help") return new Failure("USAGE_INVALID", "Name a command.", { exitCode: 2 });
  // "error: unknown command 'sesions'\n(Did you mean sessions?)"
  const [problem = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const message = `${problem.charAt(0).toUpperCase()}${problem.slice(1).replace(/\.?$/, ".")}`;
  const hint = suggestion?.slice(1, -1) ?? "`coppice help` lists the commands, `coppice help <command>` its options.";
  return new Failure("USAGE_INVALID", message, { hint, exitCode: 2, cause: error });
}
