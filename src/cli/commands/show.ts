import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import type { Message } from "../../core/message.ts";
import { beganAtMs } from "../../session/aids/every-message.ts";
import { projectNamer } from "../../session/aids/project-meant.ts";
import { sessionIds } from "../../session/aids/session-ids.ts";
import type { Session } from "../../session/session.ts";
import { agentCommand } from "../agent-command.ts";
import type { Command } from "../command.ts";
import { moreLines, PAGE_OPTIONS, type PageOptions, wholeNumberOption } from "../options.ts";
import { messageLines, saidLines, saidParts } from "../screen/message-lines.ts";
import { originOf, sessionTree, treeLines } from "../screen/session-tree.ts";
import { shortIds } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatTime, oneLine } from "../screen/text.ts";
import { headline } from "../screen/topic-lines.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";

type SessionOverview = ReturnType<Session["info"]>;

/** With `--said`, this many messages are read at once. */
const READ_COUNT = 500;

interface ShowFlags extends PageOptions {
  tail?: number;
  said?: true;
  tree?: true;
}

export const showCommand: Command<ShowFlags> = {
  usage: "show <session>",
  summary: "Print a session's messages word for word, oldest first.",
  details: "With --json: {session, messages, messageCount}; with --tree: {session, branches, children}.",
  argument: SESSION_MEANING,
  options: [
    ...PAGE_OPTIONS,
    wholeNumberOption(
      "tail",
      "only the newest messages, this many; instead of --limit and --offset",
      1,
      PAGE_LIMIT_MAX,
    ),
    new Option("--said", "only what people and agents said, without tools and thoughts"),
    new Option("--tree", "only an outline: what it has superseded (✗), and the sessions that it started (↳)"),
  ],
  paged: true,
  examples: ["@last", "@last --said --tail 10", "488c5296 --limit 20 --offset 100", "@last --tree"],

  async run({ args: [typed], options, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const session = findSession(store, typed!);
    if (options.tree) {
      const tree = sessionTree(store, session);
      return { value: tree, lines: treeLines(store, tree, terminal) };
    }
    const overview = session.info();
    const messages = options.tail === undefined ? page(session, options) : tail(session, options.tail, options.said);
    return {
      value: { session: overview, messages, messageCount: overview.messageCount },
      lines: sessionLines(
        { ...overview, project: projectNamer(store)(overview.project), fromMs: beganAtMs(session) },
        messages,
        options,
        terminal,
        shortIds(sessionIds(store))(session.id),
      ),
    };
  },
};

/** Returns the messages from an offset on, oldest first. */
function page(session: Session, { offset, limit, said }: ShowFlags): Message[] {
  const found: Message[] = [];
  for (let seqFrom = offset; found.length < limit; ) {
    const read = session.messages({ seqFrom, limit: said ? READ_COUNT : limit });
    const last = read.at(-1);
    if (last === undefined) break;
    found.push(...read.filter((message) => !said || saidParts(message).length > 0));
    if (!said) break;
    seqFrom = last.seq + 1;
  }
  return found.slice(0, limit);
}

/** Returns the newest messages, oldest first. */
function tail(session: Session, count: number, said?: true): Message[] {
  let found: Message[] = [];
  for (let seqTo = Number.MAX_SAFE_INTEGER; seqTo >= 0 && found.length < count; ) {
    const read = session.messages({ seqTo, last: READ_COUNT });
    found = [...read.filter((message) => !said || saidParts(message).length > 0), ...found];
    seqTo = (read[0]?.seq ?? 0) - 1;
  }
  return found.slice(-count);
}

function* sessionLines(
  overview: SessionOverview & { fromMs: number },
  messages: readonly Message[],
  { tail, said }: ShowFlags,
  terminal: Terminal,
  shortId: string,
): Generator<string> {
  const { project, source, messageCount, tokenCount, fromMs, updatedAtMs } = overview;
  const id = oneLine(overview.id);
  yield headline(overview.name ?? id, terminal);
  const origin = [
    `session ${id}`,
    project ? `project ${oneLine(project)}` : "",
    source === null ? "" : `from ${source}`,
    originOf(overview),
  ];
  yield origin.filter(Boolean).join(" · ");
  const counts = [formatCount(messageCount, "message"), formatCount(tokenCount, "token")];
  yield [...counts, `${formatTime(fromMs)} to ${formatTime(updatedAtMs)}`].join(" · ");
  yield "";
  const linesOf = said ? saidLines : messageLines;
  for (const message of messages) yield* linesOf(message, terminal);
  const next = (messages.at(-1)?.seq ?? -1) + 1;
  if (tail === undefined) yield* moreLines({ offset: next }, 0, messageCount);
  const again = agentCommand(overview);
  const other = again === undefined ? `coppice resume ${shortId}, for where it stands` : `${again}, to go on with it`;
  terminal.hint(`Next: coppice show ${shortId} --said --tail 10, for the newest messages, or ${other}`);
}
