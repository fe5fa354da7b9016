import { describe, expect, test } from "vitest";
import { check } from "../../scripts/crash/check.ts";
import { saidAt } from "../../scripts/crash/conversation.ts";
import { Promises } from "../../scripts/crash/promises.ts";
import type { Store } from "../../src/index.ts";
import { inDatabase } from "../support/rows.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

/** A store with the first five messages of one conversation. */
function fiveBatched(): Store {
  const store = openedStore(temporaryPath());
  store.session("batched").appendAll([0, 1, 2, 3, 4].map((seq) => saidAt("batched", seq)));
  return store;
}

/** What a process has said by the time it was killed: by then it had `count` messages acknowledged. */
function promised(count: number): Promises {
  const promises = new Promises();
  promises.hear({ say: "open", sessions: ["batched"] });
  promises.hear({ say: "appended", session: "batched", count });
  return promises;
}

describe("the check after a kill", () => {
  test("finds nothing wrong where all that was promised is there", () => {
    const verdict = check(fiveBatched(), promised(5));
    expect(verdict).toEqual({ lost: 0, altered: 0, isUnsound: false, faults: [], counts: new Map([["batched", 5]]) });
  });

  test("allows an append that was under way to have happened as a whole", () => {
    const promises = promised(2);
    promises.hear({ say: "appending", session: "batched", from: 2, to: 5, batch: 3 });
    expect(check(fiveBatched(), promises).faults).toEqual([]);
  });

  test("allows a forget that was under way to have happened or not, and one that was acknowledged to have happened", () => {
    const promises = promised(5);
    promises.hear({ say: "forgetting", session: "batched" });
    expect(check(fiveBatched(), promises).faults).toEqual([]);
    expect(check(openedStore(temporaryPath()), promises).faults).toEqual([]);
    promises.hear({ say: "forgot", session: "batched" });
    expect(check(fiveBatched(), promises).faults).toEqual(["batched: 5 messages of a transaction are there"]);
  });

  test("allows messages that were being forgotten to be there or not, and none to be back later", () => {
    const promises = promised(5);
    promises.hear({ say: "forgettingMessages", session: "batched", seqs: [1, 2] });
    expect(check(fiveBatched(), promises).faults).toEqual([]);
    const thinned = fiveBatched();
    thinned.forget("batched", { messageIds: [2] }); // the call, and its result
    expect(check(thinned, promises).faults).toEqual([]);
    promises.hear({ say: "forgotMessages", session: "batched", seqs: [1, 2] });
    expect(check(thinned, promises).faults).toEqual([]);
    expect(check(fiveBatched(), promises).faults).toEqual([
      "batched: forgotten, and there again: 1,2",
      "batched: 2 messages of a transaction are there",
    ]);
  });

  test("says which messages were forgotten that nobody meant", () => {
    const promises = promised(5);
    promises.hear({ say: "forgettingMessages", session: "batched", seqs: [3] });
    promises.hear({ say: "forgotMessages", session: "batched", seqs: [3] });
    const store = fiveBatched();
    store.forget("batched", { messageIds: [1] });
    expect(check(store, promises).faults).toEqual([
      "batched: forgotten, and there again: 3",
      "batched: gone, and nobody forgot them: 0",
    ]);
  });

  test("counts acknowledged messages that are gone", () => {
    expect(check(fiveBatched(), promised(7))).toMatchObject({ lost: 2, faults: ["batched: 2 of 7 messages are gone"] });
  });

  test("counts messages that are not as they were said", () => {
    const store = fiveBatched();
    store.resume("batched").append({ ...saidAt("batched", 5), name: "eve" });
    expect(check(store, promised(6))).toMatchObject({ altered: 1, faults: ["batched: altered at 5"] });
  });

  test.each<[string, number, (promises: Promises) => void, string]>([
    [
      "half a transaction",
      2,
      (promises) => promises.hear({ say: "appending", session: "batched", from: 2, to: 6, batch: 4 }),
      "batched: 3 messages of a transaction are there",
    ],
    [
      "a session that is gone",
      5,
      (promises) => promises.hear({ say: "open", sessions: ["synced"] }),
      "session synced is gone",
    ],
    [
      "a log that is too short",
      5,
      (promises) => promises.hear({ say: "stored", logPosition: 3, summaryCount: 0 }),
      "the log ends at 0, not 3",
    ],
    [
      "missing summaries",
      5,
      (promises) => promises.hear({ say: "stored", logPosition: 0, summaryCount: 2 }),
      "2 summaries are gone",
    ],
    [
      "another message at an acknowledged place",
      5,
      (promises) => promises.hear({ say: "appended", session: "batched", count: 5, messageId: 9 }),
      "batched: seq 4 is not that of message 9",
    ],
  ])("calls the file unsound for %s", (_, count, hear, fault) => {
    const promises = promised(count);
    hear(promises);
    const verdict = check(fiveBatched(), promises);
    expect(verdict.isUnsound).toBe(true);
    expect(verdict.faults).toEqual([fault]);
  });

  test("passes on what verify finds, but rebuilds first where the killed process had deleted derived rows", () => {
    const store = fiveBatched();
    inDatabase(store.path, (database) => database.exec("UPDATE messages SET parent_id = 1"));
    expect(check(store, promised(5)).isUnsound).toBe(true);
    const promises = promised(5);
    promises.hear({ say: "damaging" });
    expect(check(store, promises)).toMatchObject({ isUnsound: false, faults: [] });
  });
});
