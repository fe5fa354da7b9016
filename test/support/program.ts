import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { SOURCES } from "./children.ts";
import { TESTS_ALL } from "./effort.ts";

/** What a process of the command line runs: the source, or the built package in `npm run test:all`. */
export const PROGRAM = TESTS_ALL
  ? join(inject("packageFolder"), "dist", "coppice.cjs")
  : fileURLToPath(new URL("../../src/cli/bin.ts", import.meta.url));

/** The variables that such a process needs. Those that it starts inherit them. */
export const PROGRAM_ENV: Record<string, string> = TESTS_ALL ? {} : { NODE_OPTIONS: `--import=${SOURCES}` };
