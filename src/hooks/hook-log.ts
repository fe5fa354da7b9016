import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Bytes of the log. A longer one loses its older half. */
const LOG_BYTES_MAX = 64 * 1024;
const REASON_CHARS_MAX = 300;

/** One line of the log. It holds nothing that anybody said. */
export interface LogEntry {
  atMs: number;
  agent: string;
  event: string;
  session: string;
  /** Equal for calls of one event. */
  key: string;
  /** Tells apart the processes that fired. */
  id: string;
  /** Left out when the hook begins. A hook that was killed has no entry with a time. */
  ms?: number;
  /** The tokens of what was said. */
  tokens?: number;
  /** The ids of the messages that were quoted, so that they are not quoted again. */
  quoted?: number[];
  /** Why nothing was said, if something failed. */
  failure?: string;
}

/** What hooks did. It lies beside the store, because a hook opens the store for reading only, and may not find one. */
export class HookLog {
  readonly #path: string;

  constructor(storePath: string) {
    this.#path = `${storePath}-coppice-hooks/log.jsonl`;
  }

  /** Oldest first. Damaged lines are left out. */
  entries(): LogEntry[] {
    try {
      return readFileSync(this.#path, "utf8").split("\n").flatMap(entryIn);
    } catch {
      return [];
    }
  }

  /** Adds an entry, if the folder can be written. */
  add(entry: LogEntry): void {
    try {
      if (!hasFolder(this.#path)) return;
      const failure = entry.failure?.slice(0, REASON_CHARS_MAX);
      const line = `${JSON.stringify({ ...entry, ...(failure !== undefined && { failure }) })}\n`;
      appendFileSync(this.#path, line, { mode: 0o600 });
      if (statSync(this.#path).size > LOG_BYTES_MAX) this.#shorten();
    } catch {
      // A hook must not fail because it cannot tell what it did.
    }
  }

  /** Keeps the newer half, and the newest entries of each agent. */
  #shorten(): void {
    const entries = this.entries();
    const newest = new Map(entries.map((entry) => [`${entry.agent} ${entry.failure !== undefined}`, entry]));
    const kept = entries.filter((entry, index) => index >= entries.length / 2 || [...newest.values()].includes(entry));
    const shorter = `${this.#path}.${process.pid}`;
    writeFileSync(shorter, kept.map((entry) => `${JSON.stringify(entry)}\n`).join(""), { mode: 0o600 });
    renameSync(shorter, this.#path);
  }
}

/** Makes the folder of the log beside the store, unless there is no folder for the store. */
function hasFolder(path: string): boolean {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EEXIST";
  }
  return true;
}

function entryIn(line: string): LogEntry[] {
  try {
    const entry = JSON.parse(line) as LogEntry;
    return typeof entry.atMs === "number" && typeof entry.agent === "string" ? [entry] : [];
  } catch {
    return [];
  }
}
