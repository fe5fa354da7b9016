import { headObjects } from "../detect.ts";
import { headElements, readDocument, shapeOf } from "../documents.ts";
import type { ImportEvent, Importer, ImportFile } from "../importer.ts";
import { type DamagedLine, type JsonLine, readJsonLines } from "../lines.ts";
import { readTranscript } from "../transcript.ts";
import { objectOf, stringOf } from "../values.ts";
import { GeminiCliTranslator } from "./translator.ts";

/**
 * Reads the recordings of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, those of its subagents in
 * `chats/<session>/`, and the older `session-*.json`, one document each. The format was read in the source of versions up to
 * 0.61.
 *
 * Everything that the user, the model and its tools said becomes messages, thoughts included. Records of type `info`, `warning` and
 * `error` are notices on the screen and are skipped silently.
 */
export const geminiCli: Importer = {
  name: "gemini-cli",
  isFollowable: true,

  detect(head) {
    for (const { sessionId, projectHash, type, content, $set, $rewindTo, ...rest } of headObjects(head)) {
      if (stringOf(sessionId) && (stringOf(projectHash) || Array.isArray(rest.messages))) return true;
      if (typeof $rewindTo === "string" || objectOf($set).lastUpdated !== undefined) return true;
      if (type === "gemini" && content !== undefined && stringOf(rest.id)) return true;
    }
    const keys = new Set<string | undefined>();
    for (const { key, value } of headElements(head)) {
      keys.add(key);
      // Others keep what was said without the session it was said in.
      const { id, type, content } = objectOf(value);
      if (key === "messages" && type === "gemini" && content !== undefined && stringOf(id)) return true;
    }
    return keys.has("sessionId") && (keys.has("projectHash") || keys.has("messages"));
  },

  async *read(file: ImportFile): AsyncGenerator<ImportEvent> {
    const { isLines, file: looked } = await shapeOf(file);
    const items = isLines ? readJsonLines(looked) : readRecords(looked);
    yield* readTranscript(file, items, (transcript) => new GeminiCliTranslator(file.path, transcript));
  },
};

/** Reads a file of the older kind, one document, as if each of its records and fields were a line. */
async function* readRecords(file: ImportFile): AsyncGenerator<JsonLine | DamagedLine> {
  for await (const element of readDocument(file)) {
    const { line } = element;
    if ("problem" in element) yield element;
    else if (element.key === "messages") yield { line, value: objectOf(element.value) };
    else if (element.key !== undefined) yield { line, value: { $set: { [element.key]: element.value } } };
    else yield { line, problem: "expected a field of a recording" };
  }
}
