import { Command as CommanderCommand, Option } from "commander";
import type { AnyCommand, CommandEntry, CommandGroup } from "./command.ts";
import { Failure } from "./failure.ts";
import { didYouMean } from "./suggestion.ts";
import { COLOR_CHOICES, type ColorChoice, type Terminal } from "./terminal.ts";

export interface CommandLine {
  groups: readonly CommandGroup[];
  version: string;
  terminal: Terminal;
}

const FIRST_STEPS = `
First steps:
  coppice watch --once                     find and import the transcripts of your agents
  coppice sessions                         list the sessions, newest first
  coppice recall which region did we pick  find who said what
  coppice show @last                       read the newest session

Name a session by its id, the beginning of its id, or @last for the newest.
\`coppice help <command>\` shows examples.`;

/** The widest help, in columns. Longer lines are hard to read. */
const HELP_WIDTH_MAX = 100;
const HELP_WIDTH_UNKNOWN = 80;

/**
 * Creates commander's view of the command line: what it parses, and what help says.
 *
 * @param json  True if only JSON may be printed, even if help would be shown after a misuse.
 * @param run  Runs a command with the options and arguments that were parsed.
 */
export function createProgram(
  { groups, version, terminal }: CommandLine,
  json: boolean,
  run: (command: AnyCommand, parsed: CommanderCommand) => Promise<void>,
): CommanderCommand {
  const helpWidth = Math.min(terminal.width ?? HELP_WIDTH_UNKNOWN, HELP_WIDTH_MAX);
  const entries = new Map<CommanderCommand, CommandEntry>();
  /** Adds the command's own options and help, which stay unloaded until the command is typed or explained. */
  const complete = async (subcommand: CommanderCommand): Promise<void> => {
    const entry = entries.get(subcommand);
    if (entry === undefined) return;
    const { command } = await entry.load();
    addCommandWords(subcommand, entry, command);
    subcommand.action(() => run(command, subcommand));
  };
  const program = new CommanderCommand("coppice")
    .description("Keeps the conversations of LLM agents: every message, with old ones behind summaries that expand.")
    .version(version)
    .option("--db <file>", "the store (default: $COPPICE_DB, else agent.db in your data folder)")
    .option("--json", "print one JSON value instead of text; errors go to stderr as JSON too")
    .addOption(new Option("--color <when>", "color the output").choices(COLOR_CHOICES).default("auto"))
    .addHelpText("after", FIRST_STEPS)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => {
        if (!json) terminal.note(text.trimEnd());
      },
      outputError: () => {}, // reported like all other errors
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
    })
    .exitOverride()
    .hook("preSubcommand", (_, subcommand) => complete(subcommand))
    .hook("preAction", (parsed) => {
      terminal.colors = parsed.opts<{ color: ColorChoice }>().color;
    });
  for (const { heading, commands } of groups) {
    program.commandsGroup(`${heading}:`);
    for (const entry of commands) entries.set(program.command(entry.usage).summary(entry.summary), entry);
  }
  program.helpCommand(false); // commander's own help command does not reject an unknown name
  program
    .commandsGroup("More:")
    .command("help")
    .argument("[command]", "the command to explain")
    .summary("Explain a command.")
    .action(async (name: string | undefined) => {
      const command = name === undefined ? program : program.commands.find((one) => one.name() === name);
      if (command === undefined) throw unknownCommand(program, name!);
      await complete(command);
      command.outputHelp();
    });
  return program;
}

function unknownCommand({ commands }: CommanderCommand, name: string): Failure {
  const names = commands.map((one) => one.name());
  const hint = didYouMean(name, names) || "`coppice help` lists the commands.";
  return new Failure("USAGE_INVALID", `Unknown command '${name}'.`, { hint, exitCode: 2 });
}

/** Adds what a command's module says about its arguments and options. */
function addCommandWords(subcommand: CommanderCommand, { summary }: CommandEntry, command: AnyCommand): void {
  const { details, argument, options = [] } = command;
  const examples = command.examples.map((example) => `  coppice ${subcommand.name()} ${example}`.trimEnd());
  subcommand
    .description(details === undefined ? summary : `${summary}\n\n${details}`)
    .addHelpText("after", `\nExamples:\n${examples.join("\n")}`);
  if (argument !== undefined) subcommand.registeredArguments[0]!.description = argument;
  for (const option of options) subcommand.addOption(option);
}
