import type { ExportLine, UnreadableMessage } from "../../session/export.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { findSession } from "../find-session.ts";
import { Progress } from "../progress.ts";
import { formatCount, oneLine } from "../text.ts";

/** `export` writes sessions to stdout in the neutral format. */
export const exportCommand: Command = {
  name: "export",
  summary: "Print sessions in the neutral JSONL that `import` reads, word for word.",
  details:
    "All sessions unless some are named. One object a line: a session, then its messages. Forest and summaries are not " +
    "in it: an import grows them again. A damaged store gives every message that can be read, and exit code 1. " +
    "With --json: one array of the same objects, one a line.",
  arguments: [{ name: "[sessions...]", meaning: "their ids, the beginnings of them, or @last" }],
  examples: ["> everything.jsonl", "488c5296 > session.jsonl"],

  run({ args, stores, terminal, json }) {
    const store = stores.openToRead();
    const unreadable: UnreadableMessage[] = [];
    const onUnreadable = (message: UnreadableMessage): void => {
      unreadable.push(message);
      if (!json) terminal.note(oneLine(`${message.sessionId} #${message.seq}: ${message.reason}`));
    };
    const found = store.export({ onUnreadable, ...(args.length > 0 && { sessions: idsOf(store, args) }) });
    // On a terminal that shows the messages themselves, how many there were would only flicker between them.
    const exported = terminal.width === undefined ? told(found, new Progress(terminal, "messages")) : found;
    return { elements: exported, lines: jsonLines(exported), failure: () => failureOf(unreadable) };
  },
};

/** The same, while the terminal tells how many messages have gone by. */
function* told(lines: Iterable<ExportLine>, progress: Progress): Generator<ExportLine> {
  let messageCount = 0;
  for (const line of lines) {
    yield line;
    if ("role" in line) progress.at(++messageCount);
  }
}

function* jsonLines(lines: Iterable<ExportLine>): Generator<string> {
  for (const line of lines) yield JSON.stringify(line);
}

function idsOf(store: Store, prefixes: readonly string[]): string[] {
  return [...new Set(prefixes.map((prefix) => findSession(store, prefix).id))];
}

function failureOf(unreadable: readonly UnreadableMessage[]): Failure | undefined {
  if (unreadable.length === 0) return undefined;
  const message = `${formatCount(unreadable.length, "message")} could not be read.`;
  return new Failure("EXPORT_INCOMPLETE", message, {
    hint: "Everything else was exported. Look for them in a backup.",
  });
}
