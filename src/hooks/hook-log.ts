import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The most bytes of the log. When it grows longer, its older half is dropped. */
const LOG_BYTES_MAX = 64 * 1024;
const REASON_CHARS_MAX = 300;

/** One line of the log. It holds nothing that anybody said. */
export interface LogEntry {
  atMs: number;
  agent: string;
  event: string;
  session: string;
  /** Identifies the event. If two processes are called for the same event, they have the same key. */
  key: string;
  /** Identifies the process. */
  id: string;
  /** How long the hook took. Left out in the entry of its start, which is the only entry of a hook that was killed. */
  ms?: number;
  /** The tokens of the answer. */
  tokens?: number;
  /** The ids of the messages that were quoted, so that they are not quoted again. */
  quoted?: number[];
  /** The digest of the file or command that the answer is about, so that it is given once. */
  about?: string;
  /** Why there was no answer, or why the import failed, if something failed. */
  failure?: string;
  /** The transcript whose import was started. The import adds an entry with the event `import` and the same id. */
  importing?: string;
}

/** The event in the entry of an import that a hook has started. */
export const IMPORT_EVENT = "import";

/** The log of the hooks, a file beside the store. A hook opens the store only for reading, and there may be no store yet. */
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

  /** Adds the entry of an import. @param id  The id of the hook that started it. @param failure  Undefined if it succeeded. */
  addImport(id: string, startMs: number, failure: string | undefined): void {
    const hook = this.entries().find((entry) => entry.id === id);
    const { agent = "", session = "" } = hook ?? {};
    const atMs = Date.now();
    const outcome = failure === undefined ? {} : { failure };
    this.add({ atMs, agent, event: IMPORT_EVENT, session, key: "", id, ms: atMs - startMs, ...outcome });
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
      // A hook must not fail because its log cannot be written.
    }
  }

  /** Keeps the newer half, and the newest success and failure of each agent's hooks and imports. */
  #shorten(): void {
    const entries = this.entries();
    const kindOf = ({ agent, event, failure }: LogEntry): string =>
      `${agent} ${event === IMPORT_EVENT} ${failure !== undefined}`;
    const newest = new Map(entries.map((entry) => [kindOf(entry), entry]));
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
