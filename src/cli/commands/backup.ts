import { Option } from "commander";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { interruptible } from "../interruption.ts";
import { Progress } from "../progress.ts";
import { formatBytes, formatCount, oneLine } from "../text.ts";

type BackupReport = Awaited<ReturnType<Store["backup"]>>;

/** `backup` copies the store to another file while others go on writing to it. */
export const backup: Command<{ overwrite?: true }> = {
  name: "backup",
  summary: "Copy the store to another file, checked, while others go on writing to it.",
  details:
    "The copy is a store like any other: name it with `--db`, or put it in the place of a lost one. " +
    "With --json: {path, byteLength, sessionCount, messageCount, logPosition}.",
  arguments: [{ name: "<file>", meaning: "where to; a file that is there already is refused" }],
  options: [new Option("--overwrite", "replace a file that is there already")],
  examples: ["agent-2026-03-01.db", "/mnt/usb/agent.db --overwrite"],

  async run({ args: [file], options: { overwrite = false }, stores, terminal }) {
    const progress = new Progress(terminal, "copying", formatBytes);
    const report = await interruptible("Nothing was written.", (signal) =>
      stores.openToRead().backup(file!, {
        overwrite,
        onProgress: ({ copiedBytes, totalBytes }) => {
          signal.throwIfAborted();
          progress.at(copiedBytes, totalBytes);
        },
      }),
    );
    return { value: report, lines: lines(report) };
  },
};

function* lines({ path, byteLength, sessionCount, messageCount }: BackupReport): Generator<string> {
  const counts = `${formatCount(sessionCount, "session")} and ${formatCount(messageCount, "message")}`;
  yield `${counts} copied and checked: ${oneLine(path)} (${formatBytes(byteLength)}).`;
}
