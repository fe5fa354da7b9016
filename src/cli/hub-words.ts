import type { Hub } from "../hub/hub.ts";
import type { Remote } from "../hub/remote.ts";
import type { Store } from "../session/store.ts";
import { Failure } from "./failure.ts";

/** @throws {Failure} `REMOTE_MISSING`. */
export async function storedRemote(store: Store): Promise<Remote> {
  const { remoteOf } = await import("../hub/remote.ts");
  const remote = remoteOf(store);
  if (remote !== undefined) return remote;
  const hint = "Name one: coppice remote add <url> --project <name>";
  throw new Failure("REMOTE_MISSING", "This store has no hub.", { hint });
}

/** Connects, and closes the connection however the work ends. */
export async function withHub<T>(url: string, work: (hub: Hub) => Promise<T>): Promise<T> {
  const { openHub } = await import("../hub/hub.ts");
  const hub = await openHub(url);
  try {
    return await work(hub);
  } finally {
    await hub.close();
  }
}
