import { createRequire } from "node:module";

export type Hnswlib = typeof import("hnswlib-node");

let loaded: Hnswlib | Error | undefined;

/**
 * Returns the native library, or why it cannot be loaded. It is an optional dependency: if it could not be compiled,
 * clusters are compared one by one. It is loaded when there is enough to put into a graph, and not before.
 */
export function loadHnswlib(): Hnswlib | Error {
  if (loaded === undefined) {
    try {
      loaded = createRequire(import.meta.url)("hnswlib-node") as Hnswlib;
    } catch (error) {
      // The lines after the first say where it was looked for.
      loaded = new Error(String(error instanceof Error ? error.message : error).split("\n")[0], { cause: error });
    }
  }
  return loaded;
}
