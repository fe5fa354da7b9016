import { openHub } from "../../src/hub/index.ts";
import { openStore, StoreError } from "../../src/index.ts";

// Pushes the store `argv[2]` to the hub `argv[3]` again and again, until it is killed or its input ends.
const [, , path, url] = process.argv;
const stopping = new AbortController();
process.stdin.on("end", () => stopping.abort()).resume();
const store = openStore(path!, { busyTimeoutMs: 60_000 });
while (!stopping.signal.aborted) {
  try {
    const hub = await openHub(url!);
    try {
      while (!stopping.signal.aborted) await hub.push(store, { projects: ["web"], signal: stopping.signal });
    } finally {
      await hub.close();
    }
  } catch (error) {
    if (!stopping.signal.aborted && !StoreError.is(error, "HUB_UNREACHABLE")) throw error;
  }
}
store.close();
