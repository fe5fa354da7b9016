import { wholeNumber } from "../core/options.ts";
import { untilAborted } from "../core/until-aborted.ts";
import type { RemoteEmbedder } from "./embedder.ts";
import { type EmbeddingPrefix, knownModel, prefixName, prefixOf } from "./openai/servers.ts";
import { invalid } from "./options.ts";
import { promptText } from "./prompt-text.ts";
import { unitVectors } from "./reply-vectors.ts";
import { Pace } from "./source-reader.ts";

/** The function that `pipeline("feature-extraction", model)` of Transformers.js returns. */
export type FeatureExtraction = (
  texts: string[],
  options: { pooling: "mean" | "cls"; normalize: boolean },
) => Promise<{ tolist(): unknown }>;

export interface TransformersEmbedderOptions {
  /** A pipeline for `feature-extraction`, which the caller has loaded. */
  pipeline: FeatureExtraction;
  /** The name of its model, with everything that changes its vectors: `Xenova/all-MiniLM-L6-v2-q8`. It becomes part of the id. */
  model: string;
  /** The length of a vector: 2 to 8,192. Default: the model's own, if Coppice knows it. */
  dimension?: number;
  /** How the vectors of tokens become one: `mean`, or `cls` for models such as BGE. Default: `mean`. */
  pooling?: "mean" | "cls";
  /** Words that the model expects before a text. Default: those that the model's makers document, if Coppice knows them. */
  prefix?: Partial<EmbeddingPrefix>;
  /** The cosine from which a step may join a cluster, in [-1, 1). Default: 0.7. `reembed --dry-run` shows a measured one. */
  similarityMin?: number;
  /** The most texts that the model reads together: 1 to 2,048. Default: 16. */
  textsMax?: number;
}

/**
 * Creates an embedder from a pipeline of Transformers.js, which runs models on this machine. Coppice does not load the library.
 *
 * @throws {StoreError} `OPTION_INVALID`. `embedAll` rejects with the signal's reason if aborted, with the pipeline's error, or with
 *   `MODEL_ANSWER_INVALID`.
 */
export function transformersEmbedder(options: TransformersEmbedderOptions): RemoteEmbedder {
  const { pipeline, model, pooling = "mean", similarityMin = 0.7, textsMax = 16 } = options;
  if (typeof pipeline !== "function") throw invalid("pipeline", "a pipeline for feature-extraction", pipeline);
  if (typeof model !== "string" || !/\S/.test(model)) throw invalid("model", "the name of the model", model);
  if (pooling !== "mean" && pooling !== "cls") throw invalid("pooling", "mean or cls", pooling);
  const known = knownModel(model);
  const dimension = options.dimension ?? known.dimension;
  wholeNumber("dimension", dimension as number, 2, 8_192);
  wholeNumber("textsMax", textsMax, 1, 2_048);
  const isCosine = typeof similarityMin === "number" && similarityMin >= -1 && similarityMin < 1;
  if (!isCosine) throw invalid("similarityMin", "a cosine below 1", similarityMin);
  const prefix = prefixOf(model, options.prefix);
  return {
    id: `transformers:${model}${prefixName(prefix, model)}-${pooling}-${dimension}`,
    dimension: dimension as number,
    similarityMin,
    textsMax,
    usdPerMillionTokens: 0,
    async embedAll({ texts, task, signal, onSend, onUsage }) {
      const pace = new Pace(signal);
      const vectors: Float32Array[] = [];
      for (let from = 0; from < texts.length; from += textsMax) {
        const batch = texts
          .slice(from, from + textsMax)
          .map((text) => prefix[task] + (promptText(text, undefined).trim() || "…"));
        onSend?.();
        const output = await untilAborted(pipeline(batch, { pooling, normalize: true }), signal);
        const values = output?.tolist?.();
        vectors.push(
          ...unitVectors(Array.isArray(values) ? values : undefined, batch.length, dimension as number, model),
        );
        const chars = batch.reduce((sum, text) => sum + text.length, 0);
        onUsage?.({ inputTokens: Math.ceil(chars / 4), outputTokens: 0, costUsd: 0 });
        await pace.worked(chars);
      }
      return vectors;
    },
  };
}
