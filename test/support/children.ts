// Processes that the source starts are source too.
process.execArgv.push("--import", "tsx");
