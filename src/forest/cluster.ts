import { addInto } from "../vector/vector.ts";
import { remember, type Speech } from "./speech.ts";

/** One summary covers so much. A larger cluster has several, one after another. */
export const CLUSTER_MESSAGES_MAX = 64;
export const CLUSTER_TOKENS_MAX = 16_000;

export interface StepFeatures {
  id: number;
  seqFirst: number;
  seqLast: number;
  /** The last seq of the step that entered the forest before this one; -1 for the first step. */
  seqBefore: number;
  messageCount: number;
  tokenCount: number;
  /** One for each message, in order of seq. Undefined if the text has no words, or if the vector never came. */
  embeddings: readonly (Float32Array | undefined)[];
  /** The seq of the user message that began the step's turn; -1 if there was none. */
  turn: number;
  /** True for a user's message that was put again, word for word, and for what an agent wrote when it compacted its context. */
  goesOn: boolean;
  speaker: string | undefined;
  /** The first few hundred characters of the first message, which may name the person addressed. */
  text: string;
  /** Unix milliseconds at which the first message was created. */
  createdAtMs: number;
}

/** The sum of some embeddings, not normalized. Its direction is the centroid. */
export interface VectorSum {
  sum: Float32Array;
  vectorCount: number;
}

export interface OpenCluster extends VectorSum {
  /** The id of the first message. It never changes. */
  root: number;
  messageCount: number;
  stepCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
  turnLast: number;
  atMsLast: number;
  /** The last few people who spoke in the cluster, oldest first. */
  speakers: Speech[];
}

/** Adds a step's embeddings in place, in order of seq. Another order would give other bits. */
export function addStep(total: VectorSum, { embeddings }: StepFeatures): void {
  for (const embedding of embeddings) {
    if (embedding === undefined) continue;
    addInto(total.sum, embedding);
    total.vectorCount += 1;
  }
}

export function startCluster(step: StepFeatures, dimension: number): OpenCluster {
  const cluster: OpenCluster = {
    root: step.id,
    sum: new Float32Array(dimension),
    vectorCount: 0,
    messageCount: 0,
    stepCount: 0,
    tokenCount: 0,
    seqFirst: step.seqFirst,
    seqLast: step.seqLast,
    turnLast: step.turn,
    atMsLast: step.createdAtMs,
    speakers: [],
  };
  joinCluster(cluster, step);
  return cluster;
}

export function copyCluster(cluster: OpenCluster): OpenCluster {
  return { ...cluster, sum: cluster.sum.slice() };
}

export function joinCluster(cluster: OpenCluster, step: StepFeatures): void {
  addStep(cluster, step);
  cluster.messageCount += step.messageCount;
  cluster.stepCount += 1;
  cluster.tokenCount += step.tokenCount;
  cluster.seqLast = step.seqLast;
  cluster.turnLast = step.turn;
  cluster.atMsLast = step.createdAtMs;
  cluster.speakers = remember(cluster.speakers, step);
}

/** A full cluster of people who talk settles. Its last step may exceed the limits. */
export function isFull({ messageCount, tokenCount }: Pick<OpenCluster, "messageCount" | "tokenCount">): boolean {
  return messageCount >= CLUSTER_MESSAGES_MAX || tokenCount >= CLUSTER_TOKENS_MAX;
}
