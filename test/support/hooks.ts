import type { Firing } from "../../src/hooks/firing.ts";
import { sayAt } from "../../src/hooks/hook.ts";
import { keyedDigest } from "../../src/hooks/keyed-digest.ts";
import type { MessageInput } from "../../src/index.ts";
import { openQuickly } from "../../src/store/quick-reader.ts";
import { openedStore, temporaryPath } from "./temporary-store.ts";

/** A store with these sessions of the folder `/none/web`. */
export function storeOf(sessions: Readonly<Record<string, readonly MessageInput[]>>): string {
  const path = temporaryPath();
  const store = openedStore(path);
  for (const [id, messages] of Object.entries(sessions)) store.session(id, { project: "/none/web" }).append(messages);
  store.close();
  return path;
}

/** What a hook says, to an agent that has only been warned of these. */
export function sayingOf(path: string, firing: Firing, warned: readonly string[] = []) {
  const reader = openQuickly(path);
  try {
    return sayAt(reader, firing, {
      quoted: new Set(),
      compactedAtMs: undefined,
      isBare: false,
      warned: new Set(warned),
      digest: (text) => keyedDigest(new Uint8Array(16), text),
    });
  } finally {
    reader.close();
  }
}
