import { readFileSync } from "node:fs";
import { replaceFile } from "../../core/files.ts";

/** The locations that the user agreed to have read, in a file beside the store. */
export class AgreedLocations {
  readonly #path: string;

  constructor(storePath: string) {
    this.#path = `${storePath}.agreed.json`;
  }

  /** Returns true if the user agreed to all of these paths before. */
  covers(paths: readonly string[]): boolean {
    const agreed = new Set(this.#read());
    return paths.every((path) => agreed.has(path));
  }

  /** Without the file, the user is asked again, so a failure to write it is no failure. */
  remember(paths: readonly string[]): void {
    try {
      replaceFile(this.#path, `${JSON.stringify([...new Set([...this.#read(), ...paths])])}\n`);
    } catch {}
  }

  #read(): string[] {
    try {
      const found: unknown = JSON.parse(readFileSync(this.#path, "utf8"));
      return Array.isArray(found) ? found.filter((path) => typeof path === "string") : [];
    } catch {
      return [];
    }
  }
}
