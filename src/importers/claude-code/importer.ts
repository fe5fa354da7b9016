import { headObjects } from "../detect.ts";
import type { Importer } from "../importer.ts";
import { readJsonLines } from "../lines.ts";
import { stringOf } from "../values.ts";
import { BOOKKEEPING_TYPES, isJournal } from "./line.ts";
import { ClaudeCodeTranslator } from "./translator.ts";

const WITHOUT_UUID: ReadonlySet<unknown> = new Set(["ai-title", "custom-title", "queue-operation"]);

/**
 * Reads the files of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, and those of its subagents,
 * `<session>/subagents/agent-<id>.jsonl` (before 2.1: `agent-<id>.jsonl` beside the file of the session).
 *
 * Everything that the user, the model, its tools and its subagents said becomes messages. So do compaction summaries, boundaries and
 * lines marked `isMeta`, with the mark in their metadata; they replace nothing. `line.ts` lists what is skipped silently;
 * anything unknown is a warning.
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

  read: (file) => new ClaudeCodeTranslator(file).translate(readJsonLines(file)),
};
