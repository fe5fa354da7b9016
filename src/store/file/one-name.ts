import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { StoreError } from "../../core/errors.ts";
import { byteLengthOf, lookAt } from "../../core/files.ts";
import { firstLook, holdsLog, isCode } from "./connect.ts";
import { quoted } from "./finding.ts";
import { keptNameCount } from "./kept-files.ts";

// SQLite keeps the log and the shared memory beside the name by which a file is opened. Processes that use different names of
// one file do not see each other's logs, and each writes over what the others have written.

/** The reason why a file cannot be used under a name, and what to do about it. */
export interface NameFault {
  reason: string;
  fix: string;
}

/** Milliseconds that another process may take between its lock on the file and the shared memory beside it. */
const OPENING_MS_MAX = 1_000;
const LOOK_MS = 5;

/** Returns why a file has more than one name; undefined if it has one, or if the system does not say. */
export function nameFault(file: string): NameFault | undefined {
  const found = lookAt(file);
  const nameCount = found === undefined ? 1 : found.nlink - keptNameCount(realpathSync(file), found);
  if (nameCount > 1) {
    return {
      reason: `it has ${nameCount} names (hard links), and each name would have a write-ahead log of its own`,
      fix: `Keep one name, and copy the file instead of linking it. To list the names: find ${quoted(dirname(file))} -xdev -samefile ${quoted(file)}`,
    };
  }
  if (isMountPoint(file)) {
    return {
      reason: "it is mounted as a single file, so its write-ahead log would stay on this side of the mount",
      fix: "Mount the folder of the store, not the file.",
    };
  }
  return undefined;
}

/** @throws {StoreError} `FILE_NOT_USABLE` for a file that has more than one name. */
export function refuseLinkedName(file: string): void {
  const fault = nameFault(file);
  if (fault !== undefined) throw new StoreError("FILE_NOT_USABLE", { path: file, ...fault });
}

/** @throws {StoreError} `FILE_NOT_USABLE` for a file that is used under another name. It may wait for a process that opens the file. */
export function refuseSecondName(file: string): void {
  if (file === ":memory:" || byteLengthOf(file) === 0) return;
  const deadlineMs = performance.now() + OPENING_MS_MAX;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  while (isUsedElsewhere(realpathSync(file))) {
    if (performance.now() > deadlineMs) {
      const reason = "another process has it open under another name, so its write-ahead log is not beside this one";
      const fix = "Use the same path in all processes. For a file that was moved: end the processes that had it open.";
      throw new StoreError("FILE_NOT_USABLE", { path: file, reason, fix });
    }
    Atomics.wait(sleeper, 0, 0, LOOK_MS);
  }
}

/**
 * Returns true if another connection has a lock on the file, and the shared memory that it uses is not beside this name. Takes
 * 0.1 ms. After a crash there may be files beside any name, so nothing is known.
 */
function isUsedElsewhere(file: string): boolean {
  if (byteLengthOf(file) === 0 || existsSync(`${file}-shm`) || holdsLog(file)) return false;
  let client: Database.Database | undefined;
  try {
    client = new Database(file, { fileMustExist: true, timeout: 0 });
    // In this mode, a read of a file with a write-ahead log locks the file itself, whatever its name, against everyone else.
    client.pragma("locking_mode = EXCLUSIVE");
    firstLook(client);
    return false;
  } catch (error) {
    return isCode(error, "BUSY"); // the store is opened after this, and reports anything else
  } finally {
    client?.close();
  }
}

function isMountPoint(file: string): boolean {
  let mounts: string;
  try {
    mounts = readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return false; // only Linux has it
  }
  // "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw". White space and backslashes are octal.
  const path = realpathSync(file).replace(/[\s\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return mounts.split("\n").some((line) => line.split(" ", 5)[4] === path);
}
