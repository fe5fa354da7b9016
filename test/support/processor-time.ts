import { expect } from "vitest";

// Tests of speed compare two times of one process, and count processor time: a busy machine changes neither much.

/** Linear time gives 8 for a text 8 times as long, up to 20 if its memory comes from larger pages, and quadratic time 64. */
const LINEAR_RATIO_MAX = 32;

/** Work is repeated until it takes this long, because the clock counts whole microseconds. */
const MEASURED_MS_MIN = 8;

const ROUNDS_MIN = 3;
const ROUNDS_MAX = 24;

/** Fails unless the processor time of `run` is linear in the size of its input. */
export async function expectLinearTime<T>(size: number, inputOf: (size: number) => T, run: (input: T) => unknown) {
  const [small, large] = [inputOf(size), inputOf(8 * size)];
  await expectTimeRatio(
    () => run(small),
    () => run(large),
    LINEAR_RATIO_MAX,
  );
}

/**
 * Fails unless `large` takes less than `ratioMax` times the processor time of `small`. The least time of several rounds counts,
 * because only delays differ from round to round. Each is repeated until it takes about as long as the other, so that a delay is
 * as likely in both.
 */
export async function expectTimeRatio(small: () => unknown, large: () => unknown, ratioMax: number) {
  const [smallTimes, largeTimes] = [await timesToMeasure(small), await timesToMeasure(large)];
  let [smallMs, largeMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 1; round <= ROUNDS_MIN || (round <= ROUNDS_MAX && largeMs >= smallMs * ratioMax); round++) {
    smallMs = Math.min(smallMs, (await processorMs(small, smallTimes)) / smallTimes);
    largeMs = Math.min(largeMs, (await processorMs(large, largeTimes)) / largeTimes);
  }
  expect(largeMs / smallMs).toBeLessThan(ratioMax);
}

async function timesToMeasure(run: () => unknown): Promise<number> {
  let times = 1;
  while ((await processorMs(run, times)) < MEASURED_MS_MIN) times *= 2;
  return times;
}

async function processorMs(run: () => unknown, times: number): Promise<number> {
  const from = process.cpuUsage();
  for (let index = 0; index < times; index++) await run();
  return processorMsSince(from);
}

/** @param from  What `process.cpuUsage()` said. */
export function processorMsSince(from: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
}
