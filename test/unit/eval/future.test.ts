import { expect, test } from "vitest";
import { cutsOf } from "../../../scripts/eval/future-cuts.ts";
import type { EntireEntry } from "../../../scripts/eval/recall-data.ts";
import { signTest } from "../../../scripts/eval/sign-test.ts";

const call = (text: string): EntireEntry => ({ ts: "", role: "assistant", kind: "tool_call", text });

test("a session of 100 calls is cut before its call 50 and 25 later, before calls and not messages", () => {
  const calls = Array.from({ length: 100 }, (_, index) => call(`read src/file${index % 40}.go`));
  const entries = [{ ...call("Look at a.md and b.md."), kind: "text" as const }, ...calls];
  const cuts = cutsOf(entries);
  expect(cuts.map(({ entryCount }) => entryCount)).toEqual([51]);
  // Calls 50 to 79 are on files 10 to 39; nothing of the text comes up again.
  expect(cuts[0]!.gold.size).toBe(30);
  expect(cuts[0]!.gold.has("file10.go")).toBe(true);
  expect(cuts[0]!.gold.has("a.md")).toBe(false);
});

test("a session of fewer calls has no cuts, nor has a place after which less than two known files come up", () => {
  expect(cutsOf(Array.from({ length: 99 }, () => call("read a.go b.go")))).toEqual([]);
  expect(cutsOf(Array.from({ length: 100 }, () => call("read a.go")))).toEqual([]);
});

test("the sign test of 9 against 1 is 22 of 1,024", () => {
  // Twice the chance of at most one head in ten throws: 2 × (1 + 10) / 1,024.
  expect(signTest(9, 1)).toBeCloseTo(22 / 1024, 12);
  expect(signTest(1, 9)).toBeCloseTo(22 / 1024, 12);
});

test("the sign test of equals, or of nothing, is 1", () => {
  expect(signTest(5, 5)).toBe(1);
  expect(signTest(0, 0)).toBe(1);
});
