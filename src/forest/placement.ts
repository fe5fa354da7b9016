import { dot, squaredLength } from "../vector/vector.ts";
import { addStep, type OpenCluster, type StepFeatures, type VectorSum } from "./cluster.ts";
import { speechEvidence } from "./speech.ts";

/**
 * The amounts that the structure of a conversation adds to the similarity of words, as shares of the way from `similarityMin`
 * to 1, so that they mean the same with any embedder. `scripts/calibrate.ts` shows how they were chosen.
 */
export interface StructureWeights {
  /** Added if the cluster holds the step immediately before. */
  adjacent: number;
  /** Added if the cluster's last step belongs to the same turn. */
  sameTurn: number;
  /** Added if the speaker, or a person addressed, last spoke in the cluster. The more people speak, the more is added. */
  heard: number;
}

export const STRUCTURE_WEIGHTS: StructureWeights = { adjacent: 0.4, sameTurn: 0.15, heard: 1 };

/**
 * Decides which open cluster a step joins, or that it starts a new one.
 *
 * This is leader clustering (Hartigan, *Clustering Algorithms*, 1975, ch. 3): one pass without revision, so a decision can
 * be logged once and replayed. The score of a cluster is the mean cosine of the step with the cluster's messages (average
 * linkage), plus the structural weights. The centroid of a large cluster is near everything, so the cosine with it is not used.
 * For a step without a vector, only the structure counts. Of equal scores, that of the older root wins.
 *
 * With the weights above and a `similarityMin` of 0.35, a step joins the cluster of the step before it if the mean cosine is
 * at least 0 within a turn, and at least 0.1 at the start of a turn. It joins an older cluster from 0.25 within its turn, and
 * from 0.35 otherwise.
 *
 * @param open  Clusters with room, in any order, possibly none.
 * @param similarityMin  The least score for joining, inclusive, in [-1, 1), calibrated for the embedder.
 * @returns the cluster to join and its score, in [-1, 1] plus the structural terms; undefined to start a cluster.
 */
export function choosePlacement(
  step: StepFeatures,
  open: readonly OpenCluster[],
  similarityMin: number,
  weights: StructureWeights = STRUCTURE_WEIGHTS,
): { root: number; score: number } | undefined {
  const [first] = open;
  if (first === undefined) return undefined;
  const direction: VectorSum = { sum: new Float32Array(first.sum.length), vectorCount: 0 };
  addStep(direction, step);
  const length = Math.sqrt(squaredLength(direction.sum));
  const hasDirection = length > 0;
  const { heard, crowd } = speechEvidence(step, open);

  const scale = 1 - similarityMin;
  // In a crowd a message rarely answers the one before, so adjacency counts less, except for a step without a vector.
  const adjacent = scale * weights.adjacent * (hasDirection ? 1 - crowd : 1);
  let best = { root: first.root, score: Number.NEGATIVE_INFINITY };
  for (const { root, sum, vectorCount, seqLast, turnLast } of open) {
    let score = hasDirection && vectorCount > 0 ? dot(direction.sum, sum) / (length * vectorCount) : 0;
    if (seqLast === step.seqBefore) score += adjacent;
    if (step.turn >= 0 && turnLast === step.turn) score += scale * weights.sameTurn;
    score += scale * weights.heard * (heard.get(root) ?? 0);
    if (score > best.score || (score === best.score && root < best.root)) best = { root, score };
  }
  const joins = hasDirection ? best.score >= similarityMin : best.score > 0;
  return joins ? best : undefined;
}

/**
 * Returns the clusters that must settle because more than `openClustersMax` are open: those that got their last step longest
 * ago, oldest first. So placing a step costs the same at message 100 and at message 100,000.
 */
export function clustersToSettle(open: readonly OpenCluster[], openClustersMax: number): OpenCluster[] {
  if (open.length <= openClustersMax) return [];
  return [...open].sort((left, right) => left.seqLast - right.seqLast).slice(0, open.length - openClustersMax);
}
