import { claudeCode } from "../../importers/claude-code/importer.ts";
import type { ImportEvent } from "../../importers/importer.ts";

interface Line {
  type: string;
  message?: unknown;
}

/** Reads entries as lines of a transcript of Claude Code. Entries that are no part of the conversation give no event. */
export async function eventsOf(name: string, entries: readonly unknown[]): Promise<ImportEvent[]> {
  const lines = entries.map((entry) => JSON.stringify(entry)).join("\n");
  const chunks = (async function* () {
    yield Buffer.from(`${lines}\n`);
  })();
  const events: ImportEvent[] = [];
  for await (const event of claudeCode.read({ path: `${name}.jsonl`, chunks, isFinished: true })) events.push(event);
  return events;
}

/**
 * Returns the number of entries that can be read for messages now. Claude Code writes a thought and the words or the call that follow
 * it as two entries, and they are one message. So a thought at the end waits for the next `append`.
 */
export function waitingFrom(entries: readonly Line[]): number {
  let from = entries.length;
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index]!;
    if (isThought(entry)) from = index;
    else if (entry.type === "user" || entry.type === "assistant") break;
  }
  return from;
}

function isThought({ type, message }: Line): boolean {
  const content = (message as { content?: unknown } | null | undefined)?.content;
  if (type !== "assistant" || !Array.isArray(content) || content.length === 0) return false;
  return content.every((block) => block?.type === "thinking" || block?.type === "redacted_thinking");
}
