import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { copyStore } from "./store-files.ts";
import { temporaryPath } from "./temporary-store.ts";

/** Grows a store file once for all tests of a file. Returns a function that copies it, to a new path if none is given. */
export function grownOnce(grow: (path: string) => unknown): (path?: string) => string {
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "coppice-test-"));
    await grow(join(folder, "grown.db"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return (path = temporaryPath()) => copyStore(join(folder, "grown.db"), path);
}
