import { openStore } from "../../src/index.ts";

/** A fresh process that opens a store, and continues its session in mode `resume`. It prints the time and memory that this takes. */
const [, , path, mode] = process.argv;
const store = openStore(path!);
const from = performance.now();
if (mode === "resume") {
  const session = store.resume("long");
  session.render({ tokensMax: 16_000 });
  session.append({ role: "user", content: "Where were we?" });
}
const ms = performance.now() - from;
console.log(JSON.stringify({ ms, rssMb: process.memoryUsage.rss() / 2 ** 20 }));
store.close();
