/** The shortest and the longest delay between two tries, in milliseconds. */
export interface Backoff {
  delayMsMin: number;
  delayMsMax: number;
}

/** Returns how long to wait after this many failures in a row, in milliseconds: twice as long after each. */
export function backoffMs(failureCount: number, { delayMsMin, delayMsMax }: Backoff): number {
  return Math.min(delayMsMax, delayMsMin * 2 ** (failureCount - 1));
}
