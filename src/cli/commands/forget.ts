import { InvalidArgumentError, Option } from "commander";
import { StoreError } from "../../core/errors.ts";
import type { Store } from "../../session/store.ts";
import { askToAgree } from "../agreement.ts";
import type { Call, Command, Output } from "../command.ts";
import { Failure } from "../failure.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatNumber } from "../text.ts";

interface ForgetFlags {
  messages?: number[];
  dryRun?: true;
  yes?: true;
  restore?: true;
}

type ForgetReport = ReturnType<Store["forget"]>;

export const forgetCommand: Command<ForgetFlags> = {
  usage: "forget <session>",
  summary: "Delete a session, or some of its messages, permanently.",
  details:
    "It shows what would go, and asks. A message is deleted together with its step and the summaries that cover it. Only a " +
    "backup brings it back: imports and watches leave out what was forgotten, also in a longer version of its file or in a " +
    "copy under another name. A session that was forgotten as a whole stays out as a whole. After --restore, the next import " +
    "brings it back, if its file is still there. A copy that was pulled from a hub is forgotten only here.\n" +
    "With --json: {messageCount, tokenCount, sessionCount, clusterCount, summaryCount, artifactCount, isCopy, erased, isDryRun}; " +
    "with --restore: {restored}.",
  argument: SESSION_MEANING,
  options: [
    new Option("--messages <ids>", "only these messages, by id, separated by commas").argParser(messageIds),
    new Option("--dry-run", "show what would be deleted, and delete nothing"),
    new Option("--yes", "delete without asking"),
    new Option("--restore", "let imports bring back what was forgotten"),
  ],
  examples: ["support-42", "support-42 --messages 17,18", "support-42 --dry-run", "support-42 --restore"],

  async run(call) {
    const { args, options, loadStores, terminal } = call;
    const store = (await loadStores()).openToWrite({ mustExist: true });
    const wanted = options.messages === undefined ? {} : { messageIds: options.messages };
    if (options.restore) return restored(store, args[0]!, wanted);
    const { id } = findSession(store, args[0]!);
    if (options.dryRun || !options.yes) {
      const preview = store.forget(id, { ...wanted, dryRun: true });
      const value = { ...preview, isDryRun: true };
      if (options.dryRun) return { value, lines: [...previewLines(id, preview), "Nothing was forgotten."] };
      if (!(await isAgreed(id, preview, call))) return { value, lines: [] };
    }
    const report = store.forget(id, wanted);
    return { value: { ...report, isDryRun: false }, lines: reportLines(id, report, terminal) };
  },
};

function isAgreed(id: string, preview: ForgetReport, { terminal, json }: Call<ForgetFlags>): Promise<boolean> {
  if (!json) for (const line of previewLines(id, preview)) terminal.note(line);
  const question = {
    text: "Forget this?",
    refused: "Nothing was forgotten.",
    unasked: {
      message: "Forgetting needs your agreement. Nothing was forgotten.",
      hint: "Add --yes to agree, or --dry-run to see what would go.",
    },
  };
  return askToAgree(question, terminal, json);
}

function* previewLines(id: string, preview: ForgetReport): Generator<string> {
  const { messageCount, tokenCount, sessionCount, clusterCount, summaryCount, artifactCount } = preview;
  const messages = `${formatCount(messageCount, "message")} with ${formatCount(tokenCount, "token")}`;
  yield sessionCount > 0 ? `To forget: the session ${id}, ${messages}.` : `To forget: ${messages} of ${id}.`;
  const clusters = formatCount(clusterCount, "cluster");
  if (clusterCount > 0) yield sessionCount > 0 ? `With it: ${clusters}.` : `${clusters} would lose messages or go.`;
  if (summaryCount > 0) yield `Summaries that cover them, and would go: ${formatNumber(summaryCount)}.`;
  if (preview.isCopy) yield "It is a copy from the hub, so only this store forgets them.";
  if (artifactCount > 0) yield `Long texts that only they hold: ${formatNumber(artifactCount)}.`;
}

function* reportLines(id: string, report: ForgetReport, terminal: Terminal): Generator<string> {
  const { messageCount, summaryCount, erased } = report;
  yield `Forgot ${formatCount(messageCount, "message")} of ${id} and ${formatCount(summaryCount, "summary", "summaries")}.`;
  yield erased
    ? "The file holds no byte of them."
    : "Another process is reading, or the disk is full, so free space in the file still holds them. Run the command again to erase them, or call `store.erase()`.";
  if (report.isCopy) {
    const pull = `coppice pull ${id} --take${report.sessionCount > 0 ? `, coppice forget ${id}` : " --fork"}, coppice push`;
    yield `Only this store forgot them, because it has a copy. To forget them for everyone: ${pull}`;
  }
  terminal.hint(`Imports leave them out. To let one bring them back: coppice forget ${id} --restore`);
}

/**
 * Lets imports bring back a session or messages. A session that was forgotten as a whole is found only by its full id. What was
 * typed is tried first, because it may also be the beginning of another session's id.
 */
function restored(store: Store, typed: string, wanted: { messageIds?: readonly number[] }): Output {
  const id = [typed, sessionId(store, typed)].find((one) => store.restore(one, wanted));
  if (id === undefined) {
    const hint = "Give the full id that the session had, and no ids of messages to restore all of it.";
    throw new Failure("SESSION_NOT_FOUND", `Nothing of the session ${typed} was forgotten.`, { hint });
  }
  return { value: { restored: true }, lines: [`The next import of its file brings back what was forgotten of ${id}.`] };
}

function sessionId(store: Store, typed: string): string {
  try {
    return findSession(store, typed).id;
  } catch (error) {
    if (error instanceof Failure || StoreError.is(error)) return typed;
    throw error;
  }
}

function messageIds(text: string): number[] {
  const ids = text.split(",").map(Number);
  if (ids.every((id) => Number.isSafeInteger(id) && id > 0)) return ids;
  throw new InvalidArgumentError("Expected message ids separated by commas, such as 17,18.");
}
