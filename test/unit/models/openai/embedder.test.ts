import { describe, expect, test, vi } from "vitest";
import { type EmbedRequest, type OpenaiEmbedderOptions, openaiEmbedder, openStore } from "../../../../src/index.ts";
import { embedderById } from "../../../../src/models/embedders.ts";
import { requestOf } from "../../../contract/embedder.contract.ts";
import { rejection } from "../../../support/at-once.ts";
import { OPENAI_DIMENSION, type OpenaiReply, type OpenaiServer, openaiServer } from "../../../support/openai-server.ts";
import { temporaryPath } from "../../../support/temporary-store.ts";

const TIMEOUT_MS = 1_500;
const KEY = "sk-test-0123456789abcdefghij";

const at = ({ url }: OpenaiServer, options: Partial<OpenaiEmbedderOptions> = {}) =>
  openaiEmbedder({ baseUrl: url, model: "words", dimension: OPENAI_DIMENSION, timeoutMs: TIMEOUT_MS, ...options });

test("texts are sent with the prefixes of the model, or with those given", async () => {
  const server = await openaiServer();
  const nomic = at(server, { model: "nomic-embed-text" });
  await nomic.embedAll(requestOf(["Which port?"], { task: "query" }));
  await nomic.embedAll(requestOf(["Port 80."]));
  await at(server, { prefix: { query: "Q: " } }).embedAll(requestOf(["Which port?"], { task: "query" }));
  expect(server.requests.map(({ body }) => body.input[0])).toEqual([
    "search_query: Which port?",
    "search_document: Port 80.",
    "Q: Which port?",
  ]);
  expect(server.requests[0]).toMatchObject({ path: "/v1/embeddings", authorization: undefined });
});

test("vectors are requested as numbers, except from a server that refuses the format", async () => {
  const server = await openaiServer();
  await at(server).embedAll(requestOf(["a"]));
  expect(server.requests[0]!.body.encoding_format).toBe("float");
  const sent = vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("no network"));
  const voyage = openaiEmbedder({ baseUrl: "https://api.voyageai.com/v1", model: "voyage-3", apiKey: KEY });
  await rejection(voyage.embedAll(requestOf(["a"])));
  expect(JSON.parse(String(sent.mock.calls[0]![1]!.body))).toEqual({ model: "voyage-3", input: ["a"] });
  sent.mockRestore();
});

test("many texts are several requests, and a price is counted", async () => {
  const server = await openaiServer();
  const usages: (number | undefined)[] = [];
  const embedder = at(server, { textsMax: 2, usdPerMillionTokens: 1_000 });
  const onUsage: EmbedRequest["onUsage"] = ({ costUsd }) => void usages.push(costUsd);
  const vectors = await embedder.embedAll(requestOf(["one", "two", "three"], { onUsage }));
  expect(vectors).toHaveLength(3);
  expect(server.requests.map(({ body }) => body.input.length)).toEqual([2, 1]);
  expect(usages).toEqual([0.002, 0.002]);
});

test("nothing is sent that `redact` removes", async () => {
  const server = await openaiServer();
  await at(server, { redact: (text) => text.replace("s3cret", "[key]") }).embedAll(requestOf(["the key is s3cret"]));
  expect(JSON.stringify(server.requests)).not.toContain("s3cret");
});

describe("an id", () => {
  test("names the server, the model and the dimension, and names the same embedder again", () => {
    const ids = [
      openaiEmbedder({ baseUrl: "http://127.0.0.1:11434/v1", model: "nomic-embed-text" }).id,
      openaiEmbedder({ baseUrl: "http://localhost:9999/v1/", model: "Qwen/Qwen3-Embedding-0.6B", dimension: 512 }).id,
    ];
    expect(ids).toEqual(["ollama:nomic-embed-text-768", "Qwen/Qwen3-Embedding-0.6B-512@http://localhost:9999/v1"]);
    for (const id of ids) expect(embedderById(id).id).toBe(id);
  });

  test("differs with the prefixes", () => {
    const options = { baseUrl: "http://127.0.0.1:1234/v1", model: "m", dimension: 8 };
    expect(openaiEmbedder(options).id).toBe("lmstudio:m-8");
    expect(openaiEmbedder({ ...options, prefix: { query: "?" } }).id).toMatch(/^lmstudio:m\+[0-9a-f]{8}-8$/);
  });
});

describe("a key", () => {
  test("is needed only by servers elsewhere, which are named as such", () => {
    vi.stubEnv("OPENAI_API_KEY", undefined);
    const elsewhere = { model: "text-embedding-3-small" };
    const of = (baseUrl: string) => openaiEmbedder({ baseUrl, model: "m", dimension: 8 });
    expect(() => openaiEmbedder(elsewhere)).toThrow("There is no key for text-embedding-3-small.");
    expect(() => of("http://10.0.0.7/v1")).toThrow("There is no key");
    vi.stubEnv("OPENAI_API_KEY", KEY);
    const about = { id: "openai:text-embedding-3-small-1536", sentTo: "api.openai.com" };
    expect(openaiEmbedder(elsewhere)).toMatchObject(about);
    // The key of one service is never sent to another.
    expect(() => of("https://example.com/v1")).toThrow("no key");
    vi.unstubAllEnvs();
    expect(of("http://[::1]:1/v1")).not.toHaveProperty("sentTo");
  });

  test("is sent, and is in no error", async () => {
    const server = await openaiServer({ status: 401, body: `{"error":{"message":"Bad key ${KEY}."}}` });
    const error = await rejection(at(server, { apiKey: KEY }).embedAll(requestOf(["a"])));
    expect(server.requests[0]!.authorization).toBe(`Bearer ${KEY}`);
    expect(error.details).toMatchObject({ reason: "Bad key [key]", status: 401, concerns: "account" });
  });
});

type Fault = readonly [reply: OpenaiReply, code: string, details: object];

/** An answer with this status and body, and what it is to whoever asked. */
const answered = (status: number, body: string, headers: Record<string, string> = {}) => ({ status, body, headers });
const refused = (reply: OpenaiReply, details: object): Fault => [reply, "MODEL_REFUSED", details];
const unavailable = (reply: OpenaiReply, details: object = {}): Fault => [reply, "MODEL_UNAVAILABLE", details];
const invalid = (reply: OpenaiReply, reason: string): Fault => [reply, "MODEL_ANSWER_INVALID", { reason }];
const each = (change: (vector: number[]) => number[]) => ({ vectors: (all: number[][]) => all.map(change) });

const TOO_LARGE = "input (900 tokens) is too large to process";
const LATE = { reason: `nothing came within ${TIMEOUT_MS} ms` };
const FAULTS: Record<string, Fault> = {
  "400": refused(answered(400, '{"error":"input too long"}'), { reason: "input too long", status: 400 }),
  "404": refused(answered(404, '{"error":{"message":"no model"}}'), { reason: "no model", concerns: "account" }),
  "a redirection": refused(answered(302, "", { location: "http://127.0.0.1:1/" }), {
    reason: "the server redirects the request",
  }),
  "429 with a delay": unavailable(answered(429, "{}", { "retry-after": "2" }), {
    status: 429,
    retryAfterMs: 2_000,
    reason: "no reason was given",
  }),
  "500": unavailable(answered(500, "<html>oops</html>"), { reason: "<html>oops</html>", status: 500 }),
  "500 because a text is too long": refused(answered(500, `{"error":{"message":"${TOO_LARGE}"}}`), {
    reason: TOO_LARGE,
    status: 500,
  }),
  "no answer": unavailable("hang", LATE),
  "half an answer": unavailable("stall", LATE),
  "a broken connection": unavailable("reset"),
  "a connection that breaks in the body": unavailable("broken"),
  "truncated JSON": invalid(answered(200, '{"data": [{"emb'), "it is not JSON"),
  "another shape": invalid(answered(200, "[]"), "it has no vectors"),
  "too few vectors": invalid({ vectors: (vectors) => vectors.slice(1) }, "it has 1 vectors for 2 texts"),
  "another dimension": invalid(
    each((vector) => vector.slice(1)),
    `embeddings.0: it has ${OPENAI_DIMENSION - 1} numbers, not ${OPENAI_DIMENSION}`,
  ),
  NaN: invalid(
    each((vector) => vector.map(() => Number.NaN)),
    "embeddings.0: not all are numbers",
  ),
  "a zero vector": invalid(
    each((vector) => vector.map(() => 0)),
    "embeddings.0: it has no direction",
  ),
};

describe("a fault of the server is a typed error, and the next call is answered:", () => {
  test.each(Object.entries(FAULTS))("%s", async (_, [reply, code, details]) => {
    const server = await openaiServer(reply);
    const embedder = at(server);
    const error = await rejection(embedder.embedAll(requestOf(["one", "two"])));
    expect(error).toMatchObject({ code, details });
    server.script("good");
    expect(await embedder.embedAll(requestOf(["one", "two"]))).toHaveLength(2);
  });
});

test("messages get their vectors, and are found by them", async () => {
  const server = await openaiServer();
  const store = openStore(temporaryPath(), { embedder: at(server) });
  store.session("s").append({ role: "user", content: "The lock is never released." });
  expect(await store.upkeep({ only: "vectors" })).toMatchObject({ embedded: 1, failed: 0 });
  const [hit] = await store.recall("releasing the lock");
  expect(hit!.text).toBe("The lock is never released.");
  expect(server.requests.at(-1)!.body.input).toEqual(["releasing the lock"]);
  store.close();
});

test("wrong options are refused", () => {
  const wrong: Partial<OpenaiEmbedderOptions>[] = [
    { model: "a b" },
    { baseUrl: "ftp://x" },
    { baseUrl: "http://user:pass@127.0.0.1/v1" },
    { dimension: 1 },
    { similarityMin: 1 },
    { textsMax: 0 },
    { apiKey: "a b" },
    { prefix: "query: " as never },
    { prefix: { query: 1 as never } },
    { usdPerMillionTokens: "1" as never },
    { usdPerMillionTokens: -1 },
  ];
  for (const options of wrong) {
    const make = () => openaiEmbedder({ baseUrl: "http://127.0.0.1/v1", model: "m", dimension: 8, ...options });
    expect(make).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  }
  expect(() => openaiEmbedder({ baseUrl: "http://127.0.0.1/v1", model: "m" })).toThrow("Expected dimension");
});
