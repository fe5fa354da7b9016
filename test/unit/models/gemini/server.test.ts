import { GoogleGenAI } from "@google/genai";
import { expect, test } from "vitest";
import { cosine, squaredLength } from "../../../../src/vector/vector.ts";
import { failure, type GeminiServer, geminiServer } from "../../../support/gemini-server.ts";

// The server of the tests, as the real client sees it.

const clientOf = ({ url }: GeminiServer) => new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: url } });

test("embeds each content, in the dimension that was asked for, the same text alike, near where words are shared", async () => {
  const server = await geminiServer();
  const texts = ["the session lock", "a lock of the session", "bread in the oven", "the session lock"];
  const contents = texts.map((text) => ({ role: "user", parts: [{ text }] }));
  const config = { outputDimensionality: 500, taskType: "RETRIEVAL_DOCUMENT" };
  const { embeddings = [] } = await clientOf(server).models.embedContent({
    model: "gemini-embedding-001",
    contents,
    config,
  });
  const vectors = embeddings.map(({ values }) => Float32Array.from(values!));
  expect(vectors.map(({ length }) => length)).toEqual([500, 500, 500, 500]);
  expect(vectors[3]).toEqual(vectors[0]);
  expect(squaredLength(vectors[0]!)).toBeCloseTo(0.64, 5);
  expect(cosine(vectors[0]!, vectors[1]!)).toBeCloseTo(1, 5);
  expect(cosine(vectors[0]!, vectors[2]!)).toBeCloseTo(0.62, 5);
  expect(server.requests[0]).toMatchObject({ method: "batchEmbedContents", model: "gemini-embedding-001" });
  expect(server.requests[0]!.body.requests?.map(({ taskType }) => taskType)).toEqual(
    Array(4).fill("RETRIEVAL_DOCUMENT"),
  );
});

test("merges a list of strings into one vector for gemini-embedding-2, as the service does", async () => {
  const server = await geminiServer();
  const request = { model: "gemini-embedding-2", contents: ["one", "two"] };
  expect((await clientOf(server).models.embedContent(request)).embeddings).toHaveLength(1);
});

test("counts tokens, four characters to one", async () => {
  const server = await geminiServer();
  const counted = await clientOf(server).models.countTokens({ model: "m", contents: "x".repeat(9) });
  expect(counted.totalTokens).toBe(3);
});

test("streams what it would have answered at once", async () => {
  const server = await geminiServer();
  const contents = '<message seq="3" role="user">\nKeep the host.\n</message>';
  const chunks: string[] = [];
  const stream = await clientOf(server).models.generateContentStream({ model: "m", contents });
  for await (const chunk of stream) chunks.push(chunk.text ?? "");
  const whole = await clientOf(server).models.generateContent({ model: "m", contents });
  expect(chunks.join("")).toBe(whole.text);
  expect(JSON.parse(whole.text!)).toMatchObject({ summary: [{ text: "Keep the host.", seqs: [3] }] });
});

test("follows its script, and stays with its last line", async () => {
  const server = await geminiServer(failure(404, "NOT_FOUND", "gone"), { says: "first" });
  const ask = async () => (await clientOf(server).models.generateContent({ model: "m", contents: "x" })).text;
  await expect(ask()).rejects.toThrow("gone");
  expect([await ask(), await ask()]).toEqual(["first", "first"]);
  server.script({ afterMs: 50, reply: { says: "late" } });
  const from = performance.now();
  expect(await ask()).toBe("late");
  expect(performance.now() - from).toBeGreaterThanOrEqual(45);
});
