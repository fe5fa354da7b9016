import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A folder that is removed after the tests of a file. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "coppice-scratch-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
