import { constants, copyFileSync, linkSync, realpathSync, renameSync, rmSync, type Stats, unlinkSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { StoreError } from "../../core/errors.ts";
import { flushFolder, flushToDisk, lookAt } from "../../core/files.ts";
import { type BackupOptions, type BackupReport, copyTo } from "./backup.ts";
import { processesThatUse } from "./file-findings.ts";
import { nameToKeep } from "./kept-files.ts";
import type { StoreDatabase } from "./open.ts";

export interface RestoreReport extends BackupReport {
  /** Where the store is that was in this place, with its log beside it; null if there was none. */
  keptAt: string | null;
}

/**
 * Puts a checked copy of a backup in the place of a store, which is kept under another name. In this order, whenever the process is
 * killed, either store is in place: the former files get second names, which change nothing (`nameFault`); the copy takes the
 * place of the file, which makes the log a foreign one; the log loses its first name. A log that is left between the last two steps is
 * removed by whoever opens the store (`refuseForeignLog`).
 *
 * @throws {StoreError} `FILE_NOT_USABLE` if the backup is the store itself, or if another process has the store open. Only Linux says
 * that; elsewhere such a process fails with `STORE_CLOSED` when it writes next.
 */
export async function restoreStore(
  backup: StoreDatabase,
  path: string,
  { onProgress, nowMs }: { onProgress: BackupOptions["onProgress"]; nowMs: number },
  signal: AbortSignal,
): Promise<RestoreReport> {
  const target = lookAt(path) === undefined ? resolve(path) : realpathSync(path);
  refuseInUse(target, backup);
  let keptAt: string | null = null;
  const move = (copy: string): void => {
    refuseInUse(target, backup); // again: the copy took time
    keptAt = replace(target, copy, nameToKeep(target, nowMs));
  };
  const report = await copyTo(backup, target, { onProgress, move }, signal);
  return { ...report, keptAt };
}

/** @throws {StoreError} `FILE_NOT_USABLE`. */
export function refuseInUse(path: string, backup: StoreDatabase): void {
  const found = lookAt(path);
  const refuse = (reason: string, fix: string): never => {
    throw new StoreError("FILE_NOT_USABLE", { path, reason, fix });
  };
  if (found === undefined) {
    if (lookAt(dirname(path)) === undefined) throw new StoreError("FILE_NOT_FOUND", { path, folder: dirname(path) });
    return;
  }
  if (!found.isFile()) refuse("it is not a regular file", "Give the path of the store with `--db`.");
  if (isSame(found, lookAt(backup.path))) refuse("it is the backup itself", "Nothing is to be restored.");
  const processes = processesThatUse(path);
  if (processes.length > 0) {
    refuse(`process ${processes.join(", ")} has it open`, "Nothing was changed. End it, and run the command again.");
  }
}

function replace(target: string, copy: string, kept: string): string | null {
  const log = lookAt(`${target}-wal`);
  const hasFile = lookAt(target) !== undefined;
  if (log !== undefined) giveName(`${target}-wal`, `${kept}-wal`);
  if (hasFile) giveName(target, kept);
  renameSync(copy, target);
  if (log !== undefined && isSame(log, lookAt(`${target}-wal`))) unlinkSync(`${target}-wal`);
  rmSync(`${target}-shm`, { force: true });
  flushFolder(dirname(target));
  return hasFile || log !== undefined ? kept : null;
}

/** Gives a file a second name. Where the disk has no links, it is copied. */
function giveName(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch {
    copyFileSync(file, name, constants.COPYFILE_EXCL);
    flushToDisk(name);
  }
}

function isSame(one: Stats, other: Stats | undefined): boolean {
  return one.ino === other?.ino && one.dev === other.dev;
}
