import { WatchRun } from "../../src/imports/watch/watch-run.ts";
import { openStore } from "../../src/index.ts";

/** Follows a folder until the parent disconnects. Reports when everything is imported and, on request, the CPU time used. */
const [path, folder] = process.argv.slice(2);
const stopping = new AbortController();
process.on("disconnect", () => stopping.abort());
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send!({ cpuMs: (user + system) / 1_000, rssMb: process.memoryUsage().rss / 1e6 });
});
const store = openStore(path!);
const run = new WatchRun(store, {
  paths: [folder!],
  onEvent: ({ event }) => event === "caught_up" && process.send!("caught up"),
  signal: stopping.signal,
});
await run.follow();
store.close();
