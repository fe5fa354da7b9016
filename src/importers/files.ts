import type { Dirent } from "node:fs";
import { lstat, open, readdir, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { StoreError } from "../core/errors.ts";
import { isPattern, pathsOf } from "./globs.ts";
import type { ImportFile } from "./importer.ts";

const CHUNK_BYTES = 256 * 1024;

/** Files in a folder that are read. A file that the user names is read whatever its name. */
const TRANSCRIPT_NAME = /\.jsonl(\.zst)?$/;

/** Files in a folder that are tried, and skipped if they are something else: settings, caches, databases of other programs. */
const POSSIBLE_NAME = /\.(json|db)$/;

/** A file to which nobody wrote for ten minutes counts as finished. An agent that still runs writes more often. */
export const QUIET_MS = 10 * 60 * 1_000;

/**
 * Returns the files behind the paths that a user typed: files, folders with everything below them, patterns
 * (`~/logs/**\/*.jsonl`), and `-` for standard input.
 *
 * Each file comes once, however many names and links lead to it, and a loop of links ends. Names are in code unit order, files
 * before folders and subagents (`agent-…`) last, so that a session comes before those it started. After a named `x.jsonl`
 * comes the folder `x/subagents`, where Claude Code keeps the subagents of that session.
 *
 * Nothing is thrown. A file that does not exist or cannot be read has `chunks` that throw the reason, so that one bad path does
 * not cost the others.
 *
 * @param onFolder  Called for each folder before it is read, so that a watcher that starts then misses nothing.
 */
export async function* walkFiles(
  paths: readonly string[],
  onFolder: (path: string) => void = () => {},
): AsyncGenerator<ImportFile> {
  const visit: Visit = { visited: new Set(), onFolder };
  for (const path of paths) {
    if (path === "-") {
      yield { path, chunks: process.stdin, isFinished: true };
      continue;
    }
    for (const named of await namedBy(path)) {
      yield* walk(named, visit);
      if (TRANSCRIPT_NAME.test(named)) {
        const subagents = join(named.replace(TRANSCRIPT_NAME, ""), "subagents");
        if (await isFolder(subagents)) yield* walk(subagents, visit);
      }
    }
  }
}

/** Returns the paths that a typed path stands for. An existing path is no pattern; a pattern without matches is a missing file. */
async function namedBy(path: string): Promise<string[]> {
  if (!isPattern(path) || (await lstat(path).catch(() => undefined)) !== undefined) return [path];
  const paths = await pathsOf(path);
  return paths.length === 0 ? [path] : paths;
}

interface Visit {
  /** The real paths so far. */
  visited: Set<string>;
  onFolder: (path: string) => void;
}

/** Returns true if a file of this name in a folder is tried, and skipped if it is something else. */
export function isPossibleName(name: string): boolean {
  return POSSIBLE_NAME.test(name);
}

/** Returns true if a file of this name in a folder is read or tried. */
export function isTranscriptName(name: string): boolean {
  return TRANSCRIPT_NAME.test(name) || isPossibleName(name);
}

async function* walk(path: string, visit: Visit, isFound = false): AsyncGenerator<ImportFile> {
  let entries: Dirent[];
  const isUncertain = isFound && POSSIBLE_NAME.test(path);
  try {
    const found = await stat(path);
    // The name of a pipe, as in `import <(zcat a.gz)`, has no real path.
    const real = await realpath(path).catch(() => path);
    if (visit.visited.has(real)) return;
    visit.visited.add(real);
    if (!found.isDirectory()) {
      // A link in a folder may lead to a pipe, to which nobody writes, or to a device, which never ends.
      if (isFound && !found.isFile()) return;
      const isFinished = Date.now() - found.mtimeMs > QUIET_MS;
      const file: ImportFile = { path, chunks: chunksOf(path), isUncertain, isFinished };
      if (found.isFile()) file.byteLength = found.size;
      yield file;
      return;
    }
    visit.onFolder(path);
    entries = await readdir(path, { withFileTypes: true });
  } catch (error) {
    yield { path, chunks: failing(unreadable(path, error)) };
    return;
  }

  const folders: string[] = [];
  const files: string[] = [];
  for (const entry of entries) {
    const child = join(path, entry.name);
    const folder = entry.isSymbolicLink() ? await isFolder(child) : entry.isDirectory();
    if (folder) folders.push(child);
    else if (isTranscriptName(entry.name) && (entry.isFile() || entry.isSymbolicLink())) files.push(child);
  }
  for (const child of files.sort(subagentsLast)) yield* walk(child, visit, true);
  for (const child of folders.sort()) yield* walk(child, visit);
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

/** Returns the bytes of a file. @throws {StoreError} `FILE_NOT_FOUND`, `IMPORT_UNREADABLE`. */
export async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  const handle = await open(path).catch((error) => {
    throw unreadable(path, error);
  });
  try {
    for (;;) {
      // Each chunk has its own buffer, because a reader may keep pieces of it until a long line ends.
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES)).catch((error) => {
        throw unreadable(path, error);
      });
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

// biome-ignore lint/correctness/useYield: a stream that fails before its first chunk.
async function* failing(error: StoreError): AsyncGenerator<Uint8Array> {
  throw error;
}

function unreadable(path: string, cause: unknown): StoreError {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "ENOENT") return new StoreError("FILE_NOT_FOUND", { path }, { cause });
  // "EACCES: permission denied, open 'x'"
  const reason = /^\w+: ([^,]+)/.exec(message)?.[1] ?? message;
  return new StoreError("IMPORT_UNREADABLE", { path, reason }, { cause });
}
