import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { encodeVector } from "../../src/vector/codec.ts";
import { cosine } from "../../src/vector/vector.ts";
import { describeLocalEmbedder } from "./embedder.contract.ts";

describeLocalEmbedder("hashing", {
  create: () => hashingEmbedder,
  close: ["The session lock in lock.ts is never released", "releasing locks: lock.ts forgets its session"],
  far: "Bake the bread at 230 degrees for forty minutes",
  wordless: ["", "  \n", "... --- !!!", "🎉"],
});

describe("the hashing embedder", () => {
  test.each(["Do it again.", "ok", "a b c", "deadbeef".repeat(8), "是"])(
    "has a vector for %j: common words are words",
    (text) => {
      expect(hashingEmbedder.embed(text)).toBeDefined();
    },
  );

  const embed = (text: string) => hashingEmbedder.embed(text)!;

  test("weighs a word by the square root of its count", () => {
    // Orthogonal words with counts 4 and 1: lengths 2 and 1, so the cosine with the frequent one is 2/√5.
    expect(cosine(embed("lock"), embed("bread"))).toBe(0);
    expect(cosine(embed("lock lock lock lock bread"), embed("lock"))).toBeCloseTo(0.8944, 4);
  });

  test("sees an identifier in its pieces, and the same file under another folder", () => {
    expect(cosine(embed("parseBody"), embed("parse the body"))).toBeGreaterThan(0.7);
    expect(cosine(embed("src/store/open.ts"), embed("lib/open.ts"))).toBeGreaterThan(0.5);
  });

  test("compares texts without spaces between their words", () => {
    expect(cosine(embed("データベースを開く"), embed("データベースを閉じる"))).toBeGreaterThan(0.5);
  });

  // Vectors are stored for years: another result needs another id.
  test("gives the bits it always gave", () => {
    const text = "Why did readFile() in src/store/open.ts fail with EACCES? 権限エラー retries: 3 of 12";
    expect(
      createHash("sha256")
        .update(encodeVector(embed(text)))
        .digest("hex")
        .slice(0, 16),
    ).toBe("fb8d47cc0a745d14");
    expect(hashingEmbedder.id).toBe("hashing-v1-384");
  });
});
