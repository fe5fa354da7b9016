import type { EmbedRequest, LocalEmbedder, RemoteEmbedder } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { normalize } from "../../src/vector/vector.ts";

/** A local embedder that sees other likenesses than the default one: by letters, three in a row, in 96 numbers. */
export const letterEmbedder: LocalEmbedder = {
  id: "letters-96",
  dimension: 96,
  similarityMin: 0.55,
  embed(text) {
    const vector = new Float32Array(96);
    const letters = text.toLowerCase().replace(/[^a-z]/g, "");
    for (let index = 0; index + 3 <= letters.length; index++) {
      let hash = 7;
      for (let at = index; at < index + 3; at++) hash = (hash * 31 + letters.charCodeAt(at)) % 96_001;
      vector[hash % 96] = vector[hash % 96]! + 1;
    }
    return letters.length < 3 ? undefined : normalize(vector);
  },
};

export interface ScriptedRemote extends RemoteEmbedder {
  /** Every request there was. */
  readonly requests: EmbedRequest[];
}

/**
 * The same vectors from afar.
 *
 * @param answer  Called before each answer with the number of the request, from 1; what it throws is the answer.
 */
export function remoteLetters(answer: (request: number) => void = () => {}, textsMax = 10): ScriptedRemote {
  const requests: EmbedRequest[] = [];
  return {
    id: "remote-letters-96",
    dimension: 96,
    similarityMin: 0.55,
    textsMax,
    usdPerMillionTokens: 0.2,
    requests,
    async embedAll(request) {
      requests.push(request);
      await Promise.resolve();
      answer(requests.length);
      request.onUsage?.({ inputTokens: request.texts.length, outputTokens: 0, costUsd: 0.5 });
      // A remote one has a vector for anything.
      return request.texts.map((text) => letterEmbedder.embed(text) ?? letterEmbedder.embed("nothing")!);
    },
  };
}

/** The default embedder under another name: what it groups stays, so summaries do. */
export const renamedEmbedder: LocalEmbedder = { ...hashingEmbedder, id: "renamed-384" };
