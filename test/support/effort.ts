/** True in `npm run test:all`, which runs every test in full. */
export const TESTS_ALL = process.env.COPPICE_TESTS === "all";

/** How often a test that draws its cases runs: `count` times in `npm run test:all`, a tenth as often in `npm test`. */
export function runs(count: number): number {
  return TESTS_ALL ? count : Math.ceil(count / 10);
}

/** A test must have met more cases of a kind than this: `count` in `npm run test:all`. A tenth of the runs may meet none. */
export function seenIn(count: number): number {
  return TESTS_ALL ? count : -1;
}
