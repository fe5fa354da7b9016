import { claudeCode } from "../../importers/claude-code/importer.ts";
import type { ImportEvent } from "../../importers/importer.ts";

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
