import { addInto } from "../vector/vector.ts";
import { remember, type Speech } from "./speech.ts";

/** The most messages and tokens of a cluster: as much as one summary can cover, and as a reader opens at once. */
const MESSAGES_MAX = 64;
const TOKENS_MAX = 16_000;

/** A step as it enters the forest. All of it can be computed again from the stored messages. */
export interface StepFeatures {
  id: number;
  seqFirst: number;
  seqLast: number;
  /** The last seq of the step that entered the forest before this one; -1 for the first step. */
  seqBefore: number;
  messageCount: number;
  tokenCount: number;
  /** One for each message, in order of seq; undefined if the text has no words or its vector never came. */
  embeddings: readonly (Float32Array | undefined)[];
  /** The seq of the user message that opened its turn; -1 before the first. */
  turn: number;
  /** The `name` of its first message. */
  speaker: string | undefined;
  /** The first few hundred characters of its first message. They name the person addressed. */
  text: string;
  /** When its first message was created, in Unix milliseconds. */
  createdAtMs: number;
}

/** A sum of embeddings, not normalized, and their number. The centroid is the direction of the sum. */
export interface VectorSum {
  sum: Float32Array;
  vectorCount: number;
}

/** A cluster that may still take steps. It is stored as a row, and replay computes the same bits again. */
export interface OpenCluster extends VectorSum {
  /** The first message of its first step. It never changes. */
  root: number;
  messageCount: number;
  stepCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
  /** The turn and the time of its last step. */
  turnLast: number;
  atMsLast: number;
  /** The last few people who spoke in it, oldest first. */
  speakers: Speech[];
}

/** Adds a step's embeddings to a sum, in place. Float32 addition is not associative, so the order of seq is kept. */
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

/** Returns true if the cluster is full and must settle. Its last step may exceed the limits. */
export function isFull({ messageCount, tokenCount }: Pick<OpenCluster, "messageCount" | "tokenCount">): boolean {
  return messageCount >= MESSAGES_MAX || tokenCount >= TOKENS_MAX;
}
