import type { StepFeatures } from "../../src/forest/cluster.ts";
import type { Forest, LogRow } from "../../src/forest/forest.ts";

/** A step of one message at place `seq`, right after the one before it, in no turn and by nobody, unless said otherwise. */
export function stepAt(
  seq: number,
  given: Partial<StepFeatures> & { vector?: readonly number[] | undefined } = {},
): StepFeatures {
  const { vector, ...features } = given;
  return {
    id: seq + 100,
    seqFirst: seq,
    seqLast: seq,
    seqBefore: seq - 1,
    messageCount: 1,
    tokenCount: 10,
    embeddings: [vector === undefined ? undefined : new Float32Array(vector)],
    turn: -1,
    goesOn: false,
    speaker: undefined,
    text: "",
    createdAtMs: 0,
    ...features,
  };
}

/** The roots of a forest grown from a log, now or as of a position, oldest first. */
export function rootsOf(
  log: readonly LogRow[],
  forest: Forest,
  level: "cluster" | "theme",
  position = Number.POSITIVE_INFINITY,
): number[] {
  const clusters = log.filter(({ id, kind }) => kind === "start" && id <= position).map(({ node }) => node);
  return level === "cluster" ? clusters : clusters.filter((root) => forest.find(root, position)?.theme === root);
}
