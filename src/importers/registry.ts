import { StoreError } from "../core/errors.ts";
import { aiSdk } from "./ai-sdk.ts";
import { claudeCode } from "./claude-code/importer.ts";
import { codex } from "./codex/importer.ts";
import { geminiCli } from "./gemini-cli/importer.ts";
import { isDatabase, peek } from "./head.ts";
import type { ImportEvent, Importer, ImportFile } from "./importer.ts";
import { jsonl } from "./jsonl.ts";
import { LINE_BYTES_MAX } from "./lines.ts";
import { llxprt } from "./llxprt.ts";
import { openai } from "./openai.ts";
import { opencode } from "./opencode/importer.ts";
import { unpacked } from "./zstd.ts";

/** Must grow with each change that makes an importer read an old file differently. */
export const READING_VERSION = 2;

/** Bytes of a file that detection looks at: first few, then more. A first line may hold screenshots. */
const HEAD_BYTES = [256 * 1024, 8 * 1024 * 1024, LINE_BYTES_MAX];
const FIRST_LINE_BYTES = 8 * 1024 * 1024;

export const IMPORTERS: readonly Importer[] = [claudeCode, geminiCli, codex, llxprt, opencode, aiSdk, openai, jsonl];

/** Returns true if files in this format can be followed. Files in other formats are read again when they change. */
export function canFollow(format: string | null, importers = IMPORTERS): boolean {
  return importers.some((importer) => importer.name === format && importer.isFollowable === true);
}

/** Returns the importer that recognizes the beginning of a file. */
export function detectImporter(head: string, importers = IMPORTERS): Importer | undefined {
  const text = head.replace(/^\uFEFF/, "");
  return importers.find((importer) => importer.detect(text));
}

export interface OpenedImport {
  /** Undefined for a blank file, and for an uncertain file that no importer recognizes. Neither gives events. */
  format: string | undefined;
  events: AsyncIterable<ImportEvent>;
}

/**
 * Starts to read a file. If `format` is `auto`, the content of the file decides how it is read.
 *
 * @throws {StoreError} `OPTION_INVALID` for an unknown format; `IMPORT_UNREADABLE` if `auto` finds none; and whatever the file's
 *   chunks throw. `events` throws `IMPORT_UNREADABLE` for a binary file.
 */
export async function openImport(given: ImportFile, format = "auto", importers = IMPORTERS): Promise<OpenedImport> {
  const known = importers.map(({ name }) => name);
  if (format !== "auto" && !known.includes(format)) {
    const expected = ["auto", ...known].join(", ");
    throw new StoreError("OPTION_INVALID", { option: "format", expected, actual: format });
  }
  const importerOf = (head: Buffer) =>
    format === "auto"
      ? (detectImporter(head.toString("utf8"), importers) ?? databaseImporter(head, file.path, importers))
      : importers.find(({ name }) => name === format);
  const file = await unpacked(given);
  let isBlank = true;
  for (const byteCount of HEAD_BYTES) {
    const { head, chunks, close } = await peek(file.chunks, byteCount);
    file.chunks = chunks;
    const importer = importerOf(head);
    if (importer !== undefined) return { format: importer.name, events: importer.read(file) };
    isBlank = head.toString("utf8").trim() === "";
    if (head.length === byteCount && (byteCount < FIRST_LINE_BYTES || !head.includes("\n"))) continue;
    await close();
    break;
  }
  if (file.isUncertain || isBlank) return { format: undefined, events: noEvents() };
  throw new StoreError("IMPORT_UNREADABLE", {
    path: file.path,
    reason: `its beginning shows none of the known formats (${known.join(", ")}); if it is in one, name the format`,
  });
}

function databaseImporter(head: Buffer, path: string, importers: readonly Importer[]): Importer | undefined {
  if (path === "-" || !isDatabase(head)) return undefined;
  return importers.find((importer) => importer.detectDatabase?.(path));
}

async function* noEvents(): AsyncGenerator<ImportEvent> {}
