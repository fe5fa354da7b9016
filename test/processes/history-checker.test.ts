import { describe, expect, test } from "vitest";
import { type Answer, type Event, historyFaults } from "../support/history.ts";

function append(process: string, time: [number, number], keys: string, answer: Answer): Event {
  return { kind: "append", process, from: time[0], to: time[1], keys: keys.split(" "), answer };
}

function sync(process: string, time: [number, number], keys: string, answer: Answer): Event {
  return { kind: "sync", process, from: time[0], to: time[1], keys: keys.split(" "), answer };
}

function read(process: string, time: [number, number], count: number): Event {
  return { kind: "read", process, from: time[0], to: time[1], count };
}

const NEVER = Number.POSITIVE_INFINITY;

describe("the history checker", () => {
  test.each<[string, Event[], string]>([
    ["calls one after another", [append("p", [0, 1], "a", [0]), append("q", [2, 3], "b c", [1, 2])], "a b c"],
    ["calls at the same time in either order", [append("p", [0, 9], "a", [1]), append("q", [1, 8], "b", [0])], "b a"],
    ["an unknown append that happened", [append("p", [0, NEVER], "a b", "unknown"), read("q", [1, 2], 2)], "a b"],
    ["an unknown append that did not", [append("p", [0, NEVER], "a b", "unknown"), read("q", [1, 2], 0)], ""],
    ["a refused one that a sync brings", [append("p", [0, 1], "a", "refused"), sync("p", [2, 3], "a", [0])], "a"],
    ["syncs of one array", [sync("p", [0, 5], "a b", [0, 1]), sync("q", [1, 6], "a b c", [2])], "a b c"],
    ["a read during an append", [append("p", [0, 9], "a", [0]), read("q", [1, 2], 1), read("r", [1, 2], 0)], "a"],
  ])("accepts %s", (_, events, order) => {
    expect(historyFaults(events, order === "" ? [] : order.split(" "))).toEqual([]);
  });

  test.each<[string, Event[], string, string]>([
    ["a message that was acknowledged and is gone", [append("p", [0, 1], "a", [0])], "", "there is "],
    ["a message at another place", [append("p", [0, 1], "a", [0]), append("q", [0, 1], "b", [1])], "b a", "there is b"],
    ["a message that stands twice", [append("p", [0, 1], "a", [0])], "a a", "a stands twice"],
    ["a message from nowhere", [append("p", [0, 1], "a", [0])], "a b", "b is there"],
    ["a refused message", [append("p", [0, 1], "a", "refused")], "a", "a is there"],
    ["half a batch", [append("p", [0, NEVER], "a b", "unknown")], "a", "in part"],
    [
      "a batch with another's message in it",
      [append("p", [0, 5], "a c", [0, 2]), append("q", [0, 5], "b", [1])],
      "a b c",
      "was acknowledged at 0, 2",
    ],
    ["a sync that left one out", [sync("p", [0, 1], "a b", [0])], "a", "left out b"],
    [
      "a sync that answers for another's",
      [sync("p", [0, 1], "a", [0, 1]), append("q", [0, 1], "b", [1])],
      "a b",
      "for b",
    ],
    [
      "an unknown append after one that did not happen",
      [append("p", [0, NEVER], "a", "unknown"), append("p", [0, NEVER], "b", "unknown")],
      "b",
      "after what did not happen",
    ],
    [
      "one process's appends out of turn",
      [append("p", [0, NEVER], "a", "unknown"), append("p", [0, NEVER], "b", "unknown")],
      "b a",
      "b stands before what p said earlier",
    ],
    [
      "a later append in front",
      [append("p", [0, 1], "a", [1]), append("q", [2, 3], "b", [0])],
      "b a",
      "left 2 messages",
    ],
    ["a read that misses what was there", [append("p", [0, 1], "a", [0]), read("q", [2, 3], 0)], "a", "found 0"],
    ["a read of what comes later", [read("q", [0, 1], 1), append("p", [2, 3], "a", [0])], "a", "found 0"],
    [
      "reads that go backwards",
      [append("p", [0, 9], "a", [0]), read("q", [1, 2], 1), read("r", [3, 4], 0)],
      "a",
      "found 0",
    ],
    ["a sync that forgets", [sync("p", [0, 1], "a", [0]), read("q", [2, 3], 0)], "a", "found 0"],
  ])("finds %s", (_, events, order, fault) => {
    expect(historyFaults(events, order === "" ? [] : order.split(" "))).toContainEqual(expect.stringContaining(fault));
  });
});
