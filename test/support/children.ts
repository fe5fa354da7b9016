import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// Processes that the source starts are source too.
process.execArgv.push("--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href);
