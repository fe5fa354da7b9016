/** Tokens that the window's messages may use, at one size of the memory block. */
export interface HotLimit {
  /** While the window is shown from its first step. */
  whole: number;
  /** While steps of it are hidden, which takes a pointer line. */
  cut: number;
}

export interface HotStart {
  /** Index of the first step shown; all after it are. */
  start: number;
  /** Index into the limits: how far the memory block has given way. */
  level: number;
  /** Of the steps shown. More than the last limit if not even the newest step fits. */
  tokenCount: number;
}

/**
 * Where the shown part of the window starts.
 *
 * A provider's cache holds the prompt's prefix, so the start must not creep along with every message. The walk goes
 * over all messages since the frontier, as if a context had been rendered after each; when those shown no longer fit,
 * the start moves far enough to leave half of the room free, and then stays until that half is used up. Since the state
 * after a message depends only on the messages up to it, the next render walks the same way and finds the same start:
 * hysteresis without memory.
 *
 * The newest step is always shown. A step that is larger than the window's share makes the memory block give way: the
 * first level at which it fits holds until the next move of the start.
 *
 * @param steps  Costs in tokens of every step's messages, in order.
 * @param limits  At least one; later ones leave the window more room.
 */
export function placeHotStart(steps: readonly (readonly number[])[], limits: readonly HotLimit[]): HotStart {
  const last = limits.length - 1;
  const limitAt = (level: number, start: number) => (start === 0 ? limits[level]!.whole : limits[level]!.cut);
  const stepTokens = steps.map((costs) => costs.reduce((sum, cost) => sum + cost, 0));

  let start = 0;
  let level = 0;
  let used = 0;
  steps.forEach((costs, newest) => {
    let own = 0;
    for (const cost of costs) {
      own += cost;
      used += cost;
      if (used <= limitAt(level, start)) continue;
      // Half of what the newest step leaves. Counting its own tokens as movable would empty the window under a large one.
      const usedMax = own + Math.max(0, limits[0]!.cut - own) / 2;
      while (start < newest && used > usedMax) used -= stepTokens[start++]!;
      level = 0;
      while (level < last && used > limitAt(level, start)) level++;
    }
  });
  return { start, level, tokenCount: used };
}
