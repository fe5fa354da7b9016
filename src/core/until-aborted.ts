/** As `promise` ends, unless the signal comes first: a model that does not listen to it holds nobody up. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
