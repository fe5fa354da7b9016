import { once } from "node:events";
import type { Writable } from "node:stream";
import type { UnreadableMessage } from "../../session/export.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { findSession } from "../find-session.ts";
import { formatCount, oneLine } from "../text.ts";

/** `export` writes sessions to stdout in the neutral format. */
export const exportCommand: Command = {
  name: "export",
  summary: "Print sessions in the neutral JSONL that `import` reads, word for word.",
  details:
    "All sessions unless some are named. One object a line: a session, then its messages. Forest and summaries are not " +
    "in it: an import grows them again. A damaged store gives every message that can be read, and exit code 1. " +
    "With --json: one array of the same objects.",
  arguments: [{ name: "[sessions...]", meaning: "their ids, or the beginnings of them" }],
  examples: ["> everything.jsonl", "488c5296 > session.jsonl"],

  async run({ args, stores, terminal, json }) {
    const store = stores.openToRead();
    const unreadable: UnreadableMessage[] = [];
    const onUnreadable = (message: UnreadableMessage): void => {
      unreadable.push(message);
      if (!json) terminal.note(oneLine(`${message.sessionId} #${message.seq}: ${message.reason}`));
    };
    const lines = store.export({ onUnreadable, ...(args.length > 0 && { sessions: idsOf(store, args) }) });
    const value = json ? [...lines] : undefined;
    // Printed here and not handed back: what a slow reader has not taken yet would pile up in memory.
    for (const line of lines) {
      terminal.print(JSON.stringify(line));
      if (!(await isReadOn(process.stdout))) break;
    }
    return { value, lines: [], failure: failureOf(unreadable) };
  },
};

/** Wait until the reader of a stream has taken what was written; false where it has gone away. */
async function isReadOn(stream: Writable): Promise<boolean> {
  if (stream.errored || stream.destroyed) return false;
  if (!stream.writableNeedDrain) return true;
  return once(stream, "drain").then(
    () => true,
    () => false, // what is to be said of the error, the terminal says
  );
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
