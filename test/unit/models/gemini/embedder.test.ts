import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { estimateTokens } from "../../../../src/core/token-estimate.ts";
import {
  type GeminiEmbedderOptions,
  geminiEmbedder,
  type ModelUsage,
  type RemoteEmbedder,
} from "../../../../src/index.ts";
import { requestOf } from "../../../contract/embedder.contract.ts";
import { expectAtOnce, rejection } from "../../../support/at-once.ts";
import { EMBEDDING_FAULTS, TEST_KEY, TEST_TIMEOUT_MS } from "../../../support/gemini-faults.ts";
import { failure, type GeminiServer, geminiServer } from "../../../support/gemini-server.ts";

const embedderAt = ({ url }: GeminiServer, options: GeminiEmbedderOptions = {}) =>
  geminiEmbedder({ apiKey: TEST_KEY, baseUrl: url, ...options });

/** The texts of each request, as they came. */
const sentTo = ({ requests }: GeminiServer): string[][] =>
  requests.map(({ body }) => body.requests!.map(({ content }) => content.parts.map(({ text }) => text).join("|")));

test("the task stands before the text, or beside it for the model that knows it so", async () => {
  const server = await geminiServer();
  const old = embedderAt(server, { model: "gemini-embedding-001" });
  for (const embedder of [embedderAt(server), old]) {
    await embedder.embedAll(requestOf(["What fails?"], { task: "query" }));
    await embedder.embedAll(requestOf(["The lock."]));
  }
  expect(sentTo(server).flat()).toEqual([
    "task: search result | query: What fails?",
    "title: none | text: The lock.",
    "What fails?",
    "The lock.",
  ]);
  const taskTypes = server.requests.map(({ body }) => body.requests![0]!.taskType);
  expect(taskTypes).toEqual([undefined, undefined, "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"]);
  expect(old.id).toBe("gemini-embedding-001-768");
});

describe("a batch", () => {
  test("is one request for a hundred texts, and the next hundred is another", async () => {
    const server = await geminiServer();
    const embedder = embedderAt(server, { dimension: 128 });
    const texts = Array.from({ length: 150 }, (_, index) => `message ${index}`);
    const together = await embedder.embedAll(requestOf(texts));
    expect(sentTo(server).map(({ length }) => length)).toEqual([100, 50]);
    expect(sentTo(server).flat()).toEqual(texts.map((text) => `title: none | text: ${text}`));
    expect(together.slice(149)).toEqual(await embedder.embedAll(requestOf([texts[149]!])));
    expect(embedder).toMatchObject({ id: "gemini-embedding-2-128", textsMax: 100 });
  });

  test("is sent after onSend, request by request, and is not if that throws", async () => {
    const server = await geminiServer("good");
    const onSend = vi.fn(() => {
      if (server.requests.length > 0) throw new Error("the claim was lost");
    });
    const texts = Array.from({ length: 150 }, (_, index) => `text ${index}`);
    await rejection(embedderAt(server).embedAll(requestOf(texts, { onSend })));
    expect(onSend).toHaveBeenCalledTimes(2);
    expect(server.requests).toHaveLength(1);
  });

  test("is several requests where texts are long, each within 20,000 tokens", async () => {
    const server = await geminiServer();
    const text = "The lock of the session is held. ".repeat(180);
    await embedderAt(server).embedAll(requestOf(Array(30).fill(text)));
    const tokens = sentTo(server).map((texts) => texts.reduce((sum, sent) => sum + estimateTokens(sent), 0));
    expect(tokens.length).toBeGreaterThan(1);
    expect(Math.max(...tokens)).toBeLessThanOrEqual(20_000);
    expect(Math.max(...tokens)).toBeGreaterThan(18_000);
    expect(sentTo(server).flat()).toHaveLength(30);
  });

  test("is no larger than what a minute allows", async () => {
    const server = await geminiServer();
    const embedder = embedderAt(server, { requestsPerMinute: 15 });
    expect(embedder.textsMax).toBe(15);
    await embedder.embedAll(requestOf(Array(15).fill("text")));
    const waiting = embedder.embedAll(requestOf(["text"], { signal: AbortSignal.timeout(100) }));
    await expect(waiting).rejects.toMatchObject({ name: "TimeoutError" });
    expect(server.requests).toHaveLength(1);
  });

  test("of none asks for nothing", async () => {
    const server = await geminiServer();
    expect(await embedderAt(server).embedAll(requestOf([]))).toEqual([]);
    expect(server.requests).toEqual([]);
  });
});

describe("what leaves the machine", () => {
  test("is every text, redacted whole, cut, and without what nobody sees", async () => {
    const server = await geminiServer();
    const redact = (text: string): string => text.replaceAll("hunter2", "[secret]");
    const long = `${"a ".repeat(4_000)}hunter2${" z".repeat(4_000)}`;
    await embedderAt(server, { redact }).embedAll(requestOf(["My pass\u200bword: hunt\u001b[31mer2", long, "\ud800"]));
    const [first, second, third] = sentTo(server)[0]!;
    expect(first).toBe("title: none | text: My password: [secret]");
    expect(second).toHaveLength("title: none | text: ".length + 8_000 + "…\n…".length);
    expect(third).toBe("title: none | text: \ufffd");
    expect(server.requests[0]!.text).not.toContain("hunter2");
  });

  test("is no more than the model reads, from the beginning and the end", async () => {
    const server = await geminiServer();
    const embedder = embedderAt(server, { model: "gemini-embedding-001" });
    const text = `First. ${"if (a[i] !== b[i]) return -1; ".repeat(300)} Last.`;
    await embedder.embedAll(requestOf([text, "short"]));
    const [cut, short] = sentTo(server)[0]!;
    expect(estimateTokens(cut!)).toBeGreaterThan(1_300);
    expect(estimateTokens(cut!)).toBeLessThan(1_600);
    expect(cut).toMatch(/^First\. .*…\n….* Last\.$/s);
    expect(short).toBe("short");
  });

  test("is a sign where nothing is left of a text: a service may refuse a whole batch for an empty one", async () => {
    const server = await geminiServer();
    const embedder = embedderAt(server, { model: "gemini-embedding-001", redact: () => " " });
    expect(await embedder.embedAll(requestOf(["secret"]))).toHaveLength(1);
    expect(sentTo(server)).toEqual([["…"]]);
  });

  test("is nothing where the hook fails", async () => {
    const server = await geminiServer();
    const redact = () => Promise.resolve("x") as unknown as string;
    const { code } = await rejection(embedderAt(server, { redact }).embedAll(requestOf(["x"])));
    expect(code).toBe("REDACT_FAILED");
    expect(server.requests).toEqual([]);
  });

  test("has the key in its header alone, and the dimension with each text", async () => {
    const server = await geminiServer();
    await embedderAt(server, { dimension: 1_536 }).embedAll(requestOf(["one", "two"]));
    const { method, model, headers, text, body } = server.requests[0]!;
    const key = headers["x-goog-api-key"];
    expect([method, model, key]).toEqual(["batchEmbedContents", "gemini-embedding-2", TEST_KEY]);
    expect(text).not.toContain(TEST_KEY);
    expect(body.requests!.map(({ outputDimensionality }) => outputDimensionality)).toEqual([1_536, 1_536]);
  });
});

describe("a failure", () => {
  test.each(Object.entries(EMBEDDING_FAULTS))(
    "%s: is a typed error without the key, after one request, and the next call is served",
    async (_, { reply, code, details }) => {
      const server = await geminiServer(reply, "good");
      const embedder = embedderAt(server, { timeoutMs: TEST_TIMEOUT_MS });
      const error = await rejection(embedder.embedAll(requestOf(["one", "two"])));
      // The end of a connection may be seen before its reset.
      const given = (error.details as { reason: string }).reason;
      const reason = given.replace("UND_ERR_SOCKET", "ECONNRESET");
      expect(error).toMatchObject({ code, details: { model: "gemini-embedding-2", ...details, reason: given } });
      expect(reason).toBe(details.reason);
      expect(Object.keys(error.details).sort()).toEqual(["model", ...Object.keys(details)].sort());
      expect(error.hint).toBeDefined();
      expect(error.cause).toBeUndefined();
      expect(`${error.stack} ${error.hint} ${JSON.stringify(error)}`).not.toContain(TEST_KEY);
      expect(server.requests).toHaveLength(1);
      await sleep(details.retryAfterMs ?? 0);
      expect(await embedder.embedAll(requestOf(["one", "two"]))).toHaveLength(2);
    },
  );

  test("of a later request is one of all: no text has a vector, and nothing more is sent", async () => {
    const server = await geminiServer("good", failure(503, "UNAVAILABLE", "Overloaded."), "good");
    const texts = Array.from({ length: 250 }, (_, index) => `message ${index}`);
    expect(await rejection(embedderAt(server).embedAll(requestOf(texts)))).toMatchObject({ code: "MODEL_UNAVAILABLE" });
    expect(server.requests).toHaveLength(2);
  });
});

describe("an abort", () => {
  async function expectAborts(embedder: RemoteEmbedder, started: (round: number) => Promise<unknown>) {
    for (let round = 1; round <= 10; round++) {
      const controller = new AbortController();
      const reason = new Error(`closing ${round}`);
      const result = embedder.embedAll(requestOf(Array(100).fill("x"), { signal: controller.signal }));
      await started(round);
      controller.abort(reason);
      await expectAtOnce(result);
      await expect(result).rejects.toBe(reason);
    }
  }

  test("comes through at once while the server hangs", async () => {
    const server = await geminiServer("hang");
    await expectAborts(embedderAt(server), (round) => server.arrived(round));
  });

  test("comes through at once while others have their turn, and nothing is sent", async () => {
    const server = await geminiServer("hang");
    const embedder = embedderAt(server, { concurrency: 1 });
    const inFront = new AbortController();
    const first = embedder.embedAll(requestOf(["x"], { signal: inFront.signal }));
    await server.arrived(1);
    await expectAborts(embedder, () => sleep(1));
    expect(server.requests).toHaveLength(1);
    inFront.abort(new Error("done"));
    await expect(first).rejects.toThrow("done");
  });

  test("before the call is one, and nothing is sent", async () => {
    const server = await geminiServer();
    const reason = new Error("closed");
    const signal = AbortSignal.abort(reason);
    await expect(embedderAt(server).embedAll(requestOf(["x"], { signal }))).rejects.toBe(reason);
    expect(server.requests).toEqual([]);
  });
});

describe("what it costs", () => {
  test("is estimated and told for each request, also for a reply that cannot be used", async () => {
    const server = await geminiServer("good", EMBEDDING_FAULTS["one vector for both"]!.reply);
    const told: ModelUsage[] = [];
    const onUsage = (usage: ModelUsage): void => void told.push(usage);
    const embedder = embedderAt(server);
    await embedder.embedAll(requestOf(["one", "two"], { onUsage }));
    await rejection(embedder.embedAll(requestOf(["one", "two"], { onUsage })));
    const inputTokens = 2 * estimateTokens("title: none | text: one");
    const usage = { inputTokens, outputTokens: 0, costUsd: (inputTokens * 0.2) / 1_000_000 };
    expect(told).toEqual([usage, usage]);
    expect(embedder.usdPerMillionTokens).toBe(0.2);
  });

  test("is not told where nothing came", async () => {
    const server = await geminiServer(failure(503, "UNAVAILABLE", "Overloaded."));
    const onUsage = vi.fn();
    await rejection(embedderAt(server).embedAll(requestOf(["one"], { onUsage })));
    expect(onUsage).not.toHaveBeenCalled();
  });

  test("has a price that is given, or none", () => {
    const options = { apiKey: "k", model: "gemini-embedding-9" };
    expect(geminiEmbedder(options)).not.toHaveProperty("usdPerMillionTokens");
    const pricePerMillionTokens = { input: 3, output: 0 };
    expect(geminiEmbedder({ ...options, pricePerMillionTokens }).usdPerMillionTokens).toBe(3);
  });
});

test.each([
  [{ dimension: 127 }, "dimension to be a whole number from 128 to 3072, got 127"],
  [{ dimension: 3_073 }, "dimension to be a whole number from 128 to 3072, got 3073"],
  [{ similarityMin: 1 }, "similarityMin to be a cosine below 1, got 1"],
  [{ similarityMin: -1.1 }, "similarityMin to be a cosine below 1, got -1.1"],
  [{ similarityMin: Number.NaN }, "similarityMin to be a cosine below 1, got NaN"],
  [{ model: "a b" }, 'model to be the name of a model, such as gemini-embedding-2, got "a b"'],
])("refuses %j", (options, expected) => {
  expect(() => geminiEmbedder({ apiKey: "k", ...options })).toThrow(`Expected ${expected}.`);
});
