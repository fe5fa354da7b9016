import type { Terminal } from "./terminal.ts";
import { formatNumber } from "./text.ts";

/** A rate is shown after this time, in milliseconds. An earlier rate is misleading. */
const RATE_AFTER_MS = 1_000;

/** Shows an amount, in pieces or bytes. */
export type ShowProgress = (done: number, total?: number) => void;

/** Shows the progress of one stage, such as `embedding`, with its rate and, if the total is known, the time left. */
export function progressOf(
  terminal: Terminal,
  label: string,
  format: (amount: number) => string = formatNumber,
): ShowProgress {
  let start: { atMs: number; done: number } | undefined;
  return (done, total) => {
    if (!terminal.showsProgress) return;
    start ??= { atMs: performance.now(), done };
    const elapsedMs = performance.now() - start.atMs;
    const facts = [`${label}: ${format(done)}${total === undefined ? "" : ` of ${format(total)}`}`];
    const perSecond = ((done - start.done) / elapsedMs) * 1_000;
    if (elapsedMs >= RATE_AFTER_MS && perSecond > 0) {
      facts.push(`${format(Math.round(perSecond))}/s`);
      if (total !== undefined) facts.push(`${duration((total - done) / perSecond)} left`);
    }
    terminal.progress(facts.join(" · "));
  };
}

/** Writes a duration as `42 s`, `3 min` or `2 h`, rounded up. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.ceil(seconds))} s`;
  return seconds < 90 * 60 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3_600)} h`;
}
