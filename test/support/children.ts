import { inject } from "vitest";

const sources = new URL("./sources.js", import.meta.url);
sources.searchParams.set("bundles", inject("bundles"));

/** With `--import` of this, Node runs the sources. */
export const SOURCES = sources.href;

// Processes that the source starts are source too.
if (!process.execArgv.includes(SOURCES)) process.execArgv.push("--import", SOURCES);
