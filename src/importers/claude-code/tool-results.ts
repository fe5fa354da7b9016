import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { JsonValue } from "../../core/message.ts";
import { objectOf } from "../values.ts";

/** What the model gets of a result that is too long: where all of it is, and how it begins. */
const PERSISTED = /^<persisted-output>\n[^\n]*saved to: [^\n]*?([^\\/\n]+)[\\/]tool-results[\\/]([^\\/\n]+)\n/;

/** A message has at most 64 Mi characters. */
const OUTPUT_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Adds the whole output to the blocks of results that have only its beginning. Claude Code writes it to
 * `<session>/tool-results/<name>` beside the transcript. Only this folder is read, because a transcript may name any file.
 *
 * @param path  The transcript: that of the session, or of one of its subagents in `<session>/subagents`.
 */
export function withWholeOutputs(content: JsonValue, path: string, warn: (reason: string) => void): JsonValue {
  if (!Array.isArray(content)) return content;
  return content.map((block) => {
    const { type, content: told } = objectOf(block);
    const preview = Array.isArray(told) && told.length === 1 ? objectOf(told[0]).text : told;
    if (type !== "tool_result" || typeof preview !== "string") return block;
    const output = wholeOutput(preview, path, warn);
    return output === undefined ? block : { ...objectOf(block), content: [preview, output].map(textBlock) };
  });
}

function wholeOutput(preview: string, path: string, warn: (reason: string) => void): string | undefined {
  const [, session, name] = PERSISTED.exec(preview) ?? [];
  if (session === undefined || name === undefined || [session, name].includes("..")) return undefined;
  const folder = dirname(path);
  const project = basename(folder) === "subagents" ? join(folder, "..", "..") : folder;
  const file = join(project, session, "tool-results", name);
  let problem = "it is not UTF-8";
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found?.isFile()) return undefined;
    if (found.size > OUTPUT_BYTES_MAX) problem = `it is ${found.size} bytes long`;
    else {
      const bytes = readFileSync(file);
      if (isUtf8(bytes)) return bytes.toString("utf8");
    }
  } catch (error) {
    problem = (error as Error).message;
  }
  warn(`only the beginning of the output in ${name} was imported: ${problem}`);
  return undefined;
}

function textBlock(text: string): JsonValue {
  return { type: "text", text };
}
