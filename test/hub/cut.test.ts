import { expect } from "vitest";
import { cutEverywhere, WORKS } from "../../scripts/hub/cuts.ts";
import { TESTS_ALL } from "../support/effort.ts";
import { readyDatabase, test } from "../support/hub.ts";

// There are about two hundred cuts, of which `npm test` makes every eighth, and `npm run test:all` every third. After most of them a client waits before it tries again, so
// all kinds of work run at once. `npm run bench -- hub` does each three times.
test("a push or a pull is whole wherever the connection breaks", { timeout: 300_000 }, async () => {
  const every = TESTS_ALL ? 3 : 8;
  const names = Object.keys(WORKS) as (keyof typeof WORKS)[];
  const found = await Promise.all(names.map(async (name) => cutEverywhere(await readyDatabase(), name, every)));
  expect(found.flatMap(({ wrong }) => wrong)).toEqual([]);
  for (const { cuts } of found) expect(cuts).toBeGreaterThan(12 / every);
});
