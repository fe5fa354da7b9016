import { dirname, join } from "node:path";
import { textAt } from "../beside.ts";
import { valueIn } from "../lines.ts";
import { objectOf, stringOf } from "../values.ts";

/** The folders between a rollout and the folder of Codex: `sessions/<year>/<month>/<day>`, or `archived_sessions`. */
const LEVELS_MAX = 5;

/** Returns the newest name that the user gave a session, from `session_index.jsonl` in the folder of Codex. */
export function nameInIndex(path: string, id: string): string | undefined {
  let folder = dirname(path);
  for (let level = 0; level < LEVELS_MAX; level++) {
    const text = textAt(join(folder, "session_index.jsonl"));
    if (text !== undefined) return nameIn(text, id);
    folder = dirname(folder);
  }
  return undefined;
}

function nameIn(text: string, id: string): string | undefined {
  for (const line of text.split("\n").reverse()) {
    if (!line.includes(id)) continue;
    const entry = objectOf(valueIn(line));
    if (entry.id === id) return stringOf(entry.thread_name);
  }
  return undefined;
}
