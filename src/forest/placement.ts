import { dot, squaredLength } from "../vector/vector.ts";
import { addStep, isFull, type OpenCluster, type StepFeatures, type VectorSum } from "./cluster.ts";
import { isContinuation } from "./requests.ts";
import { speechEvidence } from "./speech.ts";

/**
 * How much the structure of a conversation adds to the similarity of words. A weight of 1 adds 1 - `similarityMin`.
 * `scripts/calibrate.ts` shows how the weights were chosen.
 */
export interface StructureWeights {
  /** Added if the cluster holds the previous step. */
  adjacent: number;
  /** Added if the cluster's last step belongs to the same turn. */
  sameTurn: number;
  /** Added if the step's speaker, or a person it addresses, last spoke in the cluster. It counts more if many people speak. */
  heard: number;
}

export const STRUCTURE_WEIGHTS: StructureWeights = { adjacent: 0.4, sameTurn: 0.15, heard: 1 };

/** Raised when clusters or subjects are chosen otherwise. `reembed` grows a forest again that was grown by another version. */
export const PLACEMENT_VERSION = 3;

/**
 * Chooses the open cluster that a step joins: by structure in work with tools, and otherwise by its score.
 *
 * **Work with tools.** A request and the work on it are one cluster while it is open, whatever words they share and however large it
 * gets. A user's message starts a cluster, unless it goes on with the step before it (see `isContinuation`). So does the first step of
 * a turn whose message is pinned, and a task that a program gives to a subagent. Rules and a task at the beginning of a session are
 * one cluster with what comes next. Joins have no score.
 *
 * **Everything else.** Leader clustering (Hartigan, *Clustering Algorithms*, 1975, ch. 3) among the clusters that are not full.
 *
 * A cluster's score is the mean cosine of the step with the cluster's messages, plus the structural weights. A step
 * without a vector is placed by structure alone. If two scores are equal, the older root wins.
 *
 * With the default weights and a `similarityMin` of 0.35, a step joins the previous step's cluster if the mean cosine is
 * at least 0, or at least 0.1 if the step begins a turn. For an older cluster it must be at least 0.25 if that cluster
 * belongs to the same turn, and at least 0.35 otherwise.
 *
 * @param similarityMin  The least score for joining, in [-1, 1). It depends on the embedder.
 * @returns the cluster to join, and its score, which is null by structure; undefined if the step starts a cluster.
 */
export function choosePlacement(
  step: StepFeatures,
  open: readonly OpenCluster[],
  similarityMin: number,
  weights: StructureWeights = STRUCTURE_WEIGHTS,
): { root: number; score: number | null } | undefined {
  const before = open.find((cluster) => isAdjacent(step, cluster));
  if (before !== undefined && isSilent(before) && !isFull(before)) return { root: before.root, score: null };
  if (!isWork(step, open)) {
    const roomy = open.filter((cluster) => !isFull(cluster));
    return nearest(step, roomy, similarityMin, weights);
  }
  const cluster = before ?? open.find((cluster) => isSameTurn(step, cluster));
  const isNew = opensTurn(step)
    ? !(step.goesOn || isContinuation(step.text))
    : before !== undefined && step.turn !== before.turnLast; // the request is pinned, and enters no cluster
  const isRequest = isNew || isTask(step);
  return isRequest || cluster === undefined ? undefined : { root: cluster.root, score: null };
}

/**
 * Returns true if a tool has answered in the step, or in a cluster that is still open: then some step has several messages. An answer to
 * a request that fills a cluster alone is work, too. People with names talk.
 */
function isWork(step: StepFeatures, open: readonly OpenCluster[]): boolean {
  if (opensTurn(step) && step.speaker !== undefined) return false;
  if (!opensTurn(step) && open.some((cluster) => isFull(cluster) && isAdjacent(step, cluster))) return true;
  return step.messageCount > 1 || open.some(({ messageCount, stepCount }) => messageCount > stepCount);
}

function opensTurn({ turn, seqFirst }: StepFeatures): boolean {
  return turn === seqFirst;
}

/** Returns true for a message without words where no user has spoken yet: the task that a program gives to a subagent. */
function isTask({ turn, text, messageCount }: StepFeatures): boolean {
  return turn < 0 && text === "" && messageCount === 1;
}

/** Returns true for a cluster in which nobody has spoken or worked yet: its messages are the rules that a program gave, or a task. */
function isSilent({ turnLast, vectorCount, messageCount, stepCount }: OpenCluster): boolean {
  return turnLast < 0 && vectorCount === 0 && messageCount === stepCount;
}

function nearest(
  step: StepFeatures,
  open: readonly OpenCluster[],
  similarityMin: number,
  weights: StructureWeights,
): { root: number; score: number } | undefined {
  const [first] = open;
  if (first === undefined) return undefined;
  const direction = directionOf(step, first.sum.length);
  const hasDirection = direction.length > 0;
  const { heard, crowd } = speechEvidence(step, open);

  const scale = 1 - similarityMin;
  // In a crowd a message rarely answers the previous one. So adjacency counts less, unless the step has no vector.
  const adjacent = scale * weights.adjacent * (hasDirection ? 1 - crowd : 1);
  let best = { root: first.root, score: Number.NEGATIVE_INFINITY };
  for (const cluster of open) {
    const { root } = cluster;
    let score = similarityTo(cluster, direction) ?? 0;
    if (isAdjacent(step, cluster)) score += adjacent;
    if (isSameTurn(step, cluster)) score += scale * weights.sameTurn;
    score += scale * weights.heard * (heard.get(root) ?? 0);
    if (score > best.score || (score === best.score && root < best.root)) best = { root, score };
  }
  const joins = hasDirection ? best.score >= similarityMin : best.score > 0;
  return joins ? best : undefined;
}

/** The parts of a score, except the part for who speaks. */
export interface Fit {
  /** The mean cosine with the cluster's messages; undefined if one of the two has no vector. */
  similarity: number | undefined;
  /** True if the cluster holds the previous step. */
  isAdjacent: boolean;
  /** True if the cluster's last step belongs to the same turn. */
  isSameTurn: boolean;
}

export function fitOf(step: StepFeatures, cluster: OpenCluster): Fit {
  const similarity = similarityTo(cluster, directionOf(step, cluster.sum.length));
  return { similarity, isAdjacent: isAdjacent(step, cluster), isSameTurn: isSameTurn(step, cluster) };
}

/** The sum of a step's vectors, and its length. */
interface Direction {
  sum: Float32Array;
  length: number;
}

function directionOf(step: StepFeatures, dimension: number): Direction {
  const total: VectorSum = { sum: new Float32Array(dimension), vectorCount: 0 };
  addStep(total, step);
  return { sum: total.sum, length: Math.sqrt(squaredLength(total.sum)) };
}

function similarityTo({ sum, vectorCount }: OpenCluster, direction: Direction): number | undefined {
  if (direction.length === 0 || vectorCount === 0) return undefined;
  return dot(direction.sum, sum) / (direction.length * vectorCount);
}

function isAdjacent({ seqBefore }: StepFeatures, { seqLast }: OpenCluster): boolean {
  return seqLast === seqBefore;
}

function isSameTurn({ turn }: StepFeatures, { turnLast }: OpenCluster): boolean {
  return turn >= 0 && turnLast === turn;
}

/** Returns the clusters that must settle. The cluster whose last step is oldest comes first. */
export function clustersToSettle(open: readonly OpenCluster[], openClustersMax: number): OpenCluster[] {
  if (open.length <= openClustersMax) return [];
  return [...open].sort((left, right) => left.seqLast - right.seqLast).slice(0, open.length - openClustersMax);
}
