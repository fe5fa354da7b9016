import { Failure } from "./failure.ts";

/** After Ctrl-C, work is abandoned after this many milliseconds. It may wait for a silent pipe. */
const GRACE_MS = 1_000;

/**
 * Runs long work. Ctrl-C aborts the signal, and the work throws the signal's reason at its next safe point. A second Ctrl-C ends
 * the process at once. Work that blocks the thread does not notice the first.
 *
 * @param hint  How to continue after an interruption.
 */
export async function interruptible<T>(hint: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const failure = new Failure("INTERRUPTED", "Interrupted.", { hint });
  let interrupt = (): void => {};
  const interrupted = new Promise<never>((_, reject) => {
    interrupt = () => {
      controller.abort(failure);
      setTimeout(() => reject(failure), GRACE_MS);
    };
  });
  process.once("SIGINT", interrupt);
  try {
    return await Promise.race([work(controller.signal), interrupted]);
  } finally {
    process.off("SIGINT", interrupt);
  }
}
