import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the bundles that child processes run: see sources.js. */
    bundles: string;
  }
}

/** Makes an empty folder for bundles, and empties it before tests run again. Returns the function that removes it. */
export function setup(project: TestProject): () => void {
  // Inside `node_modules`, so that Node finds the dependencies.
  const cache = fileURLToPath(new URL("../../node_modules/.cache", import.meta.url));
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "coppice-bundles-"));
  project.provide("bundles", folder);
  project.onTestsRerun(() => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  });
  return () => rmSync(folder, { recursive: true, force: true });
}
