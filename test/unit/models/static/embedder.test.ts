import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { openStore, staticEmbedder } from "../../../../src/index.ts";
import { embedderById } from "../../../../src/models/embedders.ts";
import { tokenizerOf } from "../../../../src/models/static/tokenizer.ts";
import { cosine } from "../../../../src/vector/vector.ts";
import { STATIC_DIMENSION, type StaticModelParts, staticModel } from "../../../support/static-model.ts";
import { temporaryPath } from "../../../support/temporary-store.ts";

describe("a tokenizer", () => {
  const folder = staticModel();
  const file = JSON.parse(readFileSync(join(folder, "tokenizer.json"), "utf8"));
  const { tokenize } = tokenizerOf(file);
  const words = Object.entries(file.model.vocab as Record<string, number>);
  const pieces = (text: string): string =>
    tokenize(text)
      .map((id) => words.find(([, other]) => other === id)![0])
      .join(" ");

  test.each([
    ["The LOCK is never released.", "the lock is never released ."],
    ["unlocks", "un ##lock ##s"],
    ["unlocking the car", "un ##lock ##ing the car"],
    ["Café", "cafe"],
    ["bake中文bread", "bake 中 文 bread"],
    ["re-bake?", "re - bake ?"],
    ["lock\u0000\u200b latch", "lock latch"],
    ["lock☃ car", "car"],
    [`${"a".repeat(101)} car`, "car"],
    ["", ""],
  ])("makes of %j the pieces %j", (text, expected) => {
    expect(pieces(text)).toBe(expected);
  });

  test("that is not supported is refused by name", () => {
    expect(() => tokenizerOf({ ...file, model: { type: "Unigram", vocab: [] } })).toThrow("its model is Unigram");
    expect(() => tokenizerOf({ ...file, normalizer: { type: "Precompiled" } })).toThrow("its normalizer Precompiled");
    expect(() => tokenizerOf({ ...file, pre_tokenizer: { type: "Metaspace" } })).toThrow("its pre-tokenizer Metaspace");
  });
});

test("a text is the mean of its tokens, so words of one meaning are near", () => {
  const { embed } = staticEmbedder({ folder: staticModel() });
  const car = embed("car")!;
  expect(cosine(car, embed("the automobile")!)).toBeGreaterThan(0.8);
  expect(cosine(car, embed("bread")!)).toBeLessThan(0.5);
  expect(embed("car bread")).toEqual(embed("bread car"));
});

test("numbers of 16 bits give nearly the same vectors as those of 32", () => {
  const whole = staticEmbedder({ folder: staticModel() });
  const half = staticEmbedder({ folder: staticModel({ dtype: "F16" }) });
  expect(cosine(whole.embed("release the lock")!, half.embed("release the lock")!)).toBeGreaterThan(0.9999);
  expect(half.id).not.toBe(whole.id);
});

describe("an id", () => {
  test("names the folder, the contents and the dimension", () => {
    const folder = staticModel();
    const { id } = staticEmbedder({ folder });
    expect(id).toMatch(new RegExp(`^static:coppice-static-\\w+-[0-9a-f]{12}-${STATIC_DIMENSION}$`));
    vi.stubEnv("COPPICE_STATIC_MODEL", folder);
    expect(embedderById(id).id).toBe(id);
    vi.stubEnv("COPPICE_STATIC_MODEL", staticModel());
    expect(() => embedderById(id)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    vi.unstubAllEnvs();
  });
});

const BROKEN: Record<string, [StaticModelParts, string]> = {
  "a matrix that is cut off": [{ weights: (bytes) => bytes.subarray(0, -1) }, "it is cut off"],
  "another file": [{ weights: () => Buffer.from("hello world") }, "it is no safetensors file"],
  "a header that is not JSON": [
    { weights: (bytes) => Buffer.concat([bytes.subarray(0, 8), Buffer.from("x"), bytes.subarray(9)]) },
    "its header is not JSON",
  ],
  "another tensor": [{ tensor: "weights" }, "it has the tensors weights"],
  "more tokens than vectors": [
    { tokenizer: ({ model, ...file }) => ({ ...file, model: { ...(model as object), vocab: manyWords() } }) },
    "vectors for 500 tokens",
  ],
};

test.each(Object.entries(BROKEN))("%s is refused", (_, [parts, reason]) => {
  const make = () => staticEmbedder({ folder: staticModel(parts) });
  expect(make).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  expect(make).toThrow(reason);
});

test("a missing folder is refused", () => {
  expect(() => staticEmbedder({ folder: "/nowhere" })).toThrow("tokenizer.json: ENOENT");
});

test("an append has its vector at once, and is found by meaning", async () => {
  const store = openStore(temporaryPath(), { embedder: staticEmbedder({ folder: staticModel() }) });
  store.session("s").append({ role: "user", content: "The automobile is a vehicle." });
  store.session("s").append({ role: "user", content: "Bake bread for the oven." });
  expect(store.stats().pendingVectorCount).toBe(0);
  const [hit] = await store.recall("drive a car");
  expect(hit!.text).toBe("The automobile is a vehicle.");
  store.close();
});

function manyWords(): Record<string, number> {
  return Object.fromEntries(Array.from({ length: 500 }, (_, id) => [`word${id}`, id]));
}
