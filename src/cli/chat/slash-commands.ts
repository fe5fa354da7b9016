import { Command as CommanderCommand, CommanderError } from "commander";
import type { AnyCommand, Output } from "../command.ts";
import { expand } from "../commands/expand.ts";
import { forest } from "../commands/forest.ts";
import { recall } from "../commands/recall.ts";
import { sessions } from "../commands/sessions.ts";
import { Failure } from "../failure.ts";
import type { OpenedStores } from "../opened-stores.ts";
import type { Terminal } from "../terminal.ts";

/** A word of the command line within a chat. */
interface SlashCommand {
  name: string;
  /** As help shows it. */
  takes?: string;
  meaning: string;
  command: Extract<AnyCommand, { run: unknown }>;
  /** What it is run with in place of what was typed. */
  args?: (sessionId: string) => string[];
}

const SLASH_COMMANDS: readonly SlashCommand[] = [
  { name: "recall", takes: "<query…>", meaning: "find messages, in all sessions", command: recall },
  {
    name: "expand",
    takes: "<handle>",
    meaning: "print the messages behind a handle or around a message",
    command: expand,
  },
  { name: "clusters", meaning: "draw what became of this session", command: forest, args: (id) => [id] },
  { name: "sessions", meaning: "list the sessions", command: sessions },
];

const OTHERS = [
  { name: "help", meaning: "this list" },
  { name: "quit", meaning: "leave; Ctrl-D does, too" },
] as const;

export interface SlashContext {
  /** Undefined as long as there is none. */
  sessionId: string | undefined;
  stores: OpenedStores;
  terminal: Terminal;
}

/** Whether a line is meant for the chat, and not for the model. A blank before the slash, or a second line, makes it a message. */
export function isSlashCommand(line: string): boolean {
  return line.startsWith("/") && !line.includes("\n");
}

/**
 * Run `/recall …` as `coppice recall …` would, with the same options.
 *
 * @returns whether the chat goes on.
 * @throws {Failure} what was typed makes no sense; {StoreError} as the command does.
 */
export async function runSlashCommand(line: string, { sessionId, stores, terminal }: SlashContext): Promise<boolean> {
  const [name = "", ...args] = line.slice(1).trim().split(/\s+/);
  let isOver = false;
  const program = new CommanderCommand("/").exitOverride().helpCommand(false).configureOutput(silentBut(terminal));
  for (const slash of SLASH_COMMANDS) {
    const { command } = slash;
    const subcommand = program.command(slash.name).summary(slash.meaning).description(command.summary);
    if (slash.args === undefined) {
      for (const argument of command.arguments ?? []) subcommand.argument(argument.name, argument.meaning);
    }
    for (const option of command.options ?? []) subcommand.addOption(option);
    subcommand.action(async () => {
      if (slash.args !== undefined && sessionId === undefined) return terminal.print("Nothing has been said yet.");
      const given = slash.args?.(sessionId!) ?? subcommand.args;
      const call = { args: given, options: subcommand.opts(), terminal, json: false, stores };
      const output: Output = await command.run(call);
      for (const text of output.lines) terminal.print(text);
    });
  }
  program.command("help").action(() => terminal.print(helpLines().join("\n")));
  program.command("quit").action(() => {
    isOver = true;
  });
  try {
    await program.parseAsync([name, ...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw misuseOf(error, name);
  }
  return !isOver;
}

function helpLines(): string[] {
  const entries = [...SLASH_COMMANDS, ...OTHERS].map((entry) => {
    const takes = "takes" in entry ? ` ${entry.takes}` : "";
    return [`/${entry.name}${takes}`, entry.meaning] as const;
  });
  const width = Math.max(...entries.map(([words]) => words.length));
  return [
    ...entries.map(([words, meaning]) => `${words.padEnd(width)}  ${meaning}`),
    "Everything else is said to the model; with a blank before it, also what begins with a slash.",
    "Ctrl-C ends a reply, and what has arrived of it is kept.",
  ];
}

/** Commander's errors are reported like all others. */
function silentBut(terminal: Terminal) {
  return { writeOut: (text: string) => terminal.print(text.trimEnd()), writeErr: () => {}, outputError: () => {} };
}

function misuseOf(error: CommanderError, name: string): Failure {
  const [problem = "", suggestion = ""] = error.message.replace(/^error: /, "").split("\n");
  const [, meant] = /^\(Did you mean (\S+)\?\)$/.exec(suggestion) ?? [];
  const isUnknown = error.code === "commander.unknownCommand" || error.code === "commander.help";
  const message = isUnknown ? `There is no /${name}.` : `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`;
  const slash = isUnknown ? "/" : "";
  const hint = meant === undefined ? "/help lists the commands." : `Did you mean ${slash}${meant}?`;
  return new Failure("USAGE_INVALID", message.replace(/\.?$/, "."), { hint, exitCode: 2, cause: error });
}
