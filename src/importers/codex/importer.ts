import { headObjects } from "../detect.ts";
import type { Importer } from "../importer.ts";
import { readJsonLines } from "../lines.ts";
import { readTranscript } from "../transcript.ts";
import { objectOf, stringOf } from "../values.ts";
import { rolloutLineOf } from "./line.ts";
import { CodexTranslator } from "./translator.ts";

const TYPES: ReadonlySet<unknown> = new Set([
  "session_meta",
  "response_item",
  "event_msg",
  "turn_context",
  "compacted",
]);

/**
 * Reads the rollouts of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`, and those in `archived_sessions`.
 *
 * Everything that the user, the model and its tools said becomes messages. So do prompts of the program (`developer`), with their role
 * in the metadata. `line.ts` lists what is skipped silently; anything unknown is a warning.
 */
export const codex: Importer = {
  name: "codex",
  isFollowable: true,

  detect(head) {
    for (const object of headObjects(head)) {
      if (TYPES.has(object.type) && object.payload !== undefined && stringOf(objectOf(object.payload).type ?? "x")) {
        return true;
      }
      // The first versions of Codex wrote the session as a line without `type`, and the state of its git tree as another line.
      const isMeta = object.type === undefined && rolloutLineOf(object)?.type === "session_meta";
      if ((isMeta && "instructions" in object) || object.record_type === "state") return true;
    }
    return false;
  },

  read(file) {
    return readTranscript(file, readJsonLines(file), (transcript) => new CodexTranslator(file.path, transcript));
  },
};
