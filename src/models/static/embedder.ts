import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { StoreError } from "../../core/errors.ts";
import { TEXT_GRAPHEMES_MAX } from "../../core/limits.ts";
import { isUsable, normalize } from "../../vector/vector.ts";
import type { LocalEmbedder } from "../embedder.ts";
import { checkSimilarityMin, invalid } from "../options.ts";
import { readMatrix } from "./safetensors.ts";
import { tokenizerOf } from "./tokenizer.ts";

export interface StaticEmbedderOptions {
  /** The folder with `tokenizer.json` and `model.safetensors`. */
  folder: string;
  /** The cosine from which a step may join a cluster, in [-1, 1). Default: 0.5. `reembed --dry-run` shows a measured one. */
  similarityMin?: number;
}

/** Later tokens of a text do not count, as in the model's own library. */
const TOKENS_MAX = 512;

/**
 * Creates an embedder from a static model in the format of model2vec: each token has a vector, and the vector of a text is
 * their mean. It runs in this process and is synchronous, so appends never wait for vectors, and no text leaves the machine.
 *
 * Its id contains a hash of the tokenizer and the matrix.
 *
 * @throws {StoreError} `OPTION_INVALID` if the folder has no such model, or one that is not supported.
 */
export function staticEmbedder({ folder, similarityMin = 0.5 }: StaticEmbedderOptions): LocalEmbedder {
  checkSimilarityMin(similarityMin);
  if (typeof folder !== "string") throw invalid("folder", "the path of a folder", folder);
  const [tokenizerBytes, { tokenize, vocabularySize }] = read(folder, "tokenizer.json", (bytes) =>
    tokenizerOf(JSON.parse(bytes.toString("utf8"))),
  );
  const [matrixBytes, matrix] = read(folder, "model.safetensors", (bytes) => {
    const found = readMatrix(bytes, "embeddings");
    if (found.rowCount >= vocabularySize) return found;
    throw new Error(`it has ${found.rowCount} vectors for ${vocabularySize} tokens`);
  });
  const { values, columnCount: dimension, rowCount } = matrix;
  const hash = createHash("sha256").update(tokenizerBytes).update(matrixBytes).digest("hex").slice(0, 12);
  return {
    id: `static:${basename(resolve(folder))}-${hash}-${dimension}`,
    dimension,
    similarityMin,
    embed(text) {
      const sums = new Float64Array(dimension);
      for (const id of tokenize(text.slice(0, TEXT_GRAPHEMES_MAX)).slice(0, TOKENS_MAX)) {
        if (id >= rowCount) continue;
        const start = id * dimension;
        for (let index = 0; index < dimension; index++) sums[index]! += values[start + index]!;
      }
      const length = Math.sqrt(sums.reduce((sum, value) => sum + value * value, 0));
      const vector = Float32Array.from(sums, (value) => value / length);
      return length > 0 && isUsable(vector) ? normalize(vector) : undefined;
    },
  };
}

function read<T>(folder: string, file: string, parse: (bytes: Buffer) => T): [Buffer, T] {
  try {
    const bytes = readFileSync(join(folder, file));
    return [bytes, parse(bytes)];
  } catch (error) {
    if (StoreError.is(error)) throw error;
    throw invalid("folder", "a folder with a WordPiece model of model2vec", `${file}: ${(error as Error).message}`);
  }
}
