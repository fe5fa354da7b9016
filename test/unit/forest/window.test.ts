import { describe, expect, test } from "vitest";
import {
  compactFrontier,
  type Frontier,
  idleFrontier,
  isHeld,
  NOTHING_DUE,
  nextFrontier,
  type WindowStep,
  windowSteps,
} from "../../../src/forest/window.ts";

const OPTIONS = { hotSize: 4, overlap: 2, evictBatch: 3, hotTokensMax: 1000 };

/** Steps of these many messages in a row from place `from` on, each message of `tokens` tokens. */
function steps(messageCounts: readonly number[], { from = 0, tokens = 10 } = {}): WindowStep[] {
  let seq = from;
  return messageCounts.map((messageCount) => {
    const seqFirst = seq;
    seq += messageCount;
    return { seqFirst, seqLast: seq - 1, messageCount, tokenCount: messageCount * tokens, open: false };
  });
}

const at = (graduatedSeq: number, evictedSeq: number): Frontier => ({ graduatedSeq, evictedSeq });
const ones = (count: number) => new Array<number>(count).fill(1);

describe("nextFrontier by messages", () => {
  test("waits for a whole batch more than the hot window", () => {
    expect(nextFrontier(steps(ones(6)), at(0, 0), OPTIONS)).toBeUndefined();
    expect(nextFrontier(steps(ones(7)), at(0, 0), OPTIONS)).toEqual(at(3, 0));
  });

  test("evicts at the next move what the last one let in", () => {
    expect(nextFrontier(steps(ones(10)), at(3, 0), OPTIONS)).toEqual(at(6, 3));
  });

  test("has nowhere to go in an empty window", () => {
    expect(nextFrontier([], at(5, 5), OPTIONS)).toBeUndefined();
  });
});

describe("nextFrontier by tokens", () => {
  test("moves as soon as the window costs more than its limit, and lets in all but a quarter of it", () => {
    expect(nextFrontier(steps(ones(4), { tokens: 250 }), at(0, 0), OPTIONS)).toBeUndefined();
    expect(nextFrontier(steps(ones(5), { tokens: 250 }), at(0, 0), OPTIONS)).toEqual(at(4, 0));
  });

  test("brings the window under five eighths of the limit in two moves", () => {
    const window = steps(ones(5), { tokens: 250 });
    const next = nextFrontier(window, at(4, 0), OPTIONS)!;
    expect(next).toEqual(at(4, 3));
    expect(nextFrontier(window.slice(3), next, OPTIONS)).toBeUndefined();
  });

  test("frees about the same in each move", () => {
    let frontier = at(0, 0);
    const freed: number[] = [];
    for (let count = 1; count <= 100; count++) {
      const window = steps(ones(count - frontier.evictedSeq), { from: frontier.evictedSeq, tokens: 60 });
      const next = nextFrontier(window, frontier, { ...OPTIONS, hotSize: 20, evictBatch: 20 });
      if (next === undefined) continue;
      freed.push(next.evictedSeq - frontier.evictedSeq);
      frontier = next;
    }
    // The first move evicts nothing. Of 16 messages that fit, the window keeps 10.
    expect(freed.slice(0, 2)).toEqual([0, 8]);
    expect(freed.slice(2).every((count) => count === 6 || count === 7)).toBe(true);
    expect(freed.length).toBeGreaterThan(10);
  });

  test("stays where it is when the newest step alone is too large", () => {
    expect(nextFrontier(steps([1], { from: 8, tokens: 5000 }), at(8, 8), OPTIONS)).toBeUndefined();
  });
});

describe("compactFrontier", () => {
  test("lets in all but the hot window at once, and keeps the overlap verbatim", () => {
    expect(compactFrontier(steps(ones(20)), at(0, 0), OPTIONS)).toEqual(at(16, 14));
  });

  test("keeps at most the hot window out of the forest, and at least it and the overlap verbatim", () => {
    // Newest first: 3, 3, 3, 3 messages. Two steps are more than 4; two steps are 6.
    expect(compactFrontier(steps([3, 3, 3, 3]), at(0, 0), OPTIONS)).toEqual(at(9, 6));
    // Newest first: 4, 5, 5. One step is 4; two are 9.
    expect(compactFrontier(steps([5, 5, 4]), at(0, 0), OPTIONS)).toEqual(at(10, 5));
  });

  test("keeps less verbatim where that costs too much", () => {
    expect(compactFrontier(steps(ones(20), { tokens: 300 }), at(0, 0), OPTIONS)).toEqual(at(17, 17));
  });

  test("has nothing to do a second time", () => {
    expect(compactFrontier(steps(ones(6), { from: 14 }), at(16, 14), OPTIONS)).toBeUndefined();
    expect(compactFrontier([], at(3, 3), OPTIONS)).toBeUndefined();
  });
});

describe("idleFrontier", () => {
  test("lets in all but the newest step, and takes nothing out of the window", () => {
    expect(idleFrontier(steps([1, 3, 2], { from: 5 }), at(6, 5))).toEqual(at(9, 5));
    expect(idleFrontier(steps([2]), at(0, 0))).toBeUndefined();
  });

  test("has nothing to do a second time, nor in an empty window", () => {
    expect(idleFrontier(steps([1, 3, 2], { from: 5 }), at(9, 5))).toBeUndefined();
    expect(idleFrontier([], at(7, 7))).toBeUndefined();
  });

  test("leaves the hot window to a session that goes on", () => {
    // Rested at place 9 of 10; three more messages came, and then the tokens were too many.
    expect(nextFrontier(steps(ones(13), { tokens: 90 }), at(9, 0), OPTIONS)).toEqual(at(11, 7));
    // The newest four cost less than a quarter of the limit, and stay, though two of them are in the forest.
    const cheapAtLast = [...steps(ones(7), { tokens: 200 }), ...steps(ones(4), { from: 7, tokens: 60 })];
    expect(nextFrontier(cheapAtLast, at(9, 0), OPTIONS)).toEqual(at(9, 7));
    // By messages it moves as it always does: a whole batch past the hot window.
    expect(nextFrontier(steps(ones(15)), at(9, 0), OPTIONS)).toBeUndefined();
    expect(nextFrontier(steps(ones(16)), at(9, 0), OPTIONS)).toEqual(at(12, 9));
  });

  test("does not let the window of a session that rests again and again grow past two batches", () => {
    // Hardly a message waits, but 10 are word for word: 4 and twice 3.
    expect(nextFrontier(steps(ones(9)), at(8, 0), OPTIONS)).toBeUndefined();
    expect(nextFrontier(steps(ones(10)), at(8, 0), OPTIONS)).toEqual(at(8, 6));
    expect(nextFrontier(steps(ones(10), { from: 20 }), at(29, 20), OPTIONS)).toEqual(at(29, 26));
  });
});

describe("windowSteps", () => {
  const message = (seq: number, stepId: number) => ({ seq, stepId, tokenCount: 10 });
  const places = (messages: ReturnType<typeof message>[], openStepId?: number) =>
    windowSteps(messages, openStepId).map(({ seqFirst, seqLast, messageCount }) => [seqFirst, seqLast, messageCount]);

  test("keeps together what stands inside a step, and what follows an open one", () => {
    const [question, calls, between, answer, last] = [
      message(3, 103),
      message(4, 104),
      message(5, 105),
      message(6, 104),
      message(7, 107),
    ] as const;
    expect(places([question, calls, between, answer, last])).toEqual([
      [3, 3, 1],
      [4, 6, 3],
      [7, 7, 1],
    ]);
    expect(places([question, calls, between], 104)).toEqual([
      [3, 3, 1],
      [4, 5, 2],
    ]);
  });
});

describe("a window that waits for vectors", () => {
  test("keeps all steps from the first one that waits, and waits for a batch before it", () => {
    expect(nextFrontier(steps(ones(9)), at(0, 0), OPTIONS, 2)).toBeUndefined();
    expect(nextFrontier(steps(ones(9)), at(0, 0), OPTIONS, 3)).toEqual(at(3, 0));
    expect(nextFrontier(steps(ones(9)), at(0, 0), OPTIONS, 8)).toEqual(at(5, 0));
  });

  test("never splits the step whose last message waits", () => {
    expect(nextFrontier(steps([3, 3, 3]), at(0, 0), OPTIONS, 5)).toEqual(at(3, 0));
  });

  test("lets a few go where pressure of tokens asks for no more", () => {
    const few = steps(ones(3), { tokens: 400 });
    expect(nextFrontier(few, at(0, 0), OPTIONS, 2)).toEqual(at(2, 0));
    expect(nextFrontier(few, at(0, 0), OPTIONS, 1)).toBeUndefined();
  });

  test("waits however long it gets", () => {
    expect(nextFrontier(steps(ones(700)), at(0, 0), OPTIONS, 0)).toBeUndefined();
    expect(nextFrontier(steps(ones(700), { tokens: 500 }), at(0, 0), OPTIONS, 0)).toBeUndefined();
  });

  test("is held only if the frontier would stay", () => {
    let heldCount = 0;
    for (let count = 1; count < 60; count++) {
      for (const dueFrom of [0, 1, 2, 3, 9, 50, NOTHING_DUE]) {
        for (const from of [at(0, 0), at(3, 0), at(6, 3)].filter(({ graduatedSeq }) => graduatedSeq <= dueFrom)) {
          for (const lastSize of [1, 3, 9]) {
            const counts = [...ones(count), lastSize];
            const all = steps(counts, { from: from.evictedSeq });
            const window = all.flatMap(({ seqFirst, messageCount }) =>
              ones(messageCount).map((_, index) => ({ seq: seqFirst + index, stepId: seqFirst })),
            );
            if (!isHeld(window, from, OPTIONS, dueFrom)) continue;
            heldCount += 1;
            expect(nextFrontier(all, from, OPTIONS, dueFrom)).toBeUndefined();
          }
        }
      }
    }
    expect(heldCount).toBeGreaterThan(100);
    // The newest message that would go is the one that waits.
    const window = ones(7).map((_, seq) => ({ seq, stepId: seq }));
    expect([1, 2, 3].map((dueFrom) => isHeld(window, at(0, 0), OPTIONS, dueFrom))).toEqual([true, true, false]);
  });

  test("is compacted up to the step that waits, and no further", () => {
    expect(compactFrontier(steps(ones(20)), at(0, 0), OPTIONS, 7)).toEqual(at(7, 7));
    expect(compactFrontier(steps(ones(20)), at(0, 0), OPTIONS, 15)).toEqual(at(15, 14));
    expect(compactFrontier(steps(ones(20)), at(0, 0), OPTIONS, 0)).toBeUndefined();
  });
});
