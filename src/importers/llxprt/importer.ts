import { headObjects } from "../detect.ts";
import type { ImportEvent, Importer, ImportFile } from "../importer.ts";
import { isObject, readJsonLines } from "../lines.ts";
import { Journal } from "./journal.ts";

/**
 * llxprt-code's sessions: `~/.llxprt/tmp/<project>/chats/session-*.jsonl`. Read in the source of `packages/core/src/recording`.
 *
 * What the user, the model and its tools said becomes messages, thinking included. What is left out in silence is listed in
 * `journal.ts`; what is not known is reported.
 */
export const llxprt: Importer = {
  name: "llxprt",
  isFollowable: true,

  detect(head) {
    for (const { v, seq, type, payload } of headObjects(head)) {
      if ((v === 1 || v === 2) && typeof seq === "number" && typeof type === "string" && isObject(payload)) return true;
    }
    return false;
  },

  async *read(file: ImportFile): AsyncGenerator<ImportEvent> {
    const journal = new Journal(file.path);
    for await (const found of readJsonLines(file)) {
      if ("isPause" in found) {
        yield* journal.pause(found.isFinished);
        yield { kind: "paused" };
      } else if ("problem" in found) yield { kind: "warning", line: found.line, reason: found.problem };
      else yield* journal.add(found.value, found.line);
    }
    yield* journal.finish(file.isFinished === true);
  },
};
