import { InvalidArgumentError, Option } from "commander";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { formatCount } from "../text.ts";

/** `forget` takes a session, or some of its messages, out of the store for good. */
export const forget: Command<{ messages?: number[] }> = {
  name: "forget",
  summary: "Forget a session, or some of its messages, for good.",
  details:
    "Messages go with their steps, and with the summaries that covered them. Nothing brings them back but a backup; or, if they " +
    "came from an agent's file that still has them, another import of it, and a watch.\n" +
    "With --json: {messageCount, summaryCount, artifactCount, erased}.",
  arguments: [{ name: "<session>", meaning: SESSION_MEANING }],
  options: [new Option("--messages <ids>", "only these messages, by id, with commas between").argParser(messageIds)],
  examples: ["support-42", "support-42 --messages 17,18"],

  run({ args: [idOrPrefix], options: { messages }, stores }) {
    const store = stores.openToWrite({ mustExist: true });
    const { id } = findSession(store, idOrPrefix!);
    const report = store.forget(id, messages === undefined ? {} : { messageIds: messages });
    const { messageCount, summaryCount, erased } = report;
    return {
      value: report,
      lines: [
        `Forgot ${formatCount(messageCount, "message")} of ${id} and ${formatCount(summaryCount, "summary", "summaries")}.`,
        erased
          ? "The file holds no byte of them."
          : "Another process is reading, or the disk is full: freed space in the file still holds them. Run the command again for what is left to erase, or let `store.erase()` do it.",
      ],
    };
  },
};

function messageIds(text: string): number[] {
  const ids = text.split(",").map(Number);
  if (ids.every((id) => Number.isSafeInteger(id) && id > 0)) return ids;
  throw new InvalidArgumentError("Expected message ids with commas between, such as 17,18.");
}
