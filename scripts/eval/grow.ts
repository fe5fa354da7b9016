import { estimatingTokenCounter } from "../../src/core/tokens.ts";
import type { StepFeatures } from "../../src/forest/cluster.ts";
import { replay } from "../../src/forest/forest.ts";
import { GrowingForest } from "../../src/forest/growing-forest.ts";
import { STRUCTURE_WEIGHTS, type StructureWeights } from "../../src/forest/placement.ts";
import { StepPlacer } from "../../src/forest/step-placer.ts";
import type { LocalEmbedder } from "../../src/models/embedder.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import type { EvalMessage } from "./cluster-data.ts";

export interface GrowOptions {
  embedder: LocalEmbedder;
  similarityMin: number;
  weights: StructureWeights;
  openClustersMax: number;
  maxThemes: number;
}

export const GROW_DEFAULTS: GrowOptions = {
  embedder: hashingEmbedder,
  similarityMin: hashingEmbedder.similarityMin,
  weights: STRUCTURE_WEIGHTS,
  openClustersMax: 64,
  maxThemes: 10,
};

/** The roots of each step's cluster and theme. */
export interface Grown {
  clusters: number[];
  themes: number[];
}

/** Returns the steps of messages. The tool messages after an assistant message belong to its step. */
export function stepsOf(messages: readonly EvalMessage[], embedder: LocalEmbedder = hashingEmbedder): StepFeatures[] {
  const groups: number[][] = [];
  for (const [index, { role }] of messages.entries()) {
    if (role === "tool" && groups.length > 0 && messages[groups.at(-1)![0]!]!.role === "assistant")
      groups.at(-1)!.push(index);
    else groups.push([index]);
  }
  let turn = -1;
  return groups.map((group) => {
    const members = group.map((index) => messages[index]!);
    const [first] = members as [EvalMessage];
    const seqFirst = group[0]!;
    if (first.role === "user") turn = seqFirst;
    return {
      id: seqFirst,
      seqFirst,
      seqLast: group.at(-1)!,
      seqBefore: seqFirst - 1,
      messageCount: group.length,
      tokenCount: members.reduce((sum, { text }) => sum + estimatingTokenCounter.count(text) + 4, 0),
      embeddings: members.map(({ text }) => embedder.embed(text)),
      turn,
      goesOn: false,
      speaker: first.name,
      text: first.text.slice(0, 500),
      createdAtMs: first.createdAtMs,
    };
  });
}

/** Adds steps to a forest one after another, as a session does. */
export function growForest(steps: readonly StepFeatures[], options: Partial<GrowOptions> = {}): Grown {
  const { embedder, ...decisionOptions } = { ...GROW_DEFAULTS, ...options };
  const decision = new StepPlacer(new GrowingForest(embedder.dimension), 0, decisionOptions);
  const clusters = steps.map((step) => decision.enter(step).cluster.root);
  const { forest } = replay(decision.log);
  return { clusters, themes: steps.map(({ id }) => forest.find(id)!.theme) };
}
