import { describe, expect, test } from "vitest";
import { joinCluster, type OpenCluster, startCluster } from "../../../src/forest/cluster.ts";
import { choosePlacement, clustersToSettle } from "../../../src/forest/placement.ts";
import { stepAt } from "../../support/forest-steps.ts";

// Half of the way from 0.5 to 1 is 0.25: adjacency adds 0.4 of 0.5, the turn 0.15, being heard all of it.
const SIMILARITY_MIN = 0.5;
const EAST = [1, 0];
const NORTH = [0, 1];
/** Cosine 0.8 with north, 0.6 with east. */
const NORTHEAST = [0.6, 0.8];
/** Cosine 0.28 with east. */
const NORTH_BY_EAST = [0.28, 0.96];

/** A cluster of one step at `seq`; its root is `seq + 100`. */
function clusterAt(seq: number, given: Parameters<typeof stepAt>[1] = {}): OpenCluster {
  return startCluster(stepAt(seq, given), 2);
}

describe("choosePlacement by words", () => {
  test("starts a cluster where there is none", () => {
    expect(choosePlacement(stepAt(0, { vector: EAST }), [], SIMILARITY_MIN)).toBeUndefined();
  });

  test("joins the cluster it resembles most", () => {
    const open = [clusterAt(0, { vector: EAST }), clusterAt(1, { vector: NORTH })];
    const placement = choosePlacement(stepAt(9, { vector: NORTHEAST }), open, SIMILARITY_MIN);
    expect(placement).toEqual({ root: 101, score: expect.closeTo(0.8, 5) });
  });

  test("starts a cluster where nothing is near enough, and says how near it was", () => {
    const open = [clusterAt(0, { vector: EAST })];
    const placement = choosePlacement(stepAt(9, { vector: NORTH_BY_EAST }), open, SIMILARITY_MIN);
    expect(placement).toBeUndefined();
  });

  test("joins at exactly the threshold", () => {
    const open = [clusterAt(0, { vector: [0.5, 0.5, 0.5, 0.5] })];
    const placement = choosePlacement(stepAt(9, { vector: [1, 0, 0, 0] }), open, SIMILARITY_MIN);
    expect(placement).toEqual({ root: 100, score: 0.5 });
  });

  test("gives a large, mixed cluster nothing for its size", () => {
    const mixed = clusterAt(0, { vector: EAST });
    joinCluster(mixed, stepAt(1, { vector: NORTH }));
    // The centroid points northeast, at cosine 0.99; the members are at 0.6 and 0.8.
    const placement = choosePlacement(stepAt(9, { vector: NORTHEAST }), [mixed], SIMILARITY_MIN);
    expect(placement).toEqual({ root: 100, score: expect.closeTo(0.7, 5) });
  });

  test("takes the direction of all messages of the step", () => {
    const open = [clusterAt(0, { vector: EAST })];
    const step = stepAt(9, { embeddings: [new Float32Array(EAST), undefined, new Float32Array(NORTH)] });
    expect(choosePlacement(step, open, SIMILARITY_MIN)).toMatchObject({ score: expect.closeTo(Math.SQRT1_2, 5) });
  });

  test("prefers the older root between equals, whichever way round they are listed", () => {
    const open = [clusterAt(0, { vector: EAST }), clusterAt(1, { vector: EAST })];
    const step = stepAt(9, { vector: EAST });
    expect(choosePlacement(step, open, SIMILARITY_MIN)).toMatchObject({ root: 100 });
    expect(choosePlacement(step, open.toReversed(), SIMILARITY_MIN)).toMatchObject({ root: 100 });
  });
});

describe("choosePlacement by structure", () => {
  test("stays more easily with the step right before", () => {
    const open = [clusterAt(8, { vector: [0.4, Math.sqrt(0.84)] })];
    const near = { vector: EAST };
    expect(choosePlacement(stepAt(9, near), open, SIMILARITY_MIN)).toEqual({
      root: 108,
      score: expect.closeTo(0.6, 5),
    });
    expect(choosePlacement(stepAt(10, near), open, SIMILARITY_MIN)).toBeUndefined();
  });

  test("finds the step right before past messages that entered no cluster", () => {
    const open = [clusterAt(5, { vector: [0.4, Math.sqrt(0.84)] })];
    expect(choosePlacement(stepAt(9, { vector: EAST, seqBefore: 5 }), open, SIMILARITY_MIN)).toBeDefined();
  });

  test("stays more easily within its turn", () => {
    const open = [clusterAt(3, { vector: [0.43, Math.sqrt(1 - 0.43 ** 2)], turn: 2 })];
    expect(choosePlacement(stepAt(9, { vector: EAST, turn: 2 }), open, SIMILARITY_MIN)).toEqual({
      root: 103,
      score: expect.closeTo(0.505, 5),
    });
    expect(choosePlacement(stepAt(9, { vector: EAST, turn: 7 }), open, SIMILARITY_MIN)).toBeUndefined();
  });

  test("sees no turn before the first user message", () => {
    const open = [clusterAt(3, { vector: [0.43, Math.sqrt(1 - 0.43 ** 2)], turn: -1 })];
    expect(choosePlacement(stepAt(9, { vector: EAST, turn: -1 }), open, SIMILARITY_MIN)).toBeUndefined();
  });

  test("leaves the step before for a cluster that is clearly nearer", () => {
    const open = [clusterAt(0, { vector: EAST }), clusterAt(8, { vector: NORTH_BY_EAST })];
    expect(choosePlacement(stepAt(9, { vector: EAST }), open, SIMILARITY_MIN)).toMatchObject({ root: 100 });
  });
});

describe("choosePlacement by speakers", () => {
  /** Four people, each in a cluster of their own, about east, north, east, north. */
  const channel = () =>
    ["ann", "bob", "cem", "dia"].map((speaker, seq) =>
      clusterAt(seq, { speaker, vector: seq % 2 === 0 ? EAST : NORTH }),
    );

  test("goes where the one addressed was heard last, against the words", () => {
    const step = stepAt(9, { speaker: "eve", text: "bob: try the other cable", vector: NORTH_BY_EAST });
    // 0.96 with both northern clusters; each name has a quarter of the channel, so hearing bob adds half of 0.5.
    expect(choosePlacement(step, channel(), SIMILARITY_MIN)).toEqual({
      root: 101,
      score: expect.closeTo(1.21, 5),
    });
    const stranger = { ...step, text: "ann: try the other cable", embeddings: [new Float32Array([0.3, 0.1])] };
    expect(choosePlacement(stranger, channel(), SIMILARITY_MIN)).toMatchObject({ root: 100 });
  });

  test("trusts the step before less in a crowd", () => {
    // Cosine 0.35 with dia, who came right before, and away from east. A fifth voice among four gets half of the 0.2.
    const step = stepAt(4, { vector: [-Math.sqrt(1 - 0.35 ** 2), 0.35] });
    expect(choosePlacement(step, channel(), SIMILARITY_MIN)).toEqual({
      root: 103,
      score: expect.closeTo(0.55, 5),
    });
    expect(choosePlacement({ ...step, speaker: "eve" }, channel(), SIMILARITY_MIN)).toBeUndefined();
  });
});

describe("choosePlacement without a vector", () => {
  test("follows the step before", () => {
    const open = [clusterAt(3, { vector: EAST }), clusterAt(8, { vector: EAST })];
    expect(choosePlacement(stepAt(9), open, SIMILARITY_MIN)).toMatchObject({ root: 108 });
  });

  test("stays in its turn where the cluster of the step before has settled", () => {
    const open = [clusterAt(3, { vector: EAST, turn: 2 }), clusterAt(4, { vector: EAST, turn: 4 })];
    expect(choosePlacement(stepAt(9, { turn: 2 }), open, SIMILARITY_MIN)).toMatchObject({ root: 103 });
  });

  test("starts a cluster where structure says nothing", () => {
    const open = [clusterAt(3, { vector: EAST })];
    expect(choosePlacement(stepAt(9), open, SIMILARITY_MIN)).toBeUndefined();
  });

  test("is followed by the rest of its turn", () => {
    const open = [clusterAt(8, { turn: 8 })];
    // Nothing to compare with: 0.2 and 0.075 are short of 0.5, and enough for the calibrated threshold of 0.35.
    expect(choosePlacement(stepAt(9, { vector: EAST, turn: 8 }), open, 0.5)).toBeUndefined();
    expect(choosePlacement(stepAt(9, { vector: EAST, turn: 8 }), open, 0.35)).toMatchObject({
      root: 108,
    });
  });
});

describe("clustersToSettle", () => {
  const open = () => [clusterAt(5), clusterAt(1), clusterAt(9)];

  test("names those touched longest ago, oldest first", () => {
    const touched = open();
    joinCluster(touched[1]!, stepAt(10)); // rooted first, touched last
    expect(clustersToSettle(touched, 1).map(({ root }) => root)).toEqual([105, 109]);
  });

  test("names none while there is room", () => {
    expect(clustersToSettle(open(), 3)).toEqual([]);
  });
});

describe("choosePlacement in work with tools", () => {
  const answered = (seq: number, given: Parameters<typeof stepAt>[1] = {}) =>
    stepAt(seq, { messageCount: 2, embeddings: [undefined, undefined], seqLast: seq + 1, ...given });
  /** A request at 0 and a call with its result, in one cluster. */
  const worked = (): OpenCluster => {
    const cluster = clusterAt(0, { vector: EAST, turn: 0 });
    joinCluster(cluster, answered(1, { turn: 0 }));
    return cluster;
  };
  const asked = { vector: NORTH, turn: 3, seqBefore: 2 };

  test("keeps the work with its request, whatever words it has", () => {
    const step = stepAt(3, { vector: NORTH, turn: 0, seqBefore: 2 });
    expect(choosePlacement(step, [worked()], SIMILARITY_MIN)).toEqual({ root: 100, score: null });
    const first = answered(1, { vector: NORTH, turn: 0 });
    expect(choosePlacement(first, [clusterAt(0, { vector: EAST, turn: 0 })], SIMILARITY_MIN)).toMatchObject({
      root: 100,
    });
  });

  test("starts a cluster for each new request, however near it is", () => {
    const step = stepAt(3, { ...asked, vector: EAST, text: "Release the stale lock of a session when it ends" });
    expect(choosePlacement(step, [worked()], SIMILARITY_MIN)).toBeUndefined();
  });

  test("starts a cluster for the work on a pinned request, which enters none itself", () => {
    const step = answered(4, { vector: EAST, turn: 3, seqBefore: 2 });
    expect(choosePlacement(step, [worked()], SIMILARITY_MIN)).toBeUndefined();
    const further = clusterAt(4, { turn: 3 });
    joinCluster(further, answered(5, { turn: 3 }));
    expect(choosePlacement(answered(7, { turn: 3, seqBefore: 6 }), [worked(), further], SIMILARITY_MIN)).toEqual({
      root: 104,
      score: null,
    });
  });

  test("goes on where the user does, or puts the request again", () => {
    const yes = stepAt(3, { ...asked, text: "yes, go on" });
    expect(choosePlacement(yes, [worked()], SIMILARITY_MIN)).toEqual({ root: 100, score: null });
    const again = stepAt(3, { ...asked, text: "Release the stale lock of a session", goesOn: true });
    expect(choosePlacement(again, [worked()], SIMILARITY_MIN)).toEqual({ root: 100, score: null });
  });

  test("leaves people with names to their words", () => {
    const step = stepAt(3, { ...asked, vector: EAST, speaker: "ann", text: "Release the stale lock of a session" });
    expect(choosePlacement(step, [worked()], SIMILARITY_MIN)).toMatchObject({ root: 100, score: expect.any(Number) });
  });

  test("starts a cluster for the task of each subagent, and keeps the work on it together", () => {
    const cluster = clusterAt(0);
    joinCluster(cluster, answered(1));
    const task = stepAt(3, { seqBefore: 2 });
    expect(choosePlacement(task, [cluster], SIMILARITY_MIN)).toBeUndefined();
    const work = stepAt(3, { seqBefore: 2, text: "Read src/lock.ts", vector: NORTH });
    expect(choosePlacement(work, [cluster], SIMILARITY_MIN)).toMatchObject({ root: 100, score: null });
  });

  test("keeps the rules or the task at the beginning of a session with what comes next, so that neither is a tree of its own", () => {
    const cluster = clusterAt(0);
    const next = stepAt(1, { seqBefore: 0, text: "Oil the gate", vector: NORTH });
    expect(choosePlacement(next, [cluster], SIMILARITY_MIN)).toEqual({ root: 100, score: null });
    expect(choosePlacement({ ...next, turn: 1 }, [cluster], SIMILARITY_MIN)).toEqual({ root: 100, score: null });
  });
});
