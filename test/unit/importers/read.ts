import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Part } from "../../../src/core/message.ts";
import { chunksOf } from "../../../src/importers/files.ts";
import type { ImportEvent, Importer, ImportFile } from "../../../src/importers/importer.ts";
import { openImport } from "../../../src/importers/registry.ts";
import { type ImportFilesOptions, importFiles } from "../../../src/imports/import-files.ts";
import type { Store } from "../../../src/index.ts";

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
  return eventsOf(importer, jsonLines(lines));
}

/** The events of a file that stands at `path`, whose content shows its format. */
export async function eventsAt(path: string, about: Partial<ImportFile> = { isFinished: true }) {
  const { format, events } = await openImport({ path, chunks: chunksOf(path), ...about });
  return { format, events: await collect(events) };
}

/** Imports into a store, without summaries. */
export function bring(store: Store, paths: string | readonly string[], options: ImportFilesOptions = {}) {
  return importFiles(store, paths, { summarize: false, ...options });
}

/** The same, for how many messages were new and were known, and how many warnings there were. */
export async function countsOf(store: Store, path: string): Promise<number[]> {
  const { newCount, knownCount, warningCount } = await bring(store, path);
  return [newCount, knownCount, warningCount];
}

/** The text of each message of a session in the store. */
export function textsOf(store: Store, sessionId: string): string[] {
  const messages = store.resume(sessionId).messages();
  return messages.map(({ text }) => text);
}

export function jsonLines(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Writes a file and the folders above it; an object is written as JSON. Returns `path`. */
export function put(path: string, content: string | Uint8Array | object): string {
  mkdirSync(dirname(path), { recursive: true });
  const isRaw = typeof content === "string" || content instanceof Uint8Array;
  writeFileSync(path, isRaw ? content : JSON.stringify(content));
  return path;
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

/** Each message as `role: what it says`: a call is `>id`, a result `<id`, words of the program stand in brackets, the rest is its type. */
export function saidIn(events: readonly ImportEvent[]): string[] {
  return messagesIn(events).map(({ role, parts = [] }) => {
    const said = (parts as readonly Part[]).map((part) => {
      if (part.type === "tool_call") return `>${part.toolCallId}`;
      if (part.type === "tool_result") return `<${part.toolCallId}`;
      return part.injected === true ? `[${part.text}]` : (part.text ?? part.type);
    });
    return `${role}: ${said.join(" | ")}`;
  });
}

/** The ids of the messages of each session, behind where it was forked from. */
export function pathsIn(events: readonly ImportEvent[]): Record<string, string[]> {
  const paths: Record<string, string[]> = {};
  for (const event of events) {
    if (event.kind === "message") paths[event.session]!.push(event.message.id!);
    if (event.kind !== "session") continue;
    const { externalId, parentExternalId, forkedAfter } = event.session;
    paths[externalId] = parentExternalId === undefined ? [] : [`${parentExternalId}@${forkedAfter}`];
  }
  return paths;
}
