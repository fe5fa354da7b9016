/** The tokens that the window may use at one size of the memory block. */
export interface HotLimit {
  /** If the window is shown from its first step. */
  whole: number;
  /** If steps of the window are hidden, which takes a pointer line. */
  cut: number;
}

export interface HotStart {
  /** Index of the first step that is shown. */
  start: number;
  /** An index into `limits`: 0 for the full memory block, more for a smaller one. */
  level: number;
  /** The tokens of the shown steps. More than the last limit if not even the newest step fits. */
  tokenCount: number;
}

/**
 * Finds the step from which the window is shown.
 *
 * A provider caches the prefix of a prompt, so the start must not move with every message. The function walks over all
 * messages since the frontier, as if a context had been rendered after each. When the shown messages no longer fit, the
 * start moves far enough to free half of the room, and stays until that half is used up. The state after a message
 * depends only on the messages up to it, so the next render finds the same start without storing it.
 *
 * The newest step is always shown. If it is larger than the window's share, the memory block shrinks: the first of `limits`
 * at which the step fits applies until the start moves again.
 *
 * @param steps  The tokens of each message of each step, in order.
 * @param limits  At least one. Each leaves the window more room than the one before.
 */
export function placeHotStart(steps: readonly (readonly number[])[], limits: readonly HotLimit[]): HotStart {
  const last = limits.length - 1;
  const stepTokens = steps.map((costs) => costs.reduce((sum, cost) => sum + cost, 0));

  let start = 0;
  let level = 0;
  let used = 0;
  steps.forEach((costs, newest) => {
    let own = 0;
    for (const cost of costs) {
      own += cost;
      used += cost;
      if (used <= limitAt(limits[level]!, start)) continue;
      // Older steps get half of the room that the newest step leaves. With half of all the room, a large newest step would
      // hide all of them.
      const usedMax = own + Math.max(0, limits[0]!.cut - own) / 2;
      while (start < newest && used > usedMax) used -= stepTokens[start++]!;
      level = 0;
      while (level < last && used > limitAt(limits[level]!, start)) level++;
    }
  });
  return { start, level, tokenCount: used };
}

export function limitAt(limit: HotLimit, start: number): number {
  return start === 0 ? limit.whole : limit.cut;
}
