import { headObjects } from "../detect.ts";
import type { ImportEvent, Importer, ImportFile } from "../importer.ts";
import { readJsonLines } from "../lines.ts";
import { objectOf, stringOf } from "../values.ts";
import { rolloutLineOf } from "./line.ts";
import { Rollout } from "./rollout.ts";

const TYPES: ReadonlySet<unknown> = new Set([
  "session_meta",
  "response_item",
  "event_msg",
  "turn_context",
  "compacted",
]);

/**
 * Codex's rollouts: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`, and those of `archived_sessions`.
 *
 * What the user, the model and its tools said becomes messages: prompts of the program (`developer`) too, with their role in
 * the metadata. What is left out in silence is listed in `line.ts`; what is not known is reported.
 */
export const codex: Importer = {
  name: "codex",
  isFollowable: true,

  detect(head) {
    for (const object of headObjects(head)) {
      if (TYPES.has(object.type) && object.payload !== undefined && stringOf(objectOf(object.payload).type ?? "x")) {
        return true;
      }
      // The first versions described a session without a type, and then the state of its working tree.
      const isMeta = object.type === undefined && rolloutLineOf(object)?.type === "session_meta";
      if ((isMeta && "instructions" in object) || object.record_type === "state") return true;
    }
    return false;
  },

  async *read(file: ImportFile): AsyncGenerator<ImportEvent> {
    const rollout = new Rollout(file.path);
    for await (const found of readJsonLines(file)) {
      if ("isPause" in found) {
        yield* rollout.pause(found.isFinished);
        yield { kind: "paused" };
      } else if ("problem" in found) yield { kind: "warning", line: found.line, reason: found.problem };
      else yield* rollout.add(found.value, found.line);
    }
    yield* rollout.finish(file.isFinished === true);
  },
};
