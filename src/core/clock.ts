/** Port: the time, in Unix milliseconds. Order never comes from it; `seq` gives the order. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
