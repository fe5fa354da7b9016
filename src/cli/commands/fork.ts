import { Option } from "commander";
import type { Command } from "../command.ts";
import { messageTyped } from "../options.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";

interface ForkFlags {
  at?: number;
  id?: string;
}

export const forkCommand: Command<ForkFlags> = {
  usage: "fork <session>",
  summary: "Begin another session that shares this one up to a message.",
  details:
    "Nothing is copied, and both go on independently. While the fork exists, what it shares cannot be rewound or forgotten.\n" +
    "With --json: {sessionId, messageCount}.",
  argument: SESSION_MEANING,
  options: [
    new Option(
      "--at <message>",
      "the last message to share, as `coppice show` names it; by default the newest",
    ).argParser(messageTyped),
    new Option("--id <id>", "the id of the fork; by default a new one"),
  ],
  examples: ["@last", "support-42 --at message:17", "support-42 --id support-42-retry"],

  async run({ args: [typed], options: { at, id }, loadStores }) {
    const session = findSession((await loadStores()).openToWrite({ mustExist: true }), typed!);
    const fork = session.fork({ ...(at !== undefined && { toMessageId: at }), ...(id !== undefined && { id }) });
    const { messageCount } = fork.info();
    return {
      value: { sessionId: fork.id, messageCount },
      lines: [`${oneLine(fork.id)} shares ${formatCount(messageCount, "message")} of ${oneLine(session.id)}.`],
    };
  },
};
