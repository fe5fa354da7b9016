import { headObjects } from "../detect.ts";
import type { Importer } from "../importer.ts";
import { isObject, readJsonLines } from "../lines.ts";
import { readTranscript } from "../transcript.ts";
import { LlxprtTranslator } from "./translator.ts";

/**
 * Reads the sessions of llxprt-code: `~/.llxprt/tmp/<project>/chats/session-*.jsonl`. The format was read in the source of
 * its `packages/core/src/recording`.
 *
 * Everything that the user, the model and its tools said becomes messages, thinking included. `translator.ts` lists the lines that are
 * skipped silently; an unknown line is a warning.
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

  read(file) {
    return readTranscript(file, readJsonLines(file), (transcript) => new LlxprtTranslator(file.path, transcript));
  },
};
