import { expect, test } from "vitest";
import { sharesOf } from "../../../../src/context/tool-output/shorten.ts";

test("gives the small what they need, and the large equal parts of the rest", () => {
  expect(sharesOf([500, 10, 300, 0], 110)).toEqual([50, 10, 50, 0]);
});

test("gives everyone what they need where there is room, and nobody anything where there is none", () => {
  expect(sharesOf([5, 10], 100)).toEqual([5, 10]);
  expect(sharesOf([5, 10], -3)).toEqual([0, 0]);
  expect(sharesOf([], 10)).toEqual([]);
});
