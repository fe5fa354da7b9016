import { Option } from "commander";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { projectAt } from "../../core/project.ts";
import type { Lost } from "../../session/aids/lost.ts";
import { sessionIds } from "../../session/aids/session-ids.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { messageTyped, wholeNumberOption } from "../options.ts";
import { messageHandle } from "../screen/message-lines.ts";
import type { Terminal } from "../screen/terminal.ts";
import { factsLine, headline, sectionLines, timeFor } from "../screen/topic-lines.ts";
import { findProject } from "../stores/find-project.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";

interface LostFlags {
  summary?: number;
  project?: string;
  limit: number;
}

const LIMIT_DEFAULT = 60;

export const lostCommand: Command<LostFlags> = {
  usage: "lost [session]",
  summary: "Show what a session's newest compaction lost, or another one.",
  details:
    "What stood before the compaction and is not in the agent's own summary: what was asked and not taken back, what was done, " +
    "decided and found, open ends, commands that worked, files, and lines of the work. Every line is quoted from a message, and ends with the " +
    "message that `expand` accepts. Without a session: the newest compacted one of the project of this folder, or of all projects " +
    "if the store has no session of it. With --json: one object, its lines the best first; null if nothing was compacted.",
  argument: SESSION_MEANING,
  options: [
    new Option(
      "--summary <message>",
      "a message of the agent's summary: that compaction, such as message:4711",
    ).argParser(messageTyped),
    new Option("--project <project>", "by name or path: without a session, the newest compacted one of this project"),
    wholeNumberOption("limit", "most lines", 1, PAGE_LIMIT_MAX).default(LIMIT_DEFAULT),
  ],
  paged: true,
  examples: ["", "488c5296", "--summary message:4711", "--project web --limit 20", "488c5296 --json"],

  async run({ args: [typed], options: { summary: summaryId, project: named, limit }, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    if (typed !== undefined || summaryId !== undefined) {
      const session = typed === undefined ? {} : { sessionId: findSession(store, typed).id };
      const lost = store.lost({ ...session, ...(summaryId !== undefined && { summaryId }), limit });
      const none =
        summaryId === undefined ? "This session was never compacted." : `${messageHandle(summaryId)} is no summary.`;
      return { value: lost ?? null, lines: lostLines(lost, store, none, terminal) };
    }
    const project = named === undefined ? projectHere(store) : findProject(store, named);
    const lost = store.lost({ limit, ...(project !== undefined && { project }) });
    const none = `No session${project === undefined ? "" : " of this project"} was compacted.`;
    return { value: lost ?? null, lines: lostLines(lost, store, none, terminal) };
  },
};

/** Returns the project of the folder that the command runs in; undefined if the store has no session of it. */
function projectHere(store: Store): string | undefined {
  const here = projectAt(process.cwd());
  return here !== undefined && sessionIds(store, { project: here }).length > 0 ? here : undefined;
}

function* lostLines(lost: Lost | undefined, store: Store, none: string, terminal: Terminal): Generator<string> {
  if (lost === undefined) {
    terminal.note(`${none} The transcripts of imported sessions tell of compactions.`);
    return;
  }
  const { sessionId, atMs, earlierId, lines } = lost;
  const name = store.resume(sessionId).info().name;
  yield headline(name ?? sessionId, terminal);
  yield factsLine([`session ${sessionId}`, `compacted ${timeFor(terminal, atMs)}`]);
  if (lines.length === 0) {
    terminal.note("The agent's summary has all of it.");
    return;
  }
  const inOrder = lines.toSorted((left, right) => left.place - right.place);
  for (const kind of new Set(inOrder.map((line) => line.kind))) {
    const rows = inOrder.filter((line) => line.kind === kind);
    yield* sectionLines(
      kind,
      rows.map(({ text, messageId }) => ({ text, source: messageHandle(messageId) })),
      terminal,
      kind === "file" ? "start" : "end",
    );
  }
  const earlier =
    earlierId === null ? "" : `, or coppice lost --summary ${messageHandle(earlierId)} for the compaction before`;
  terminal.hint(`Next: coppice expand ${messageHandle(lines[0]!.messageId)}${earlier}`);
}
