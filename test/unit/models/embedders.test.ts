import { expect, test, vi } from "vitest";
import { embedderById } from "../../../src/models/embedders.ts";
import { hashingEmbedder } from "../../../src/models/hashing-embedder.ts";

test("an id names the embedder that has it", () => {
  expect(embedderById("hashing-v1-384")).toBe(hashingEmbedder);
  for (const id of ["gemini-embedding-001-768", "gemini-embedding-2-1536", "gemini-embedding-2-preview-256"]) {
    expect(embedderById(id, { apiKey: "k" })).toMatchObject({ id, dimension: Number(id.split("-").at(-1)) });
  }
});

test("a key comes from the environment, and is missed where there is none", () => {
  vi.stubEnv("GOOGLE_API_KEY", undefined);
  vi.stubEnv("GEMINI_API_KEY", "k");
  expect(embedderById("gemini-embedding-2-768").id).toBe("gemini-embedding-2-768");
  vi.stubEnv("GEMINI_API_KEY", undefined);
  expect(() => embedderById("gemini-embedding-2-768")).toThrow("There is no key for gemini-embedding-2.");
  vi.unstubAllEnvs();
});

test.each([
  "",
  "hashing-v2-384",
  "gemini-embedding-2",
  "gemini-embedding-2-42",
  "gemini-embedding-001",
  "text-embedding-3-small-1536",
])("%j is no embedder's", (id) => {
  expect(() => embedderById(id, { apiKey: "k" })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
});
