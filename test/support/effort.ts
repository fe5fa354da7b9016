/** True in `npm run test:all`, which runs every test in full. */
export const TESTS_ALL = process.env.COPPICE_TESTS === "all";

/** How often a test that draws its cases runs: `count` times in `npm run test:all`, a tenth as often in `npm test`. */
export function runs(count: number): number {
  return TESTS_ALL ? count : Math.ceil(count / 10);
}
