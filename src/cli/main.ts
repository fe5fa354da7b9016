import { VERSION } from "../core/version.ts";
import { reportFailure, runCommandLine } from "./command-line.ts";
import { COMMAND_GROUPS } from "./commands.ts";
import { failureFrom } from "./failure.ts";
import { processTerminal } from "./screen/terminal.ts";

const argv = process.argv.slice(2);
const terminal = processTerminal();

// Unhandled rejections arrive here too.
process.on("uncaughtException", (error) => {
  reportFailure(failureFrom(error), argv, terminal);
  process.exit(1);
});

void runCommandLine(argv, { groups: COMMAND_GROUPS, version: VERSION, terminal }).then((exitCode) => {
  // `process.exit` would cut off output that a pipe has not taken yet.
  process.exitCode = exitCode;
  // After an interruption, something may still wait for input that never comes.
  if (exitCode > 128) process.exit();
});
