import type { AnyCommand } from "../command.ts";
import { expandCommand } from "../commands/expand.ts";
import { forestCommand } from "../commands/forest.ts";
import { recallCommand } from "../commands/recall.ts";
import { sessionsCommand } from "../commands/sessions.ts";
import { addCommand, bareProgram, runProgram } from "../program.ts";
import type { Terminal } from "../screen/terminal.ts";
import type { OpenedStores } from "../stores/opened-stores.ts";

const CLUSTERS: AnyCommand = { ...forestCommand, usage: "clusters" };

const COMMANDS: readonly AnyCommand[] = [recallCommand, expandCommand, CLUSTERS, sessionsCommand];

const HELP = `/recall <query...>  find messages, in all sessions
/expand <target>    print the messages behind a handle or around a message
/clusters           draw the forest of this session
/sessions           list the sessions
/help               print this list
/quit               leave, like Ctrl-D
Everything else is sent to the model. A blank before a slash makes the line a message.
Ctrl-C stops a reply and keeps the part that has arrived.`;

/** Returns true for one line that begins with a slash. A blank before the slash, or a second line, makes it a message. */
export function isSlashCommand(line: string): boolean {
  return line.startsWith("/") && !line.includes("\n");
}

/** Runs `/recall …` like `coppice recall …`. `sessionId` is undefined in a new chat. @returns false if the chat is over. */
export async function runSlashCommand(
  line: string,
  sessionId: string | undefined,
  stores: OpenedStores,
  terminal: Terminal,
): Promise<boolean> {
  const words = line.slice(1).trim().split(/\s+/);
  if (words[0] === "quit") return false;
  const program = bareProgram("/", terminal);
  program.command("help").action(() => terminal.print(HELP));
  for (const command of COMMANDS) {
    addCommand(program, command, async (parsed) => {
      if (command === CLUSTERS && sessionId === undefined) return terminal.print("Nothing has been said yet.");
      const args = command === CLUSTERS ? [sessionId!] : parsed.args;
      const { path: storePath } = stores;
      const call = { args, options: parsed.opts(), terminal, json: false, storePath, loadStores: async () => stores };
      const { lines } = await command.run(call);
      for (const text of lines) terminal.print(text);
    });
  }
  await runProgram(program, words, "/help lists the commands.");
  return true;
}
