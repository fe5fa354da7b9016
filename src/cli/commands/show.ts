import type { Message } from "../../core/message.ts";
import type { Session } from "../../session/session.ts";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { messageLines } from "../message-lines.ts";
import { moreLines, PAGE_OPTIONS, type PageOptions } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatTime, oneLine } from "../text.ts";

type SessionOverview = ReturnType<Session["info"]>;

export const showCommand: Command<PageOptions> = {
  usage: "show <session>",
  summary: "Print a session's messages word for word, oldest first.",
  details: "With --json: {session, messages, messageCount}.",
  argument: SESSION_MEANING,
  options: PAGE_OPTIONS,
  examples: ["488c5296", "488c5296 --limit 20 --offset 100"],

  async run({ args: [typed], options, loadStores, terminal }) {
    const session = findSession((await loadStores()).openToRead(), typed!);
    const overview = session.info();
    const messages = session.messages({ seqFrom: options.offset, limit: options.limit });
    return {
      value: { session: overview, messages, messageCount: overview.messageCount },
      lines: sessionLines(overview, messages, options, terminal),
    };
  },
};

function* sessionLines(
  overview: SessionOverview,
  messages: readonly Message[],
  options: PageOptions,
  terminal: Terminal,
): Generator<string> {
  const { title, project, source, parentSessionId, messageCount, tokenCount, createdAtMs, updatedAtMs } = overview;
  const id = oneLine(overview.id);
  yield terminal.style("bold", oneLine(title ?? id));
  const origin = [
    `session ${id}`,
    project === null ? "" : `project ${oneLine(project)}`,
    source === null ? "" : `from ${source}`,
    parentSessionId === null ? "" : `started by ${parentSessionId}`,
  ];
  yield origin.filter(Boolean).join(" · ");
  const counts = [formatCount(messageCount, "message"), formatCount(tokenCount, "token")];
  yield [...counts, `${formatTime(createdAtMs)} to ${formatTime(updatedAtMs)}`].join(" · ");
  yield "";
  for (const message of messages) yield* messageLines(message, terminal);
  yield* moreLines(options, messages.length, messageCount);
  terminal.hint(`Next: coppice resume ${id}, for what a model would get, or coppice forest ${id}`);
}
