import { type Embedder, isRemote } from "../models/embedder.ts";
import { nextTarget } from "../store/new-generation.ts";
import type { Repositories } from "../store/repositories.ts";

/** About the average of prose and code. The service's own count may differ, and it cuts long texts. */
const BYTES_PER_TOKEN = 4;

/** The cost of growing the forest again with another embedder. */
export interface ReembedEstimate {
  /** Ids of the embedder in use and of the new one. */
  from: string;
  to: string;
  /** Messages in the store. */
  messageCount: number;
  /** Messages whose vectors are missing. Vectors of an earlier run that was stopped count as made. */
  toEmbedCount: number;
  /** The tokens of the texts of those messages, estimated at four bytes each. */
  tokenCount: number;
  /** Estimated US dollars; 0 for a local embedder, undefined if the price is unknown. */
  costUsd: number | undefined;
  /** Themes with summaries. Those that the new forest does not have must be summarized again. */
  summarizedThemeCount: number;
}

/** Call it inside a transaction. */
export function reembedEstimate(repositories: Repositories, embedder: Embedder): ReembedEstimate {
  const { generations, reembedding, summaries } = repositories;
  const target = nextTarget(repositories, embedder.id) ?? { generation: 1, embedderId: embedder.id };
  const { messageCount: toEmbedCount, byteLength } = reembedding.unstagedCount(target);
  const tokenCount = Math.ceil(byteLength / BYTES_PER_TOKEN);
  return {
    from: generations.newest()?.embedderId ?? embedder.id,
    to: embedder.id,
    messageCount: reembedding.messageCount(),
    toEmbedCount,
    tokenCount,
    costUsd: costOf(embedder, tokenCount),
    summarizedThemeCount: summaries.standingRootCount(),
  };
}

function costOf(embedder: Embedder, tokenCount: number): number | undefined {
  if (!isRemote(embedder)) return 0;
  const { usdPerMillionTokens } = embedder;
  return usdPerMillionTokens === undefined ? undefined : (tokenCount / 1_000_000) * usdPerMillionTokens;
}
