import { printableJson } from "../../core/markup.ts";
import type { ExportLine, Unreadable } from "../../session/export.ts";
import type { Command } from "../command.ts";
import { findSession } from "../find-session.ts";
import { oneLine } from "../text.ts";
import { placeOf, unreadableFailure } from "../unreadable.ts";

const HINT = "Everything else was exported. Look for what is missing in a backup.";

export const exportCommand: Command = {
  usage: "export [sessions...]",
  summary: "Print sessions as neutral JSONL, which `import` reads.",
  details:
    "Prints all sessions unless some are named. Each line is one object: a session, then its messages, word for word. " +
    "Forest and summaries are left out, because an import makes them again. From a damaged store, every readable message " +
    "is exported, without the object of a damaged session, and the exit code is 1. With --json: one array of the same objects, one per line.",
  argument: "their ids, the beginnings of their ids, or @last",
  examples: ["> everything.jsonl", "488c5296 > session.jsonl"],

  async run({ args, loadStores, terminal, json }) {
    const store = (await loadStores()).openToRead();
    const unreadable: Unreadable[] = [];
    const onUnreadable = (damaged: Unreadable): void => {
      unreadable.push(damaged);
      if (!json) terminal.note(oneLine(`${placeOf(damaged)}: ${damaged.reason}`));
    };
    const sessions = [...new Set(args.map((typed) => findSession(store, typed).id))];
    const exported = store.export({ onUnreadable, ...(sessions.length > 0 && { sessions }) });
    return {
      elements: exported,
      lines: jsonLines(exported),
      failure: () => unreadableFailure("EXPORT_INCOMPLETE", unreadable, HINT),
    };
  },
};

function* jsonLines(lines: Iterable<ExportLine>): Generator<string> {
  for (const line of lines) yield printableJson(line);
}
