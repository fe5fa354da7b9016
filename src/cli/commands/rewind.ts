import { InvalidArgumentError, Option } from "commander";
import { messageIdOf } from "../../core/handle.ts";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { askToAgree } from "../agreement.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { messageHandle } from "../message-lines.ts";
import { formatCount, oneLine } from "../text.ts";

interface RewindFlags {
  to: number | "start";
  dryRun?: true;
  yes?: true;
}

export const rewindCommand: Command<RewindFlags> = {
  usage: "rewind <session>",
  summary: "Go back to a message: the later ones leave the session.",
  details:
    "It shows what would leave, and asks. Nothing is deleted: `coppice undo` brings the messages back, `coppice show --tree` " +
    "lists them, and `coppice recall --superseded` finds them.\n" +
    "With --json: {branchId, supersededCount, isDryRun}.",
  argument: SESSION_MEANING,
  options: [
    new Option("--to <message>", "the last message that stays, as `coppice show` names it; or start, to keep none")
      .argParser(target)
      .makeOptionMandatory(),
    new Option("--dry-run", "show what would leave, and change nothing"),
    new Option("--yes", "go back without asking"),
  ],
  examples: ["@last --to message:17", "support-42 --to 17 --dry-run", "support-42 --to start --yes"],

  async run({ args: [typed], options: { to, dryRun, yes }, loadStores, terminal, json }) {
    const store = (await loadStores()).openToWrite({ mustExist: true });
    const session = findSession(store, typed!);
    const toSeq = to === "start" ? -1 : seqOf(store, session, to);
    const preview = { branchId: null, supersededCount: countFrom(session, toSeq + 1), isDryRun: true };
    const lines = () => previewLines(session, toSeq, preview.supersededCount);
    if (dryRun) return { value: preview, lines: [...lines(), "Nothing was changed."] };
    if (!yes && preview.supersededCount > 0) {
      if (!json) for (const line of lines()) terminal.note(line);
      const question = {
        text: "Go back?",
        refused: "Nothing was changed.",
        unasked: {
          message: "Going back needs your agreement. Nothing was changed.",
          hint: "Add --yes to agree, or --dry-run to see what would leave.",
        },
      };
      if (!(await askToAgree(question, terminal, json))) return { value: preview, lines: [] };
    }
    const { branchId, supersededCount } = session.rewind({ toSeq });
    const id = oneLine(session.id);
    if (supersededCount > 0) terminal.hint(`To take it back: coppice undo ${id}`);
    return {
      value: { branchId, supersededCount, isDryRun: false },
      lines: [supersededCount === 0 ? nothingAfter(id) : `${formatCount(supersededCount, "message")} left ${id}.`],
    };
  },
};

function seqOf(store: Store, { id }: Session, messageId: number): number {
  const { sessionId, seq } = store.find(messageId);
  if (sessionId === id) return seq;
  const hint = `\`coppice show ${id}\` lists its messages.`;
  throw new Failure("MESSAGE_NOT_FOUND", `${messageHandle(messageId)} is not a message of session ${id}.`, { hint });
}

/** Counts the messages of a session from a seq on. */
export function countFrom(session: Session, seqFrom: number): number {
  const page = session.messages({ seqFrom });
  return page.length < PAGE_LIMIT_MAX ? page.length : page.length + countFrom(session, page.at(-1)!.seq + 1);
}

function* previewLines(session: Session, toSeq: number, count: number): Generator<string> {
  const id = oneLine(session.id);
  if (count === 0) return yield nothingAfter(id);
  const [first] = session.messages({ seqFrom: toSeq + 1, limit: 1 });
  const to = session.newest()!;
  const range = count === 1 ? messageHandle(first!.id) : `${messageHandle(first!.id)} to ${messageHandle(to.id)}`;
  yield `To leave ${id}: ${formatCount(count, "message")}, ${range}. \`coppice undo\` would bring them back.`;
}

function nothingAfter(id: string): string {
  return `That is the last message of ${id} already.`;
}

function target(typed: string): number | "start" {
  const id = typed === "start" ? typed : messageIdOf(typed);
  if (id !== undefined) return id;
  throw new InvalidArgumentError("Expected a message such as message:17, or start.");
}
