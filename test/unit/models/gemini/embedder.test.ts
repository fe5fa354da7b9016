import { expect, test } from "vitest";
import { type EmbedRequest, type GeminiEmbedderOptions, geminiEmbedder } from "../../../../src/index.ts";
import { cosine, squaredLength } from "../../../../src/vector/vector.ts";
import { TEST_KEY } from "../../../support/gemini-faults.ts";
import { type GeminiServer, geminiServer } from "../../../support/gemini-server.ts";

const embedderAt = ({ url }: GeminiServer, options: GeminiEmbedderOptions = {}) =>
  geminiEmbedder({ apiKey: TEST_KEY, baseUrl: url, ...options });

const requestOf = (texts: readonly string[], more: Partial<EmbedRequest> = {}): EmbedRequest => ({
  texts,
  task: "document",
  signal: new AbortController().signal,
  ...more,
});

/** The texts of each request, as they came. */
const sentTo = ({ requests }: GeminiServer): string[][] =>
  requests.map(({ body }) => body.requests!.map(({ content }) => content.parts.map(({ text }) => text).join("|")));

test("a vector for each text, in their order, of unit length", async () => {
  const server = await geminiServer();
  const embedder = embedderAt(server, { dimension: 256 });
  const [lock, bread, again] = await embedder.embedAll(
    requestOf(["The lock is held.", "Bake bread.", "The lock is held."]),
  );
  expect(lock).toHaveLength(256);
  expect(squaredLength(lock!)).toBeCloseTo(1, 6);
  expect(again).toEqual(lock);
  expect(cosine(lock!, bread!)).toBeCloseTo(0.55, 5);
  expect(embedder.id).toBe("gemini-embedding-2-256");
  expect(server.requests).toHaveLength(1);
});

test("the task stands before the text, or beside it for the model that knows it so", async () => {
  const server = await geminiServer();
  await embedderAt(server).embedAll(requestOf(["What fails?"], { task: "query" }));
  await embedderAt(server).embedAll(requestOf(["The lock."]));
  const old = embedderAt(server, { model: "gemini-embedding-001" });
  await old.embedAll(requestOf(["What fails?"], { task: "query" }));
  await old.embedAll(requestOf(["The lock."]));
  expect(sentTo(server).flat()).toEqual([
    "task: search result | query: What fails?",
    "title: none | text: The lock.",
    "What fails?",
    "The lock.",
  ]);
  expect(server.requests.map(({ body }) => body.requests![0]!.taskType)).toEqual([
    undefined,
    undefined,
    "RETRIEVAL_QUERY",
    "RETRIEVAL_DOCUMENT",
  ]);
  expect(old.id).toBe("gemini-embedding-001-768");
});
