import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LocalEmbedder } from "../../src/models/embedder.ts";
import { cosine, dot } from "../../src/vector/vector.ts";

export interface EmbedderContract {
  create: () => LocalEmbedder;
  /** Texts that have words for this embedder, two of them close in subject and one far from both. */
  close: readonly [string, string];
  far: string;
  /** Texts without words. */
  wordless: readonly string[];
}

/** What every embedder must do. */
export function describeEmbedder(name: string, { create, close, far, wordless }: EmbedderContract): void {
  describe(`${name} as an embedder`, () => {
    const embedder = create();
    const embed = (text: string) => embedder.embed(text)!;

    test("names its dimension in its id, and a threshold that is a cosine", () => {
      expect(embedder.id).toContain(String(embedder.dimension));
      expect(embedder.similarityMin).toBeGreaterThan(-1);
      expect(embedder.similarityMin).toBeLessThan(1);
    });

    test("gives unit vectors of its dimension", () => {
      for (const text of [...close, far]) {
        expect(embed(text)).toHaveLength(embedder.dimension);
        expect(dot(embed(text), embed(text))).toBeCloseTo(1, 5);
      }
    });

    test("puts texts about one subject closer together than others", () => {
      const near = cosine(embed(close[0]), embed(close[1]));
      expect(near).toBeGreaterThan(cosine(embed(close[0]), embed(far)) + 0.1);
      expect(near).toBeGreaterThan(cosine(embed(close[1]), embed(far)) + 0.1);
    });

    test("gives no vector where there are no words", () => {
      for (const text of wordless) expect(embedder.embed(text)).toBeUndefined();
    });

    test("gives the same bits again, also from another instance and after other texts", () => {
      const before = embed(close[0]);
      embed(far);
      expect(embed(close[0])).toEqual(before);
      expect(create().embed(close[0])).toEqual(before);
    });

    test("gives vectors that stay as they are when the next one is made", () => {
      const first = embed(close[0]);
      const copy = first.slice();
      embed(far);
      expect(first).toEqual(copy);
    });

    /**
     * Goal: no text makes a vector that cannot be compared.
     * Method: strings of any code units, lone surrogates included; each gives undefined or a finite unit vector.
     */
    test("is usable or undefined for any string", () => {
      let vectorCount = 0;
      fc.assert(
        fc.property(fc.string({ unit: "binary", maxLength: 300, size: "max" }), (text) => {
          const vector = embedder.embed(text);
          if (vector === undefined) return;
          vectorCount += 1;
          expect(dot(vector, vector)).toBeCloseTo(1, 5);
        }),
      );
      expect(vectorCount).toBeGreaterThan(20);
    });
  });
}
