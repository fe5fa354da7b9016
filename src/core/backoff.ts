export interface Backoff {
  delayMsMin: number;
  delayMsMax: number;
}

/** Returns the delay after this many failures in a row, in milliseconds. It doubles with each failure, up to the longest. */
export function backoffMs(failureCount: number, { delayMsMin, delayMsMax }: Backoff): number {
  return Math.min(delayMsMax, delayMsMin * 2 ** (failureCount - 1));
}
