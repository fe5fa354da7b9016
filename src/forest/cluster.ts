import { addInto } from "../vector/vector.ts";
import { remember, type Speech } from "./speech.ts";

/** Room of a cluster: what one summary can still be read from, and what a reader opens at once. */
const MESSAGES_MAX = 64;
const TOKENS_MAX = 16_000;

/** A step as it enters the forest. All of it can be read from the stored messages again. */
export interface StepFeatures {
  /** Of its first message. */
  id: number;
  seqFirst: number;
  seqLast: number;
  /** Place of the last message of the step that entered before it, in any cluster; -1 if none did. */
  seqBefore: number;
  messageCount: number;
  tokenCount: number;
  /** One a message, in order of seq; undefined where a text has no words or its vector never came. */
  embeddings: readonly (Float32Array | undefined)[];
  /** seq of the user message that opened its turn; -1 before the first. */
  turn: number;
  /** The `name` of its first message. */
  speaker: string | undefined;
  /** The first few hundred characters of its first message: whoever is addressed is named there. */
  text: string;
  /** Unix milliseconds, of its first message. */
  createdAtMs: number;
}

/** A sum of embeddings, not normalized, and of how many. The centroid is its direction. */
export interface VectorSum {
  sum: Float32Array;
  vectorCount: number;
}

/** A cluster that may still take steps. Plain data: a row holds all of it, and replay makes the same bits again. */
export interface OpenCluster extends VectorSum {
  /** The first message of its first step, for ever. */
  root: number;
  messageCount: number;
  stepCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
  /** Of its last step. */
  turnLast: number;
  atMsLast: number;
  /** Who spoke in it last, oldest first: each once, a few. */
  speakers: Speech[];
}

/**
 * Add a step's embeddings to a sum, in place, one message after another in order of seq.
 *
 * Float32 addition is not associative, so every sum in the forest is made by this function and by nothing else, and
 * comes out with the same bits whenever it is made again from the log.
 */
export function addStep(total: VectorSum, { embeddings }: StepFeatures): void {
  for (const embedding of embeddings) {
    if (embedding === undefined) continue;
    addInto(total.sum, embedding);
    total.vectorCount += 1;
  }
}

/** A cluster of this step alone. */
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

/** The step becomes the newest of the cluster, in place. */
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

/** True once the cluster has no room left: it settles. One step may overshoot the room, however large it is. */
export function isFull({ messageCount, tokenCount }: Pick<OpenCluster, "messageCount" | "tokenCount">): boolean {
  return messageCount >= MESSAGES_MAX || tokenCount >= TOKENS_MAX;
}
