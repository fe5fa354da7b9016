#!/usr/bin/env node
import { existsSync } from "node:fs";
import * as nodeModule from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { dataFolder } from "../core/data-folder.ts";
import { HookLog, unbegunEntry } from "../hooks/hook-log.ts";
import { type HookWords, hookWords } from "./hook-words.ts";
import { storePath } from "./stores/store-path.ts";

// From 22.1 on, Node can keep the compiled code for the next start. It does without if it cannot write there. Our folder must exist,
// because Node would make folders above it.
const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
const ours = dataFolder({ env: process.env, platform: process.platform, home: homedir() });
if (existsSync(ours)) enableCompileCache?.(join(ours, "compiled"));

// An agent waits for its hook at each prompt, so a hook must start fast. This file is bundled with the code of hooks alone, and
// loads the other commands when one is called.
const call = hookWords(process.argv.slice(2));
if (call === undefined) void import("./main.ts");
else void answer(call);

/** Ends with 0, also if the code of hooks cannot be loaded. An agent could take anything else for a refusal. */
async function answer({ db, ...words }: HookWords): Promise<void> {
  const startMs = Date.now();
  let path: string | undefined;
  const giveUp = (error: unknown): never => {
    const failure = error instanceof Error ? error.message : String(error);
    if (path !== undefined) new HookLog(path).add(unbegunEntry({ ...words, failure }, startMs));
    process.exit(0);
  };
  process.on("uncaughtException", giveUp); // and unhandled rejections
  try {
    path = storePath(db);
    const { runHook } = await import("../hooks/run-hook.ts");
    await runHook({ ...words, storePath: path });
  } catch (error) {
    giveUp(error);
  }
}
