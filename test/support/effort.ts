import { expect } from "vitest";

/** True in `npm run test:all`, which runs every test in full. */
export const TESTS_ALL = process.env.COPPICE_TESTS === "all";

/** How often a test that draws its cases runs: `count` times in `npm run test:all`, a fifth as often in `npm test`. */
export function runs(count: number): number {
  return TESTS_ALL ? count : Math.ceil(count / 5);
}

/** Cases drawn at random may be of any kind. */
const IS_RANDOM = process.env.COPPICE_SEED === "random";

/** A test must have met more cases of a kind than this: `count` in `npm run test:all`. A fifth of the runs may meet none. */
export function seenIn(count: number): number {
  return TESTS_ALL && !IS_RANDOM ? count : -1;
}

/** The same, where a fifth of the runs meets a fifth of the cases. */
export function seenInRuns(count: number): number {
  return IS_RANDOM ? -1 : runs(count);
}

/** Fails unless more of each kind of case was met than this, by `seenInRuns`. */
export function expectSeen<Kind extends string>(
  seen: Record<Kind, number>,
  least: Partial<Record<Kind, number>>,
): void {
  const short = Object.entries<number>(least as Record<Kind, number>).filter(([kind, count]) => {
    return seen[kind as Kind] <= seenInRuns(count);
  });
  expect(short.map(([kind, count]) => `${seen[kind as Kind]} of more than ${count} ${kind}`)).toEqual([]);
}

/** All of a list in `npm run test:all`; in `npm test` only `count` of it, evenly, with the first and the last. */
export function someOf<T>(all: readonly T[], count: number): readonly T[] {
  return TESTS_ALL ? all : evenly(all, count);
}

function evenly<T>(all: readonly T[], count: number): readonly T[] {
  if (all.length <= count) return all;
  const step = (all.length - 1) / Math.max(1, count - 1);
  return Array.from({ length: count }, (_, index) => all[Math.round(index * step)]!);
}

/** The numbers from 1 to `last`: `countAll` of them in `npm run test:all`, evenly, and `count` in `npm test`. */
export function someTo(last: number, count: number, countAll: number): readonly number[] {
  const numbers = Array.from({ length: last }, (_, index) => index + 1);
  return evenly(numbers, TESTS_ALL ? countAll : count);
}

/** `slow(test)` registers a test in `npm run test:all` only. A file of nothing but such tests is a `*.slow.test.ts`. */
export function slow<T extends (title: string, ...rest: never[]) => unknown>(test: T): T {
  return TESTS_ALL ? test : ((() => {}) as unknown as T);
}
