import type { Terminal } from "./terminal.ts";
import { formatNumber } from "./text.ts";

/** The time after which a rate is shown, in milliseconds. An earlier rate says more about the start than about the work. */
const RATE_AFTER_MS = 1_000;

/** Shows one stage of long work on the terminal's progress line, with its rate and, if the total is known, the time left. */
export class Progress {
  readonly #terminal: Terminal;
  readonly #label: string;
  readonly #format: (amount: number) => string;
  readonly #now: () => number;
  #startedAtMs: number | undefined;
  #doneAtStart = 0;

  /**
   * @param label  The kind of work, such as `embedding`.
   * @param format  Writes an amount.
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
   * @param done  Pieces or bytes done since the stage began. The rate is counted from the first update.
   * @param total  Pieces or bytes of the whole stage, if known.
   * @param detail  The name of the current piece.
   */
  update(done: number, total?: number, detail?: string): void {
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

/** Writes a duration as `42 s`, `3 min` or `2 h`, rounded up. */
function duration(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.ceil(seconds))} s`;
  return seconds < 90 * 60 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3_600)} h`;
}
