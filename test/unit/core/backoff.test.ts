import { expect, test } from "vitest";
import { backoffMs } from "../../../src/core/backoff.ts";

test("the delay doubles after each failure, up to the longest", () => {
  const delays = [1, 2, 3, 4, 5, 5_000].map((count) => backoffMs(count, { delayMsMin: 500, delayMsMax: 3_000 }));
  expect(delays).toEqual([500, 1_000, 2_000, 3_000, 3_000, 3_000]);
});
