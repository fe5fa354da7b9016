/** Milliseconds without a change after which a file is visited: agents write the pieces of a message in one go. */
const QUIET_MS = 150;

/** Milliseconds after its first change at which a file is visited however restless it is. */
const DELAY_MS_MAX = 1_000;

/** A file that takes long to be read is left alone for so many times as long: a great document may change with every word. */
const LONG_VISIT_MS = 500;
const REST_FACTOR = 4;
const REST_MS_MAX = 30_000;

interface Due {
  changedAtMs: number;
  dueAtMs: number;
}

/**
 * Files that are to be visited, and when: those that were there at the beginning one after the other, and before them whatever
 * has changed. Times are of a clock that never jumps, in milliseconds.
 */
export class DueFiles {
  readonly #changed = new Map<string, Due>();
  readonly #waiting = new Set<string>();
  readonly #resting = new Map<string, number>();
  readonly #restUntilMs = new Map<string, number>();

  /** Whether some that were there at the beginning were not visited yet. */
  get isCatchingUp(): boolean {
    return this.#waiting.size > 0;
  }

  /** A file was written to: it is visited when its writer falls quiet. */
  changed(path: string, nowMs: number): void {
    const changedAtMs = this.#changed.get(path)?.changedAtMs ?? nowMs;
    const quietAtMs = Math.min(nowMs + QUIET_MS, changedAtMs + DELAY_MS_MAX);
    this.#changed.set(path, { changedAtMs, dueAtMs: Math.max(quietAtMs, this.#restUntilMs.get(path) ?? 0) });
  }

  /** A file is to be visited when there is time. */
  found(path: string): void {
    this.#waiting.add(path);
  }

  /** A file is to be visited once more, when nothing will have been written to it for long. */
  resting(path: string, dueAtMs: number): void {
    this.#resting.set(path, dueAtMs);
  }

  /** The next that is due, which then counts as visited; or in how many milliseconds one will be, if any. */
  take(nowMs: number): string | number | undefined {
    let soonestMs: number | undefined;
    for (const [path, { dueAtMs }] of this.#changed) {
      if (dueAtMs <= nowMs) {
        this.#changed.delete(path);
        this.#waiting.delete(path);
        return path;
      }
      soonestMs = Math.min(soonestMs ?? dueAtMs, dueAtMs);
    }
    for (const path of this.#waiting) {
      this.#waiting.delete(path);
      return path;
    }
    for (const [path, dueAtMs] of this.#resting) {
      if (dueAtMs <= nowMs) {
        this.#resting.delete(path);
        return path;
      }
      soonestMs = Math.min(soonestMs ?? dueAtMs, dueAtMs);
    }
    return soonestMs === undefined ? undefined : soonestMs - nowMs;
  }

  /** How long it took to read a file that will be read from its beginning again. */
  visited(path: string, tookMs: number, nowMs: number): void {
    if (tookMs < LONG_VISIT_MS) this.#restUntilMs.delete(path);
    else this.#restUntilMs.set(path, nowMs + Math.min(REST_MS_MAX, tookMs * REST_FACTOR));
  }
}
