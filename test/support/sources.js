import { register } from "node:module";

// With `--import` of this file, Node runs the sources: it bundles a program once, and starts it faster than tsx does. The bundles go
// into the folder that the query of the import names. A process that imports several sources by itself needs tsx, because each bundle
// has modules of its own.

// Node 26 warns that `register` is deprecated. What replaces it is not in Node 20, and the tests compare what a program says.
process.noDeprecation = true;
register("./sources-hooks.js", {
  parentURL: import.meta.url,
  data: new URL(import.meta.url).searchParams.get("bundles"),
});
process.noDeprecation = false;
