import type { Dirent } from "node:fs";
import { lstat, open, readdir, realpath, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { StoreError } from "../core/errors.ts";
import { isPattern, pathsOf } from "./globs.ts";
import type { ImportFile } from "./importer.ts";

const CHUNK_BYTES = 256 * 1024;

/** What is looked at in a folder. A file that is named is read whatever its name. */
const TRANSCRIPT_NAME = /\.jsonl(\.zst)?$/;

/** What is looked at, too, and passed over where it is something else: settings, caches, other programs' databases. */
const POSSIBLE_NAME = /\.(json|db)$/;

/** A file that was not written to for so long is over: whoever writes to it writes more often, or has gone. */
export const QUIET_MS = 10 * 60 * 1_000;

/**
 * The files behind the paths a person typed: files, folders with all that is below them, patterns (`~/logs/**\/*.jsonl`) and
 * `-` for standard input.
 *
 * Each file comes once, however many names and links lead to it, and a loop of links ends. Names are in code unit
 * order, files before folders and subagents (`agent-…`) last, so that a session comes before what it started; a named
 * `x.jsonl` brings the folder `x/subagents` with it, where Claude Code keeps the rest of that session.
 *
 * Nothing is thrown: what does not exist, may not be read or has gone meanwhile comes as a file whose `chunks` throw
 * the reason, so that one bad path does not cost the others.
 *
 * @param onFolder  Told of each folder before it is read: whoever watches it from then on misses nothing.
 */
export async function* walkFiles(
  paths: readonly string[],
  stdin: AsyncIterable<Uint8Array> = process.stdin,
  onFolder: (path: string) => void = () => {},
): AsyncGenerator<ImportFile> {
  const visit: Visit = { visited: new Set(), onFolder };
  for (const path of paths) {
    if (path === "-") {
      yield { path, chunks: stdin, isFinished: true };
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

/** A path that exists is no pattern, whatever is in it. A pattern that matches nothing is a file that is not there. */
async function namedBy(path: string): Promise<string[]> {
  if (!isPattern(path) || (await lstat(path).catch(() => undefined)) !== undefined) return [path];
  const paths = await pathsOf(path);
  return paths.length === 0 ? [path] : paths;
}

/** What a walk over several paths has in common. */
interface Visit {
  /** Real paths. */
  visited: Set<string>;
  onFolder: (path: string) => void;
}

/** Whether a file of this name in a folder is looked at. */
export function isTranscriptName(name: string): boolean {
  return TRANSCRIPT_NAME.test(name) || POSSIBLE_NAME.test(name);
}

async function* walk(path: string, visit: Visit, isFound = false): AsyncGenerator<ImportFile> {
  let entries: Dirent[];
  const isUncertain = isFound && POSSIBLE_NAME.test(path);
  try {
    const found = await stat(path);
    // The name of a pipe, as in `import <(zcat a.gz)`, leads nowhere.
    const real = await realpath(path).catch(() => path);
    if (visit.visited.has(real)) return;
    visit.visited.add(real);
    if (!found.isDirectory()) {
      // Behind a link in a folder there may be a pipe, which nobody writes to, or a device, which never ends.
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
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/**
 * A file's bytes. It is opened when the first chunk is asked for, and closed when the last was given or the reader stops.
 *
 * @throws {StoreError} `FILE_NOT_FOUND`, `IMPORT_UNREADABLE`.
 */
export async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  const handle = await open(path).catch((error) => {
    throw unreadable(path, error);
  });
  try {
    for (;;) {
      // A buffer of its own for each chunk: a reader may keep pieces of it until a long line ends.
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
