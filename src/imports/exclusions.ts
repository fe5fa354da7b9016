import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import { baseNameOf } from "../core/project.ts";
import type { ImportedSession } from "../importers/importer.ts";
import type { Exclusions } from "../session/store.ts";

/** Decides which files and sessions an import leaves out. */
export class ExclusionRules {
  readonly #paths: readonly string[];
  readonly #projects: ReadonlySet<string>;

  constructor(...given: readonly Partial<Exclusions>[]) {
    this.#paths = given.flatMap(({ paths = [] }) => paths.flatMap(namesOf));
    this.#projects = new Set(given.flatMap(({ projects = [] }) => projects));
  }

  hasPath(path: string): boolean {
    if (this.#paths.length === 0) return false;
    return namesOf(path).some((name) => this.#paths.some((excluded) => isWithin(name, excluded)));
  }

  /**
   * Returns true if the session belongs to an excluded project, or its agent worked in an excluded folder. An excluded name leaves out
   * each folder that is called so, because it may have been excluded before there was any session of it.
   */
  hasSession({ metadata, folder }: ImportedSession, projects: readonly (string | undefined)[]): boolean {
    const called = [...projects, folder].filter((one) => one !== undefined);
    if (called.some((one) => this.#projects.has(one) || this.#projects.has(baseNameOf(one)))) return true;
    const folders = [metadata?.cwd, metadata?.workspaceDirs, metadata?.directories].flat();
    return folders.some((folder) => typeof folder === "string" && this.hasPath(folder));
  }

  /** Returns a text that is different for different rules. */
  toString(): string {
    return JSON.stringify([this.#paths, [...this.#projects]]);
  }
}

/** Returns the absolute path, and the path that its links lead to. */
function namesOf(path: string): string[] {
  const name = resolve(path);
  try {
    return [...new Set([name, realpathSync(name)])];
  } catch {
    return [name]; // nothing is there, or it cannot be read
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
