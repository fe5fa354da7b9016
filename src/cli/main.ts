#!/usr/bin/env node
import { runCommandLine } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { processTerminal } from "./terminal.ts";
import { packageVersion } from "./version.ts";

// Not `process.exit`, which would cut off what a pipe has not taken yet.
process.exitCode = await runCommandLine(process.argv.slice(2), {
  commands: COMMANDS,
  version: packageVersion(),
  terminal: processTerminal(),
});
