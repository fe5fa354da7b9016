import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { bundleOf, initialize } from "./sources-hooks.js";

const sources = new URL("./sources.js", import.meta.url);
sources.searchParams.set("bundles", inject("bundles"));

/** With `--import` of this, Node runs the sources. */
export const SOURCES = sources.href;

/** Returns the bundle of a program for a worker thread, in which hooks do not run. */
export function threadProgram(program: URL): Promise<string> {
  initialize(inject("bundles"));
  return bundleOf(fileURLToPath(program));
}

// Processes that the source starts are source too.
if (!process.execArgv.includes(SOURCES)) process.execArgv.push("--import", SOURCES);
