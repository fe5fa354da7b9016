import { readFileSync } from "node:fs";
import type { JsonValue } from "../core/message.ts";
import { parseJson } from "./lines.ts";

/** Returns what a file beside a transcript tells; undefined if it is missing, or no JSON. */
export function jsonAt(path: string): JsonValue | undefined {
  try {
    const parsed = parseJson(readFileSync(path, "utf8"));
    return "value" in parsed ? parsed.value : undefined;
  } catch {
    return undefined;
  }
}
