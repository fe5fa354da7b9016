import type { OpenOptions, Store } from "../../src/index.ts";
import { openedStore, temporaryPath } from "./temporary-store.ts";

export interface TimedStore {
  store: Store;
  /** Another one on the same file. */
  another: () => Store;
  pass: (ms: number) => void;
}

/** A store whose time stands still until it is told. */
export function timedStore(options: OpenOptions = {}): TimedStore {
  let now = Date.UTC(2026, 0, 1);
  const path = temporaryPath();
  const another = (): Store => openedStore(path, { clock: () => now, ...options });
  const pass = (ms: number): void => {
    now += ms;
  };
  return { store: another(), another, pass };
}

/** The zones of a session's messages, a letter each: hot, overlap, cold. */
export function zonesOf(store: Store, sessionId = "s"): string {
  const letters = { hot: "H", overlap: "o", cold: "c" } as Record<string, string>;
  const rows = store.query(`SELECT zone FROM message_zones WHERE session_id = '${sessionId}' ORDER BY seq`);
  return rows.map(({ zone }) => letters[zone as string]).join("");
}
