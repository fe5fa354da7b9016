import { headObjects } from "../detect.ts";
import { headEntries, readDocument, shapeOf } from "../documents.ts";
import type { ImportEvent, Importer, ImportFile } from "../importer.ts";
import { readJsonLines } from "../lines.ts";
import { objectOf, stringOf } from "../values.ts";
import { Recording } from "./recording.ts";

/**
 * Gemini CLI's recordings: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, those of its subagents in `chats/<session>/`, and
 * the older `session-*.json`, one document each. Read in the source of versions up to 0.61.
 *
 * What the user, the model and its tools said becomes messages, thoughts included. Left out in silence are the records of
 * type `info`, `warning` and `error`: notices on the screen.
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
    for (const { key, value } of headEntries(head)) {
      keys.add(key);
      // Others keep what was said without the session it was said in.
      const { id, type, content } = objectOf(value);
      if (key === "messages" && type === "gemini" && content !== undefined && stringOf(id)) return true;
    }
    return keys.has("sessionId") && (keys.has("projectHash") || keys.has("messages"));
  },

  async *read(file: ImportFile): AsyncGenerator<ImportEvent> {
    const recording = new Recording(file.path);
    const { isLines, file: looked } = await shapeOf(file);
    if (isLines) {
      for await (const found of readJsonLines(looked)) {
        if ("isPause" in found) {
          yield* recording.pause(found.isFinished);
          yield { kind: "paused" };
        } else if ("problem" in found) yield { kind: "warning", line: found.line, reason: found.problem };
        else yield* recording.add(found.value, found.line);
      }
    } else {
      for await (const found of readDocument(looked)) {
        const { line } = found;
        if ("problem" in found) yield { kind: "warning", line, reason: found.problem };
        else if (found.key === "messages") yield* recording.add(objectOf(found.value), line);
        else if (found.key !== undefined) yield* recording.add({ $set: { [found.key]: found.value } }, line);
        else yield { kind: "warning", line, reason: "expected a field of a recording" };
      }
    }
    yield* recording.finish(file.isFinished === true);
  },
};
