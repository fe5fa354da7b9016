import { readFileSync } from "node:fs";
import { lookAt } from "../core/files.ts";

/** Bytes that SQLite locks in a database file (https://sqlite.org/src/file/src/os.h): one by writers, many by everyone. */
const RESERVED_BYTE = 0x40000001;
const SHARED_FIRST = 0x40000002;

/** The byte that a writer locks in the `-shm` file (https://sqlite.org/walformat.html, 2.2.1). */
const WAL_WRITE_BYTE = 120;

/** Processes other than this one that have a store open, by process id; 0 stands for one in another container. */
export interface LockHolders {
  open: number[];
  /** Of these, the one that is in the middle of a write. */
  writing: number | undefined;
}

/**
 * Who else has the file open, told by the locks on it. Takes none itself, so nobody is disturbed.
 *
 * @returns undefined where the system does not say: only Linux has a list of locks.
 */
export function lockHolders(path: string): LockHolders | undefined {
  let locks: string;
  try {
    locks = readFileSync("/proc/locks", "utf8");
  } catch {
    return undefined;
  }
  return holdersIn(locks, { database: lookAt(path)?.ino, sharedMemory: lookAt(`${path}-shm`)?.ino }, process.pid);
}

/**
 * The holders in the text of `/proc/locks`. Files are told by inode and by which bytes of them are locked, not by device:
 * that differs from what `stat` says on layered file systems.
 */
export function holdersIn(
  locks: string,
  inodes: { database: number | undefined; sharedMemory: number | undefined },
  ownProcessId: number,
): LockHolders {
  const open = new Set<number>();
  let writing: number | undefined;
  // "2: POSIX  ADVISORY  READ 23342 fe:00:2148130 1073741826 1073742335"; one with an arrow is still waiting.
  for (const line of locks.matchAll(/^\d+: POSIX\s+\w+\s+(READ|WRITE)\s+(\d+) \w+:\w+:(\d+) (\d+) (\d+|EOF)$/gm)) {
    const [processId, inode, first] = [Number(line[2]), Number(line[3]), Number(line[4])];
    const last = line[5] === "EOF" ? Number.POSITIVE_INFINITY : Number(line[5]);
    if (processId === ownProcessId) continue;
    const holds = (byte: number): boolean => first <= byte && byte <= last;
    if (inode === inodes.database && holds(SHARED_FIRST)) open.add(processId);
    const writeByte =
      inode === inodes.database ? RESERVED_BYTE : inode === inodes.sharedMemory ? WAL_WRITE_BYTE : undefined;
    if (line[1] === "WRITE" && writeByte !== undefined && holds(writeByte)) writing = processId;
  }
  return { open: [...open].sort((left, right) => left - right), writing };
}
