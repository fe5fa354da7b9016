import { readFileSync, realpathSync } from "node:fs";
import { lookAt } from "../../core/files.ts";

/** Bytes that SQLite locks in a database file (https://sqlite.org/src/file/src/os.h): writers one, all users one. */
const RESERVED_BYTE = 0x40000001;
const SHARED_FIRST = 0x40000002;

/** The byte that a writer locks in the `-shm` file (https://sqlite.org/walformat.html, 2.2.1). */
const WAL_WRITE_BYTE = 120;

/** The byte of the `-shm` file that every user locks (same page, and os_unix.c). */
const SHARED_MEMORY_BYTE = 128;

/** The other processes that have a store open. A process in another container has the id 0. */
export interface LockHolders {
  open: number[];
  /** Processes that use no `-shm` file beside this path, because they opened the file by another path. */
  elsewhere: number[];
  writing: number | undefined;
}

/** Returns the processes that have a file open, except the given one, according to its locks. Undefined except on Linux. */
export function lockHolders(path: string, ownProcessId: number | undefined = process.pid): LockHolders | undefined {
  let locks: string;
  try {
    locks = readFileSync("/proc/locks", "utf8");
  } catch {
    return undefined;
  }
  return holdersIn(
    locks,
    { database: lookAt(path)?.ino, sharedMemory: lookAt(`${realpathSync(path)}-shm`)?.ino },
    ownProcessId,
  );
}

/** Returns true if a process, this one or another, uses a file and the log beside it. False if the system does not say. */
export function isOpenWithLog(path: string): boolean {
  const { open, elsewhere } = lockHolders(path, undefined) ?? { open: [], elsewhere: [] };
  return open.length > elsewhere.length;
}

/** Reads `/proc/locks`. Devices are not compared, because `stat` reports another one on layered file systems. */
export function holdersIn(
  locks: string,
  inodes: { database: number | undefined; sharedMemory: number | undefined },
  ownProcessId: number | undefined,
): LockHolders {
  const open = new Set<number>();
  const here = new Set<number>();
  let writing: number | undefined;
  // "2: POSIX  ADVISORY  READ 23342 fe:00:2148130 1073741826 1073742335". A line with an arrow is a waiting process.
  for (const line of locks.matchAll(/^\d+: POSIX\s+\w+\s+(READ|WRITE)\s+(\d+) \w+:\w+:(\d+) (\d+) (\d+|EOF)$/gm)) {
    const [processId, inode, first] = [Number(line[2]), Number(line[3]), Number(line[4])];
    const last = line[5] === "EOF" ? Number.POSITIVE_INFINITY : Number(line[5]);
    if (processId === ownProcessId) continue;
    const holds = (byte: number): boolean => first <= byte && byte <= last;
    if (inode === inodes.database && holds(SHARED_FIRST)) open.add(processId);
    if (inode === inodes.sharedMemory && holds(SHARED_MEMORY_BYTE)) here.add(processId);
    const writeByte =
      inode === inodes.database ? RESERVED_BYTE : inode === inodes.sharedMemory ? WAL_WRITE_BYTE : undefined;
    if (line[1] === "WRITE" && writeByte !== undefined && holds(writeByte)) writing = processId;
  }
  const sorted = [...open].sort((left, right) => left - right);
  return { open: sorted, elsewhere: sorted.filter((processId) => !here.has(processId)), writing };
}
