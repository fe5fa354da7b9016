import { StoreError } from "../core/errors.ts";
import { aiSdk } from "./ai-sdk.ts";
import { aider } from "./aider.ts";
import { amp } from "./amp.ts";
import { antigravity } from "./antigravity.ts";
import { atif } from "./atif.ts";
import { chatgpt } from "./chatgpt.ts";
import { claudeAi } from "./claude-ai.ts";
import { claudeHistory } from "./claude-code/history.ts";
import { claudeCode } from "./claude-code/importer.ts";
import { cline, clineCli } from "./cline.ts";
import { clineUi } from "./cline-ui.ts";
import { codexExec } from "./codex/exec.ts";
import { codex } from "./codex/importer.ts";
import { continueDev } from "./continue.ts";
import { copilotChat } from "./copilot-chat/importer.ts";
import { copilotCli } from "./copilot-cli.ts";
import { cursorAgent } from "./cursor/transcript.ts";
import { databaseImporter } from "./database-reader.ts";
import { headElements } from "./documents.ts";
import { droid } from "./droid.ts";
import { gemini } from "./gemini.ts";
import { geminiCli } from "./gemini-cli/importer.ts";
import { goose } from "./goose/importer.ts";
import { grok } from "./grok.ts";
import { dropHead, isDatabase, peek } from "./head.ts";
import type { Importer, ImportFile, ReadableEvent } from "./importer.ts";
import { jsonl } from "./jsonl.ts";
import { kimi } from "./kimi.ts";
import { kimiCode } from "./kimi-code.ts";
import { kiro } from "./kiro.ts";
import { langchain } from "./langchain.ts";
import { langsmith } from "./langsmith.ts";
import { fieldsIn, HEAD_LINES, LINE_BYTES_MAX, LINE_FEED } from "./lines.ts";
import { llxprt } from "./llxprt.ts";
import { markdownRoles } from "./markdown-roles.ts";
import { openWebui } from "./open-webui.ts";
import { openai } from "./openai.ts";
import { openaiResponses } from "./openai-responses.ts";
import { openclaw } from "./openclaw.ts";
import { opencode } from "./opencode/importer.ts";
import { openhands } from "./openhands/importer.ts";
import { omp, pi } from "./pi.ts";
import { qwenCode } from "./qwen-code.ts";
import { sharegpt } from "./sharegpt.ts";
import { specstory } from "./specstory.ts";
import { sweAgent } from "./swe-agent.ts";
import { unpacked } from "./zstd.ts";

/** Must grow with each change that makes an importer read an old file differently. */
export const READING_VERSION = 16;

/** Bytes of a file that detection looks at: first few, then more. A first line may hold screenshots. */
const HEAD_BYTES = [256 * 1024, 8 * 1024 * 1024, 64 * 1024 * 1024, LINE_BYTES_MAX];

/** A longer head without a known format is looked at only if it holds few lines, because one of them may be cut short. */
const SHORT_HEAD_BYTES = 8 * 1024 * 1024;

const ZIP_MARK = Buffer.from("PK\u0003\u0004");

export const IMPORTERS: readonly Importer[] = [
  claudeCode,
  claudeHistory,
  geminiCli,
  qwenCode,
  codex,
  codexExec,
  llxprt,
  opencode,
  pi,
  copilotCli,
  databaseImporter("cursor"),
  aider,
  specstory,
  chatgpt,
  claudeAi,
  cline,
  clineCli,
  clineUi,
  continueDev,
  copilotChat,
  goose,
  databaseImporter("crush"),
  droid,
  kimi,
  kimiCode,
  databaseImporter("zed"),
  amp,
  omp,
  cursorAgent,
  openclaw,
  grok,
  antigravity,
  kiro,
  atif,
  sweAgent,
  openhands,
  openWebui,
  sharegpt,
  langsmith,
  langchain,
  openaiResponses,
  aiSdk,
  gemini,
  openai,
  markdownRoles,
  jsonl,
];

/** Returns true if files in this format can be followed. Files in other formats are read again when they change. */
export function canFollow(format: string | null, importers = IMPORTERS): boolean {
  return importers.some((importer) => importer.name === format && importer.isFollowable === true);
}

/** Returns the importer that recognizes the beginning of a file. */
export function detectImporter(head: string, importers = IMPORTERS): Importer | undefined {
  const text = head.replace(/^\uFEFF/, "");
  try {
    return importers.find((importer) => importer.detect(text));
  } finally {
    dropHead();
  }
}

export interface OpenedImport {
  /** Undefined for a blank file, and for an uncertain file that no importer recognizes. Such files give no events. */
  format: string | undefined;
  events: AsyncIterable<ReadableEvent>;
}

/**
 * Starts to read a file. If `format` is `auto`, the content of the file decides how it is read.
 *
 * @param through  What the bytes go through on their way to the importer.
 * @throws {StoreError} `OPTION_INVALID` for an unknown format; `IMPORT_UNREADABLE` if `auto` finds none; and whatever the file's
 *   chunks throw. `events` throws `IMPORT_UNREADABLE` for a binary file.
 */
export async function openImport(
  given: ImportFile,
  format = "auto",
  importers = IMPORTERS,
  through: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array> = (chunks) => chunks,
): Promise<OpenedImport> {
  const known = importers.map(({ name }) => name);
  if (format !== "auto" && !known.includes(format)) {
    const expected = ["auto", ...known].join(", ");
    throw new StoreError("OPTION_INVALID", { option: "format", expected, actual: format });
  }
  const importerOf = async (head: Buffer, text: string) =>
    format === "auto"
      ? (detectImporter(text, importers) ?? (await importerOfDatabase(head, file, importers)))
      : importers.find(({ name }) => name === format);
  const file = await unpacked(given);
  let isBlank = true;
  let text = "";
  let isArchive = false;
  for (const byteCount of HEAD_BYTES) {
    const { head, chunks, close } = await peek(file.chunks, byteCount);
    file.chunks = chunks;
    text = head.toString("utf8");
    const importer = await importerOf(head, text).catch(async (error) => {
      await close();
      throw error;
    });
    if (importer !== undefined) {
      file.chunks = through(chunks);
      return { format: importer.name, events: understood(importer, file) };
    }
    isBlank = text.trim() === "";
    isArchive = head.subarray(0, ZIP_MARK.length).equals(ZIP_MARK);
    if (head.length === byteCount && (byteCount < SHORT_HEAD_BYTES || hasFewLines(head))) continue;
    await close();
    break;
  }
  if (file.isUncertain || isBlank) return { format: undefined, events: noEvents() };
  throw new StoreError("IMPORT_UNREADABLE", {
    path: file.path,
    reason: isArchive
      ? "it is a ZIP archive; unpack it, and import the folder"
      : `its beginning${foundIn(text)} shows none of the known formats (${known.join(", ")}); if it is in one, name the format`,
  });
}

/** Says what a file begins with, if it is JSON. */
function foundIn(head: string): string {
  const elements = headElements(head);
  dropHead();
  const fields = elements.flatMap(({ key }) => (key === undefined ? [] : [[key, null]]));
  const found = fieldsIn(fields.length > 0 ? Object.fromEntries(fields) : elements[0]?.value);
  return found && `, ${found},`;
}

/** @throws {StoreError} `IMPORT_UNREADABLE` at the end of a file of which the importer understood nothing, or little. */
async function* understood(importer: Importer, file: ImportFile): AsyncGenerator<ReadableEvent> {
  for await (const event of importer.read(file)) {
    if (event.kind !== "misread") yield event;
    else {
      const how = event.isInPart ? "less than half of it" : "nothing in it";
      const reason = `${how} could be read as ${importer.name}; ${event.reason}`;
      throw new StoreError("IMPORT_UNREADABLE", { path: file.path, reason });
    }
  }
}

/** Returns true if the lines that detection looks at do not end within `head`. */
function hasFewLines(head: Buffer): boolean {
  let end = -1;
  for (let count = 0; count < HEAD_LINES; count++) {
    end = head.indexOf(LINE_FEED, end + 1);
    if (end === -1) return true;
  }
  return false;
}

async function importerOfDatabase(
  head: Buffer,
  { path, signal }: ImportFile,
  importers: readonly Importer[],
): Promise<Importer | undefined> {
  if (path === "-" || !isDatabase(head)) return undefined;
  for (const importer of importers) if (await importer.detectDatabase?.(path, signal)) return importer;
  return undefined;
}

async function* noEvents(): AsyncGenerator<ReadableEvent> {}
