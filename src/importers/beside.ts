import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { JsonValue } from "../core/message.ts";
import { parseJson, valueIn } from "./lines.ts";

/** Returns the text of a file beside a transcript; undefined if it cannot be read. */
export function textAt(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Returns what a file beside a transcript tells; undefined if it is missing, or no JSON. */
export function jsonAt(path: string): JsonValue | undefined {
  return valueIn(textAt(path) ?? "");
}

export interface JsonFile {
  name: string;
  value?: JsonValue;
  problem?: string;
}

/** Returns the JSON files in a folder in the order of their names. There may be none. */
export async function jsonFilesIn(
  folder: string,
  isIncluded = (file: string) => file.endsWith(".json"),
): Promise<JsonFile[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isFile() && isIncluded(entry.name)).map(({ name }) => name);
  const files: JsonFile[] = [];
  for (const file of names.sort()) {
    const name = basename(file, ".json");
    try {
      files.push({ name, ...parseJson(await readFile(join(folder, file), "utf8")) });
    } catch (error) {
      files.push({ name, problem: (error as Error).message });
    }
  }
  return files;
}
