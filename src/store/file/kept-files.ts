import { readdirSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { lookAt } from "../../core/files.ts";

/** A store that was replaced by a backup is kept beside it under its name, this, and a time. Its log has the same name and `-wal`. */
const KEPT = ".replaced-";

/** Returns a name under which nothing is kept yet. */
export function nameToKeep(file: string, nowMs: number): string {
  const time = new Date(nowMs).toISOString().slice(0, 19).replaceAll(":", "-");
  for (let number = 1; ; number++) {
    const name = `${file}${KEPT}${time}${number === 1 ? "" : `-${number}`}`;
    if (lookAt(name) === undefined && lookAt(`${name}-wal`) === undefined) return name;
  }
}

/** Returns how many names beside a file are its own, given by a restore that was killed. Nobody uses them. */
export function keptNameCount(file: string, found: Stats): number {
  return keptOf(file, found).length;
}

/** Returns the other name of a log, by which a restore has kept it. */
export function keptLogOf(file: string, log: Stats): string | undefined {
  return keptOf(file, log).find((name) => name.endsWith("-wal"));
}

function keptOf(file: string, { ino, dev, nlink }: Stats): string[] {
  if (nlink === 1) return [];
  const beginning = `${basename(file)}${KEPT}`;
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(beginning))
    .map((name) => join(dirname(file), name))
    .filter((name) => {
      const other = lookAt(name);
      return other?.ino === ino && other.dev === dev;
    });
}
