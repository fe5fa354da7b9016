import { Command as CommanderCommand, CommanderError } from "commander";
import type { AnyCommand } from "../command.ts";
import { Failure } from "../failure.ts";
import type { OpenedStores } from "../opened-stores.ts";
import type { Terminal } from "../terminal.ts";

/** A command of the command line that can be typed within a chat. */
interface SlashCommand {
  /** In commander's notation. */
  usage: string;
  meaning: string;
  load: () => Promise<{ command: AnyCommand }>;
  /** True if the command's argument is the session of the chat, and not typed. */
  isOfSession?: true;
}

const SLASH_COMMANDS: readonly SlashCommand[] = [
  {
    usage: "recall <query...>",
    meaning: "find messages, in all sessions",
    load: () => import("../commands/recall.ts"),
  },
  {
    usage: "expand <target>",
    meaning: "print the messages behind a handle or around a message",
    load: () => import("../commands/expand.ts"),
  },
  {
    usage: "clusters",
    meaning: "draw the forest of this session",
    load: () => import("../commands/forest.ts"),
    isOfSession: true,
  },
  { usage: "sessions", meaning: "list the sessions", load: () => import("../commands/sessions.ts") },
];

export interface SlashContext {
  /** Undefined while the chat has no session. */
  sessionId: string | undefined;
  stores: OpenedStores;
  terminal: Terminal;
}

/** Returns true if a line is a command. A blank before the slash, or a second line, makes it a message. */
export function isSlashCommand(line: string): boolean {
  return line.startsWith("/") && !line.includes("\n");
}

/**
 * Runs `/recall …` like `coppice recall …`, with the same options.
 *
 * @returns false if the chat is over.
 * @throws {Failure} if the command was misused; {StoreError} as the command does.
 */
export async function runSlashCommand(line: string, { sessionId, stores, terminal }: SlashContext): Promise<boolean> {
  const words = line.slice(1).trim().split(/\s+/);
  let isOver = false;
  const program = new CommanderCommand("/")
    .exitOverride()
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: () => {},
      outputError: () => {}, // reported like all other errors
    });
  for (const { usage, meaning, load, isOfSession = false } of SLASH_COMMANDS) {
    const subcommand = program.command(usage).description(meaning);
    program.hook("preSubcommand", async (_, typed) => {
      if (typed !== subcommand) return;
      const { command } = await load();
      for (const option of command.options ?? []) subcommand.addOption(option);
      subcommand.action(async () => {
        if (isOfSession && sessionId === undefined) return terminal.print("Nothing has been said yet.");
        const args = isOfSession ? [sessionId!] : subcommand.args;
        const call = { args, options: subcommand.opts(), terminal, json: false, loadStores: async () => stores };
        const { lines } = await command.run(call);
        for (const text of lines) terminal.print(text);
      });
    });
  }
  program.command("help").action(() => terminal.print(helpText()));
  program.command("quit").action(() => {
    isOver = true;
  });
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw slashMisuse(error, words[0]!);
  }
  return !isOver;
}

function helpText(): string {
  const others = [
    { usage: "help", meaning: "print this list" },
    { usage: "quit", meaning: "leave, like Ctrl-D" },
  ];
  const commands = [...SLASH_COMMANDS, ...others];
  const width = Math.max(...commands.map(({ usage }) => usage.length));
  return [
    ...commands.map(({ usage, meaning }) => `/${usage.padEnd(width)}  ${meaning}`),
    "Everything else is said to the model. A blank before a slash makes the line a message.",
    "Ctrl-C ends a reply and keeps what has arrived of it.",
  ].join("\n");
}

function slashMisuse(error: CommanderError, name: string): Failure {
  const [problem = "", suggestion = ""] = error.message.replace(/^error: /, "").split("\n");
  const [, meant] = /^\(Did you mean (\S+)\?\)$/.exec(suggestion) ?? [];
  const isUnknown = error.code === "commander.unknownCommand" || error.code === "commander.help";
  const message = isUnknown ? `There is no /${name}.` : `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`;
  const slash = isUnknown ? "/" : "";
  const hint = meant === undefined ? "/help lists the commands." : `Did you mean ${slash}${meant}?`;
  return new Failure("USAGE_INVALID", message.replace(/\.?$/, "."), { hint, exitCode: 2, cause: error });
}
