#!/usr/bin/env node
import { hookWords } from "./hook-words.ts";
import { storePath } from "./store-path.ts";

const argv = process.argv.slice(2);
const call = hookWords(argv);
// An agent waits for its hooks at each prompt, so they do not wait for the code of the other commands.
if (call === undefined) {
  const { runTyped } = await import("./run.ts");
  await runTyped(argv);
} else {
  process.on("uncaughtException", () => process.exit(0));
  const { runHook } = await import("../hooks/run-hook.ts");
  await runHook({ ...call, storePath: storePath(call.db) });
}
