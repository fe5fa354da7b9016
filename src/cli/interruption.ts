import { Failure } from "./failure.ts";

/** What waits for others, such as a pipe that says nothing, is left after this. */
const GRACE_MS = 1_000;

/**
 * Do long work that Ctrl-C ends cleanly: the signal is aborted, and the work throws its reason when what it is at is in
 * order. A second Ctrl-C ends the process at once.
 *
 * Not for work that blocks: it would not hear of the first.
 *
 * @param hint  What is there of the work by then, and how it goes on.
 */
export async function interruptible<T>(hint: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupted = new Promise<never>((_, reject) => {
    const leave = (): void => {
      setTimeout(() => reject(controller.signal.reason), GRACE_MS);
    };
    controller.signal.addEventListener("abort", leave, { once: true });
  });
  const interrupt = (): void => {
    controller.abort(new Failure("INTERRUPTED", "Interrupted.", { hint, exitCode: 130 }));
  };
  process.once("SIGINT", interrupt);
  try {
    return await Promise.race([work(controller.signal), interrupted]);
  } finally {
    process.off("SIGINT", interrupt);
  }
}
