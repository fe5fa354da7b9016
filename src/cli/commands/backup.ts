import { Option } from "commander";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { interruptible } from "../interruption.ts";
import { progressOf } from "../screen/progress.ts";
import { formatBytes, formatCount, oneLine } from "../screen/text.ts";

type BackupReport = Awaited<ReturnType<Store["backup"]>>;

export const backupCommand: Command<{ overwrite?: true }> = {
  usage: "backup <file>",
  summary: "Copy the store to another file and check the copy, while others keep writing.",
  details:
    "The copy is a store like any other: open it with `--db`. `coppice restore` puts it in the place of a store. " +
    "With --json: {path, byteLength, sessionCount, messageCount, logPosition}.",
  argument: "the file to create; an existing one is refused",
  options: [new Option("--overwrite", "replace an existing file")],
  examples: ["agent-2026-03-01.db", "/mnt/usb/agent.db --overwrite"],

  async run({ args: [file], options: { overwrite = false }, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const progress = progressOf(terminal, "copying", formatBytes);
    const report = await interruptible("Nothing was written.", (signal) =>
      store.backup(file!, {
        overwrite,
        onProgress: ({ copiedBytes, totalBytes }) => {
          signal.throwIfAborted();
          progress(copiedBytes, totalBytes);
        },
      }),
    );
    return { value: report, lines: [reportLine(report)] };
  },
};

function reportLine({ path, byteLength, sessionCount, messageCount }: BackupReport): string {
  const counts = `${formatCount(sessionCount, "session")} and ${formatCount(messageCount, "message")}`;
  return `${counts} copied and checked: ${oneLine(path)} (${formatBytes(byteLength)}).`;
}

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
