import { StoreError } from "../core/errors.ts";
import { aiSdk } from "./ai-sdk.ts";
import { claudeCode } from "./claude-code/importer.ts";
import { codex } from "./codex/importer.ts";
import { closedHead } from "./detect.ts";
import { IMPORT_FORMATS } from "./formats.ts";
import { geminiCli } from "./gemini-cli/importer.ts";
import { isDatabase, peek } from "./head.ts";
import type { ImportEvent, Importer, ImportFile } from "./importer.ts";
import { jsonl } from "./jsonl.ts";
import { llxprt } from "./llxprt/importer.ts";
import { openai } from "./openai.ts";
import { opencode } from "./opencode/importer.ts";
import { unpacked } from "./zstd.ts";

/** Goes up with each change by which files that were read before come to more, or to something else. */
export const READING_VERSION = 2;

/** How far into a file its format is looked for. */
const HEAD_BYTES = 256 * 1024;

/** And how far where so little does not show it: a first line may hold a pasted screenshot. */
const HEAD_BYTES_MAX = 8 * 1024 * 1024;

export const IMPORTERS: readonly Importer[] = [claudeCode, geminiCli, codex, llxprt, opencode, aiSdk, openai, jsonl];

/** Whether a file of lines in this format can be followed; any other is read again when it has changed. */
export function canFollow(format: string | null): boolean {
  return IMPORTERS.some((importer) => importer.format === format && importer.isFollowing === true);
}

/** The importer for a file that begins with `head`, told by its content alone; undefined where none knows it. */
export function detectImporter(head: string): Importer | undefined {
  const text = head.replace(/^\uFEFF/, "");
  return IMPORTERS.find((importer) => importer.detect(text));
}

function detectDatabase(head: Buffer, path: string): Importer | undefined {
  if (path === "-" || !isDatabase(head)) return undefined;
  return IMPORTERS.find((importer) => importer.detectDatabase?.(path));
}

export interface OpenedImport {
  /** Undefined for a file with nothing but white space in it, or that is none of ours; it gives no events. */
  format: string | undefined;
  events: AsyncIterable<ImportEvent>;
}

/**
 * Start reading a file, in the given format or the one its content shows.
 *
 * @throws {StoreError} `OPTION_INVALID` for a format nobody knows; `IMPORT_UNREADABLE` where `auto` finds none, and what
 *   the file's chunks throw. `events` throws `IMPORT_UNREADABLE` for a binary file.
 */
export async function openImport(given: ImportFile, format = "auto"): Promise<OpenedImport> {
  if (!IMPORT_FORMATS.includes(format)) {
    throw new StoreError("OPTION_INVALID", { option: "format", expected: IMPORT_FORMATS.join(", "), actual: format });
  }
  const importerOf = (head: Buffer) =>
    format === "auto"
      ? (detectImporter(head.toString("utf8")) ?? detectDatabase(head, file.path))
      : IMPORTERS.find((candidate) => candidate.format === format);
  const file = await unpacked(given);
  let { head, chunks, close } = await peek(file.chunks, HEAD_BYTES);
  let importer = importerOf(head);
  if (importer === undefined && head.length === HEAD_BYTES) {
    ({ head, chunks, close } = await peek(chunks, HEAD_BYTES_MAX));
    importer = importerOf(head);
    if (head.length === HEAD_BYTES_MAX) importer ??= detectImporter(closedHead(head.toString("utf8")));
  }
  if (importer !== undefined) return { format: importer.format, events: importer.read({ ...file, chunks }) };
  await close();
  const isBlank = head.length < HEAD_BYTES_MAX && head.toString("utf8").trim() === "";
  if (file.isPossible || isBlank) return { format: undefined, events: nothing() };
  const known = IMPORT_FORMATS.slice(1).join(", ");
  throw new StoreError("IMPORT_UNREADABLE", {
    path: file.path,
    reason: `it is in no format that is known by its beginning (${known}); name it if it is one`,
  });
}

async function* nothing(): AsyncGenerator<ImportEvent> {}
