import { closeSync, constants, mkdirSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { byteLengthOf, openRegular } from "../core/files.ts";
import { HOOK_LOG_BYTES_MAX, hookFile, hookLines, writeHookLines } from "../core/hook-lines.ts";
import { keyAt, keyedDigest } from "./keyed-digest.ts";

const REASON_CHARS_MAX = 300;
const NAME_CHARS_MAX = 4_096;

/** One line of the log. It holds nothing that anybody said. */
export interface LogEntry {
  atMs: number;
  agent: string;
  event: string;
  session: string;
  /** Identifies the event in the entry of its start. If two processes are called for the same event, they have the same key. */
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
  readonly #storePath: string;
  readonly #path: string;
  #key: Uint8Array | undefined;

  constructor(storePath: string) {
    this.#storePath = storePath;
    this.#path = hookFile(storePath, "log.jsonl");
  }

  /** Oldest first. Damaged lines are left out. */
  entries(): LogEntry[] {
    try {
      return hookLines(this.#storePath).flatMap(entryIn);
    } catch {
      return [];
    }
  }

  /** Returns a digest by which texts can be compared in the log of this store, and by which nobody can guess them without its key. */
  digest(text: string): string {
    hasFolder(this.#path);
    this.#key ??= keyAt(hookFile(this.#storePath, "key"));
    return keyedDigest(this.#key, text);
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
      // Hooks never write such a long log, and its last line may not be whole.
      if (byteLengthOf(this.#path) > HOOK_LOG_BYTES_MAX) this.#shorten();
      const descriptor = openRegular(this.#path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT);
      try {
        writeSync(descriptor, lineOf(entry));
      } finally {
        closeSync(descriptor);
      }
      if (byteLengthOf(this.#path) > HOOK_LOG_BYTES_MAX / 2) this.#shorten();
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
    writeHookLines(
      this.#storePath,
      kept.map((entry) => JSON.stringify(entry)),
    );
  }
}

/** Returns the entry of an event that was not answered. */
export function unbegunEntry(
  { event = "", agent = "", failure }: { event?: string | undefined; agent?: string | undefined; failure: string },
  startMs: number,
  atMs = Date.now(),
): LogEntry {
  return { atMs, agent, event, session: "", key: "", id: "", ms: atMs - startMs, failure };
}

/** Returns the line of an entry. Agents give names and paths of any length. */
export function lineOf(entry: LogEntry): string {
  const cut = Object.entries(entry).map(([name, value]) => {
    return [
      name,
      typeof value === "string" ? value.slice(0, name === "failure" ? REASON_CHARS_MAX : NAME_CHARS_MAX) : value,
    ];
  });
  return `${JSON.stringify(Object.fromEntries(cut))}\n`;
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
