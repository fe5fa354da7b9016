import type { Command } from "../command.ts";
import { interruptible } from "../interruption.ts";
import { progressOf } from "../screen/progress.ts";
import { formatBytes, formatCount, oneLine } from "../screen/text.ts";

export const restoreCommand: Command = {
  usage: "restore <file>",
  summary: "Put a backup in the place of the store, which is kept under another name.",
  details:
    "The backup is checked as by `verify`, and copied; the file itself stays. The former store stays beside the new one, with the log " +
    "of a process that was killed. Other processes must not have the store open. What was forgotten after the backup was made is there again. To " +
    "bring back one forgotten session, use `coppice forget <session> --restore`. With --json: " +
    "{path, byteLength, sessionCount, messageCount, logPosition, keptAt}.",
  argument: "a file that `coppice backup` made",
  examples: ["agent-2026-03-01.db", "/mnt/usb/agent.db --db agent.db"],

  async run({ args: [file], loadStores, terminal }) {
    const { internalsOf } = await import("../../session/opened-store.ts");
    const stores = await loadStores();
    const backup = internalsOf(stores.openBackup(file!));
    const checking = progressOf(terminal, "sessions checked");
    const copying = progressOf(terminal, "copying", formatBytes);
    const report = await interruptible("Nothing was changed.", (signal) =>
      backup.restoreTo(stores.path, {
        onChecked: ({ sessionCount, totalCount }) => checking(sessionCount, totalCount),
        onCopied: ({ copiedBytes, totalBytes }) => {
          signal.throwIfAborted();
          copying(copiedBytes, totalBytes);
        },
      }),
    );
    const counts = `${formatCount(report.sessionCount, "session")} and ${formatCount(report.messageCount, "message")}`;
    const lines = [`${counts} of ${oneLine(file!)} checked and restored: ${oneLine(report.path)}.`];
    if (report.keptAt !== null) {
      lines.push(
        `The former store is kept: ${oneLine(report.keptAt)}. Delete it when nothing in it is needed any more.`,
      );
    }
    return { value: report, lines };
  },
};
