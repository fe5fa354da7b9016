import { InvalidArgumentError, Option } from "commander";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { formatCount } from "../text.ts";

export const forgetCommand: Command<{ messages?: number[] }> = {
  usage: "forget <session>",
  summary: "Delete a session, or some of its messages, permanently.",
  details:
    "A message is deleted together with its step and the summaries that cover it. Only a backup brings it back. If it came " +
    "from a transcript that still has it, another import or a watch also brings it back.\n" +
    "With --json: {messageCount, summaryCount, artifactCount, erased}.",
  argument: SESSION_MEANING,
  options: [new Option("--messages <ids>", "only these messages, by id, separated by commas").argParser(messageIds)],
  examples: ["support-42", "support-42 --messages 17,18"],

  async run({ args: [typed], options: { messages }, loadStores }) {
    const store = (await loadStores()).openToWrite({ mustExist: true });
    const { id } = findSession(store, typed!);
    const report = store.forget(id, messages === undefined ? {} : { messageIds: messages });
    const { messageCount, summaryCount, erased } = report;
    return {
      value: report,
      lines: [
        `Forgot ${formatCount(messageCount, "message")} of ${id} and ${formatCount(summaryCount, "summary", "summaries")}.`,
        erased
          ? "The file holds no byte of them."
          : "Another process is reading, or the disk is full, so free space in the file still holds them. Run the command again to erase them, or call `store.erase()`.",
      ],
    };
  },
};

function messageIds(text: string): number[] {
  const ids = text.split(",").map(Number);
  if (ids.every((id) => Number.isSafeInteger(id) && id > 0)) return ids;
  throw new InvalidArgumentError("Expected message ids separated by commas, such as 17,18.");
}
