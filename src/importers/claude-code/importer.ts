import { headObjects } from "../detect.ts";
import type { ImportEvent, Importer, ImportFile } from "../importer.ts";
import { readJsonLines } from "../lines.ts";
import { stringOf } from "../values.ts";
import { BOOKKEEPING_TYPES, isJournal } from "./line.ts";
import { Transcript } from "./transcript.ts";

const WITHOUT_UUID: ReadonlySet<unknown> = new Set(["ai-title", "custom-title", "queue-operation"]);

/**
 * Claude Code's own files: `~/.claude/projects/<folder>/<session>.jsonl`, and those of its subagents,
 * `<session>/subagents/agent-<id>.jsonl` (before 2.1: `agent-<id>.jsonl` beside the session's).
 *
 * Everything the user, the model, its tools and its subagents said becomes a message. Compaction summaries, boundaries
 * and lines marked `isMeta` too, with the mark in their metadata: they replace nothing. What is left out in silence is
 * listed in `line.ts`; what is not known is reported.
 */
export const claudeCode: Importer = {
  name: "claude-code",
  isFollowable: true,

  detect(head) {
    for (const line of headObjects(head)) {
      const { type, sessionId, uuid, leafUuid, snapshot } = line;
      if (stringOf(type) === undefined) continue;
      // A session that was only named or resumed has none but such lines.
      if (stringOf(sessionId) && (uuid !== undefined || WITHOUT_UUID.has(type) || BOOKKEEPING_TYPES.has(type)))
        return true;
      if (isJournal(line)) return true;
      if ((type === "summary" && stringOf(leafUuid)) || (type === "file-history-snapshot" && snapshot)) return true;
    }
    return false;
  },

  async *read(file: ImportFile): AsyncGenerator<ImportEvent> {
    const transcript = new Transcript(file.path);
    for await (const found of readJsonLines(file)) {
      const { line } = found;
      if ("isPause" in found) {
        yield* transcript.pause(found.isFinished);
        yield { kind: "paused" };
      } else if ("problem" in found) yield { kind: "warning", line, reason: found.problem };
      else for (const reason of transcript.add(found.value, line)) yield { kind: "warning", line, reason };
      if (transcript.hasSettled) yield* transcript.settled();
    }
    yield* transcript.finish(file.isFinished === true);
  },
};
