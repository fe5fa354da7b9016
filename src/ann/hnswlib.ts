import { createRequire } from "node:module";

export type Hnswlib = typeof import("hnswlib-node");

let loaded: Hnswlib | Error | undefined;

/**
 * Returns the native library, or an error with the reason why it cannot be loaded. It is an optional dependency: without it,
 * clusters are compared one by one. It is loaded only when there are enough clusters for a graph.
 */
export function loadHnswlib(): Hnswlib | Error {
  if (loaded === undefined) {
    try {
      loaded = createRequire(import.meta.url)("hnswlib-node") as Hnswlib;
    } catch (error) {
      // The other lines list the paths that were tried.
      loaded = new Error(String(error instanceof Error ? error.message : error).split("\n")[0], { cause: error });
    }
  }
  return loaded;
}
