import type { ImportEvent, Importer, ImportFile } from "../../../src/importers/importer.ts";

/** A file that was never on a disk: `bytes` in chunks of `chunkBytes`, and nothing will follow them. */
export function fileOf(content: string | Uint8Array, chunkBytes = 65_536, path = "/nowhere/file.jsonl"): ImportFile {
  const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes);
  }
  return { path, chunks: chunks(), isFinished: true };
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function eventsOf(
  importer: Importer,
  content: string | Uint8Array,
  chunkBytes?: number,
): Promise<ImportEvent[]> {
  return collect(importer.read(fileOf(content, chunkBytes)));
}

/** The events of a file that is still being written. */
export function eventsSoFar(importer: Importer, content: Uint8Array): Promise<ImportEvent[]> {
  return collect(importer.read({ ...fileOf(content), isFinished: false }));
}

/** The events of a file with these objects as its lines. */
export function eventsOfLines(importer: Importer, lines: readonly object[]): Promise<ImportEvent[]> {
  return eventsOf(importer, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

export function messagesIn(events: readonly ImportEvent[]) {
  return events.flatMap((event) => (event.kind === "message" ? [event.message] : []));
}

export function sessionsIn(events: readonly ImportEvent[]) {
  return events.flatMap((event) => (event.kind === "session" ? [event.session] : []));
}

export function warningsIn(events: readonly ImportEvent[]) {
  return events.flatMap((event) => (event.kind === "warning" ? [[event.line, event.reason] as const] : []));
}
