import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { isOfOwnCalls } from "../core/data-folder.ts";
import { readSmall, replaceFile } from "../core/files.ts";
import { hookFile } from "../core/hook-lines.ts";

const SWITCH_BYTES_MAX = 1024 * 1024;

/** Where hooks are off. */
export interface HookSwitch {
  isOff: boolean;
  /** Folders in which hooks are off. */
  projectsOff: string[];
}

export function readSwitch(storePath: string): HookSwitch {
  try {
    const { isOff, projectsOff } = JSON.parse(readSmall(fileOf(storePath), SWITCH_BYTES_MAX)) as Partial<HookSwitch>;
    return { isOff: isOff === true, projectsOff: Array.isArray(projectsOff) ? projectsOff.map(String) : [] };
  } catch {
    return { isOff: false, projectsOff: [] };
  }
}

/** Turns hooks off or on. @param project  A folder; undefined for all projects. @returns the new state. */
export function turn(storePath: string, isOff: boolean, project: string | undefined): HookSwitch {
  const before = readSwitch(storePath);
  const others = before.projectsOff.filter((path) => project !== undefined && path !== realPathOf(project));
  const after: HookSwitch =
    project === undefined
      ? { isOff, projectsOff: isOff ? before.projectsOff : [] }
      : { isOff: before.isOff, projectsOff: isOff ? [...others, realPathOf(project)] : others };
  replaceFile(fileOf(storePath), `${JSON.stringify(after)}\n`);
  return after;
}

/** Returns true if hooks are off in this folder, as where Coppice calls agents itself, or for this process by `COPPICE_HOOK=0`. */
export function isOffAt({ isOff, projectsOff }: HookSwitch, cwd: string): boolean {
  if (isOff || process.env.COPPICE_HOOK === "0" || isOfOwnCalls(cwd)) return true;
  if (projectsOff.length === 0) return false;
  const folder = realPathOf(cwd);
  return projectsOff.some((path) => {
    const way = relative(path, folder);
    return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  });
}

function fileOf(storePath: string): string {
  return hookFile(storePath, "switch.json");
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
