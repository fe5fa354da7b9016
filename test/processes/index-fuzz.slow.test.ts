import { expect, test } from "vitest";
import { DAMAGES } from "../../scripts/bench/index-fuzz/damage.ts";
import { fuzzIndex } from "../../scripts/bench/index-fuzz/fuzz.ts";

/**
 * Goal: no index file, however damaged or foreign, crashes a process or changes an answer.
 * Method: write an index, damage it or its sidecar in each way three times, and ask another process what is near. It must
 * answer as one with the whole index does, or as one that compares every cluster. (Without the checks on opening, a third
 * of these cases crash or answer wrongly.)
 */
test("a damaged index crashes nobody and changes no answer", async () => {
  const kindCount = Object.keys(DAMAGES).length;
  expect(kindCount).toBe(18);
  const report = await fuzzIndex(3 * kindCount, 7);
  expect(report).toEqual({ caseCount: 54, crashCount: 0, wrongCount: 0, faults: [] });
});
