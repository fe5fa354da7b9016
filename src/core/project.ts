import { existsSync, readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep, win32 } from "node:path";
import { lookAt, readSmall } from "./files.ts";
import { ID_CHARS_MAX } from "./limits.ts";

// The identity of a project, a text that sessions are told apart by. Read core/PROJECTS.md before changing a rule.
//
// The identity of a folder is a full path: of the repository in which the folder is, else its own. The identity of a project that a
// program or a person names is the name. A path is never a name, so the two are never equal.

/** A path of Windows, which other systems cannot look up. Some programs write it as the path of a URI: `/c:/shop`. */
const OF_WINDOWS = /^\/?[a-z]:[\\/]|^\\\\/i;
/** The folder of a worktree that an agent made, in the folder that it is of. Agents delete these folders after use. */
const AGENTS_WORKTREE = /^(.+?)[\\/](?:\.(?!git[\\/])[\w-]+[\\/]worktrees|\.worktrees|\.conductor)[\\/][^\\/]+/;
/** Home folders on other machines, in which nobody's worktrees are put together. */
const SOMEONES_HOME = /^(?:\/home\/[^/]+|\/Users\/[^/]+|\/root|[a-z]:\\users\\[^\\]+)$/i;
/** The files of git that are read here are much smaller. */
const GIT_FILE_BYTES_MAX = 1_000_000;
/** The most folders beside a folder that is gone in which a repository is looked for that names it. */
const NEIGHBORS_MAX = 500;
const URL_ENTRY = /^url\s*=\s*/;
const URL_CHARS_MAX = 2_000;
const TYPED_PATH = /^(?:\.{1,2}|~)(?:[\\/]|$)/;

/**
 * Returns the project of the folder in which an agent works. It reads a few files and starts no process, so that hooks can call it.
 *
 * @returns undefined if the path is not absolute, or cannot be stored as a name. Then nothing tells the project.
 */
export function projectAt(folder: string): string | undefined {
  if (!isStorable(folder) || !isPath(folder)) return undefined;
  const isForeign = OF_WINDOWS.test(folder) !== (process.platform === "win32");
  const path = isForeign ? folder : realPathOf(folder);
  const project =
    (isForeign ? undefined : (repositoryOf(path) ?? rememberedBeside(path))) ?? withoutWorktree(plainPath(path));
  return isStorable(project) ? project : undefined;
}

/** Returns the project that a person or a program names: by a path, or by a name, which is taken as it is. */
export function projectNamed(text: string): string {
  const path = text.replace(/^~(?=$|[\\/])/, homedir());
  return (TYPED_PATH.test(text) || isPath(text) ? projectAt(isPath(path) ? path : resolve(path)) : undefined) ?? text;
}

/** Returns true if a project is a folder, and false if it is only a name. */
export function isPath(project: string): boolean {
  return project.startsWith("/") || OF_WINDOWS.test(project);
}

/** Returns the name of a folder, or the whole name of a project that is only a name. It need not be unique. */
export function baseNameOf(project: string): string {
  return isPath(project)
    ? (segmentsOf(project)
        .at(-1)
        ?.replace(/(.)\.git$/, "$1") ?? project)
    : project;
}

/**
 * Returns a name for each project that no other has: `shop`, or `shop (client)` if several folders are called shop.
 *
 * @param given  The names that the user gave.
 */
export function projectNames(
  projects: Iterable<string>,
  given: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const all = [...new Set(projects)].sort();
  const names = new Map(all.filter((project) => !isPath(project)).map((project) => [project, project]));
  const taken = new Set(names.values());
  let waiting = all.filter(isPath);
  for (let depth = 0; waiting.length > 0; depth++) {
    const labels = new Map(waiting.map((project) => [project, labelOf(project, given.get(project), depth)]));
    const counts = new Map<string, number>();
    for (const label of labels.values()) counts.set(label, (counts.get(label) ?? 0) + 1);
    for (const [project, label] of labels) {
      if (counts.get(label) === 1 && !taken.has(label)) names.set(project, label);
    }
    for (const label of labels.values()) taken.add(label);
    waiting = waiting.filter((project) => !names.has(project));
  }
  return names;
}

/** Returns the name with as many folders around it as `depth` says; the whole path if there are no more. */
function labelOf(project: string, given: string | undefined, depth: number): string {
  const around = segmentsOf(project).slice(0, -1);
  if (depth > around.length) return project;
  const name = given ?? baseNameOf(project);
  return depth === 0 ? name : `${name} (${around.slice(-depth).join("/")})`;
}

function segmentsOf(path: string): string[] {
  return path.split(/[\\/]/).filter(Boolean);
}

/** Names have limits, and a cut path may be another folder's. */
function isStorable(path: string): boolean {
  return path !== "" && path.length <= ID_CHARS_MAX && path.isWellFormed() && !/[\0-\x1f]/.test(path);
}

/** Windows does not tell small letters from large ones, or one kind of slash from the other. */
function plainPath(path: string): string {
  if (!OF_WINDOWS.test(path)) return path.length > 1 ? path.replace(/\/+$/, "") || "/" : path;
  const normal = win32.normalize(path.replace(/^\/(?=[a-z]:)/i, "").replace(/^\\\\\?\\(?=[a-z]:)/i, ""));
  return normal.replace(/(?<=[^:])\\$/, "").toLowerCase();
}

/** Follows links as far as the path exists. */
export function realPathOf(path: string): string {
  const full = resolve(path);
  for (let at = full; ; at = dirname(at)) {
    try {
      return join(realpathSync.native(at), relative(at, full));
    } catch {
      if (at === dirname(at)) return full;
    }
  }
}

/** Returns the folder that an agent's worktree is of, by its path alone; the path itself if it is in none. */
function withoutWorktree(path: string): string {
  const outer = AGENTS_WORKTREE.exec(path)?.[1];
  return outer === undefined || SOMEONES_HOME.test(outer) || isShared(outer) ? path : (projectAt(outer) ?? path);
}

/** True for the root, the home folder and what it is in. A repository there does not unite everything below it. */
function isShared(folder: string): boolean {
  const way = relative(folder, realPathOf(homedir()));
  return dirname(folder) === folder || (!way.startsWith(`..${sep}`) && way !== ".." && !isAbsolute(way));
}

/**
 * Returns the main folder of the repository in which a folder is; undefined if it is in none, or if that cannot be told. A repository
 * that belongs to another user than the folder does not count, as for git.
 */
function repositoryOf(folder: string): string | undefined {
  const owner = lookAt(folder)?.uid;
  for (let at = folder; owner !== undefined && !isShared(at); at = dirname(at)) {
    const git = lookAt(join(at, ".git"));
    if (git?.uid === owner && git.isFile()) return mainFolderOf(at) ?? staleWorktree(at);
    if (git?.uid === owner && isGitFolder(join(at, ".git"))) return plainPath(at);
    if (isGitFolder(at)) return plainPath(ownerOf(at));
  }
  return undefined;
}

function isGitFolder(path: string): boolean {
  return existsSync(join(path, "HEAD")) && existsSync(join(path, "objects"));
}

/** A repository's folder is the one that has `.git`. A bare repository has none. */
function ownerOf(gitFolder: string): string {
  const outer = dirname(gitFolder);
  return basename(gitFolder).startsWith(".") && !isShared(outer) ? outer : gitFolder;
}

/**
 * Returns the main folder of a worktree. Its `.git` is a file that names the repository, which any folder can do. So the repository
 * must name that file, too.
 */
function mainFolderOf(worktree: string): string | undefined {
  const file = join(worktree, ".git");
  try {
    const folder = realpathSync.native(resolve(worktree, lineIn(file).replace(/^gitdir: */, "")));
    const common = realpathSync.native(resolve(folder, lineIn(join(folder, "commondir"))));
    const named = realpathSync.native(resolve(folder, lineIn(join(folder, "gitdir"))));
    const isMutual = dirname(folder) === join(common, "worktrees") && named === realpathSync.native(file);
    return isMutual ? plainPath(ownerOf(common)) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns true if two projects are one, or if the first is a folder within the second one and no repository of its own. */
export function isPartOf(project: string, other: string): boolean {
  if (project === other) return true;
  const isWithin = project.startsWith(other) && /[\\/]/.test(other.at(-1)! + project[other.length]);
  return isWithin && !existsSync(join(project, ".git")) && !isGitFolder(project);
}

/**
 * Returns the folders of a repository's worktrees that were deleted, as far as the repository still names them. Nothing in such a
 * folder can tell its project.
 *
 * @param project  The main folder of a repository. Any other path has no worktrees.
 */
export function goneWorktreesOf(project: string): string[] {
  const own = join(project, ".git");
  const folder = join(isGitFolder(own) ? own : project, "worktrees");
  try {
    return readdirSync(folder).flatMap((name) => {
      const worktree = worktreeNamedIn(join(folder, name));
      return worktree === undefined || existsSync(worktree) || isShared(worktree) ? [] : [worktree];
    });
  } catch {
    return [];
  }
}

/** Returns the repository that names a folder that is gone as one of its worktrees, if the two were in the same folder. */
function rememberedBeside(gone: string): string | undefined {
  let folder = gone;
  while (!existsSync(dirname(folder))) folder = dirname(folder);
  const around = dirname(folder);
  const owner = lookAt(around)?.uid;
  if (folder === around || existsSync(folder)) return undefined;
  try {
    return readdirSync(around)
      .slice(0, NEIGHBORS_MAX)
      .map((name) => join(around, name))
      .find((beside) => lookAt(beside)?.uid === owner && goneWorktreesOf(beside).includes(folder));
  } catch {
    return undefined;
  }
}

function worktreeNamedIn(folder: string): string | undefined {
  try {
    return dirname(resolve(folder, lineIn(join(folder, "gitdir"))));
  } catch {
    return undefined;
  }
}

/** Git no longer knows the worktree, or it was made in a container. */
function staleWorktree(at: string): string {
  const path = plainPath(at);
  return AGENTS_WORKTREE.exec(path)?.[0] === path ? withoutWorktree(path) : path;
}

/**
 * Returns where the repository in a folder comes from: `github.com/acme/shop` for each of its URLs, without a user or password. It is
 * for people to see, because any repository can name any remote.
 */
export function remoteAt(folder: string): string | undefined {
  try {
    const config = textIn(join(folder, isGitFolder(folder) ? "config" : ".git/config"));
    let isOrigin = false;
    const entry = config
      .split("\n")
      .map((line) => line.trim())
      .find((line) => {
        if (line.startsWith("[")) isOrigin = line === '[remote "origin"]';
        return isOrigin && URL_ENTRY.test(line);
      });
    const url = entry?.replace(URL_ENTRY, "").slice(0, URL_CHARS_MAX);
    const host = url && /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([^/:]+\.[^/:]+)(?::\d+)?[:/]+(.+?)(?:\.git)?\/*$/i.exec(url);
    return host ? `${host[1]!.toLowerCase()}/${host[2]}` : undefined;
  } catch {
    return undefined;
  }
}

function lineIn(file: string): string {
  return textIn(file).trim();
}

/** A stranger's folder may have a pipe in place of the file, or a file without end. */
function textIn(file: string): string {
  return readSmall(file, GIT_FILE_BYTES_MAX);
}
