import {
  constants,
  type Dirent,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { lstat, open, readdir, stat } from "node:fs/promises";
import { Socket } from "node:net";
import { basename, dirname, join } from "node:path";
import { StoreError } from "../core/errors.ts";
import { isPattern, pathsOf } from "./globs.ts";
import type { ImportFile } from "./importer.ts";

const CHUNK_BYTES = 256 * 1024;

/** The names of transcripts in a folder. A file that the user typed may have any name. */
const TRANSCRIPT_NAME = /\.jsonl(\.zst)?$/;

/** Names of possible transcripts. They may also be settings, caches or databases of other programs. */
const POSSIBLE_NAME = /\.(json|db|vscdb|md|traj)$/;

const DATABASE_NAME = /\.(db|vscdb)$/;

/** A session of opencode before its database. Its messages are in other files. */
const SPREAD_NAME = /[\\/]storage[\\/]session[\\/][^\\/]+[\\/]ses_\w+\.json$/;

/** An event of OpenHands, and the first one of a conversation, with which all others are read. */
const EVENT = /[\\/](?:events[\\/]event-\d{5,}-[\da-f-]{8,}|sessions[\\/][^\\/]+[\\/]events[\\/]\d+)\.json$/i;
const FIRST_EVENT = /[\\/](?:event-0+-[\da-f-]+|0)\.json$/i;

/** The rest of such a session, and what its program keeps beside it. The session is read with it. */
const SPREAD_PART =
  /[\\/]storage[\\/](?:message|part|project|session_diff|session_share|todo)[\\/].*\.json$|[\\/]base_state\.json$|[\\/]event_cache[\\/][^\\/]+\.json$/;

/** The steps in which file systems tell the time, at most, in milliseconds. */
const TICK_MS = 20;

/** The step of file systems that tell only whole seconds, in milliseconds. */
const COARSE_TICK_MS = 2_000;

/** Files that agents keep beside their transcripts, and that hold no conversation. */
const PASSED_OVER = [
  // A tool for memory watches the sessions of Claude Code in sessions of its own, which quote them.
  /[\\/][^\\/]*-claude-mem-observer-sessions[\\/]/,
  /[\\/]session_index\.jsonl$/,
  /[\\/]workspaceStorage[\\/][^\\/]+[\\/](?!chatSessions(?:[\\/]|$))/,
  /[\\/]\.gemini[\\/]antigravity[\w-]*[\\/]brain[\\/][^\\/]+[\\/](?!\.system_generated(?:[\\/]logs(?:[\\/]|$)|$))/,
  /[\\/]\.grok[\\/]sessions[\\/](?:.*[\\/])?(?!chat_history\.)[^\\/]*\.jsonl?$/,
  // Grok names its folders after a path: `sessions/%2Fwork/<session>/summary.json`. People may have moved them.
  /[\\/]sessions[\\/](?:%2F|\w%3A)[^\\/]*[\\/](?:prompt_history\.jsonl$|[^\\/]+[\\/](?!chat_history\.)[^\\/]*\.jsonl?$)/i,
  /[\\/]\.openclaw[\\/]agents[\\/][^\\/]+[\\/](?!sessions(?:[\\/]|$))/,
  /[\\/]agents[\\/][^\\/]+[\\/]sessions[\\/][^\\/]*\.(?:trajectory|checkpoint\.[^\\/]*)\.jsonl$/,
];

/** A file to which nobody wrote for ten minutes counts as finished. An agent that still runs writes more often. */
export const QUIET_MS = 10 * 60 * 1_000;

/** A hook reads only regular files up to a length, and follows no links, because an agent names the paths and not a person. */
export interface FileLimits {
  byteLengthMax: number;
}

/**
 * Returns the files behind the paths that a user typed: files, folders with everything below them, patterns
 * (`~/logs/**\/*.jsonl`), and `-` for standard input.
 *
 * Each file comes once, even if several names and links lead to it. A session comes before its subagents: `agent-…` files are
 * last in a folder, and the folder `x/subagents` of Claude Code comes after a named `x.jsonl`.
 *
 * Nothing is thrown. If a file is missing or cannot be read, its `chunks` throw the reason.
 *
 * @param onFolder  Called for each folder before it is read. A watcher that starts in this call misses nothing.
 * @param limits  Undefined for paths that a person named.
 */
export async function* walkFiles(
  paths: readonly string[],
  onFolder: (path: string) => void = () => {},
  limits?: FileLimits,
): AsyncGenerator<ImportFile> {
  const visit: Visit = { visited: new Set(), onFolder, limits };
  for (const path of paths) {
    if (path === "-" && limits === undefined) {
      yield { path, chunks: process.stdin, isFinished: true };
      continue;
    }
    for (const named of limits === undefined ? await namedBy(path) : [path]) {
      yield* walk(named, visit);
      if (TRANSCRIPT_NAME.test(named)) {
        const subagents = join(named.replace(TRANSCRIPT_NAME, ""), "subagents");
        if (await isFolder(subagents)) yield* walk(subagents, visit);
      }
    }
  }
}

/** An id of a session, as agents put it into the names of files and folders: a UUID, or eight digits at the end of a name. */
const ID_IN_NAME = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|(?<=[-_])(?=\d*[a-f])[\da-f]{8}(?=\.\w+$)/gi;

/**
 * Returns the files that the user named, and then those that were found in folders, the newest first. Files that may be of one
 * session stay in their order, and come when the newest of them does: those with the same id in their paths, and those of one folder
 * whose paths have no id, such as the logs of several days.
 */
export function newestFirst<F extends Pick<ImportFile, "path" | "writtenAtMs">>(files: readonly F[]): F[] {
  const groups = new Map<string, { files: F[]; writtenAtMs: number }>();
  for (const file of files) {
    const { path, writtenAtMs = Number.POSITIVE_INFINITY } = file;
    const isNamed = file.writtenAtMs === undefined;
    const key = isNamed ? "" : (path.match(ID_IN_NAME)?.at(-1) ?? dirname(path));
    const group = groups.get(key) ?? { files: [], writtenAtMs };
    group.files.push(file);
    group.writtenAtMs = Math.max(group.writtenAtMs, writtenAtMs);
    groups.set(key, group);
  }
  const sorted = [...groups.values()].sort((left, right) => right.writtenAtMs - left.writtenAtMs);
  return sorted.flatMap((group) => group.files);
}

/** Expands a pattern. The path of an existing file is never a pattern. A pattern without matches counts as a missing file. */
async function namedBy(path: string): Promise<string[]> {
  if (!isPattern(path) || (await lstat(path).catch(() => undefined)) !== undefined) return [path];
  const paths = await pathsOf(path);
  return paths.length === 0 ? [path] : paths;
}

interface Visit {
  visited: Set<string>;
  onFolder: (path: string) => void;
  limits: FileLimits | undefined;
}

export function isPossibleName(name: string): boolean {
  return POSSIBLE_NAME.test(name);
}

/** Returns true for a file that is read with the session that it is a part of. */
export function isPartOfSession(path: string): boolean {
  return SPREAD_PART.test(path) || (EVENT.test(path) && !isFirstEvent(path));
}

export function isEventFile(path: string): boolean {
  return EVENT.test(path);
}

export function isFirstEvent(path: string): boolean {
  return EVENT.test(path) && FIRST_EVENT.test(path);
}

/** Returns the file with which a file is read: itself, or for an event of OpenHands the first one. */
export function sessionFileOf(path: string): string {
  if (!EVENT.test(path)) return path;
  const folder = dirname(path);
  try {
    return (
      readdirSync(folder)
        .map((name) => join(folder, name))
        .find(isFirstEvent) ?? path
    );
  } catch {
    return path; // it is gone
  }
}

export function isTranscriptName(name: string): boolean {
  return TRANSCRIPT_NAME.test(name) || isPossibleName(name);
}

/** Returns true for a file or folder that is found only if it is named. */
export function isPassedOver(path: string): boolean {
  return PASSED_OVER.some((pattern) => pattern.test(path));
}

/** @param real  The path without links, if the caller knows it. */
async function* walk(path: string, visit: Visit, real = realPathOf(path)): AsyncGenerator<ImportFile> {
  const found = fileAt(path, visit, real);
  if (found !== "folder") {
    if (found !== undefined) yield found;
    return;
  }
  visit.onFolder(path);
  let entries: Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (error) {
    yield { path, chunks: failing(unreadable(path, error)) };
    return;
  }

  const folders: string[] = [];
  const files: string[] = [];
  const links = new Set<string>();
  for (const entry of entries) {
    const child = join(path, entry.name);
    const isLink = entry.isSymbolicLink();
    if (isLink && visit.limits !== undefined) continue;
    if (isLink) links.add(child);
    const folder = isLink ? await isFolder(child) : entry.isDirectory();
    if (isPassedOver(child) && !isPassedOver(path)) continue;
    if (folder) folders.push(child);
    else if (isTranscriptName(entry.name) && (entry.isFile() || isLink)) files.push(child);
  }
  const isConversation = files.some(isFirstEvent);
  const realOf = (child: string): string => (links.has(child) ? realPathOf(child) : join(real, basename(child)));
  for (const child of files.sort(subagentsLast)) {
    if (isConversation && isPartOfSession(child)) continue;
    const file = fileAt(child, visit, realOf(child), true);
    if (file !== undefined && file !== "folder") yield file;
  }
  for (const child of folders.sort()) yield* walk(child, visit, realOf(child));
}

/** Returns the file at a path that was not visited yet, and undefined if an import must not wait for what is there. */
function fileAt(path: string, visit: Visit, real: string, isFound = false): ImportFile | "folder" | undefined {
  try {
    const { limits } = visit;
    // In a thread, it would take ten times as long.
    const found = limits === undefined ? statSync(path) : lstatSync(path);
    if (limits !== undefined) refuseBeyond(limits, path, found);
    if (visit.visited.has(real)) return undefined;
    visit.visited.add(real);
    if (found.isDirectory()) return "folder";
    // A link may lead to a pipe that nobody writes to, or to a device that never ends.
    if (isFound && !found.isFile()) return undefined;
    const { stamp, writtenAtMs, isProof } = lookOf(path, found);
    const isUncertain = isFound && POSSIBLE_NAME.test(path);
    const isFinished = Date.now() - writtenAtMs > QUIET_MS;
    const file: ImportFile = { path, chunks: chunksOf(path, limits), isUncertain, isFinished };
    if (found.isFile()) file.byteLength = found.size;
    if (found.isFile() && isProof) file.stamp = stamp;
    if (isFound) file.writtenAtMs = found.mtimeMs;
    return file;
  } catch (error) {
    return { path, chunks: failing(unreadable(path, error)) };
  }
}

/** The name of a pipe, as in `import <(zcat a.gz)`, has no real path. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

export interface FileLook {
  /** Size, times and inode. It is different if the file has changed. */
  stamp: string;
  /**
   * False if the stamp may stay although something has changed: another write of the same size comes at the same time, or the
   * messages are in other files.
   */
  isProof: boolean;
  writtenAtMs: number;
  byteLength: number;
}

/** Returns undefined if there is no such file. */
export function lookAt(path: string): FileLook | undefined {
  const found = statAt(path);
  return found?.isFile() === true ? lookOf(path, found) : undefined;
}

function statAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // nobody may look into its folder
  }
}

/** For a database, includes the write-ahead log; for a first event, the folder with the others. */
function lookOf(path: string, found: Stats): FileLook {
  const other = DATABASE_NAME.test(path) ? `${path}-wal` : isFirstEvent(path) ? dirname(path) : undefined;
  const beside = other === undefined ? undefined : statAt(other);
  const parts = beside === undefined ? [found] : [found, beside];
  const changedAtMs = Math.max(...parts.flatMap(({ mtimeMs, ctimeMs }) => [mtimeMs, ctimeMs]));
  const tickMs = Number.isInteger(changedAtMs / 1_000) ? COARSE_TICK_MS : TICK_MS;
  return {
    stamp: parts.map(({ ino, size, mtimeMs, ctimeMs }) => `${ino} ${size} ${mtimeMs} ${ctimeMs}`).join(),
    isProof: Date.now() - changedAtMs > tickMs && !SPREAD_NAME.test(path),
    writtenAtMs: Math.max(...parts.map(({ mtimeMs }) => mtimeMs)),
    byteLength: found.size,
  };
}

function subagentsLast(a: string, b: string): number {
  const [aLast, bLast] = [a, b].map((path) => basename(path).startsWith("agent-"));
  if (aLast !== bLast) return aLast ? 1 : -1;
  return a < b ? -1 : 1;
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? false;
}

/**
 * Returns the bytes of a file, or of a pipe that somebody writes to. Nothing waits in a call of the system, in which a process could not
 * end.
 *
 * @throws {StoreError} `FILE_NOT_FOUND`, `IMPORT_UNREADABLE`.
 */
export function chunksOf(path: string, limits?: FileLimits): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => readChunks(path, limits) };
}

async function* readChunks(path: string, limits: FileLimits | undefined): AsyncGenerator<Uint8Array> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (limits === undefined ? 0 : constants.O_NOFOLLOW);
  const failed = (error: unknown): never => {
    throw unreadable(path, error);
  };
  const handle = await open(path, flags).catch(failed);
  try {
    const found = await handle.stat().catch(failed);
    if (limits !== undefined) refuseBeyond(limits, path, found);
    if (found.isFIFO()) yield* pipedChunks(path);
    else if (found.isCharacterDevice() || found.isBlockDevice()) {
      throw new StoreError("IMPORT_UNREADABLE", { path, reason: "it is a device, which may have no end" });
    } else {
      for (;;) {
        // Each chunk has its own buffer, because a reader may keep pieces of it until a long line ends.
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES)).catch(failed);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    }
  } finally {
    await handle.close();
  }
}

/** Reads a pipe by events. There are none while nobody has it open for writing, so the first bytes are read without waiting. */
async function* pipedChunks(path: string): AsyncGenerator<Uint8Array> {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const pipe = new Socket({ fd: descriptor, readable: true, writable: false });
  try {
    const first = bytesNow(descriptor);
    if (first?.length === 0) {
      const reason = "it is a pipe that is empty, or that nobody writes to";
      throw new StoreError("IMPORT_UNREADABLE", { path, reason });
    }
    if (first !== undefined) yield first;
    yield* pipe;
  } finally {
    pipe.destroy();
  }
}

/** Returns what is in a pipe, nothing if it has ended; undefined if its writer has written nothing yet. */
function bytesNow(descriptor: number): Uint8Array | undefined {
  try {
    const bytes = Buffer.allocUnsafe(CHUNK_BYTES);
    return bytes.subarray(0, readSync(descriptor, bytes));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    return undefined;
  }
}

/** @throws {StoreError} `IMPORT_UNREADABLE`. */
function refuseBeyond({ byteLengthMax }: FileLimits, path: string, found: Stats): void {
  if (found.isDirectory()) return;
  const reason = !found.isFile()
    ? "it is no regular file"
    : found.size > byteLengthMax
      ? `it is longer than ${byteLengthMax} bytes, the most that a hook imports; coppice watch imports it`
      : undefined;
  if (reason !== undefined) throw new StoreError("IMPORT_UNREADABLE", { path, reason });
}

// biome-ignore lint/correctness/useYield: a stream that fails before its first chunk.
async function* failing(error: StoreError): AsyncGenerator<Uint8Array> {
  throw error;
}

function unreadable(path: string, cause: unknown): StoreError {
  if (StoreError.is(cause)) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "ENOENT") return new StoreError("FILE_NOT_FOUND", { path }, { cause });
  // "EACCES: permission denied, open 'x'"
  const reason = /^\w+: ([^,]+)/.exec(message)?.[1] ?? message;
  return new StoreError("IMPORT_UNREADABLE", { path, reason }, { cause });
}
