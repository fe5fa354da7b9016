#!/usr/bin/env node
import { runHook } from "../hooks/run-hook.ts";
import { hookWords } from "./hook-words.ts";
import { storePath } from "./stores/store-path.ts";

// An agent waits for its hook at each prompt, so a hook must start fast. This file is bundled with the code of hooks alone, and
// loads the other commands when one is called.
const call = hookWords(process.argv.slice(2));
if (call === undefined) void import("./main.ts");
else void runHook({ ...call, storePath: storePath(call.db) });
