import { dirname, resolve, sep } from "node:path";
import { isOfOwnCalls } from "../core/data-folder.ts";
import { baseNameOf, goneWorktreesOf, isPath, projectAt, realPathOf } from "../core/project.ts";
import type { ImportedSession } from "../importers/importer.ts";
import type { Exclusions } from "../session/store.ts";

/** Decides which files and sessions an import leaves out. */
export class ExclusionRules {
  readonly #paths: readonly string[];
  readonly #projects: ReadonlySet<string>;
  /** The answers for the folders that were asked about, because a run looks at many files of one. */
  readonly #folders = new Map<string, boolean>();

  constructor(...given: readonly Partial<Exclusions>[]) {
    this.#projects = new Set(given.flatMap(({ projects = [] }) => projects));
    const paths = given.flatMap(({ paths = [] }) => paths.flatMap(namesOf));
    const repositories = [...paths, ...[...this.#projects].filter(isPath)];
    this.#paths = [...new Set([...paths, ...repositories.flatMap(goneWorktreesOf).flatMap(namesOf)])];
  }

  /** Returns true for a file or folder that is in an excluded folder, or in a worktree of a repository that is excluded. */
  hasPath(path: string): boolean {
    if (this.#paths.length === 0) return false;
    return namesOf(path).some((name) => this.#isNamed(name) || this.#hasFolder(name));
  }

  /**
   * Returns true if the session belongs to an excluded project, or its agent worked in an excluded folder. An excluded name leaves out
   * each folder that is called so, because it may have been excluded before there was any session of it. Sessions of agents that
   * Coppice has called itself are always left out.
   */
  hasSession({ metadata, folder }: ImportedSession, projects: readonly (string | undefined)[]): boolean {
    const called = [...projects, folder].filter((one) => one !== undefined);
    if (called.some((one) => this.#projects.has(one) || this.#projects.has(baseNameOf(one)))) return true;
    const given = [metadata?.cwd, metadata?.workspaceDirs, metadata?.directories, called.filter(isPath)].flat();
    const folders = given.filter((folder) => typeof folder === "string");
    return [...folders, ...called].some(isOfOwnCalls) || folders.some((folder) => this.hasPath(folder));
  }

  /** Returns a text that is different for different rules. */
  toString(): string {
    return JSON.stringify([this.#paths, [...this.#projects]]);
  }

  #isNamed(path: string): boolean {
    return this.#paths.some((excluded) => isWithin(path, excluded));
  }

  /** Looks at each folder around the path, too: a repository within a worktree is no worktree itself. */
  #hasFolder(path: string): boolean {
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    const project = projectAt(path);
    const isExcluded =
      (project !== undefined && this.#isNamed(project)) || (dirname(path) !== path && this.#hasFolder(dirname(path)));
    this.#folders.set(path, isExcluded);
    return isExcluded;
  }
}

/** Returns the absolute path, and the path that its links lead to. */
function namesOf(path: string): string[] {
  const name = resolve(path);
  return [...new Set([name, realPathOf(name)])];
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
