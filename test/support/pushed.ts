import { expect } from "vitest";
import type { Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { storeIdOf } from "../../src/store/changes/id-blocks.ts";
import { factsInStore, factsOnHub } from "./hub-facts.ts";

/** Fails unless the hub has exactly what the store has of a session. */
export async function expectOnHub(url: string, store: Store, sessionId: string): Promise<void> {
  const origin = storeIdOf(internalsOf(store).repositories)!;
  const lines = factsInStore(store, sessionId);
  expect(lines.length).toBeGreaterThan(1);
  expect(await factsOnHub(url, sessionId, origin)).toEqual(lines);
}
