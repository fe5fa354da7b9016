import type { SessionMemory } from "../../src/hooks/begin.ts";
import { type Firing, isFromStore } from "../../src/hooks/firing.ts";
import { sayFromStore } from "../../src/hooks/from-store.ts";
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

/** What a hook says, to an agent that has only been warned of and told these. */
export function sayingOf(
  path: string,
  firing: Firing,
  { warned = [], quoted = [] }: { warned?: readonly string[]; quoted?: readonly number[] } = {},
) {
  const memory: SessionMemory = {
    quoted: new Set(quoted),
    compactedAtMs: undefined,
    isBare: false,
    warned: new Set(warned),
    digest: (text) => keyedDigest(new Uint8Array(16), text),
  };
  if (isFromStore(firing)) return sayFromStore(path, firing, memory);
  const reader = openQuickly(path);
  try {
    return sayAt(reader, firing, memory);
  } finally {
    reader.close();
  }
}
