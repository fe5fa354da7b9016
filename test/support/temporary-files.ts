import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Linux keeps the files of this folder in memory. */
const IN_MEMORY = "/dev/shm";

/** Far more than the files of all tests that run at once. */
const ROOM_BYTES = 4 * 2 ** 30;

/**
 * Gives all temporary files of a run one folder, in memory where there is room, so that syncs cost nothing. Its name has a space,
 * as the folders of many people have. Returns the function that removes it.
 */
export function setup(): () => void {
  const folder = mkdtempSync(join(hasRoomInMemory() ? IN_MEMORY : tmpdir(), "coppice tests-"));
  // A server that runs as another user has a folder of its own in it.
  chmodSync(folder, 0o711);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  return () => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true, force: true });
  };
}

function hasRoomInMemory(): boolean {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > ROOM_BYTES;
  } catch {
    return false;
  }
}
