import { printableJson } from "../../core/markup.ts";
import type { ExportLine, UnreadableMessage } from "../../session/export.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { findSession } from "../find-session.ts";
import { formatCount, oneLine } from "../text.ts";

export const exportCommand: Command = {
  usage: "export [sessions...]",
  summary: "Print sessions as neutral JSONL, which `import` reads.",
  details:
    "Prints all sessions unless some are named. Each line is one object: a session, then its messages, word for word. " +
    "Forest and summaries are left out, because an import makes them again. From a damaged store, every readable message " +
    "is exported, and the exit code is 1. With --json: one array of the same objects, one per line.",
  argument: "their ids, the beginnings of their ids, or @last",
  examples: ["> everything.jsonl", "488c5296 > session.jsonl"],

  async run({ args, loadStores, terminal, json }) {
    const store = (await loadStores()).openToRead();
    const unreadable: UnreadableMessage[] = [];
    const onUnreadable = (message: UnreadableMessage): void => {
      unreadable.push(message);
      if (!json) terminal.note(oneLine(`${message.sessionId} #${message.seq}: ${message.reason}`));
    };
    const sessions = [...new Set(args.map((typed) => findSession(store, typed).id))];
    const exported = store.export({ onUnreadable, ...(sessions.length > 0 && { sessions }) });
    return { elements: exported, lines: jsonLines(exported), failure: () => exportFailure(unreadable) };
  },
};

function* jsonLines(lines: Iterable<ExportLine>): Generator<string> {
  for (const line of lines) yield printableJson(line);
}

function exportFailure(unreadable: readonly UnreadableMessage[]): Failure | undefined {
  if (unreadable.length === 0) return undefined;
  const hint = "Everything else was exported. Look for the missing messages in a backup.";
  return new Failure("EXPORT_INCOMPLETE", `${formatCount(unreadable.length, "message")} could not be read.`, { hint });
}
