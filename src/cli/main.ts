#!/usr/bin/env node
import { VERSION } from "../core/version.ts";
import { reportFailure, runCommandLine } from "./command-line.ts";
import { COMMAND_GROUPS } from "./commands.ts";
import { failureOf } from "./failure.ts";
import { processTerminal } from "./terminal.ts";

const argv = process.argv.slice(2);
const terminal = processTerminal();

// What nobody awaits is reported like all else; rejections come this way, too.
process.on("uncaughtException", (error) => {
  reportFailure(failureOf(error), argv, terminal);
  process.exit(1);
});

// Not `process.exit`, which would cut off what a pipe has not taken yet.
process.exitCode = await runCommandLine(argv, { groups: COMMAND_GROUPS, version: VERSION, terminal });
// What was interrupted may still wait for something that will never come.
if (process.exitCode === 130) process.exit();
