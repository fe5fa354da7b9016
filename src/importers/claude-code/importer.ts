import { headObjects } from "../detect.ts";
import type { ImportEvent, Importer, ImportFile } from "../importer.ts";
import { readJsonLines } from "../lines.ts";
import { stringOf } from "../values.ts";
import { Transcript } from "./transcript.ts";

/**
 * Claude Code's own files: `~/.claude/projects/<folder>/<session>.jsonl`, and those of its subagents,
 * `<session>/subagents/agent-<id>.jsonl` (before 2.1: `agent-<id>.jsonl` beside the session's).
 *
 * Everything the user, the model, its tools and its subagents said becomes a message. Compaction summaries, boundaries
 * and lines marked `isMeta` too, with the mark in their metadata: they replace nothing. What is left out in silence is
 * listed in `line.ts`; what is not known is reported.
 */
export const claudeCode: Importer = {
  format: "claude-code",
  isFollowing: true,

  detect(head) {
    for (const { type, sessionId, uuid, leafUuid, snapshot } of headObjects(head)) {
      if (stringOf(type) === undefined) continue;
      if (stringOf(sessionId) && (uuid !== undefined || type === "queue-operation")) return true;
      if ((type === "summary" && stringOf(leafUuid)) || (type === "file-history-snapshot" && snapshot)) return true;
    }
    return false;
  },

  async *read(file: ImportFile): AsyncGenerator<ImportEvent> {
    const transcript = new Transcript(file.path);
    for await (const found of readJsonLines(file)) {
      const { line } = found;
      if ("isPause" in found) {
        yield* transcript.pause();
        yield { kind: "paused" };
      } else if ("problem" in found) yield { kind: "warning", line, reason: found.problem };
      else for (const reason of transcript.add(found.value, line)) yield { kind: "warning", line, reason };
      if (transcript.hasSettled) yield* transcript.settled();
    }
    yield* transcript.finish(file.isOver === true);
  },
};
