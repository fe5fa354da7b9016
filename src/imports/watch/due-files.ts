/** A file is visited after this pause, in milliseconds. Agents write the pieces of a message together. */
const WRITE_GAP_MS = 150;

/** The longest delay after a file's first change, in milliseconds. */
const DELAY_MS_MAX = 1_000;

/** A visit that takes this long is followed by a break, because a large document may change with every word. */
const LONG_VISIT_MS = 500;
/** The length of the break, as a multiple of the length of the visit. */
const BREAK_FACTOR = 4;
const BREAK_MS_MAX = 30_000;

interface DueFile {
  /** When the file first changed since the last visit. Undefined if the file only waits to be quiet. */
  changedAtMs?: number;
  dueAtMs: number;
}

/** The files to visit, and when. Times are from a monotonic clock, in milliseconds. */
export class DueFiles {
  readonly #due = new Map<string, DueFile>();
  readonly #found = new Set<string>();
  readonly #breakUntilMs = new Map<string, number>();

  /** True until all files that existed at the start were visited. */
  get isCatchingUp(): boolean {
    return this.#found.size > 0;
  }

  /** Schedules a changed file for when its writer pauses. */
  addChanged(path: string, nowMs: number): void {
    const changedAtMs = this.#due.get(path)?.changedAtMs ?? nowMs;
    const pausedAtMs = Math.min(nowMs + WRITE_GAP_MS, changedAtMs + DELAY_MS_MAX);
    this.#due.set(path, { changedAtMs, dueAtMs: Math.max(pausedAtMs, this.#breakUntilMs.get(path) ?? 0) });
  }

  /** Schedules the files that existed at the start, in this order, for when no other is due. */
  addFound(paths: Iterable<string>): void {
    for (const path of paths) this.#found.add(path);
  }

  /** Schedules one more visit for when the file has been quiet for long. */
  addQuiet(path: string, dueAtMs: number): void {
    if (this.#due.get(path)?.changedAtMs === undefined) this.#due.set(path, { dueAtMs });
  }

  /** Takes the next file. @returns the file, the milliseconds until a file is due, or undefined if there is none. */
  take(nowMs: number): string | number | undefined {
    let nextAtMs = Number.POSITIVE_INFINITY;
    for (const [path, { dueAtMs }] of this.#due) {
      if (dueAtMs <= nowMs) {
        this.#due.delete(path);
        this.#found.delete(path);
        return path;
      }
      nextAtMs = Math.min(nextAtMs, dueAtMs);
    }
    for (const path of this.#found) {
      this.#found.delete(path);
      return path;
    }
    return nextAtMs === Number.POSITIVE_INFINITY ? undefined : nextAtMs - nowMs;
  }

  /** Notes how long a visit took. Call this only for a file that each visit reads from its beginning. */
  noteVisit(path: string, tookMs: number, nowMs: number): void {
    if (tookMs < LONG_VISIT_MS) this.#breakUntilMs.delete(path);
    else this.#breakUntilMs.set(path, nowMs + Math.min(BREAK_MS_MAX, tookMs * BREAK_FACTOR));
  }
}
