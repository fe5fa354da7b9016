import { Command as CommanderCommand, CommanderError, Option } from "commander";
import { didYouMean } from "../core/suggestion.ts";
import type { AnyCommand, CommandGroup } from "./command.ts";
import { Failure } from "./failure.ts";
import { COLOR_CHOICES, type ColorChoice, type Terminal } from "./screen/terminal.ts";

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

Name a session by its id, the beginning of its id, or @last for the newest with messages.
\`coppice help <command>\` shows examples.`;

/** The widest help, in columns. Longer lines are hard to read. */
const HELP_WIDTH_MAX = 100;
const HELP_WIDTH_UNKNOWN = 80;

/** Commander's message about a word that is not one of the choices. */
const CHOICE = /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s;

/**
 * @param json  True if only JSON may be printed, so that a misuse shows no help.
 * @param run  Called with the command and what was parsed.
 */
export function createProgram(
  { groups, version, terminal }: CommandLine,
  json: boolean,
  run: (command: AnyCommand, parsed: CommanderCommand) => Promise<void>,
): CommanderCommand {
  const program = bareProgram("coppice", terminal)
    .description("Keeps the conversations of LLM agents: every message, with old ones behind summaries that expand.")
    .version(version)
    .option("--db <file>", "the store (default: $COPPICE_DB, else agent.db in your data folder)")
    .option("--json", "print one JSON value instead of text; errors go to stderr as JSON too")
    .addOption(new Option("--color <when>", "color the output").choices(COLOR_CHOICES).default("auto"))
    .addHelpText("after", FIRST_STEPS)
    .configureHelp({
      showGlobalOptions: true,
      // Aliases work when they are typed. In the list they would be noise.
      subcommandTerm: (command) => `${command.name()} ${command.usage()}`,
    })
    .hook("preAction", (parsed) => {
      terminal.colors = parsed.opts<{ color: ColorChoice }>().color;
    });
  if (!json) program.configureOutput({ writeErr: (text) => terminal.note(text.trimEnd()) });
  for (const { heading, commands } of groups) {
    program.commandsGroup(`${heading}:`);
    for (const command of commands) {
      const parent = addCommand(program, command, (parsed) => run(command, parsed));
      if (command.subcommands === undefined) continue;
      for (const nested of command.subcommands) addCommand(parent, nested, (parsed) => run(nested, parsed));
      if (parent.registeredArguments.length > 0) continue;
      parent.allowExcessArguments().hook("preAction", (_, ran) => {
        const [word] = ran === parent ? ran.args : [];
        if (word === "help") parent.help();
        if (word !== undefined) refuseWord(parent, word);
      });
    }
  }
  program
    .commandsGroup("More:")
    .command("help")
    .argument("[command...]", "the command to explain")
    .summary("Explain a command.")
    .action(async (words: readonly string[]) => {
      const command = words.length === 0 ? program : namedCommand(program, words);
      if (command === undefined) await program.parseAsync(words, { from: "user" }); // reports the unknown name
      command?.outputHelp();
    });
  return program;
}

/** @throws {Failure} for a word that names none of a command's subcommands. */
function refuseWord(command: CommanderCommand, word: string): never {
  const names = command.commands.map((one) => one.name());
  const hint = didYouMean(word, names) || `Its commands are ${names.join(", ")}.`;
  throw new Failure("USAGE_INVALID", `\`${fullName(command)}\` has no command ${word}.`, { hint });
}

/** Returns the command that the first words name, also one below another, such as `hub push`. */
export function namedCommand(
  program: CommanderCommand,
  [first, ...rest]: readonly string[],
): CommanderCommand | undefined {
  const command = program.commands.find((one) => first !== undefined && isNamed(one, first));
  return command && (namedCommand(command, rest) ?? command);
}

/** Returns true if the word is the command's name or another name of it. */
function isNamed(command: CommanderCommand, word: string): boolean {
  return command.name() === word || command.aliases().includes(word);
}

/** Creates a program without commands. It prints help on the terminal and throws errors. */
export function bareProgram(name: string, terminal: Terminal): CommanderCommand {
  const width = Math.min(terminal.width ?? HELP_WIDTH_UNKNOWN, HELP_WIDTH_MAX);
  return new CommanderCommand(name)
    .helpCommand(false) // commander's own help command does not reject an unknown name
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: () => {},
      outputError: () => {}, // reported like all other errors
      getOutHelpWidth: () => width,
      getErrHelpWidth: () => width,
    });
}

export function addCommand(
  program: CommanderCommand,
  { usage, summary, isHidden = false, aliases = [], details, argument, options = [], examples }: AnyCommand,
  act: (parsed: CommanderCommand) => Promise<void>,
): CommanderCommand {
  const subcommand = program.command(usage, { hidden: isHidden }).summary(summary).aliases(aliases).helpCommand(false);
  const lines = examples.map((example) => `  ${fullName(subcommand)} ${example}`.trimEnd());
  subcommand
    .description(details === undefined ? summary : `${summary}\n\n${details}`)
    .addHelpText("after", `\nExamples:\n${lines.join("\n")}`)
    .action(() => act(subcommand));
  for (const [index, registered] of subcommand.registeredArguments.entries()) {
    registered.description = (typeof argument === "string" ? argument : argument?.[index]) ?? "";
  }
  for (const option of options) subcommand.addOption(option);
  return subcommand;
}

/**
 * Returns the options of a command. Commander gives an option to the outermost command that has one of this name, also if it stands
 * behind the inner one.
 *
 * @throws {Failure} for an option that only the outer command has.
 */
export function optionsOf(command: CommanderCommand): Record<string, unknown> {
  const options = { ...command.opts() };
  const outer = command.parent?.parent ? command.parent : undefined;
  for (const option of outer?.options ?? []) {
    const name = option.attributeName();
    if (outer!.getOptionValueSource(name) !== "cli") continue;
    if (!command.options.some((own) => own.attributeName() === name)) {
      const hint = `\`${fullName(command).replace("coppice", "coppice help")}\` explains it.`;
      throw new Failure("USAGE_INVALID", `\`${fullName(command)}\` has no option ${option.long}.`, { hint });
    }
    options[name] = outer!.getOptionValue(name);
  }
  return options;
}

/** Returns the words that run a command: `coppice hub push`. */
export function fullName(command: CommanderCommand): string {
  return command.parent === null ? "coppice" : `${fullName(command.parent)} ${command.name()}`;
}

/**
 * @param hint  The hint after a misuse for which there is no suggestion.
 * @throws {Failure} `USAGE_INVALID` with commander's message, and whatever the command throws.
 */
export async function runProgram(program: CommanderCommand, words: readonly string[], hint: string): Promise<void> {
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw misuseFailure(error, program, hint); // `--help` and `--version` end with 0
  }
}

/** Converts an error such as "error: unknown command 'sesions'\n(Did you mean sessions?)". */
function misuseFailure(error: CommanderError, program: CommanderCommand, hint: string): Failure {
  if (error.code === "commander.help") return new Failure("USAGE_INVALID", "Name a command.", { hint });
  const [problem = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const message = `${problem.charAt(0).toUpperCase()}${problem.slice(1).replace(/\.?$/, ".")}`;
  const [, typed = "", choices = ""] = CHOICE.exec(problem) ?? [];
  const [, unknown = ""] = /^unknown command '(.*)'/.exec(message.toLowerCase()) ?? [];
  const nested = program.commands.flatMap(({ commands }) => commands).find((command) => isNamed(command, unknown));
  const guess =
    (nested && `Did you mean ${fullName(nested)}?`) ||
    suggestion?.slice(1, -1) ||
    didYouMean(typed, choices.split(", "));
  return new Failure("USAGE_INVALID", message, { hint: guess || hint, cause: error });
}
