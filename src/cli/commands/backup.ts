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
