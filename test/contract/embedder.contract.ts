import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Embedder,
  type EmbedRequest,
  isRemote,
  type LocalEmbedder,
  type RemoteEmbedder,
} from "../../src/models/embedder.ts";
import { cosine, dot } from "../../src/vector/vector.ts";

export interface EmbedderContract<E extends Embedder> {
  create: () => E;
  /** Texts that have words for this embedder, two of them close in subject and one far from both. */
  close: readonly [string, string];
  far: string;
}

export interface LocalEmbedderContract extends EmbedderContract<LocalEmbedder> {
  /** Texts without words. */
  wordless: readonly string[];
}

/** A request for the vectors of documents, unless told otherwise. */
export const requestOf = (texts: readonly string[], more: Partial<EmbedRequest> = {}): EmbedRequest => ({
  texts,
  task: "document",
  signal: new AbortController().signal,
  ...more,
});

async function vectorsOf(embedder: Embedder, ...texts: string[]): Promise<Float32Array[]> {
  return isRemote(embedder) ? embedder.embedAll(requestOf(texts)) : texts.map((text) => embedder.embed(text)!);
}

/** Strings of any code units, lone surrogates included. */
const ANY_STRING = fc.string({ unit: "binary", maxLength: 300, size: "max" });

/** What every embedder must do, wherever it is. */
function describeAnyEmbedder({ create, close, far }: EmbedderContract<Embedder>): void {
  test("names its dimension in its id, and a threshold that is a cosine", () => {
    const { id, dimension, similarityMin } = create();
    expect(id).toContain(String(dimension));
    expect(similarityMin).toBeGreaterThan(-1);
    expect(similarityMin).toBeLessThan(1);
  });

  test("gives unit vectors of its dimension", async () => {
    const embedder = create();
    for (const vector of await vectorsOf(embedder, ...close, far)) {
      expect(vector).toHaveLength(embedder.dimension);
      expect(dot(vector, vector)).toBeCloseTo(1, 5);
    }
  });

  test("puts texts about one subject closer together than others", async () => {
    const [left, right, other] = (await vectorsOf(create(), ...close, far)) as [
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    expect(cosine(left, right)).toBeGreaterThan(cosine(left, other) + 0.1);
    expect(cosine(left, right)).toBeGreaterThan(cosine(right, other) + 0.1);
  });

  test("gives the same bits again, also from another instance and after other texts", async () => {
    const embedder = create();
    const before = await vectorsOf(embedder, close[0]);
    await vectorsOf(embedder, far);
    expect(await vectorsOf(embedder, close[0])).toEqual(before);
    expect(await vectorsOf(create(), close[0])).toEqual(before);
  });
}

export function describeLocalEmbedder(name: string, contract: LocalEmbedderContract): void {
  describe(`${name} as a local embedder`, () => {
    describeAnyEmbedder(contract);

    test("gives no vector where there are no words", () => {
      for (const text of contract.wordless) expect(contract.create().embed(text)).toBeUndefined();
    });

    // Goal: no text makes a vector that cannot be compared.
    test("is usable or undefined for any string", () => {
      const embedder = contract.create();
      let vectorCount = 0;
      fc.assert(
        fc.property(ANY_STRING, (text) => {
          const vector = embedder.embed(text);
          if (vector === undefined) return;
          vectorCount += 1;
          expect(dot(vector, vector)).toBeCloseTo(1, 5);
        }),
      );
      expect(vectorCount).toBeGreaterThan(10);
    });
  });
}

export function describeRemoteEmbedder(name: string, contract: EmbedderContract<RemoteEmbedder>): void {
  const { create, close, far } = contract;

  describe(`${name} as a remote embedder`, () => {
    describeAnyEmbedder(contract);

    test("gives each text its own vector, whatever it is sent with", async () => {
      const embedder = create();
      const [left] = await vectorsOf(embedder, close[0]);
      const [other] = await vectorsOf(embedder, far);
      expect(await vectorsOf(embedder, far, close[0], far)).toEqual([other, left, other]);
    });

    test("gives as many vectors as it takes texts", async () => {
      const embedder = create();
      const texts = Array.from({ length: embedder.textsMax }, (_, index) => (index % 2 === 0 ? far : close[0]));
      const vectors = await vectorsOf(embedder, ...texts);
      expect(vectors).toHaveLength(embedder.textsMax);
      expect(vectors.at(-1)).toEqual((await vectorsOf(embedder, texts.at(-1)!))[0]);
    });

    test("finds the text that a query is about", async () => {
      const embedder = create();
      const [query] = await embedder.embedAll(requestOf([close[0]], { task: "query" }));
      const [about, other] = await vectorsOf(embedder, close[1], far);
      expect(cosine(query!, about!)).toBeGreaterThan(cosine(query!, other!));
    });

    test("keeps calls apart that are under way at once", async () => {
      const embedder = create();
      const one = await Promise.all([close[0], far, close[1]].map((text) => vectorsOf(embedder, text)));
      expect(one.flat()).toEqual(await vectorsOf(embedder, close[0], far, close[1]));
    });

    // Goal: no text in a batch costs the others their vectors, or makes one that cannot be compared.
    test("has a unit vector for any string", async () => {
      const embedder = create();
      const texts = fc.sample(ANY_STRING, Math.min(100, embedder.textsMax));
      const vectors = await vectorsOf(embedder, ...texts.map((text) => text || "x"));
      for (const vector of vectors) expect(dot(vector, vector)).toBeCloseTo(1, 5);
      expect(vectors).toHaveLength(texts.length);
    });

    test("rejects with the signal's reason, at once or while it waits", async () => {
      const embedder = create();
      const reason = new Error("closing");
      const aborted = embedder.embedAll(requestOf([far], { signal: AbortSignal.abort(reason) }));
      await expect(aborted).rejects.toBe(reason);
      const controller = new AbortController();
      const waiting = embedder.embedAll(requestOf([far], { signal: controller.signal }));
      controller.abort(reason);
      await expect(waiting).rejects.toBe(reason);
      expect(await vectorsOf(embedder, far)).toHaveLength(1);
    });

    test("tells what was paid", async () => {
      let inputTokens = 0;
      const onUsage: EmbedRequest["onUsage"] = (usage) => {
        inputTokens += usage.inputTokens;
      };
      await create().embedAll(requestOf([...close, far], { onUsage }));
      expect(inputTokens).toBeGreaterThanOrEqual(3);
    });
  });
}
