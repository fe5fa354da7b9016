import { accessSync, constants, readFileSync, realpathSync, statfsSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { byteLengthOf, lookAt } from "../../core/files.ts";
import { advice, type Finding, ok, problem, quoted } from "./finding.ts";
import { logFault } from "./foreign-log.ts";
import { type LockHolders, lockHolders } from "./lock-holders.ts";
import { nameFault } from "./one-name.ts";

/** With less free space, the next writes may fail. */
const FREE_BYTES_MIN = 100_000_000;

/** A write-ahead log this large is not being emptied. Normally it stays below a tenth of this. */
const WAL_BYTES_MAX = 64_000_000;

const GB = 1_000_000_000;

/** The words of a process that are shown, such as `node coppice watch`. What follows an option may be secret. */
const WORDS_SHOWN = 3;
const WORD_CHARS_MAX = 40;

const BESIDE = ["-wal", "-shm", "-coppice-ann.hnsw", "-coppice-ann.json"];

/** A process that writes for this long counts as stuck. It is checked this often meanwhile. */
const WRITE_MS_MAX = 1_000;
const WRITE_LOOKS = 10;

/** Network file systems, by Linux's `f_type` (statfs(2)). SQLite's locks and shared memory do not work on them. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9P"],
  [0x00c36400, "Ceph"],
]);

/**
 * Checks a store's file without opening it. Writes nothing and locks nothing.
 *
 * @param writesHere  True if this process has the store open for writing, so the write-ahead log may be its own.
 */
export function fileFindings(path: string, writesHere: boolean): Finding[] {
  if (path === ":memory:") return [ok("file", "The store is in memory and ends with its process.")];
  const stat = statSync(path, { throwIfNoEntry: false });
  const walBytes = byteLengthOf(`${path}-wal`);
  if (stat === undefined || stat.size === 0) {
    if (walBytes > 0) {
      const what = stat === undefined ? `There is no file ${path}` : `${path} is empty`;
      const text = `${what}, but its write-ahead log ${path}-wal holds ${bytes(walBytes)}.`;
      const fix =
        "The database was moved, replaced or deleted without its log. Put the database back beside the log before opening it.";
      return [problem("file", text, fix)];
    }
    if (stat === undefined) return [problem("file", `There is no file ${path}.`, "Check the path.")];
  }
  if (!stat.isFile()) return []; // the error on opening it says so
  const fault = nameFault(path);
  const holders = lockHolders(path);
  const isOpen = writesHere || holders === undefined || holders.open.length > 0;
  return [
    ok("file", `${path} has ${bytes(stat.size)}.`),
    ...(fault === undefined ? [] : [problem("file", `Cannot use ${path}: ${fault.reason}.`, fault.fix)]),
    ...permissionFindings(path),
    ...diskFindings(path, stat.size + walBytes),
    walFinding(path, walBytes, isOpen),
    processFinding(path, holders),
  ];
}

function permissionFindings(path: string): Finding[] {
  const findings: Finding[] = [];
  const folder = dirname(path);
  if (process.platform !== "win32") {
    const real = realpathSync(path); // the other files are beside the file itself, not beside a link to it
    for (const file of [path, ...BESIDE.map((suffix) => real + suffix)]) {
      const mode = (lookAt(file)?.mode ?? 0) & 0o777;
      if ((mode & 0o077) === 0) continue;
      const text = `${file} may be used by others than its owner (mode ${mode.toString(8)}), and it holds conversations.`;
      findings.push(problem("permissions", text, `chmod 600 ${quoted(file)}`));
    }
    const folderMode = statSync(folder).mode;
    if ((folderMode & constants.S_IWOTH) !== 0 && (folderMode & 0o1000) === 0) {
      const text = `Any user may replace files in the folder ${folder}.`;
      findings.push(problem("permissions", text, `chmod o-w ${quoted(folder)}`));
    }
  }
  if (!mayUse(path, constants.R_OK)) {
    findings.push(
      problem("permissions", `This user may not read ${path}.`, `chmod u+rw ${quoted(path)}, as its owner`),
    );
  } else if (!mayUse(path, constants.W_OK) || !mayUse(folder, constants.W_OK)) {
    const text = `This user may read the store but not write to ${mayUse(path, constants.W_OK) ? folder : path}.`;
    const fix = "To append, give this user the right to write to the file and to its folder.";
    findings.push(advice("permissions", text, fix));
  }
  return findings.length > 0 ? findings : [ok("permissions", "Only its owner may use it.")];
}

function mayUse(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

function diskFindings(path: string, storeBytes: number): Finding[] {
  const { type, bavail, bsize } = statfsSync(dirname(path));
  const network = process.platform === "linux" ? networkFinding(type) : undefined;
  return [roomFinding(bavail * bsize, storeBytes), ...(network === undefined ? [] : [network])];
}

export function roomFinding(freeBytes: number, storeBytes: number): Finding {
  const text = `The disk has ${bytes(freeBytes)} left.`;
  if (freeBytes < FREE_BYTES_MIN) {
    return problem("disk", `${text} The next writes may fail.`, `Free at least ${bytes(FREE_BYTES_MIN)}.`);
  }
  if (freeBytes < storeBytes) {
    const fix = `Free at least ${bytes(storeBytes - freeBytes)} more, or back up to another disk.`;
    return advice("disk", `${text} A backup of ${bytes(storeBytes)} does not fit beside the store.`, fix);
  }
  return ok("disk", text);
}

export function networkFinding(type: number): Finding | undefined {
  const name = NETWORK_FILE_SYSTEMS.get(type);
  if (name === undefined) return undefined;
  const text = `The file is on a network drive (${name}), where SQLite's write-ahead log does not work.`;
  return problem("file-system", text, "Move the file to a local disk, while no process has it open.");
}

function walFinding(path: string, walBytes: number, isOpen: boolean): Finding {
  const fault = logFault(path);
  if (fault !== undefined) return problem("write-ahead-log", `Cannot use ${path}: ${fault.reason}.`, fault.fix);
  if (walBytes > 0 && !isOpen) {
    const text = `A process ended without closing the store and left ${bytes(walBytes)} in ${path}-wal. Nothing is lost.`;
    const fix =
      "Keep the log beside the file: the next process that opens the store for writing adds its content to the file.";
    return advice("write-ahead-log", text, fix);
  }
  if (walBytes > WAL_BYTES_MAX) {
    const text = `The write-ahead log has grown to ${bytes(walBytes)}: something reads for a long time, or a writer died.`;
    const fix = `End long reads, then run: sqlite3 ${quoted(path)} "PRAGMA wal_checkpoint(TRUNCATE)"`;
    return advice("write-ahead-log", text, fix);
  }
  return ok(
    "write-ahead-log",
    walBytes === 0 ? "The write-ahead log is empty." : `The write-ahead log has ${bytes(walBytes)}.`,
  );
}

function processFinding(path: string, holders: LockHolders | undefined): Finding {
  if (holders === undefined)
    return ok("processes", "This system does not say which other processes have the file open.");
  const stuck = stuckWriter(path, holders);
  if (stuck !== undefined) {
    const text = `Process ${stuck} has been writing for more than a second; other writers get STORE_BUSY.`;
    return problem("processes", text, `Wait for it, wake it if it is stopped, or end it: kill ${stuck}`);
  }
  if (holders.elsewhere.length > 0) {
    const text = `Process ${holders.elsewhere.join(", ")} has the file open under another name, with another write-ahead log.`;
    return problem(
      "processes",
      text,
      "End it, and use the same path in all processes: in a container, mount the folder.",
    );
  }
  if (holders.open.length > 0)
    return ok("processes", `Also open in process ${holders.open.map(processName).join(", ")}.`);
  return ok("processes", "No other process has it open.");
}

/** The other processes that have a file open. None is known except on Linux. */
export function processesThatUse(path: string): string[] {
  return lockHolders(path)?.open.map(processName) ?? [];
}

/** The id of a process, with its program and what it runs where the system says that. */
function processName(id: number): string {
  try {
    const words = readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0").filter(Boolean);
    const end = words.findIndex((word, index) => index > 0 && word.startsWith("-"));
    const shown = words.slice(0, end === -1 ? WORDS_SHOWN : Math.min(end, WORDS_SHOWN));
    return `${id} (${shown.map((word) => basename(word).slice(0, WORD_CHARS_MAX)).join(" ")})`;
  } catch {
    return String(id);
  }
}

/** Returns the process that is writing at every check for a second, if there is one. */
function stuckWriter(path: string, { writing }: LockHolders): number | undefined {
  if (writing === undefined) return undefined;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let look = 0; look < WRITE_LOOKS; look++) {
    Atomics.wait(sleeper, 0, 0, WRITE_MS_MAX / WRITE_LOOKS);
    if (lockHolders(path)?.writing !== writing) return undefined;
  }
  return writing;
}

function bytes(count: number): string {
  const [amount, unit] = count < 10 * GB ? [count / 1_000_000, "MB"] : [count / GB, "GB"];
  return `${amount.toLocaleString("en-US", { maximumFractionDigits: 1 })} ${unit}`;
}
