import { Failure } from "./failure.ts";

/** Work that has not ended this long after Ctrl-C is abandoned, in milliseconds. It may wait for a pipe that stays silent. */
const GRACE_MS = 1_000;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs long work. Ctrl-C, SIGTERM and SIGHUP abort the signal, and the work throws the signal's reason at its next safe point. A
 * second signal ends the process at once. Work that blocks the thread does not notice the first.
 *
 * @param hint  How to continue after an interruption.
 */
export async function interruptible<T>(hint: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let interrupt = (_signal: NodeJS.Signals): void => {};
  const interrupted = new Promise<never>((_, reject) => {
    interrupt = (signal) => {
      for (const other of SIGNALS) process.off(other, interrupt);
      const failure = new Failure("INTERRUPTED", "Interrupted.", { hint, signal });
      controller.abort(failure);
      setTimeout(() => reject(failure), GRACE_MS);
    };
  });
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    return await Promise.race([work(controller.signal), interrupted]);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}
