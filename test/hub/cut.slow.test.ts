import { expect } from "vitest";
import { cutEverywhere, WORKS } from "../../scripts/hub/cuts.ts";
import { readyDatabase, test } from "../support/hub.ts";

/** There are about two hundred cuts. `npm run bench -- hub` makes all of them, three times. */
const EVERY = 6;

// After most of the cuts a client waits before it tries again, so all kinds of work run at once.
test("a push or a pull is whole wherever the connection breaks", { timeout: 300_000 }, async () => {
  const names = Object.keys(WORKS) as (keyof typeof WORKS)[];
  const found = await Promise.all(
    names.map(async (name) => cutEverywhere({ url: await readyDatabase(), team: "test" }, name, EVERY)),
  );
  expect(found.flatMap(({ wrong }) => wrong)).toEqual([]);
  for (const { cuts } of found) expect(cuts).toBeGreaterThanOrEqual(12 / EVERY);
});
