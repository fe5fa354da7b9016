import { describe, expect, test } from "vitest";
import { aiSdk } from "../../../src/importers/ai-sdk.ts";
import type { Importer } from "../../../src/importers/importer.ts";
import { openai } from "../../../src/importers/openai.ts";
import { collect, eventsOf, eventsSoFar, fileOf, messagesIn, sessionsIn, warningsIn } from "./read.ts";

const read = (importer: Importer, value: unknown) => eventsOf(importer, JSON.stringify(value));
const user = (content: string) => ({ role: "user", content });

describe("a list of messages", () => {
  test("is a session named after its file, the same for the same path", async () => {
    const at = async (path: string) =>
      sessionsIn(await collect(openai.read(fileOf(JSON.stringify([user("hi")]), 9, path))))[0]?.externalId;
    expect(await at("/a/chat.json")).toMatch(/^chat-[0-9a-f]{8}$/);
    expect(await at("/a/chat.json")).toBe(await at("/a/./chat.json"));
    expect(await at("/a/chat.json")).not.toBe(await at("/b/chat.json"));
  });

  test("is named by its id, with title, time and model, if these come first", async () => {
    const chat = { id: "c1", title: "Tides", created: 1_772_000_000, model: "m", tools: [{}], messages: [user("hi")] };
    expect(sessionsIn(await read(openai, chat))).toEqual([
      {
        externalId: "c1",
        source: "openai",
        title: "Tides",
        createdAtMs: 1_772_000_000_000,
        metadata: { created: 1_772_000_000, model: "m" },
      },
    ]);
  });

  test("calls its messages by their ids, or by their places, whatever could not be read before them", async () => {
    const events = await read(openai, [user("a"), { role: "king" }, 7, { ...user("b"), id: "own" }, user("c")]);
    expect(messagesIn(events).map(({ id }) => id)).toEqual(["0", "own", "4"]);
    expect(warningsIn(events)).toEqual([
      [1, 'role: OpenAI has no role "king"'],
      [1, "expected a message, as an object"],
    ]);
  });

  test("on each line is a session for each, the later ones named by their lines", async () => {
    const lines = [{ messages: [user("a")] }, { messages: [] }, { messages: [user("b"), user("c")] }];
    const events = await eventsOf(openai, lines.map((line) => JSON.stringify(line)).join("\n"));
    expect(sessionsIn(events).map(({ externalId }) => externalId.split("#")[1])).toEqual([undefined, "3"]);
    expect(messagesIn(events).map(({ id }) => id)).toEqual(["0", "0", "1"]);
  });

  test("has the answers of a response behind those of the request", async () => {
    const log = { messages: [user("a")], choices: [{ index: 0, message: { role: "assistant", content: "b" } }] };
    expect(messagesIn(await read(openai, log)).map(({ role }) => role)).toEqual(["user", "assistant"]);
  });
});

describe("messages of Anthropic", () => {
  const task = { role: "user", content: [{ type: "text", text: "Oil the lamp" }], ts: 1_772_000_000_000 };
  const call = { type: "tool_use", id: "t1", name: "oil", input: { drops: 3 } };
  const result = { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "oiled" }] };

  test("have their calls, their results, and the words beside the results", async () => {
    const events = await read(openai, [
      task,
      { role: "assistant", content: [{ type: "thinking", thinking: "Three?", signature: "x" }, call] },
      { role: "user", content: [result, { type: "text", text: "Now the hinge" }] },
      { role: "assistant", content: "Yes." },
    ]);
    expect(warningsIn(events)).toEqual([]);
    expect(messagesIn(events)).toMatchObject([
      { id: "0", role: "user", parts: [{ text: "Oil the lamp" }], createdAt: 1_772_000_000_000 },
      {
        id: "1",
        role: "assistant",
        parts: [
          { type: "reasoning", text: "Three?" },
          { type: "tool_call", toolCallId: "t1", name: "oil", args: { drops: 3 } },
        ],
      },
      { id: "2:result", role: "tool", parts: [{ type: "tool_result", toolCallId: "t1" }] },
      { id: "2", role: "user", parts: [{ text: "Now the hinge" }] },
      { id: "3", role: "assistant", parts: [{ text: "Yes." }] },
    ]);
  });

  test("are read in a request, and as replies on lines", async () => {
    const request = { model: "m", messages: [{ role: "user", content: [result] }] };
    expect(messagesIn(await read(openai, request))).toMatchObject([{ id: "0", role: "tool" }]);
    const reply = { id: "msg_1", type: "message", role: "assistant", content: [call] };
    expect(messagesIn(await read(openai, reply))).toMatchObject([{ id: "msg_1", parts: [{ type: "tool_call" }] }]);
  });
});

describe("openai", () => {
  test("developer and system messages are the system's; a name stays a name", async () => {
    const events = await read(openai, [
      { role: "developer", content: "x" },
      { ...user("a"), name: "mira" },
    ]);
    expect(messagesIn(events)).toMatchObject([
      { role: "system", metadata: { openai: { coppice: { role: "developer" } } } },
      { role: "user", name: "mira" },
    ]);
  });

  test("what a program says of a message beside what OpenAI does is no part of the provider's message", async () => {
    const answer = { role: "assistant", content: "b", id: "own", created_at: 1_772_000_000, annotations: [] };
    expect(messagesIn(await read(openai, [user("a"), answer]))[1]).toEqual({
      id: "own",
      role: "assistant",
      createdAt: 1_772_000_000_000,
      parts: [{ type: "text", text: "b" }],
      metadata: { openai: { annotations: [] } },
    });
  });

  test("an answer is for the function of its name where there are no ids, and reported where there is no name", async () => {
    const answers = [
      { role: "tool", name: "f", content: "x" },
      { role: "tool", content: "x" },
    ];
    const events = await read(openai, [user("a"), ...answers]);
    expect(messagesIn(events)[1]!.parts).toMatchObject([{ type: "tool_result", toolCallId: "f", content: "x" }]);
    expect(warningsIn(events)).toEqual([[1, "tool_call_id: a result must name its call"]]);
  });
});

describe("ai-sdk", () => {
  test("waits for a message that was saved while the model spoke, until nothing more is written", async () => {
    const prompt = { id: "u", role: "user", parts: [{ type: "text", text: "q" }] };
    for (const half of [
      { parts: [{ type: "text", text: "let me", state: "streaming" }] },
      { content: "", toolInvocations: [{ toolCallId: "c", toolName: "ls", state: "partial-call", args: {} }] },
    ]) {
      const content = Buffer.from(JSON.stringify([prompt, { id: "a", role: "assistant", ...half }]));
      const soFar = await eventsSoFar(aiSdk, content);
      expect(messagesIn(soFar).map(({ id }) => id)).toEqual(["u"]);
      expect(warningsIn(soFar)).toEqual([
        [1, "not imported yet, because the file may still grow: the message is still being written"],
      ]);
      const over = await eventsOf(aiSdk, content);
      expect(messagesIn(over).map(({ id }) => id)).toEqual(["u", "a"]);
      expect(warningsIn(over)).toEqual([]);
    }
  });

  const assistant = (...parts: object[]) => ({ id: "m", role: "assistant", parts });
  const tool = (id: string, more: object) => ({ type: "tool-look", toolCallId: id, input: { id }, ...more });

  async function shapes(...messages: object[]) {
    return messagesIn(await read(aiSdk, messages)).map(({ id, role, parts }) => [
      id,
      role,
      ...parts!.map(({ type }) => type),
    ]);
  }

  test("a turn is taken apart into its steps", async () => {
    const available = { state: "output-available", output: "x" };
    expect(
      await shapes(
        assistant(
          { type: "step-start" },
          { type: "text", text: "a" },
          tool("c1", available),
          tool("c2", available),
          { type: "step-start" },
          tool("c3", available),
          { type: "step-start" },
          { type: "text", text: "b" },
        ),
      ),
    ).toEqual([
      ["m", "assistant", "text", "tool_call", "tool_call"],
      ["m:c1", "tool", "tool_result"],
      ["m:c2", "tool", "tool_result"],
      ["m/1", "assistant", "tool_call"],
      ["m/1:c3", "tool", "tool_result"],
      ["m/2", "assistant", "text"],
    ]);
  });

  test("a call that grows its result keeps its name, and its result is new", async () => {
    const [before] = messagesIn(await read(aiSdk, [assistant(tool("c1", { state: "input-available" }))]));
    const failed = tool("c1", { state: "output-error", errorText: "no" });
    const [after, answer] = messagesIn(await read(aiSdk, [assistant(failed)]));
    expect(after).toEqual(before);
    expect(answer).toMatchObject({ id: "m:c1", parts: [{ content: "no", isError: true }] });
  });

  test("version 4 is read: calls beside the words, attachments, reasoning by its old name", async () => {
    const old = {
      id: "m",
      role: "assistant",
      content: "So it is.",
      toolInvocations: [{ toolCallId: "c", toolName: "look", args: { a: 1 }, state: "result", result: { b: 2 } }],
    };
    const asked = {
      id: "u",
      role: "user",
      content: "See",
      parts: [{ type: "text", text: "See" }],
      experimental_attachments: [{ url: "data:image/png;base64,QQ==", contentType: "image/png", name: "a.png" }],
    };
    const events = messagesIn(await read(aiSdk, [asked, old, assistant({ type: "reasoning", reasoning: "hm" })]));
    expect(events.map(({ parts }) => parts)).toEqual([
      [
        { type: "text", text: "See" },
        { type: "file", name: "a.png", mediaType: "image/png", data: "QQ==" },
      ],
      [{ type: "tool_call", toolCallId: "c", name: "look", args: { a: 1 } }],
      [{ type: "tool_result", toolCallId: "c", name: "look", content: [{ type: "data", data: { b: 2 } }] }],
      [{ type: "text", text: "So it is." }],
      [{ type: "reasoning", text: "hm" }],
    ]);
  });
});
