import { Command as CommanderCommand, Option } from "commander";
import type { AnyCommand, CommandGroup } from "./command.ts";
import { Failure } from "./failure.ts";
import { didYouMean } from "./suggestion.ts";
import { COLOR_CHOICES, type ColorChoice, type Terminal } from "./terminal.ts";

export interface CommandLine {
  groups: readonly CommandGroup[];
  version: string;
  terminal: Terminal;
}

/** What a newcomer types, in this order. */
const FIRST_STEPS = `
First steps:
  coppice watch --once                     find what your agents have said, and bring it in
  coppice sessions                         see what is there, the newest first
  coppice recall which region did we pick  find who said what
  coppice show @last                       read the newest session

A session is named by its id, the beginning of it, or @last for the newest.
Examples are under \`coppice help <command>\`.`;

/**
 * The command line as commander parses and explains it.
 *
 * @param json  Whether nothing but JSON is wanted, also where help would be shown as it was used wrongly.
 */
export function programOf(
  { groups, version, terminal }: CommandLine,
  json: boolean,
  run: (command: AnyCommand, parsed: CommanderCommand) => Promise<void>,
): CommanderCommand {
  const program = new CommanderCommand("coppice")
    .description("Keeps the conversations of LLM agents: every message, with old ones behind summaries that expand.")
    .version(version)
    .option("--db <file>", "the store (default: $COPPICE_DB, else agent.db in your data folder)")
    .option("--json", "print one JSON value instead of text; errors too, on stderr")
    .addOption(new Option("--color <when>", "color what is printed").choices(COLOR_CHOICES).default("auto"))
    .addHelpText("after", FIRST_STEPS)
    .configureHelp({ showGlobalOptions: true, subcommandTerm: termOf })
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => {
        if (!json) terminal.note(text.trimEnd());
      },
      outputError: () => {}, // reported like all other errors
      getOutHelpWidth: () => helpWidth(terminal.width),
      getErrHelpWidth: () => helpWidth(terminal.width),
    })
    .exitOverride()
    .hook("preAction", (parsed) => {
      terminal.colors = parsed.opts<{ color: ColorChoice }>().color;
    });
  for (const { heading, commands } of groups) {
    program.commandsGroup(`${heading}:`);
    for (const command of commands) {
      const subcommand = addCommand(program, command);
      subcommand.action(() => run(command, subcommand));
    }
  }
  program.helpCommand(false); // commander's own does not say what is wrong with the name of a command
  program
    .commandsGroup("More:")
    .command("help")
    .argument("[command]", "which")
    .summary("Explain a command.")
    .action((name: string | undefined) => explain(program, name));
  return program;
}

/** @throws {Failure} where there is no such command. */
function explain(program: CommanderCommand, name: string | undefined): void {
  const command = name === undefined ? program : program.commands.find((one) => one.name() === name);
  if (command !== undefined) {
    command.outputHelp();
    return;
  }
  const hint =
    didYouMean(
      name!,
      program.commands.map((one) => one.name()),
    ) || "`coppice help` lists the commands.";
  throw new Failure("USAGE_INVALID", `Unknown command '${name}'.`, { hint, exitCode: 2 });
}

function addCommand(program: CommanderCommand, command: AnyCommand): CommanderCommand {
  const examples = command.examples.map((example) => `  coppice ${command.name} ${example}`.trimEnd());
  const subcommand = program
    .command(command.name)
    .summary(command.summary)
    .description(command.details === undefined ? command.summary : `${command.summary}\n\n${command.details}`)
    .addHelpText("after", `\nExamples:\n${examples.join("\n")}`);
  for (const { name, meaning } of command.arguments ?? []) subcommand.argument(name, meaning);
  for (const option of command.options ?? []) subcommand.addOption(option);
  return subcommand;
}

/** The name and what it takes. That most have options goes without saying, in a list that has little room. */
function termOf(command: CommanderCommand): string {
  const names = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...names].join(" ");
}

/** Lines longer than this are hard to read. */
const HELP_WIDTH_MAX = 100;
const HELP_WIDTH_UNKNOWN = 80;

function helpWidth(width: number | undefined): number {
  return Math.min(width ?? HELP_WIDTH_UNKNOWN, HELP_WIDTH_MAX);
}
