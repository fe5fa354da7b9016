import { setTimeout as wait } from "node:timers/promises";
import { Agent, type AgentInputItem, Runner } from "@openai/agents-core";
import { assistantMessage, functionCall, modelError, modelResponse, ScriptedModel } from "@openai/agents-core/testing";
import { describe, expect, test } from "vitest";
import { wellFormed } from "../../../src/core/well-formed.ts";
import { CoppiceSession } from "../../../src/frameworks/openai-agents.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

function user(text: string): AgentInputItem {
  return { role: "user", content: [{ type: "input_text", text }] };
}

function said(text: string): AgentInputItem {
  return { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] };
}

function call(callId: string, args = '{"city":"Oslo"}'): AgentInputItem {
  return { type: "function_call", callId, name: "tide", status: "completed", arguments: args, id: `fc_${callId}` };
}

function result(callId: string, text: string): AgentInputItem {
  return { type: "function_call_result", callId, name: "tide", status: "completed", output: { type: "text", text } };
}

const PROTO = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}');

/** An item of each kind, with odd values in it. */
const KINDS = [
  { role: "system", content: "Answer briefly." },
  { role: "user", content: "plain text" },
  call("c-out-of-range", '{"meters": 1e400}'),
  { role: "user", content: "" },
  { role: "user", content: [] },
  {
    role: "user",
    content: [
      { type: "input_text", text: "Look:", providerData: PROTO },
      { type: "input_text", text: "   " },
      { type: "input_image", image: "data:image/png;base64,AAAA", detail: "low" },
      { type: "input_image", image: { id: "file-1" } },
      { type: "input_file", file: "https://example.org/a.pdf", filename: "a.pdf" },
      { type: "audio", audio: "AAAA", format: "mp3" },
    ],
  },
  {
    type: "reasoning",
    id: "rs_1",
    content: [{ type: "input_text", text: "First the table." }],
    rawContent: [{ type: "reasoning_text", text: "hm" }],
    providerData: { encrypted_content: "x".repeat(20_000), bytes: new Uint8Array([0, 255]), none: undefined },
  },
  { type: "reasoning", content: [] },
  {
    ...{ type: "message", role: "assistant", status: "completed", phase: "final_answer" },
    content: [
      {
        type: "output_text",
        text: "At 04:12.",
        providerData: { logprobs: [Number.NaN, -0, Number.POSITIVE_INFINITY] },
      },
      { type: "refusal", refusal: "No more." },
      { type: "image", image: "data:image/png;base64,AAAA" },
    ],
  },
  call("c1"),
  call("c2", '{ "city" : "Bergen" }'),
  call("c3", "not json"),
  call("c4", "null"),
  { type: "function_call", callId: "", name: "", arguments: "" },
  result("c1", "04:12"),
  { type: "function_call_result", callId: "c2", name: "tide", status: "completed", output: "word \ud800" },
  {
    ...{ type: "function_call_result", callId: "c3", name: "tide", status: "incomplete" },
    output: [
      { type: "input_text", text: "one" },
      { type: "input_image", image: "data:image/png;base64,AAAA" },
      { type: "input_text", text: "two" },
    ],
  },
  { type: "function_call_result", callId: "c4", name: "tide", status: "completed", output: { type: "image" } },
  { type: "hosted_tool_call", id: "ws_1", name: "web_search_call", status: "completed", output: "found it" },
  { type: "shell_call", callId: "s1", action: { commands: ["ls -la"], timeoutMs: 10 } },
  {
    ...{ type: "shell_call_output", callId: "s1" },
    output: [{ stdout: "a.txt", stderr: "", outcome: { type: "exit", exitCode: 0 } }],
  },
  { type: "apply_patch_call", callId: "p1", status: "completed", operation: { type: "delete_file", path: "a.txt" } },
  { type: "apply_patch_call_output", callId: "p1", status: "completed", output: "done" },
  { type: "computer_call", callId: "k1", status: "completed", actions: [{ type: "screenshot" }] },
  {
    type: "computer_call_result",
    callId: "k1",
    output: { type: "computer_screenshot", data: "data:image/png;base64,AA" },
  },
  { type: "compaction", encrypted_content: "secret".repeat(9) },
  { type: "unknown", providerData: PROTO },
] as AgentInputItem[];

/** A provider refuses lone surrogates. */
const SENT = wellFormed(KINDS);

describe("items", () => {
  test("of every kind come back as they were, together and one by one, in another process too", async () => {
    const path = temporaryPath();
    const store = openedStore(path);
    await new CoppiceSession(store, { sessionId: "together" }).addItems(KINDS);
    const single = new CoppiceSession(store, { sessionId: "single" });
    for (const item of KINDS) await single.addItems([item]);
    const again = openedStore(path);
    for (const sessionId of ["together", "single"]) {
      const session = new CoppiceSession(again, { sessionId });
      expect(await session.getItems()).toEqual(SENT);
      for (const limit of [1, 5, KINDS.length, 99]) expect(await session.getItems(limit)).toEqual(SENT.slice(-limit));
    }
    expect(again.verify()).toMatchObject({ ok: true });
    const popped: AgentInputItem[] = [];
    const session = new CoppiceSession(again, { sessionId: "together" });
    for (let item = await session.popItem(); item !== undefined; item = await session.popItem()) popped.unshift(item);
    expect(popped).toEqual(KINDS);
    expect(await session.getItems()).toEqual([]);
  });

  test("are messages that recall finds, and calls made together are one step with their results", async () => {
    const store = temporaryStore();
    const session = new CoppiceSession(store, { sessionId: "s", project: "web" });
    const items = [user("When is high water?"), call("a"), call("b"), result("a", "04:12"), result("b", "zebra 05:30")];
    await session.addItems(items);
    const messages = session.session.messages();
    expect(messages.map(({ role, parts }) => [role, parts.length])).toEqual([
      ["user", 1],
      ["assistant", 2],
      ["tool", 1],
      ["tool", 1],
    ]);
    expect(new Set(messages.slice(1).map(({ stepId }) => stepId)).size).toBe(1);
    expect(await store.recall('"zebra 05:30"', { project: "web" })).toMatchObject([{ sessionId: "s", seq: 3 }]);
    await session.popItem();
    expect(await store.recall('"zebra 05:30"')).toEqual([]);
    expect(await session.getItems()).toEqual(items.slice(0, -1));
  });

  test("that are no plain data are refused without a word of them, and nothing is stored", async () => {
    const session = new CoppiceSession(temporaryStore());
    for (const value of [new Date(0), () => "sk-1", new Map([["sk-1", 1]]), Symbol("sk-1")]) {
      const item = { ...user("x"), providerData: { value } } as AgentInputItem;
      await expect(session.addItems([user("before"), item])).rejects.toThrow(/^Session history items contain/);
    }
    expect(await session.getItems()).toEqual([]);
  });
});

test("a call is replaced in place, also among others of its message, and its repetitions go", async () => {
  const session = new CoppiceSession(temporaryStore());
  await session.addItems([user("start"), call("a"), call("b"), result("b", "1"), call("a"), said("end")]);
  const replacement = call("a", '{"city":"Turku"}') as Extract<AgentInputItem, { type: "function_call" }>;
  await session.applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId: "a", replacement }] });
  expect(await session.getItems()).toEqual([user("start"), replacement, call("b"), result("b", "1"), said("end")]);
  expect(session.session.messages()).toHaveLength(4);
});

test("a compaction begins the history, and contexts and recall keep the originals", async () => {
  const store = temporaryStore();
  const session = new CoppiceSession(store, { sessionId: "s" });
  await session.addItems([user("the zebra crossed the harbor"), said("It did.")]);
  const compaction: AgentInputItem = { type: "compaction", encrypted_content: "cipher" };
  await session.replaceHistoryWithCompaction([compaction, said("It did.")]);
  await session.addItems([user("and then?")]);
  expect(await session.getItems()).toEqual([compaction, said("It did."), user("and then?")]);
  expect((await store.recall("zebra"))[0]).toMatchObject({ sessionId: "s", seq: 0 });
  expect(await store.recall('"cipher"')).toEqual([]);
  await session.popItem();
  await session.popItem();
  expect(await session.getItems()).toEqual([compaction]);
  await session.popItem();
  expect(await session.getItems()).toEqual([]);
  expect(await session.popItem()).toBeUndefined();
  await session.addItems([user("again")]);
  expect(await session.getItems()).toEqual([user("again")]);
  await session.clearSession();
  expect(await session.getItems()).toEqual([]);
  expect(session.session.messages()).toEqual([]);
});

describe("a run", () => {
  test("gets the rendered context instead of a long history, and stores each item once", async () => {
    const session = new CoppiceSession(temporaryStore(), {
      ...{ sessionId: "s", hotSize: 4, overlap: 1, evictBatch: 4, contextTokensMax: 3_000 },
    });
    const long = "the tide table of the almanac says so ".repeat(20);
    const before = Array.from({ length: 40 }, (_, n) => [user(`question ${n}: ${long}`), said(`answer ${n}`)]).flat();
    await session.addItems(before);
    const model = new ScriptedModel([
      modelResponse([functionCall("tide", { city: "Oslo" }, { callId: "t1" })]),
      modelResponse([assistantMessage("At 04:12.")]),
    ]);
    const { tool } = await import("@openai/agents-core");
    const { z } = await import("zod");
    const tide = tool({
      ...{ name: "tide", description: "The next high water.", parameters: z.object({ city: z.string() }) },
      execute: async () => "04:12",
    });
    const agent = new Agent({ name: "Harbor", model, tools: [tide] });
    const runner = new Runner({ tracingDisabled: true });
    const output = await runner.run(agent, "When is high water?", {
      session,
      sessionInputCallback: session.inputCallback({ tokensMax: 3_000 }),
    });
    expect(output.finalOutput).toBe("At 04:12.");
    const sent = model.calls[0]!.request.input as AgentInputItem[];
    expect(sent.length).toBeLessThan(before.length / 2);
    expect(JSON.stringify(sent).length).toBeLessThan(30_000);
    expect(JSON.stringify(sent)).toContain("answer 39");
    expect(JSON.stringify(sent.at(-1))).toContain("When is high water?");
    const stored = await session.getItems();
    expect(stored.slice(0, before.length)).toEqual(before);
    expect(stored.slice(before.length).map((item) => ("role" in item ? item.role : item.type))).toEqual([
      "user",
      "function_call",
      "function_call_result",
      "assistant",
    ]);
  });

  test.each([false, true])(
    "stores what its recorded model is asked and says once, and a retry of a failed run too (streamed: %s)",
    async (stream) => {
      const store = temporaryStore();
      const session = new CoppiceSession(store, { sessionId: "s" });
      await session.addItems([user("earlier"), said("yes")]);
      const words = assistantMessage("I look it up.");
      const called = (callId: string) => functionCall("tide", {}, { callId });
      const answers = (turn: number) => [
        modelResponse([words, called(`a${turn}`), called(`b${turn}`)]),
        modelResponse([assistantMessage("At 04:12.")]),
      ];
      const { tool } = await import("@openai/agents-core");
      const { z } = await import("zod");
      const stored: number[] = [];
      // The second call ends first.
      const execute = async () => {
        stored.push(session.session.messages().length);
        await wait(stored.length % 2 === 1 ? 20 : 0);
        return `04:12, ${stored.length}`;
      };
      const tide = tool({ name: "tide", description: "The next high water.", parameters: z.object({}), execute });
      const agent = new Agent({ name: "Harbor", model: "scripted", tools: [tide] });
      const run = async (model: ScriptedModel) => {
        const runner = session.recording(
          new Runner({ tracingDisabled: true, modelProvider: { getModel: () => model } }),
        );
        const options = { session, sessionInputCallback: session.inputCallback() };
        if (!stream) return await runner.run(agent, "When is high water?", options);
        const streamed = await runner.run(agent, "When is high water?", { ...options, stream: true });
        for await (const _ of streamed);
        await streamed.completed;
      };
      const failing = new ScriptedModel([answers(1)[0]!, modelError(new Error("overloaded"))]);
      await expect(run(failing)).rejects.toThrow("overloaded");
      expect(JSON.stringify(await session.getItems())).toContain("I look it up.");
      await run(new ScriptedModel(answers(2)));
      await run(new ScriptedModel(answers(3)));
      const turn = [
        "user",
        "assistant",
        "function_call",
        "function_call",
        "function_call_result",
        "function_call_result",
        "assistant",
      ];
      const kinds = (await session.getItems()).map((item) => ("role" in item ? item.role : item.type));
      // A streamed run hands over a failed turn before it ends, so nothing supersedes it.
      expect(kinds).toEqual(["user", "assistant", ...(stream ? turn.slice(0, -1) : []), ...turn, ...turn]);
      expect(stored[0]).toBe(4);
      if (stream) return;
      expect(session.session.messages()).toHaveLength(2 + 2 * 5);
      // Only the failed run is superseded.
      const branches = store.query("SELECT count(*) AS count FROM sessions WHERE superseded_at_ms IS NOT NULL");
      expect(branches).toEqual([{ count: 1 }]);
    },
  );
});
