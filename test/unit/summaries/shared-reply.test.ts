import { expect, test } from "vitest";
import { sharedTexts } from "../../../src/summaries/shared-reply.ts";

test("each statement goes to the cluster that it cites", () => {
  const text = [
    "The lock was stale. [1,3]",
    "Decided: The region stays, and the lock goes. [10-12]",
    "Nobody said so.",
    "It was said elsewhere. [99]",
    "names: LOCK_FILE [1], REGION [11,12], NOWHERE",
    "files: lock.ts [3]",
  ].join("\n");
  expect(sharedTexts(text, [[1, 2, 3], [10, 11, 12], [20]])).toEqual([
    "The lock was stale. [1,3]\nnames: LOCK_FILE [1]\nfiles: lock.ts [3]",
    "Decided: The region stays, and the lock goes. [10-12]\nnames: REGION [11,12]",
    "",
  ]);
});

test("a statement about several clusters goes to the one of the newest message that it cites", () => {
  const text =
    "Both. [7,1]\nMostly the second. [3,6-7]\nnames: ONE [1], BOTH [2,7]\nThe second, and what it was not told. [2,99]";
  expect(
    sharedTexts(text, [
      [1, 2, 8],
      [3, 6, 7],
    ]),
  ).toEqual([
    "names: ONE [1]\nThe second, and what it was not told. [2,99]",
    "Both. [7,1]\nMostly the second. [3,6-7]\nnames: BOTH [2,7]",
  ]);
});
