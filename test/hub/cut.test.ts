import { expect, test } from "vitest";
import { cutEverywhere, WORKS } from "../../scripts/hub/cuts.ts";
import { readyDatabase } from "../support/hub.ts";

/** There are about fifty pushes or pulls in each test. */
const TIMEOUT = { timeout: 300_000 };

// `npm run bench -- hub` does each three times.
for (const name of Object.keys(WORKS) as (keyof typeof WORKS)[]) {
  test(`a ${name} is whole wherever the connection breaks`, TIMEOUT, async () => {
    const { cuts, wrong } = await cutEverywhere(await readyDatabase(), name);
    expect(wrong).toEqual([]);
    expect(cuts).toBeGreaterThan(12);
  });
}
