import { Failure } from "./failure.ts";

/** Work that does not end after Ctrl-C, such as a wait for a silent pipe, is abandoned after this, in milliseconds. */
const GRACE_MS = 1_000;

/**
 * Runs long work that Ctrl-C ends cleanly. Ctrl-C aborts the signal, and the work throws the signal's reason at the next
 * safe point. A second Ctrl-C ends the process at once. Work that blocks the thread does not notice the first Ctrl-C.
 *
 * @param hint  The state of the work after an interruption, and how to continue.
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
