import { register } from "node:module";

// With `--import` of this file, Node runs the sources: it bundles a program once, and starts it faster than tsx does. The bundles go
// into the folder that the query of the import names. A process that imports several sources by itself needs tsx, because each bundle
// has modules of its own.
register("./sources-hooks.js", {
  parentURL: import.meta.url,
  data: new URL(import.meta.url).searchParams.get("bundles"),
});
