#!/usr/bin/env node
import { runHook } from "../hooks/run-hook.ts";
import { hookWords } from "./hook-words.ts";
import { storePath } from "./store-path.ts";

// An agent waits for its hooks at each prompt. So this file is bundled as one, and loads all other commands only for people.
const call = hookWords(process.argv.slice(2));
if (call === undefined) void import("./main.ts");
else void runHook({ ...call, storePath: storePath(call.db) });
