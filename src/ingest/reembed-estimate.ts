import { type Embedder, isRemote } from "../models/embedder.ts";
import { nextTarget } from "../store/new-generation.ts";
import type { Repositories } from "../store/repositories.ts";

/** What a text of a language or of code has, about; what is sent is counted by the service, and cut where it is long. */
const BYTES_PER_TOKEN = 4;

/** What growing the forest again with another embedder would take. */
export interface ReembedEstimate {
  /** Ids of the embedders, the one in use and the other. */
  from: string;
  to: string;
  /** In the store. */
  messageCount: number;
  /** Messages whose vectors are still to be made; those of a run before that was stopped are not made again. */
  toEmbedCount: number;
  /** Of their texts, about: a token is taken for four bytes. */
  tokenCount: number;
  /** US dollars, about; 0 for an embedder on this machine, undefined where the price is not known. */
  costUsd: number | undefined;
  /** Themes that stand on summaries: of those, all but the ones that come out the same have to be summarized again. */
  summarizedThemeCount: number;
}

/** On one snapshot. */
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
