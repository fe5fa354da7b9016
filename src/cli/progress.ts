import type { Terminal } from "./terminal.ts";
import { formatNumber } from "./text.ts";

/** Before this, a rate says more about the start than about the work. */
const RATE_AFTER_MS = 1_000;

/** One stage of long work, told on the terminal's line of progress with its rate and, where the end is known, the time it takes. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #label: string;
  readonly #format: (amount: number) => string;
  readonly #now: () => number;
  #startedAtMs: number | undefined;
  #doneAtStart = 0;

  /**
   * @param label  What is done, as in `embedding`.
   * @param format  How an amount is written.
   * @param now  A clock in milliseconds.
   */
  constructor(
    terminal: Terminal,
    label: string,
    format: (amount: number) => string = formatNumber,
    now: () => number = () => performance.now(),
  ) {
    this.#terminal = terminal;
    this.#label = label;
    this.#format = format;
    this.#now = now;
  }

  /**
   * @param done  Since the stage began, in pieces or bytes; the first report is where the rate is counted from.
   * @param total  Of the stage, if that is known.
   * @param detail  What is worked on just now.
   */
  at(done: number, total?: number, detail?: string): void {
    if (!this.#terminal.showsProgress) return;
    if (this.#startedAtMs === undefined) [this.#startedAtMs, this.#doneAtStart] = [this.#now(), done];
    const elapsedMs = this.#now() - this.#startedAtMs;
    const facts = [`${this.#label}: ${this.#format(done)}${total === undefined ? "" : ` of ${this.#format(total)}`}`];
    const perSecond = ((done - this.#doneAtStart) / elapsedMs) * 1_000;
    if (elapsedMs >= RATE_AFTER_MS && perSecond > 0) {
      facts.push(`${this.#format(Math.round(perSecond))}/s`);
      if (total !== undefined) facts.push(`${duration((total - done) / perSecond)} left`);
    }
    if (detail !== undefined) facts.push(detail);
    this.#terminal.progress(facts.join(" · "));
  }
}

/** `42 s`, `3 min`, `2 h`; rounded up, as nobody minds to be done early. */
function duration(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.ceil(seconds))} s`;
  return seconds < 90 * 60 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3_600)} h`;
}
