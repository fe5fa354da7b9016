import { expect, test } from "vitest";
import { sharedTexts } from "../../../src/summaries/shared-reply.ts";

test("each statement goes to the cluster that it cites most", () => {
  const text = [
    "The lock was stale. [1,3]",
    "Decided: The region stays, and the lock goes. [2,10-12]",
    "Nobody said so.",
    "It was said elsewhere. [99]",
    "names: LOCK_FILE [1], REGION [11,12], NOWHERE",
    "files: lock.ts [3]",
  ].join("\n");
  expect(sharedTexts(text, [[1, 2, 3], [10, 11, 12], [20]])).toEqual([
    "The lock was stale. [1,3]\nnames: LOCK_FILE [1]\nfiles: lock.ts [3]",
    "Decided: The region stays, and the lock goes. [2,10-12]\nnames: REGION [11,12]",
    "",
  ]);
});

test("of clusters that are cited as often, the first gets the statement", () => {
  expect(sharedTexts("Both. [7,1]", [[1], [7]])).toEqual(["Both. [7,1]", ""]);
});
