/** A port that returns the time, in Unix milliseconds. Messages are ordered by `seq`, never by time. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
