import {
  convertToModelMessages,
  generateText,
  jsonSchema,
  type ModelMessage,
  simulateReadableStream,
  stepCountIs,
  streamText,
  tool,
  type UIMessage,
} from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, test, vi } from "vitest";
import { CoppiceChats, contextSteps } from "../../../src/frameworks/ai-sdk.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const user = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
const answer = (id: string, ...parts: unknown[]): UIMessage => ({ id, role: "assistant", parts }) as UIMessage;
const step = { type: "step-start" };
const text = (words: string) => ({ type: "text", text: words, state: "done" });
const tide = (toolCallId: string, output: unknown) => {
  return { type: "tool-tide", toolCallId, state: "output-available", input: { city: "Oslo" }, output };
};

const PROTO = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}');

/** UI messages of each kind and state. */
const KINDS = [
  { id: "s", role: "system", parts: [{ type: "text", text: "Answer briefly." }] },
  { id: "", role: "user", parts: [], metadata: PROTO },
  {
    ...{ id: "u", role: "user", metadata: { createdAt: 7, deep: [null, -1.5, "\ud800"] } },
    parts: [
      { type: "text", text: "   " },
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA", filename: "a.png" },
      { type: "file", mediaType: "application/pdf", url: "https://example.org/a.pdf", providerMetadata: { x: PROTO } },
      { type: "data-weather", id: "d1", data: PROTO },
    ],
  },
  answer("empty"),
  answer("only a step", step),
  answer("steps", step, step, tide("c1", "04:12"), text("High water."), step, text("Done."), step),
  answer(
    "states",
    step,
    { type: "reasoning", text: "First the table.", providerMetadata: { openai: { id: "rs" } }, state: "done" },
    { type: "tool-tide", toolCallId: "c2", state: "input-streaming", input: { ci: "" }, rawInput: '{"ci' },
    { type: "tool-tide", toolCallId: "c3", state: "input-available", input: null },
    { type: "tool-tide", toolCallId: "c4", state: "output-error", rawInput: "{", errorText: "No such city." },
    { type: "tool-tide", toolCallId: "c5", state: "approval-requested", input: {}, approval: { id: "a" } },
    tide("c6", { high: ["04:12"], __proto__: null }),
    tide("c7", null),
    { ...tide("c8", "early"), preliminary: true },
    { type: "tool-tide", toolCallId: "c9", state: "output-denied", input: {}, approval: { id: "b", approved: false } },
    { type: "dynamic-tool", toolName: "mcp", toolCallId: "c10", state: "output-available", input: {}, output: [] },
    { ...tide("c11", []), providerExecuted: true },
    tide("c1", "the id again"),
    { type: "source-url", sourceId: "1", url: "https://example.org" },
    { type: "data-chart", data: [1, 2] },
    { type: "text", text: "half a wo", state: "streaming" },
    { type: "unknown", value: PROTO },
  ),
  answer("steps", text("an id that repeats")),
  // Their parts do not give these two back.
  answer("one id, two calls", step, tide("same", 1), tide("same", 2)),
  answer("result and error", step, { ...tide("c12", 1), errorText: "None." }),
  answer("__proto__", step, tide("__proto__", PROTO)),
] as UIMessage[];

describe("a chat", () => {
  test("comes back as it was, saved at once and message by message, in another process too", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const chats = new CoppiceChats(store);
    const before = structuredClone(KINDS);
    chats.saveMessages("together", KINDS);
    expect(KINDS).toEqual(before);
    KINDS.forEach((_, index) => {
      chats.saveMessages("single", KINDS.slice(0, index + 1));
    });
    const again = openedStore(path);
    for (const id of ["together", "single"]) {
      const loaded = new CoppiceChats(again).loadMessages(id);
      expect(loaded).toStrictEqual(JSON.parse(JSON.stringify(KINDS)));
      expect(JSON.stringify(loaded)).toContain('"__proto__":{"admin":true}');
    }
    expect(({} as { admin?: true }).admin).toBeUndefined();
    expect(again.verify()).toMatchObject({ ok: true });
  });

  test("that was never saved has no messages, and a load makes no session", () => {
    const store = temporaryStore();
    expect(new CoppiceChats(store).loadMessages("none")).toEqual([]);
    expect(store.sessions()).toEqual([]);
    new CoppiceChats(store).saveMessages("none", []);
    expect(new CoppiceChats(store).loadMessages("none")).toEqual([]);
  });

  test("is stored once, however often it is saved, and a growing answer only grows", () => {
    const store = temporaryStore();
    const chats = new CoppiceChats(store);
    const question = user("u1", "When is high water?");
    const parts = [step, tide("c1", "04:12"), step, tide("c2", "05:30"), step, text("At 04:12.")];
    for (let length = 0; length <= parts.length; length += 2) {
      const messages = [question, answer("a1", ...parts.slice(0, length))];
      for (let times = 0; times < 2; times++) chats.saveMessages("c", messages);
      expect(chats.loadMessages("c")).toEqual(messages);
    }
    // The empty answer was superseded by the first step.
    expect(store.resume("c").messages()).toHaveLength(6);
    expect(store.query("SELECT count(*) AS n FROM messages")).toEqual([{ n: 7 }]);
    // A state that comes late, of the answer or of the chat, takes nothing away.
    chats.saveMessages("c", [question, answer("a1", ...parts.slice(0, 2))]);
    chats.saveMessages("c", []);
    expect(chats.loadMessages("c")).toEqual([question, answer("a1", ...parts)]);
    expect(store.query("SELECT count(*) AS n FROM messages")).toEqual([{ n: 7 }]);
  });

  test("is compared with the store again if anybody else has changed it, or an earlier state came late", () => {
    const store = temporaryStore();
    const [chats, others] = [new CoppiceChats(store), new CoppiceChats(store)];
    const [one, two, three, four] = [user("1", "a"), answer("2", text("b")), user("3", "c"), answer("4", text("d"))];
    const ids = () => chats.loadMessages("s").map(({ id }) => id);
    chats.saveMessages("s", [one, two]);
    chats.saveMessages("s", [one, two, three]);
    others.saveMessages("s", [one, two, three, four]);
    chats.saveMessages("s", [one, two]);
    chats.saveMessages("s", [one, two, three, four]);
    expect(ids()).toEqual(["1", "2", "3", "4"]);
    store.resume("s").rewind({ toSeq: 1 });
    chats.saveMessages("s", [one, two, three, four, user("5", "e")]);
    expect(ids()).toEqual(["1", "2", "3", "4", "5"]);
    expect(() =>
      store.atomically(() => {
        chats.saveMessages("s", [one, two, three, four, user("5", "e"), user("6", "f")]);
        throw new Error("no");
      }),
    ).toThrow("no");
    chats.saveMessages("s", [one, two, three, four, user("5", "e"), user("6", "f"), user("7", "g")]);
    expect(ids()).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
  });

  test("is not read for a save that only adds to it, in another process either, and what was forgotten stays forgotten", () => {
    const path = temporaryPath();
    const said = [user("1", "a"), answer("2", text("the key")), user("3", "c")];
    new CoppiceChats(openedStore(path)).saveMessages("s", said);
    const store = openedStore(path);
    const session = store.session("s");
    store.forget("s", { messageIds: [session.messages()[1]!.id] });
    const read = vi.spyOn(session, "messages");
    const chats = new CoppiceChats(store);
    chats.saveMessages("s", said);
    chats.saveMessages("s", [...said, answer("4", text("d"))]);
    expect(new Set(read.mock.calls.map(([options]) => options?.last))).toEqual(new Set([1])); // only the newest
    expect(chats.loadMessages("s").map(({ id }) => id)).toEqual(["1", "3", "4"]);
    store.forget("s");
    expect(store.items.list([])).toEqual([]);
  });

  test("goes back for an answer that is regenerated, and for a message that is edited; both can be undone", async () => {
    const store = temporaryStore();
    const chats = new CoppiceChats(store);
    const first = [user("u1", "Tell me of the zebra."), answer("a1", text("It crossed the harbor."))];
    const whole = [...first, user("u2", "And then?"), answer("a2", text("It swam."))];
    chats.saveMessages("c", whole);
    chats.saveMessages("c", first); // ends with an answer: an earlier state
    expect(chats.loadMessages("c")).toEqual(whole);
    chats.saveMessages("c", whole.slice(0, 3));
    expect(chats.loadMessages("c")).toEqual(whole.slice(0, 3));
    const regenerated = [...whole.slice(0, 3), answer("a3", text("It flew."))];
    chats.saveMessages("c", regenerated);
    expect(chats.loadMessages("c")).toEqual(regenerated);
    expect(await store.recall('"swam"')).toEqual([]);
    expect(await store.recall('"flew"')).toMatchObject([{ sessionId: "c", seq: 3 }]);
    const edited = [...first, user("u2", "And the lion?")];
    chats.saveMessages("c", edited);
    expect(chats.loadMessages("c")).toEqual(edited);
    store.resume("c").undo();
    expect(chats.loadMessages("c")).toEqual(regenerated);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("is whole or unchanged if a message cannot be stored", () => {
    const store = temporaryStore();
    const chats = new CoppiceChats(store);
    const saved = [user("u1", "one"), answer("a1", text("two"))];
    chats.saveMessages("c", saved);
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const bad = [
      { ...user("x", "x"), metadata: circle },
      { ...user("x", "x"), metadata: { big: 1n } },
      { role: "user", parts: [] },
      { id: "x", role: "tool", parts: [] },
      { id: "x", role: "user", parts: "x" },
      null,
    ] as UIMessage[];
    for (const message of bad) {
      expect(() => chats.saveMessages("c", [user("u1", "other"), message])).toThrow(
        expect.objectContaining({ code: "MESSAGE_INVALID" }),
      );
    }
    expect(chats.loadMessages("c")).toEqual(saved);
  });

  test("of any id is a chat of its own", () => {
    const chats = new CoppiceChats(temporaryStore());
    const ids = [
      "__proto__",
      "constructor",
      "'; DROP TABLE messages; --",
      "../../a",
      "a",
      "A",
      "a ",
      "%",
      "🦓",
      "x".repeat(512),
    ];
    for (const id of ids) chats.saveMessages(id, [user(id, `of ${id}`)]);
    for (const id of ids) expect(chats.loadMessages(id)).toEqual([user(id, `of ${id}`)]);
    for (const id of ["", "a\n", "x".repeat(513)]) {
      expect(() => chats.saveMessages(id, [user("u", "x")])).toThrow(
        expect.objectContaining({ code: "OPTION_INVALID" }),
      );
    }
  });

  test("that another program wrote can be loaded and continued, and nothing of it is stored again", () => {
    const store = temporaryStore();
    const session = store.session("c");
    session.append([
      { role: "user", content: "Where?" },
      { role: "assistant", parts: [{ type: "tool_call", toolCallId: "t", name: "tide", args: {} }] },
      { role: "tool", parts: [{ type: "tool_result", toolCallId: "t", content: "Oslo" }] },
      { role: "assistant", content: "In Oslo." },
    ]);
    const chats = new CoppiceChats(store);
    const loaded = chats.loadMessages("c");
    expect(loaded.map(({ id, role, parts }) => [id, role, parts.length])).toEqual([
      ["message-0", "user", 1],
      ["message-1", "assistant", 4],
    ]);
    chats.saveMessages("c", [...loaded, user("u", "And when?")]);
    expect(chats.loadMessages("c")).toEqual([...loaded, user("u", "And when?")]);
    expect(session.messages()).toHaveLength(5);
    expect(store.query("SELECT count(*) AS n FROM messages")).toEqual([{ n: 5 }]);
  });
});

const USAGE = {
  inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};
const LONG = "the tide table of the almanac says so ".repeat(60);

/** A model that calls a tool in each step but the last. */
function caller(steps: number, name = "call"): MockLanguageModelV3 {
  let number = 0;
  const next = () => {
    number += 1;
    const isLast = number >= steps;
    const input = JSON.stringify({ city: `city ${number}` });
    const call = { type: "tool-call" as const, toolCallId: `${name}-${number}`, toolName: "tide", input };
    return {
      isLast,
      content: isLast ? { type: "text" as const, text: "At 04:12." } : call,
      finishReason: { unified: isLast ? ("stop" as const) : ("tool-calls" as const), raw: undefined },
    };
  };
  return new MockLanguageModelV3({
    doGenerate: async () => {
      const { content, finishReason } = next();
      return { content: [content], finishReason, usage: USAGE, warnings: [] };
    },
    doStream: async () => {
      const { content, finishReason } = next();
      const said =
        content.type === "text"
          ? [
              { type: "text-start" as const, id: "1" },
              { type: "text-delta" as const, id: "1", delta: content.text },
              { type: "text-end" as const, id: "1" },
            ]
          : [content];
      const chunks = [
        { type: "stream-start" as const, warnings: [] },
        ...said,
        { type: "finish" as const, finishReason, usage: USAGE },
      ];
      return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
}

const tools = {
  tide: tool({
    description: "The next high water.",
    inputSchema: jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } } }),
    execute: async ({ city }) => `${city}: ${LONG}`,
  }),
};

const SETTINGS = { hotSize: 6, overlap: 2, evictBatch: 8, contextTokensMax: 10_000 };
const BUDGET = { tokensMax: 10_000 };

/** Fails unless contexts repeat no block, answer each call, and begin as the one before except where the frontier has moved. */
function checkPrompts(prompts: readonly (readonly { role: string; content: unknown }[])[]): void {
  let changes = 0;
  expect(prompts.length < 20 || JSON.stringify(prompts.at(-1)).includes("<memory")).toBe(true);
  prompts.forEach((prompt, index) => {
    const words = JSON.stringify(prompt);
    expect(words.length).toBeLessThan(BUDGET.tokensMax * 8);
    for (const block of [/<memory\b/g, /<story\b/g]) expect((words.match(block) ?? []).length).toBeLessThanOrEqual(1);
    const parts = prompt.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    const ids = (type: string) => parts.filter((part) => part.type === type).map((part) => part.toolCallId);
    expect(ids("tool-result")).toEqual(ids("tool-call"));
    expect(new Set(ids("tool-call")).size).toBe(ids("tool-call").length);
    const before = prompts[index - 1];
    if (before !== undefined && !words.startsWith(JSON.stringify(before).slice(0, -1))) changes += 1;
  });
  // A step is two messages. Once, the session no longer fits.
  expect(changes).toBeLessThanOrEqual(1 + Math.ceil((prompts.length * 2) / SETTINGS.evictBatch));
}

describe("a run", () => {
  test("of 20 steps gets contexts within the budget, and everything that was said is stored once", async () => {
    const session = temporaryStore().session("agent", SETTINGS);
    for (let turn = 0; turn < 2; turn++) {
      const model = caller(20);
      const { text: said } = await generateText({
        ...{ model, tools, prompt: `When is high water? ${turn}`, stopWhen: stepCountIs(30) },
        ...contextSteps(session, BUDGET),
      });
      expect(said).toBe("At 04:12.");
      checkPrompts(model.doGenerateCalls.map(({ prompt }) => prompt));
      expect(JSON.stringify(model.doGenerateCalls[0]!.prompt.at(-1))).toContain(`high water? ${turn}`);
      expect(session.messages().map(({ role }) => role)).toHaveLength((turn + 1) * 40);
    }
    const roles = session.messages().map(({ role }) => role);
    expect(roles.slice(40)).toEqual(["user", ...Array(19).fill(["assistant", "tool"]).flat(), "assistant"]);
  });

  test("of an SDK that carries returned messages forward, or tells each step apart, stores and gets the same", () => {
    const contexts = [true, false].flatMap((isCarried) =>
      [true, false].map((isCumulative) => {
        const session = temporaryStore().session("agent", SETTINGS);
        const { prepareStep, onFinish } = contextSteps(session, BUDGET);
        const prompt: ModelMessage[] = [{ role: "user", content: "When is high water?" }];
        const steps: { response: { messages: ModelMessage[] } }[] = [];
        const all: ModelMessage[] = [];
        const prompts: ModelMessage[][] = [];
        let messages = prompt;
        for (let number = 0; number < 20; number++) {
          const returned = prepareStep({ steps, messages }).messages;
          prompts.push(returned);
          const id = { toolCallId: `call-${number}`, toolName: "tide" };
          const said: ModelMessage[] = [
            { role: "assistant", content: [{ type: "tool-call", ...id, input: { city: `city ${number}` } }] },
            {
              role: "tool",
              content: [{ type: "tool-result", ...id, output: { type: "text", value: `${number} ${LONG}` } }],
            },
          ];
          all.push(...said);
          steps.push({ response: { messages: isCumulative ? structuredClone(all) : said } });
          messages = isCarried ? [...returned, ...said] : [...prompt, ...all];
        }
        onFinish({ steps });
        checkPrompts(prompts as { role: string; content: unknown }[][]);
        expect(session.messages()).toHaveLength(41);
        return prompts;
      }),
    );
    for (const prompts of contexts) expect(prompts).toEqual(contexts[0]);
  });

  test("appends what the prompt adds to the session, whether the prompt is the whole history or the new message", async () => {
    const session = temporaryStore().session("agent");
    const history: ModelMessage[] = [{ role: "user", content: "one" }];
    for (const next of ["two", "three"]) {
      const { response } = await generateText({
        model: caller(2),
        tools,
        messages: history,
        stopWhen: stepCountIs(5),
        ...contextSteps(session),
      });
      history.push(...response.messages, { role: "user", content: next });
    }
    await generateText({ model: caller(1), prompt: "four", ...contextSteps(session) });
    const users = session.messages().filter(({ role }) => role === "user");
    expect(users.map(({ parts }) => parts[0])).toMatchObject([{ text: "one" }, { text: "two" }, { text: "four" }]);
    expect(session.messages()).toHaveLength(4 + 4 + 2);
  });

  test.each([false, true])("stores each result when its tool has ended, once (streamed: %s)", async (isStreamed) => {
    const store = temporaryStore();
    const session = store.session("agent");
    const stored: string[][] = [];
    const inputSchema = jsonSchema<object>({ type: "object", properties: {} });
    const both = {
      tide: tool({
        inputSchema,
        execute: async () => {
          await vi.waitFor(() => expect(session.messages()).toHaveLength(3), { interval: 5 });
          stored.push(session.messages().map(({ role }) => role));
          return { high: "04:12" };
        },
      }),
      wind: tool({
        inputSchema,
        execute: async (): Promise<string> => {
          throw new Error("The wind is unknown.");
        },
      }),
    };
    const call = (toolName: string) => ({ type: "tool-call" as const, toolCallId: toolName, toolName, input: "{}" });
    const finishReason = { unified: "tool-calls" as const, raw: undefined };
    const finish = { type: "finish" as const, finishReason, usage: USAGE };
    const last = caller(1);
    let count = 0;
    const model = new MockLanguageModelV3({
      doGenerate: async (options) => {
        if (count++ > 0) return await last.doGenerate(options);
        return { content: [call("tide"), call("wind")], finishReason, usage: USAGE, warnings: [] };
      },
      doStream: async (options) => {
        if (count++ > 0) return await last.doStream(options);
        return { stream: simulateReadableStream({ chunks: [call("tide"), call("wind"), finish] }) };
      },
    });
    const settings = { model, tools: both, prompt: "When?", stopWhen: stepCountIs(3), ...contextSteps(session) };
    await (isStreamed ? streamText(settings).consumeStream() : generateText(settings));
    expect(stored).toEqual([["user", "assistant", "tool"]]);
    expect(session.messages().map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
    expect(session.messages()[2]!.parts).toMatchObject([{ toolCallId: "wind", isError: true }]);
    expect(store.query("SELECT count(*) AS count FROM messages")).toEqual([{ count: 5 }]);
    const { prompt } = model.doGenerateCalls.concat(model.doStreamCalls).at(-1)!;
    expect(prompt.map(({ role, content }) => [role, content.length])).toEqual([
      ["user", 1],
      ["assistant", 2],
      ["tool", 2],
    ]);
  });

  test("stores the result of a call that a person approved once", async () => {
    const session = temporaryStore().session("agent");
    const withApproval = { tide: tool({ ...tools.tide, needsApproval: true }) };
    const first = await generateText({
      model: caller(2),
      tools: withApproval,
      prompt: "When?",
      ...contextSteps(session),
    });
    const request = first.content.find((part) => part.type === "tool-approval-request")!;
    const approved: ModelMessage = {
      role: "tool",
      content: [{ type: "tool-approval-response", approvalId: request.approvalId, approved: true }],
    };
    const messages: ModelMessage[] = [{ role: "user", content: "When?" }, ...first.response.messages, approved];
    const model = caller(3, "later");
    await generateText({ model, tools, messages, stopWhen: stepCountIs(5), ...contextSteps(session) });
    const results = session.messages().flatMap(({ parts }) => parts.filter(({ type }) => type === "tool_result"));
    expect(results).toMatchObject([
      { toolCallId: request.approvalId },
      { toolCallId: "call-1", name: "tide" },
      { toolCallId: "later-1" },
      { toolCallId: "later-2" },
    ]);
    checkPrompts(model.doGenerateCalls.map(({ prompt }) => prompt));
  });

  test("of a chat is in the chat once: its steps are superseded by the answer that the SDK made of them", async () => {
    const store = temporaryStore();
    const chats = new CoppiceChats(store, SETTINGS);
    for (let turn = 0; turn < 3; turn++) {
      const messages = [...chats.loadMessages("c"), user(`u${turn}`, `When is high water? ${turn}`)];
      chats.saveMessages("c", messages);
      const model = caller(8);
      const { prepareStep } = contextSteps(store.resume("c"), BUDGET);
      const result = streamText({
        ...{ model, tools, prepareStep, stopWhen: stepCountIs(30) },
        messages: await convertToModelMessages(messages),
      });
      let saved: UIMessage[] = [];
      const stream = result.toUIMessageStream({
        ...{ originalMessages: messages, generateMessageId: () => `a${turn}` },
        onFinish: ({ messages: finished }) => {
          saved = finished;
          chats.saveMessages("c", finished);
        },
      });
      for await (const _ of stream);
      expect(chats.loadMessages("c")).toStrictEqual(JSON.parse(JSON.stringify(saved)));
      expect(saved.at(-1)).toMatchObject({ id: `a${turn}`, role: "assistant" });
      checkPrompts(model.doStreamCalls.map(({ prompt }) => prompt));
      expect(store.resume("c").messages()).toHaveLength(16 * (turn + 1));
    }
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("that is aborted midway loses nothing that was said or saved before", async () => {
    const store = temporaryStore();
    const chats = new CoppiceChats(store);
    const messages = [user("u0", "When is high water?")];
    chats.saveMessages("c", messages);
    const abort = new AbortController();
    const { prepareStep } = contextSteps(store.resume("c"));
    const result = streamText({
      ...{ model: caller(20), tools, stopWhen: stepCountIs(30), abortSignal: abort.signal },
      prepareStep: (options) => {
        const prepared = prepareStep(options);
        if (options.steps.length === 5) abort.abort();
        return prepared;
      },
      messages: await convertToModelMessages(messages),
    });
    let isAborted: boolean | undefined;
    const stream = result.toUIMessageStream({
      ...{ originalMessages: messages, generateMessageId: () => "a0" },
      onFinish: (finished) => {
        // As if this process died before: the steps and the last call are there, and the chat can be loaded.
        const [, answered] = chats.loadMessages("c");
        expect(answered!.parts.filter(({ type }) => type === "tool-tide")).toHaveLength(6);
        isAborted = finished.isAborted;
        chats.saveMessages("c", finished.messages);
      },
    });
    for await (const _ of stream);
    expect(isAborted).toBe(true);
    const [question, answered] = chats.loadMessages("c");
    expect(question).toEqual(messages[0]);
    expect(answered!.id).toBe("a0");
    const outputs = answered!.parts.filter((part) => part.type === "tool-tide" && part.state === "output-available");
    expect(outputs.length).toBeGreaterThanOrEqual(5);
    expect(store.resume("c").messages().length).toBeGreaterThanOrEqual(11);
  });
});
