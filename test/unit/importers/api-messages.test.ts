import { expect, test } from "vitest";
import { langsmith } from "../../../src/importers/langsmith.ts";
import { openWebui } from "../../../src/importers/open-webui.ts";
import { openaiResponses } from "../../../src/importers/openai-responses.ts";
import { sharegpt } from "../../../src/importers/sharegpt.ts";
import { eventsOf, messagesIn, sessionsIn, warningsIn } from "./read.ts";

const rolesAndTexts = (events: Parameters<typeof messagesIn>[0]) =>
  messagesIn(events).map(({ role, parts }) => [role, parts?.map((part) => part.text ?? part.content ?? part.name)]);

test("what each run of a trace repeats is told once, although the newest run comes first", async () => {
  const human = { type: "human", data: { content: "Grind the rye." } };
  const call = { type: "ai", data: { content: "", tool_calls: [{ id: "c1", name: "grind", args: {} }] } };
  const result = { type: "tool", data: { content: "ground", tool_call_id: "c1" } };
  const last = { type: "ai", data: { content: "Done." } };
  const run = (id: string, start_time: string, messages: object[], outputs: object) => {
    return { id, trace_id: "t", run_type: "llm", start_time, inputs: { messages }, outputs };
  };
  const runs = [
    run("2", "2026-03-05T09:01:00Z", [human, call, result], { generations: [[{ message: last }]] }),
    run("1", "2026-03-05T09:00:00Z", [human], { generations: [[{ message: call }]] }),
    run("0", "2026-03-05T08:59:00Z", [human], { messages: [human, call, result, last] }),
  ];
  for (const document of [runs, { runs }]) {
    const events = await eventsOf(langsmith, JSON.stringify(document));
    expect(sessionsIn(events)).toMatchObject([{ externalId: "t" }]);
    expect(messagesIn(events).map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  }
});

test("a request and its response are read from one object", async () => {
  const output = [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "4.2 m" }] }];
  const events = await eventsOf(
    openaiResponses,
    JSON.stringify({ id: "resp_1", model: "m", input: "How deep?", output }),
  );
  expect(sessionsIn(events)).toMatchObject([{ externalId: "resp_1", metadata: { model: "m" } }]);
  expect(rolesAndTexts(events)).toEqual([
    ["user", ["How deep?"]],
    ["assistant", ["4.2 m"]],
  ]);
});

test("a file of items that are unknown fails, and says which", async () => {
  const items = Array.from({ length: 6 }, (_, index) => ({ type: "dream", id: `d${index}`, schema_version: "9" }));
  const first = { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] };
  const events = await eventsOf(openaiResponses, JSON.stringify([first, ...items]));
  const reason = expect.stringContaining('6 of its 7 items are unknown; line 1: unknown type of item: "dream"');
  expect(events.at(-1)).toMatchObject({ kind: "misread", isInPart: true, reason });
});

test("a speaker that is unknown costs no other", async () => {
  const conversations = [
    { from: "human", value: "Hi" },
    { from: "ghost", value: "Boo" },
    { from: "gpt", value: "Hello" },
  ];
  const events = await eventsOf(sharegpt, JSON.stringify([{ id: "a", conversations }]));
  expect(rolesAndTexts(events)).toEqual([
    ["user", ["Hi"]],
    ["assistant", ["Hello"]],
  ]);
  expect(warningsIn(events)).toEqual([[1, 'unknown speaker: "ghost"']]);
});

test("the answer that was shown last is the path of an Open WebUI chat", async () => {
  const message = (id: string, parentId: string | null, role: string, content: string) => [
    id,
    { id, parentId, role, content },
  ];
  const messages = Object.fromEntries([
    message("a", null, "user", "Which oil?"),
    message("b", "a", "assistant", "Linseed."),
    message("c", "a", "assistant", "Tung."),
  ]);
  const chat = { history: { currentId: "b", messages } };
  const events = await eventsOf(openWebui, JSON.stringify({ id: "x", title: "Oil", chat, created_at: 1_772_700_000 }));
  expect(sessionsIn(events)[0]).toMatchObject({ externalId: "x", title: "Oil", createdAtMs: 1_772_700_000_000 });
  expect(events.at(-1)).toMatchObject({ kind: "head", session: "x", messageId: "b" });
});
