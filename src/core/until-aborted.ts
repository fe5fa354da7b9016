/** Settles like `promise`, or rejects when the signal aborts. A model that ignores the signal then delays nobody. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
