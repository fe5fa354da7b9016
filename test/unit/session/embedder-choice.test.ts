import { afterEach, expect, test, vi } from "vitest";
import { embedderNamed, embedderWithId, readingEmbedder } from "../../../src/session/embedder-choice.ts";

afterEach(() => vi.unstubAllEnvs());

test.each([
  ["hashing", undefined, "hashing-v1-384"],
  ["ollama:nomic-embed-text", undefined, "ollama:nomic-embed-text-768"],
  ["ollama:nomic-embed-text-768", undefined, "ollama:nomic-embed-text-768"],
  ["openai:text-embedding-3-large-256", undefined, "openai:text-embedding-3-large-256"],
  ["mistral:mistral-embed-2312", undefined, "mistral:mistral-embed-2312-1024"],
  ["mistral:codestral-embed-2505", 1_536, "mistral:codestral-embed-2505-1536"],
  ["voyage:voyage-3", undefined, "voyage:voyage-3-1024"],
])("%s with dimension %s is %s", (name, dimension, id) => {
  expect(embedderNamed(name, dimension, { keyless: true }).id).toBe(id);
});

test.each(["ollama:my-own-model-512", "openai:text-embedding-3-large-32", "gemini-embedding-2-768"])(
  "the id %s, which a store has, names the same embedder",
  (id) => expect(embedderWithId(id, { keyless: true }).id).toBe(id),
);

test("a store whose static model is gone is read with words only", () => {
  vi.stubEnv("COPPICE_STATIC_MODEL", "/nowhere/model");
  expect(readingEmbedder("static:model-0123456789ab-64").id).toBe("hashing-v1-384");
});
