import { describe, expect, test } from "vitest";
import { addStep, isFull, joinCluster, startCluster } from "../../../src/forest/cluster.ts";
import { stepAt } from "../../support/forest-steps.ts";

describe("startCluster", () => {
  test("is named after the step's first message and holds what the step holds", () => {
    const step = stepAt(4, { seqLast: 6, messageCount: 3, tokenCount: 70, turn: 2, createdAtMs: 1000, vector: [1, 0] });
    expect(startCluster(step, 2)).toEqual({
      root: 104,
      sum: new Float32Array([1, 0]),
      vectorCount: 1,
      messageCount: 3,
      stepCount: 1,
      tokenCount: 70,
      seqFirst: 4,
      seqLast: 6,
      turnLast: 2,
      atMsLast: 1000,
      speakers: [],
    });
  });
});

describe("joinCluster", () => {
  test("keeps the root and the first place, and moves everything that tells of the last step", () => {
    const cluster = startCluster(stepAt(4, { vector: [1, 0] }), 2);
    joinCluster(
      cluster,
      stepAt(8, { seqLast: 9, messageCount: 2, turn: 8, createdAtMs: 5, speaker: "Ann", vector: [0, 1] }),
    );
    expect(cluster).toEqual({
      root: 104,
      sum: new Float32Array([1, 1]),
      vectorCount: 2,
      messageCount: 3,
      stepCount: 2,
      tokenCount: 20,
      seqFirst: 4,
      seqLast: 9,
      turnLast: 8,
      atMsLast: 5,
      speakers: [{ name: "ann", seq: 8, atMs: 5 }],
    });
  });
});

describe("addStep", () => {
  test("adds the messages one by one in order, rounding each time", () => {
    const total = { sum: new Float32Array([16777216]), vectorCount: 1 }; // 2^24 + 1 is no Float32
    const ones = [new Float32Array([1]), undefined, new Float32Array([1])];
    addStep(total, stepAt(0, { embeddings: ones }));
    expect(total).toEqual({ sum: new Float32Array([16777216]), vectorCount: 3 });
  });
});

describe("isFull", () => {
  test.each([
    [63, 15_999, false],
    [64, 10, true],
    [2, 16_000, true],
  ])("with %i messages and %i tokens", (messageCount, tokenCount, expected) => {
    expect(isFull(startCluster(stepAt(0, { messageCount, tokenCount }), 2))).toBe(expected);
  });
});
