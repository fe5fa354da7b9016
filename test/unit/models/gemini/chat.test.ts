import { once } from "node:events";
import { expect, test } from "vitest";
import type { ChatMessage, ChatModel, ChatReply } from "../../../../src/models/chat-model.ts";
import { type GeminiChatOptions, geminiChat } from "../../../../src/models/gemini/chat.ts";
import type { ModelUsage } from "../../../../src/models/usage.ts";
import { expectAtOnce } from "../../../support/at-once.ts";
import { GENERATION_FAULTS, TEST_KEY, TEST_TIMEOUT_MS } from "../../../support/gemini-faults.ts";
import { type GeminiServer, geminiServer } from "../../../support/gemini-server.ts";
import { ending, piece, type StreamPiece, streamed, words } from "../../../support/gemini-stream.ts";

const ASKED: ChatMessage[] = [{ role: "user", parts: [{ type: "text", text: "Why did the deploy fail?" }] }];
const TOOL = { name: "recall", description: "Find.", schema: { type: "object", properties: {} } };

function modelAt(server: GeminiServer, options: GeminiChatOptions = {}): ChatModel {
  return geminiChat({ apiKey: TEST_KEY, baseUrl: server.url, timeoutMs: 20_000, ...options });
}

interface Asked {
  messages?: ChatMessage[];
  signal?: AbortSignal;
  mayCall?: boolean;
  paid?: ModelUsage[];
}

function ask(model: ChatModel, { paid = [], ...asked }: Asked = {}): ChatReply {
  const { signal } = new AbortController();
  const usual = { system: "Be brief.", messages: ASKED, tools: [TOOL], mayCall: true, signal };
  return model.reply({ ...usual, onUsage: (usage) => paid.push(usage), ...asked });
}

async function read(reply: ChatReply): Promise<string[]> {
  const texts: string[] = [];
  for await (const text of reply) texts.push(text);
  return texts;
}

test("a reply comes text by text, and says once what it cost", async () => {
  const server = await geminiServer(streamed("The key ", "had expired."));
  const paid: ModelUsage[] = [];
  const reply = ask(modelAt(server), { paid });
  expect(server.requests).toHaveLength(0);
  expect(await read(reply)).toEqual(["The key ", "had expired."]);
  expect(reply.parts).toEqual([{ type: "text", text: "The key had expired." }]);
  expect(paid).toMatchObject([{ inputTokens: 11, outputTokens: 7 }]);
  const [request] = server.requests;
  expect(request).toMatchObject({
    method: "streamGenerateContent",
    model: "gemini-3.1-flash-lite",
    body: {
      contents: [{ role: "user", parts: [{ text: "Why did the deploy fail?" }] }],
      systemInstruction: { parts: [{ text: "Be brief." }] },
      generationConfig: { maxOutputTokens: 8_192 },
      tools: [{ functionDeclarations: [{ name: "recall", description: "Find.", parametersJsonSchema: TOOL.schema }] }],
      toolConfig: { functionCallingConfig: { mode: "AUTO" } },
    },
  });
});

test("the first text is there before the last one was sent", async () => {
  let hear = (): void => {};
  const until = new Promise<void>((resolve) => {
    hear = resolve;
  });
  const server = await geminiServer({ pieces: [words("soon"), { until }, ending("STOP", { text: " later" })] });
  const texts: string[] = [];
  for await (const text of ask(modelAt(server))) {
    if (text === "soon") hear(); // the server says nothing more before it
    texts.push(text);
  }
  expect(texts).toEqual(["soon", " later"]);
});

test("a reply may take longer than the longest wait for a piece of it", async () => {
  const slow = Array.from({ length: 5 }, () => [words("x"), { waitMs: 300 }]).flat();
  const server = await geminiServer({ pieces: [...slow, ending("STOP")] });
  expect((await read(ask(modelAt(server, { timeoutMs: 1_000 })))).join("")).toBe("xxxxx");
});

test("parts keep the signatures and ids that Gemini needs again, even a signature at the end of the stream", async () => {
  const call = (name: string, fields: object = {}) =>
    piece({ functionCall: { name, args: { query: "region" } }, ...fields });
  const server = await geminiServer(
    { pieces: [words("I look. "), call("recall", { thoughtSignature: "c2ln" }), call("expand"), ending("STOP")] },
    { pieces: [call("recall"), ending("STOP", { text: "", thoughtSignature: "bGF0ZQ==" })] },
    { pieces: [words("Oslo."), ending("STOP", { text: "", thoughtSignature: "dGV4dA==" })] },
    { pieces: [piece({ functionCall: { id: "f-7", name: "recall" } }), ending("STOP")] },
  );
  const model = modelAt(server);
  const partsOf = async (): Promise<unknown> => {
    const reply = ask(model);
    await read(reply);
    return reply.parts;
  };
  const args = { query: "region" };
  const own = (fields: object = {}) => ({ gemini: { ...fields, coppice: { id: "absent" } } });
  expect(await partsOf()).toEqual([
    { type: "text", text: "I look. " },
    { type: "tool_call", toolCallId: "recall_0", name: "recall", args, ...own({ thoughtSignature: "c2ln" }) },
    { type: "tool_call", toolCallId: "expand_0", name: "expand", args, ...own() },
  ]);
  expect(await partsOf()).toEqual([
    { type: "tool_call", toolCallId: "recall_0", name: "recall", args, ...own({ thoughtSignature: "bGF0ZQ==" }) },
  ]);
  expect(await partsOf()).toEqual([{ type: "text", text: "Oslo.", gemini: { thoughtSignature: "dGV4dA==" } }]);
  expect(await partsOf()).toEqual([{ type: "tool_call", toolCallId: "f-7", name: "recall", args: {} }]);
});

test("a malformed token count does not make a reply fail", async () => {
  const wrong = { promptTokenCount: "12", candidatesTokenCount: 3 };
  const candidates = [{ content: { role: "model", parts: [{ text: "Here." }] }, finishReason: "STOP" }];
  for (const usageMetadata of [wrong, { promptTokenCount: -1, candidatesTokenCount: 3 }]) {
    const server = await geminiServer({ pieces: [{ data: { candidates, usageMetadata } }] });
    expect(await read(ask(modelAt(server)))).toEqual(["Here."]);
  }
});

test("whatever the service gives as its reason, an error shows one short line of it", async () => {
  const wild = "\x1b[2JX\n".repeat(100);
  const server = await geminiServer(
    { pieces: [{ data: { promptFeedback: { blockReason: wild } } }] },
    { pieces: [words("half"), ending(wild)] },
  );
  for (let index = 0; index < 2; index++) {
    const failed = await read(ask(modelAt(server))).catch((error: Error) => error);
    expect((failed as Error).message).toMatch(/^[ -~…]{20,200}$/);
  }
});

test("reasoning is kept, and is not part of the streamed text", async () => {
  const thoughts = ["Hm, ", "keys"].map((text) => piece({ text, thought: true }));
  const server = await geminiServer({ pieces: [...thoughts, words("It was the key."), ending("STOP")] });
  const reply = ask(modelAt(server));
  expect(await read(reply)).toEqual(["It was the key."]);
  expect(reply.parts).toEqual([
    { type: "reasoning", text: "Hm, keys", gemini: { thought: true, coppice: { as: "thought" } } },
    { type: "text", text: "It was the key." },
  ]);
});

test("a model that is to answer in words may not call", async () => {
  const server = await geminiServer(streamed("Yes."));
  await read(ask(modelAt(server), { mayCall: false }));
  expect(server.requests[0]!.body).toMatchObject({ toolConfig: { functionCallingConfig: { mode: "NONE" } } });
});

/** In a stream the SDK makes an empty reply of these. */
const NO_OBJECTS = ["null for a reply", "a word for a reply", "a number for a reply"];

test.each(Object.entries(GENERATION_FAULTS))("%s", async (name, { reply: fault, code, details }) => {
  const server = await geminiServer(fault, streamed("Healed."));
  const model = modelAt(server);
  const expected = NO_OBJECTS.includes(name) ? { reason: "it is empty" } : details;
  const hasty = modelAt(server, { timeoutMs: TEST_TIMEOUT_MS });
  const failure = await read(ask(hasty)).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code, details: { model: "gemini-3.1-flash-lite", ...expected } });
  expect(JSON.stringify(failure) + String((failure as Error).stack)).not.toContain(TEST_KEY);
  expect(server.requests).toHaveLength(1);
  expect(await read(ask(model))).toEqual(["Healed."]);
});

test.each<[name: string, behind: StreamPiece[], code: string, reason: string]>([
  ["a reset", ["reset"], "MODEL_UNAVAILABLE", "terminated (ECONNRESET)"],
  ["a hang", ["hang"], "MODEL_UNAVAILABLE", `nothing came within ${TEST_TIMEOUT_MS} ms`],
  ["an error", [{ data: { error: { code: 503, message: "Overloaded." } } }], "MODEL_UNAVAILABLE", "Overloaded"],
  ["what is no JSON", [{ raw: "data: {]\n\n" }], "MODEL_ANSWER_INVALID", "it is not JSON"],
  ["half a piece", [{ raw: 'data: {"ca' }], "MODEL_ANSWER_INVALID", "it is not JSON"],
  [
    "another shape",
    [{ data: { candidates: [{ content: { parts: [{ functionCall: { name: "" } }] } }] } }],
    "MODEL_ANSWER_INVALID",
    "candidates.0.content.parts.0.functionCall.name: Too small: expected string to have >=1 characters",
  ],
  ["an end without a reason", [], "MODEL_ANSWER_INVALID", "it is cut off (the stream ended early)"],
  ["a block", [ending("SAFETY")], "MODEL_REFUSED", "the reply is blocked (SAFETY)"],
  ["too many tokens", [ending("MAX_TOKENS")], "MODEL_ANSWER_INVALID", "it is cut off (MAX_TOKENS)"],
])("%s in mid-stream leaves what has come, and what it cost", async (_, behind, code, reason) => {
  const server = await geminiServer({ pieces: [words("half"), ...behind] });
  const paid: ModelUsage[] = [];
  const reply = ask(modelAt(server, { timeoutMs: TEST_TIMEOUT_MS }), { paid });
  await expect(read(reply)).rejects.toMatchObject({ code, details: { reason } });
  expect(reply.parts).toEqual([{ type: "text", text: "half" }]);
  expect(paid).toMatchObject([{ inputTokens: 11, outputTokens: 7 }]);
});

test("an abort ends a reply that hangs at once, with its own reason", async () => {
  const server = await geminiServer({ pieces: [words("half"), "hang"] });
  const controller = new AbortController();
  const reply = ask(modelAt(server), { signal: controller.signal });
  const aborted = once(controller.signal, "abort");
  const reading = (async () => {
    for await (const _ of reply) controller.abort(new Error("enough"));
  })();
  reading.catch(() => {}); // it may reject before the line that expects it
  await aborted;
  await expectAtOnce(reading);
  await expect(reading).rejects.toThrow("enough");
  expect(reply.parts).toEqual([{ type: "text", text: "half" }]);
});

test("a reader that stops early gives up the connection", async () => {
  const server = await geminiServer({ pieces: [words("half"), "hang"] });
  for await (const _ of ask(modelAt(server))) break;
  expect(await server.openCount()).toBe(0);
});

test("every text goes through the hook, and no key leaves in another place than its header", async () => {
  const server = await geminiServer(streamed("Yes."));
  const redact = (text: string): string => text.replaceAll("hunter2", "[gone]");
  const messages: ChatMessage[] = [
    { role: "system", parts: [{ type: "text", text: "sys hunter2" }] },
    {
      role: "user",
      parts: [
        { type: "text", text: "my hunter2" },
        { type: "file", mediaType: "text/plain", data: "aHVudGVyMg==" },
      ],
    },
    {
      role: "assistant",
      parts: [{ type: "tool_call", toolCallId: "a", name: "login", args: { as: ["hunter2", { deep: "hunter2" }] } }],
    },
    {
      role: "tool",
      parts: [{ type: "tool_result", toolCallId: "a", content: [{ type: "text", text: "hunter2 ok" }] }],
    },
    { role: "user", parts: [{ type: "data", data: { said: "hunter2" } }] },
  ];
  await read(ask(modelAt(server, { redact }), { messages }));
  const { text, headers, path } = server.requests[0]!;
  expect(text).not.toContain("hunter2");
  expect(text).not.toContain("aHVudGVyMg==");
  expect(text.split("[gone]")).toHaveLength(7);
  expect(text + path).not.toContain(TEST_KEY);
  expect(headers["x-goog-api-key"]).toBe(TEST_KEY);
});

test("options out of range and a missing key are refused at once", () => {
  const refusal = (options: GeminiChatOptions) => expect.objectContaining({ code: "OPTION_INVALID", ...options });
  expect(() => geminiChat({ apiKey: "k", outputTokensMax: 0 })).toThrow(refusal({}));
  expect(() => geminiChat({ apiKey: "k", contextWindow: 8_192 })).toThrow(refusal({}));
  expect(() => geminiChat({ apiKey: " " })).toThrow(
    expect.objectContaining({ code: "MODEL_REFUSED", details: expect.objectContaining({ concerns: "key" }) }),
  );
});
