import { createRequire } from "node:module";

/** What of `hnswlib-node` is used here. */
export type Hnswlib = typeof import("hnswlib-node");

let loaded: Hnswlib | Error | undefined;

/**
 * The native library, or why it is not there. It is an optional dependency: where it could not be compiled, everything
 * works without it, only more slowly. So it is asked for by a call, and only when there is enough to put into a graph.
 */
export function loadHnswlib(): Hnswlib | Error {
  if (loaded === undefined) {
    try {
      loaded = createRequire(import.meta.url)("hnswlib-node") as Hnswlib;
    } catch (error) {
      // Its first line: what follows says where it was looked for.
      loaded = new Error(String(error instanceof Error ? error.message : error).split("\n")[0], { cause: error });
    }
  }
  return loaded;
}
