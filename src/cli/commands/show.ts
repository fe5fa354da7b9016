import type { Message } from "../../core/message.ts";
import type { Session } from "../../session/session.ts";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { messageLines } from "../message-lines.ts";
import { PAGE_OPTIONS, type PageOptions, restLines } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatTime, oneLine } from "../text.ts";

type SessionOverview = ReturnType<Session["info"]>;

/** `show` prints a session as it was: all of its messages, from the first on, a page at a time. */
export const show: Command<PageOptions> = {
  name: "show",
  summary: "Print a session's messages word for word, oldest first.",
  details: "With --json: {session, messages, messageCount}.",
  arguments: [{ name: "<session>", meaning: SESSION_MEANING }],
  options: PAGE_OPTIONS,
  examples: ["488c5296", "488c5296 --limit 20 --offset 100"],

  run({ args: [id], options, stores, terminal }) {
    const session = findSession(stores.openToRead(), id!);
    const overview = session.info();
    const messages = session.messages({ seqFrom: options.offset, limit: options.limit });
    return {
      value: { session: overview, messages, messageCount: overview.messageCount },
      lines: lines(overview, messages, options, terminal),
    };
  },
};

function* lines(
  overview: SessionOverview,
  messages: readonly Message[],
  options: PageOptions,
  terminal: Terminal,
): Generator<string> {
  yield* overviewLines(overview, terminal);
  yield "";
  for (const message of messages) yield* messageLines(message, terminal);
  yield* restLines(options, messages.length, overview.messageCount);
  const id = oneLine(overview.id);
  terminal.hint(`Next: coppice resume ${id}, for what a model would get, or coppice forest ${id}`);
}

function* overviewLines(overview: SessionOverview, terminal: Terminal): Generator<string> {
  const { id, title, project, source, parentSessionId, messageCount, tokenCount, createdAtMs, updatedAtMs } = overview;
  yield terminal.style("bold", oneLine(title ?? id));
  const facts = [
    `session ${id}`,
    project === null ? "" : `project ${oneLine(project)}`,
    source === null ? "" : `from ${source}`,
    parentSessionId === null ? "" : `started by ${parentSessionId}`,
  ];
  yield facts.filter(Boolean).join(" · ");
  const counts = [formatCount(messageCount, "message"), formatCount(tokenCount, "token")];
  yield [...counts, `${formatTime(createdAtMs)} to ${formatTime(updatedAtMs)}`].join(" · ");
}
