import { StoreError } from "./errors.ts";
import { readEnd, replaceFile } from "./files.ts";

// The hooks keep their log beside the store. It tells nothing that anybody said, but that a session was there.

/** The most bytes of the log that are read. It is cut when it grows longer than half of this. */
export const HOOK_LOG_BYTES_MAX = 128 * 1024;

/** Returns the path of a file that the hooks keep beside a store. */
export function hookFile(storePath: string, name: "log.jsonl" | "switch.json" | "key"): string {
  return `${storePath}-coppice-hooks/${name}`;
}

/** Returns the lines of the log of the hooks, the newest last. It throws if the log cannot be read. */
export function hookLines(storePath: string): string[] {
  const { bytes, from } = readEnd(hookFile(storePath, "log.jsonl"), HOOK_LOG_BYTES_MAX);
  const lines = bytes.toString("utf8").split("\n");
  return lines.slice(from > 0 ? 1 : 0).filter((line) => line !== "");
}

export function writeHookLines(storePath: string, lines: readonly string[]): void {
  replaceFile(hookFile(storePath, "log.jsonl"), lines.map((line) => `${line}\n`).join(""));
}

/**
 * Drops the lines of some sessions from the log of the hooks, and those that cannot be read.
 *
 * @param names  The ids of the sessions, and the names that their agents have for them.
 * @throws {StoreError} `FILE_NOT_USABLE` if the log cannot be written.
 */
export function forgetHookLines(storePath: string, names: ReadonlySet<string>): void {
  let lines: string[];
  try {
    lines = hookLines(storePath);
  } catch {
    return; // no hook has fired
  }
  const kept = lines.filter((line) => {
    const session = sessionIn(line);
    return session !== undefined && !names.has(session);
  });
  if (kept.length === lines.length) return;
  try {
    writeHookLines(storePath, kept);
  } catch (cause) {
    const reason = `the log of the hooks beside the store cannot be written, and it names what is to be forgotten (${(cause as Error).message})`;
    throw new StoreError("FILE_NOT_USABLE", { path: hookFile(storePath, "log.jsonl"), reason }, { cause });
  }
}

function sessionIn(line: string): string | undefined {
  try {
    return String(JSON.parse(line).session);
  } catch {
    return undefined;
  }
}
