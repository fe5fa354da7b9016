import { closeSync, openSync, readSync, realpathSync, unlinkSync } from "node:fs";
import { endianness } from "node:os";
import { StoreError } from "../../core/errors.ts";
import { byteLengthOf, lookAt } from "../../core/files.ts";
import { APPLICATION_ID } from "./application-id.ts";
import { quoted } from "./finding.ts";
import { keptLogOf } from "./kept-files.ts";
import { isOpenWithLog } from "./lock-holders.ts";
import type { NameFault } from "./one-name.ts";

// SQLite writes the log beside a file into the file, whatever file it is of. If somebody has put a backup in the place of a store
// whose process was killed, the result is damaged, or is the former store.

/** https://sqlite.org/fileformat.html, 1.3 and 4.1. All numbers are big-endian, except the words of checksums in most logs. */
const HEADER = { byteLength: 100, writeVersion: 18, pageCount: 28, serial: 60, applicationId: 68 };
const ROLLBACK_JOURNAL = 1;
const LOG = { headerBytes: 32, frameBytes: 24, magic: 0x377f0682, pageSize: 8, salts: 16, frameSalts: 8, checksum: 16 };

/** Between two looks at a log that seems foreign. Its file may have changed between the look at the one and at the other. */
const LOOK_MS = 20;
const LOOKS_MAX = 50;

/** A restore needs less than a millisecond between the new file and the removal of the old log. After this time it is dead. */
const RESTORE_MS_MAX = 1_000;

const HEADER_MS_MAX = 2_000;

interface FileHeader {
  isWithoutLog: boolean;
  pageCount: number;
  serial: number;
  applicationId: number;
}

/** @throws {StoreError} `FILE_NOT_USABLE` if the log beside a file is not its own. Nothing is changed. */
export function refuseForeignLog(file: string): void {
  const fault = logFault(file);
  if (fault === undefined || finishesRestore(realpathSync(file))) return;
  throw new StoreError("FILE_NOT_USABLE", { path: file, ...fault });
}

/**
 * Returns why the log beside a file is not its own; undefined if it is, or if nothing says so. A log that a living process uses with
 * the file is its own. Otherwise it takes the time of a small process to look.
 */
export function logFault(file: string): NameFault | undefined {
  if (byteLengthOf(file) === 0) return undefined;
  const path = realpathSync(file);
  const log = `${path}-wal`;
  if (byteLengthOf(log) <= LOG.headerBytes || isOpenWithLog(path)) return undefined;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  let before: string | undefined;
  for (let look = 0; look < LOOKS_MAX; look++) {
    const { reason, seen } = lookAtLog(path, log);
    if (reason === undefined) return undefined;
    if (seen === before) return { reason, fix: fixFor(path, log) };
    before = seen;
    Atomics.wait(sleeper, 0, 0, LOOK_MS);
  }
  return undefined; // somebody writes all the time
}

function fixFor(path: string, log: string): string {
  return (
    "Nothing was changed. A process that was killed has left the log, and the file was replaced afterwards. To go on with this file, move " +
    `the log away: mv ${quoted(log)} ${quoted(`${path}.former-wal`)}\n` +
    "To go on with the store that the log is of, put its file back. Next time, `coppice restore BACKUP` replaces a store and its log."
  );
}

/** @property seen  What the reason was found in. It is the same as long as nobody writes. */
function lookAtLog(path: string, log: string): { reason?: string; seen: string } {
  try {
    const header = headerOf(path);
    const { mtimeMs = 0, size = 0 } = lookAt(log) ?? {};
    const reason = reasonIn(header, log);
    return { ...(reason !== undefined && { reason }), seen: JSON.stringify([header, mtimeMs, size]) };
  } catch {
    return { seen: "" }; // SQLite says what cannot be read
  }
}

function reasonIn(header: FileHeader, log: string): string | undefined {
  const foreign = (why: string): string => `the write-ahead log beside it (${log}) is not its own: ${why}`;
  let first: FileHeader | undefined;
  for (const page of firstPagesIn(log)) {
    if (header.isWithoutLog) return foreign("the file was written to be used without a log, as backups are");
    if (page === undefined) continue;
    if (page.applicationId !== APPLICATION_ID) return undefined; // `refuseForeign` finds it
    if (header.applicationId !== APPLICATION_ID) {
      const isNew = header.applicationId === 0 && header.pageCount <= 1; // all of a new store may be in its log
      return isNew ? undefined : foreign("it is of a store, and the file is of another program");
    }
    first ??= page;
    const { serial } = page;
    // The file is in the state in which the log began, or in a later one that was written into it.
    if (header.serial >= first.serial - 1 && header.serial <= serial) return undefined;
  }
  if (first === undefined) return undefined;
  return foreign(
    `it is of another store, or of another state of this one (serial ${first.serial}; the file has ${header.serial})`,
  );
}

/** Yields the first pages in the log, in their order. Before, it yields undefined once if there is any page. */
function* firstPagesIn(log: string): Generator<FileHeader | undefined> {
  const descriptor = openSync(log, "r"); // no lock of SQLite is on this file
  try {
    const head = Buffer.alloc(LOG.headerBytes);
    readSync(descriptor, head, 0, head.length, 0);
    const magic = head.readUInt32BE(0);
    const pageSize = head.readUInt32BE(LOG.pageSize);
    if (magic >>> 1 !== LOG.magic >>> 1 || pageSize < 512 || pageSize > 65_536) return;
    const sum = new Checksum((magic & 1) === 1 ? "BE" : "LE");
    sum.add(head.subarray(0, 24));
    if (!sum.is(head, 24)) return;
    const frame = Buffer.alloc(LOG.frameBytes + pageSize);
    for (let at = LOG.headerBytes, count = 0; ; at += frame.length, count++) {
      if (readSync(descriptor, frame, 0, frame.length, at) < frame.length) return;
      if (frame.compare(head, LOG.salts, LOG.salts + 8, LOG.frameSalts, LOG.frameSalts + 8) !== 0) return;
      sum.add(frame.subarray(0, 8));
      sum.add(frame.subarray(LOG.frameBytes));
      if (!sum.is(frame, LOG.checksum)) return; // SQLite ignores this frame and all later ones
      if (count === 0) yield undefined;
      if (frame.readUInt32BE(0) === 1) yield parsedHeader(frame.subarray(LOG.frameBytes));
    }
  } finally {
    closeSync(descriptor);
  }
}

/** The checksum of a log (https://sqlite.org/fileformat.html, 4.2). */
class Checksum {
  #first = 0;
  #second = 0;
  readonly #isSwapped: boolean;

  constructor(order: "BE" | "LE") {
    this.#isSwapped = order !== endianness();
  }

  add(bytes: Buffer): void {
    const copy = Buffer.from(bytes); // words begin at multiples of four in it
    if (this.#isSwapped) copy.swap32();
    const words = new Uint32Array(copy.buffer, copy.byteOffset, copy.length / 4);
    let [first, second] = [this.#first, this.#second];
    for (let index = 0; index < words.length; index += 2) {
      first = (first + words[index]! + second) | 0;
      second = (second + words[index + 1]! + first) | 0;
    }
    this.#first = first;
    this.#second = second;
  }

  is(bytes: Buffer, at: number): boolean {
    return bytes.readInt32BE(at) === this.#first && bytes.readInt32BE(at + 4) === this.#second;
  }
}

/**
 * Reads the header in another process: when a process closes a file, it loses all its locks on it, also those of SQLite. Windows has
 * other locks.
 */
function headerOf(path: string): FileHeader {
  if (process.platform !== "win32") {
    const dd = [`if=${path}`, `bs=${HEADER.byteLength}`, "count=1"];
    // Loaded here, because every start would wait for it.
    const { execFileSync } = process.getBuiltinModule("node:child_process");
    return parsedHeader(execFileSync("dd", dd, { stdio: ["ignore", "pipe", "ignore"], timeout: HEADER_MS_MAX }));
  }
  const descriptor = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(HEADER.byteLength);
    readSync(descriptor, bytes, 0, bytes.length, 0);
    return parsedHeader(bytes);
  } finally {
    closeSync(descriptor);
  }
}

function parsedHeader(bytes: Buffer): FileHeader {
  return {
    isWithoutLog: bytes[HEADER.writeVersion] === ROLLBACK_JOURNAL,
    pageCount: bytes.readUInt32BE(HEADER.pageCount),
    serial: bytes.readInt32BE(HEADER.serial),
    applicationId: bytes.readUInt32BE(HEADER.applicationId),
  };
}

/** Completes a restore that was killed: the log is of the former store, and has another name beside that. */
function finishesRestore(path: string): boolean {
  const log = `${path}-wal`;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    const found = lookAt(log);
    if (found === undefined) return true;
    if (keptLogOf(path, found) === undefined) return false;
    if (Date.now() - found.ctimeMs > RESTORE_MS_MAX) break; // the second name changed this time
    Atomics.wait(sleeper, 0, 0, LOOK_MS);
  }
  try {
    unlinkSync(log);
    return true;
  } catch {
    return false;
  }
}
