import { InvalidArgumentError, Option } from "commander";
import { messageIdOf } from "../../core/handle.ts";
import { everyMessage } from "../../session/aids/every-message.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { askToAgree } from "../agreement.ts";
import type { Call, Command, Output } from "../command.ts";
import { Failure } from "../failure.ts";
import { messageHandle } from "../screen/message-lines.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";

interface RewindFlags {
  to?: number | "start";
  undo?: true;
  dryRun?: true;
  yes?: true;
}

const NOTHING_CHANGED = "Nothing was changed.";
const AGREE_HINT = "Add --yes to agree, or --dry-run to see what would leave.";

export const rewindCommand: Command<RewindFlags> = {
  usage: "rewind <session>",
  summary: "Go back to a message, so that the later ones leave the session; or take that back.",
  details:
    "It shows what would leave, and asks. Nothing is deleted: --undo brings the messages back, `coppice show --tree` " +
    "lists them, and `coppice recall --superseded` finds them. Another --undo takes back the rewind before. If messages were " +
    "appended since a rewind, these leave the session, and it asks: a second --undo does not bring them back.\n" +
    "With --json: {branchId, supersededCount, isDryRun}; with --undo: {restoredCount, supersededCount, isDryRun}.",
  argument: SESSION_MEANING,
  options: [
    new Option("--to <message>", "the last message that stays, as `coppice show` names it; or start, to keep none")
      .argParser(target)
      .conflicts("undo"),
    new Option("--undo", "take the last rewind back"),
    new Option("--dry-run", "show what would change, and change nothing"),
    new Option("--yes", "do it without asking"),
  ],
  examples: [
    "@last --to message:17",
    "support-42 --to 17 --dry-run",
    "support-42 --to start --yes",
    "support-42 --undo",
  ],

  async run(call) {
    const { args, options, loadStores, terminal, json } = call;
    const { to, undo, dryRun, yes } = options;
    if (to === undefined && undo === undefined) {
      const hint = "Add --to <message>, the last one that stays, or --undo.";
      throw new Failure("USAGE_INVALID", "Go back to which message?", { hint });
    }
    const store = (await loadStores()).openToWrite({ mustExist: true });
    const session = findSession(store, args[0]!);
    if (to === undefined) return undone(session, call);
    const toSeq = to === "start" ? -1 : seqOf(store, session, to);
    const preview = {
      branchId: null,
      supersededCount: countFrom(session, toSeq + 1),
      isDryRun: true,
    };
    const lines = [...previewLines(session, toSeq, preview.supersededCount)];
    if (dryRun) return { value: preview, lines: [...lines, NOTHING_CHANGED] };
    if (!yes && preview.supersededCount > 0) {
      const message = `Going back needs your agreement. ${NOTHING_CHANGED}`;
      const question = { lines, text: "Go back?", refused: NOTHING_CHANGED, unasked: { message, hint: AGREE_HINT } };
      if (!(await askToAgree(question, terminal, json))) return { value: preview, lines: [] };
    }
    const { branchId, supersededCount } = session.rewind({ toSeq });
    const id = oneLine(session.id);
    if (supersededCount > 0) terminal.hint(`To take it back: coppice rewind ${id} --undo`);
    return {
      value: { branchId, supersededCount, isDryRun: false },
      lines: [supersededCount === 0 ? nothingAfter(id) : `${formatCount(supersededCount, "message")} left ${id}.`],
    };
  },
};

function seqOf(store: Store, { id }: Session, messageId: number): number {
  const { place } = store.expand(messageId, { limit: 0 });
  if (place?.sessionId === id) return place.seq;
  const hint = `\`coppice show ${id}\` lists its messages.`;
  throw new Failure("MESSAGE_NOT_FOUND", `${messageHandle(messageId)} is not a message of session ${id}.`, { hint });
}

/** Takes the last rewind of a session back. */
async function undone(
  session: Session,
  { options: { dryRun, yes }, terminal, json }: Call<RewindFlags>,
): Promise<Output> {
  const id = oneLine(session.id);
  const branch = session.branches().findLast(({ isUndoable }) => isUndoable);
  const preview = {
    restoredCount: branch?.messageCount ?? 0,
    supersededCount: branch === undefined ? 0 : countFrom(session, branch.afterSeq + 1),
    isDryRun: true,
  };
  if (branch === undefined) {
    return {
      value: { ...preview, isDryRun: dryRun === true },
      lines: [`Nothing to take back: ${id} was not rewound.`],
    };
  }
  const coming = `To come back to ${id}: ${formatCount(preview.restoredCount, "message")}.`;
  const leaving = `Appended since, and to leave: ${formatCount(preview.supersededCount, "message")}.`;
  const lines = preview.supersededCount === 0 ? [coming] : [coming, leaving];
  if (dryRun) return { value: preview, lines: [...lines, NOTHING_CHANGED] };
  if (!yes && preview.supersededCount > 0) {
    const message = `Messages were appended since, so this needs your agreement. ${NOTHING_CHANGED}`;
    const unasked = { message, hint: AGREE_HINT };
    const question = { lines, text: "Take the rewind back?", refused: NOTHING_CHANGED, unasked };
    if (!(await askToAgree(question, terminal, json))) return { value: preview, lines: [] };
  }
  const { restoredCount, supersededCount } = session.undo();
  const left = supersededCount === 0 ? "" : ` ${formatCount(supersededCount, "message")} left.`;
  return {
    value: { restoredCount, supersededCount, isDryRun: false },
    lines: [`${formatCount(restoredCount, "message")} came back to ${id}.${left}`],
  };
}

/** Counts the messages of a session from a seq on. */
function countFrom(session: Session, seqFrom: number): number {
  let count = 0;
  for (const _ of everyMessage(session, { seqFrom })) count += 1;
  return count;
}

function* previewLines(session: Session, toSeq: number, count: number): Generator<string> {
  const id = oneLine(session.id);
  if (count === 0) return yield nothingAfter(id);
  const [first] = session.messages({ seqFrom: toSeq + 1, limit: 1 });
  const [to] = session.messages({ last: 1 });
  const range = count === 1 ? messageHandle(first!.id) : `${messageHandle(first!.id)} to ${messageHandle(to!.id)}`;
  yield `To leave ${id}: ${formatCount(count, "message")}, ${range}. \`--undo\` would bring them back.`;
}

function nothingAfter(id: string): string {
  return `That is the last message of ${id} already.`;
}

function target(typed: string): number | "start" {
  const id = typed === "start" ? typed : messageIdOf(typed);
  if (id !== undefined) return id;
  throw new InvalidArgumentError("Expected a message such as message:17, or start.");
}
