import { inject } from "vitest";

const sources = new URL("./sources.js", import.meta.url);
sources.searchParams.set("bundles", inject("bundles"));

// Processes that the source starts are source too.
if (!process.execArgv.includes(sources.href)) process.execArgv.push("--import", sources.href);
