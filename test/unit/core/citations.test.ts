import { expect, test } from "vitest";
import { citation, statementsIn, takeCitations, withShortCitations } from "../../../src/core/citations.ts";

test("seqs are ascending, each once, neighbors as a range", () => {
  expect(citation([9, 3, 7, 8, 3])).toBe("[3,7-9]");
  expect(citation([1, 2])).toBe("[1-2]");
  expect(citation([0])).toBe("[0]");
  expect(citation([])).toBe("");
});

test("a short citation bridges single messages, and what cannot be read stays", () => {
  expect(withShortCitations("Keep the host [3, 5,7]. It is old. [9,20-22,24]")).toBe(
    "Keep the host [3-7]. It is old. [9,20-24]",
  );
  expect(withShortCitations("a [9-7]")).toBe("a [9-7]");
});

test("a citation is read back as it was written", () => {
  expect(takeCitations("Keep the host. [3,7-9]")).toEqual({
    text: "Keep the host.",
    seqs: [3, 7, 8, 9],
    isMarked: false,
  });
  expect(takeCitations("It takes 500 ms. [unverified] [3]")).toEqual({
    text: "It takes 500 ms.",
    seqs: [3],
    isMarked: true,
  });
});

test("citations are found as models write them into a sentence", () => {
  expect(takeCitations("The host [seq 3] was kept [4, 5] for a week.")).toEqual({
    text: "The host was kept for a week.",
    seqs: [3, 4, 5],
    isMarked: false,
  });
});

test("what only looks like one stays", () => {
  expect(takeCitations("It failed in items[] and [main] at [2024-01-01T00:00]").text).toBe(
    "It failed in items[] and [main] at [2024-01-01T00:00]",
  );
});

test("no range fills the memory, and none runs backwards", () => {
  expect(takeCitations("a [0-999999999999]").seqs).toEqual([]);
  expect(takeCitations("a [9-7]").seqs).toEqual([]);
  expect(takeCitations("a [0-9999]").seqs).toHaveLength(10_000);
});

test("each entry of a list is a statement, any other line is one", () => {
  expect(statementsIn("files: a.ts [1,3], b.ts [2]")).toEqual(["a.ts [1,3]", "b.ts [2]"]);
  expect(statementsIn("names: run [1]")).toEqual(["run [1]"]);
  expect(statementsIn("Decided: a, b and c. [1]")).toEqual(["Decided: a, b and c. [1]"]);
});

test("no number of ranges does, either", () => {
  const { seqs } = takeCitations(`a [${Array(2_000).fill("0-9998").join(",")},7]`);
  expect(seqs).toHaveLength(10_000);
  expect(seqs.at(-1)).toBe(7);
});
