import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Hub, openHub } from "../../src/hub/index.ts";
import type { Store } from "../../src/index.ts";
import { openedStore, temporaryFolder } from "./temporary-store.ts";

/** A connection to a hub until the test is over. */
export async function openedHubOf(url: string): Promise<Hub> {
  const hub = await openHub(url);
  onTestFinished(() => hub.close());
  return hub;
}

/** A store, and a function that makes a copy of its file as it is now. */
export function storeWithCopies(): { store: Store; copy: () => Promise<Store> } {
  const folder = temporaryFolder();
  const store = openedStore(join(folder, "agent.db"));
  let count = 0;
  const copy = async (): Promise<Store> => {
    count += 1;
    const path = join(folder, `copy-${count}.db`);
    await store.backup(path);
    return openedStore(path);
  };
  return { store, copy };
}
