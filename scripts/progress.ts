/** A log gets a line this often, in milliseconds. */
const LOG_MS = 30_000;

/** A terminal's line changes this often, in milliseconds. */
const TERMINAL_MS = 250;

/**
 * Tells on stderr how far a long command is and how much time is left: on a terminal in one line that changes, elsewhere in a
 * line every half minute.
 */
export class Progress {
  readonly #what: string;
  readonly #total: number;
  readonly #fromMs = performance.now();
  #toldMs = performance.now();

  /** @param what  The plural of what is counted. */
  constructor(what: string, total: number) {
    this.#what = what;
    this.#total = total;
  }

  /** Notes that `done` of all are done. */
  reach(done: number, detail = ""): void {
    const now = performance.now();
    const isTerminal = process.stderr.isTTY === true;
    if (now - this.#toldMs < (isTerminal ? TERMINAL_MS : LOG_MS)) return;
    this.#toldMs = now;
    const leftMs = done === 0 ? undefined : ((now - this.#fromMs) / done) * (this.#total - done);
    const count = `${round(done)} of ${round(this.#total)} ${this.#what}`;
    const text = [count, leftMs === undefined ? "" : `${duration(leftMs)} left`, detail].filter(Boolean).join(", ");
    process.stderr.write(isTerminal ? `\r\x1b[2K${text}` : `${text}\n`);
  }

  /** Removes the line from a terminal. */
  end(): void {
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[2K");
  }
}

/** Goes through the items and tells how far it is. */
export function* withProgress<T>(what: string, items: readonly T[]): Generator<T> {
  const progress = new Progress(what, items.length);
  for (const [index, item] of items.entries()) {
    progress.reach(index);
    yield item;
  }
  progress.end();
}

function round(count: number): string {
  return Number.isInteger(count) ? count.toLocaleString("en-US") : count.toFixed(1);
}

function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}
