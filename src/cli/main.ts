#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { runCommandLine } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { processTerminal } from "./terminal.ts";

/** Beside `src` and beside `dist`. */
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

// Not `process.exit`, which would cut off what a pipe has not taken yet.
process.exitCode = await runCommandLine(process.argv.slice(2), {
  commands: COMMANDS,
  version,
  terminal: processTerminal(),
});
