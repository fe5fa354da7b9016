import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { codex } from "../../../src/importers/codex/importer.ts";
import { isPassedOver } from "../../../src/importers/files.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import {
  eventsAt,
  eventsOfLines,
  eventsSoFar,
  jsonLines,
  messagesIn,
  put,
  saidIn,
  sessionsIn,
  warningsIn,
} from "./read.ts";

let second = 0;
const line = (type: string, payload: object) => ({
  timestamp: new Date(Date.UTC(2026, 2, 1, 0, 0, ++second)).toISOString(),
  type,
  payload,
});
const META = line("session_meta", { id: "s", cwd: "/srv/tidewatch", git: { branch: "main" } });
const item = (payload: object) => line("response_item", payload);
const event = (payload: object) => line("event_msg", payload);
const said = (role: string, text: string) => {
  const type = role === "assistant" ? "output_text" : "input_text";
  return item({ type: "message", role, content: [{ type, text }] });
};
const call = (id: string, words = "{}") =>
  item({ type: "function_call", name: "shell", arguments: words, call_id: id });
const output = (id: string, value: unknown) => item({ type: "function_call_output", call_id: id, output: value });

async function read(...lines: object[]) {
  return eventsOfLines(codex, [META, ...lines]);
}

const partsIn = async (...lines: object[]) => saidIn(await read(...lines));

describe("items", () => {
  test("of one model call are a message each, a thought with its words, a call with its answer", async () => {
    const lines = [
      said("user", "go"),
      item({ type: "reasoning", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "e" }),
      said("assistant", "I run two."),
      call("a"),
      call("b"),
      output("a", "1"),
      said("user", "typed meanwhile"),
      output("b", "2"),
      said("assistant", "done"),
    ];
    expect(await partsIn(...lines)).toEqual([
      "user: go",
      "assistant: hm | I run two.",
      "assistant: >a",
      "tool: <a",
      "assistant: >b",
      "tool: <b",
      "user: typed meanwhile",
      "assistant: done",
    ]);
  });

  test("count once by their call id, and lines once by their time", async () => {
    const [again, ran] = [
      said("user", "yes"),
      event({ type: "exec_command_end", call_id: "a", aggregated_output: "1" }),
    ];
    const once = [call("a"), ran, output("a", "1")];
    const lines = [again, again, ...once, call("a"), output("a", "1"), event({ type: "task_complete" })];
    expect(await partsIn(...lines)).toEqual(["user: yes", "assistant: >a", "tool: <a"]);
  });

  test("under one call id that say different things are different calls", async () => {
    const [list, show] = [call("0", '{"cmd":"ls"}'), call("0", '{"cmd":"pwd"}')];
    const lines = [list, output("0", "ok"), show, output("0", "ok"), call("0")];
    expect(await partsIn(...lines, call("0"))).toEqual([
      "assistant: >0",
      "tool: <0",
      "assistant: >0",
      "tool: <0",
      "assistant: >0",
    ]);
  });

  test("without a time are meant each time, as in the first versions", async () => {
    const bare = { type: "message", role: "user", content: [{ type: "input_text", text: "yes" }] };
    const first = { id: "old", timestamp: "2025-05-01T00:00:00Z", instructions: null, git: {} };
    const events = await eventsOfLines(codex, [first, { record_type: "state" }, bare, bare]);
    expect(sessionsIn(events)).toMatchObject([{ externalId: "old" }]);
    const [one, two] = messagesIn(events);
    expect(two?.id).toBe(`${one?.id}#2`);
    expect(warningsIn(events)).toEqual([]);
  });

  test("keep arguments as they were written where JSON would write them otherwise", async () => {
    const calls = messagesIn(await read(call("a", '{ "x": 1 }'), call("b", '{"x":1}'), call("c", "not json")));
    expect(calls.flatMap(({ parts }) => parts)).toEqual([
      { type: "tool_call", toolCallId: "a", name: "shell", args: { x: 1 }, arguments: '{ "x": 1 }' },
      { type: "tool_call", toolCallId: "b", name: "shell", args: { x: 1 } },
      { type: "tool_call", toolCallId: "c", name: "shell", args: "not json" },
    ]);
  });

  test("of images come as files", async () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,QQ==" };
    const events = await read(
      item({
        type: "message",
        role: "user",
        content: [image, { type: "input_image", image_url: "https://x.example/a.png" }],
      }),
      item({ type: "image_generation_call", id: "ig", status: "completed", result: "Qg==" }),
    );
    expect(messagesIn(events).map(({ parts }) => parts)).toEqual([
      [
        { type: "file", mediaType: "image/png", data: "QQ==" },
        { type: "file", mediaType: "image/*", url: "https://x.example/a.png" },
      ],
      [{ type: "file", mediaType: "image/png", data: "Qg==" }],
    ]);
  });

  test("that agents send each other come as the user's, with who wrote to whom", async () => {
    const content = [
      { type: "input_text", text: "Survey the port." },
      { type: "encrypted_content", encrypted_content: "e" },
    ];
    const events = await read(
      item({ type: "additional_tools", tools: [] }),
      item({ type: "agent_message", author: "/root", recipient: "/root/scout", content }),
      event({ type: "sub_agent_activity", agent: "/root/scout" }),
    );
    expect(messagesIn(events)).toMatchObject([
      {
        role: "user",
        parts: [{ type: "text", text: "Survey the port." }, { type: "data" }],
        metadata: { type: "agent_message", author: "/root", recipient: "/root/scout" },
      },
    ]);
    expect(warningsIn(events)).toEqual([]);
  });

  test("of types that nobody knows are reported by line", async () => {
    const lines = [item({ type: "dream" }), event({ type: "sneeze" }), line("weather", {}), { a: 1 }];
    expect(warningsIn(await read(...lines))).toEqual([
      [2, 'unknown type of item: "dream"'],
      [3, 'unknown type of event: "sneeze"'],
      [4, 'unknown type of line: "weather"'],
      [5, "unknown type of line: null"],
    ]);
  });
});

describe("events", () => {
  test("that repeat items add nothing, before or after them", async () => {
    const lines = [
      event({ type: "agent_reasoning", text: "one" }),
      event({ type: "agent_reasoning", text: "two" }),
      item({ type: "reasoning", summary: [{ text: "one" }, { text: "two" }] }),
      event({ type: "agent_message", message: "Done. " }),
      said("assistant", "Done."),
      event({ type: "task_complete" }),
    ];
    expect(await partsIn(...lines)).toEqual(["assistant: one\n\ntwo | Done."]);
  });

  test("whose words no item has become messages when their turn is over", async () => {
    const lines = [
      event({ type: "user_message", message: "only here" }),
      event({ type: "agent_message", message: "and here" }),
      event({ type: "exec_command_end", call_id: "z", command: ["ls"], aggregated_output: "a.ts", exit_code: 2 }),
      event({ type: "turn_aborted" }),
      said("user", "next"),
    ];
    const messages = messagesIn(await read(...lines));
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "assistant", "tool", "user"]);
    expect(messages[3]?.parts).toEqual([{ type: "tool_result", toolCallId: "z", content: "a.ts", isError: true }]);
  });

  test("whose items come after the turn was interrupted, or in the next one, are told once", async () => {
    const told = [
      event({ type: "agent_reasoning", text: "brass" }),
      event({ type: "agent_reasoning", text: "or tin" }),
      event({ type: "agent_message", message: "I polish the brass." }),
      event({ type: "exec_command_end", call_id: "z", command: ["rub"], aggregated_output: "shine", exit_code: 0 }),
    ];
    const late = [
      item({ type: "reasoning", summary: [{ text: "brass" }, { text: "or tin" }], encrypted_content: "e" }),
      said("assistant", "I polish the brass."),
      call("z", '{"cmd":"rub"}'),
      output("z", "shine"),
    ];
    for (const ends of [
      [event({ type: "turn_aborted", reason: "interrupted" })],
      [event({ type: "turn_aborted" }), event({ type: "task_started" })],
      [event({ type: "task_started" }), line("turn_context", { model: "m" })],
      [event({ type: "task_complete" })],
    ]) {
      const next = [said("user", "Tin rather"), event({ type: "user_message", message: "Tin rather" })];
      const messages = await partsIn(said("user", "go"), ...told, ...ends, ...late, ...next);
      expect(messages).toEqual([
        "user: go",
        "assistant: brass",
        "assistant: or tin",
        "assistant: I polish the brass.",
        "assistant: >z",
        "tool: <z",
        "user: Tin rather",
      ]);
    }
  });

  test("tell no later item that says the same again", async () => {
    const told = event({ type: "agent_message", message: "Done." });
    const complete = event({ type: "task_complete" });
    const abort = event({ type: "turn_aborted" });
    const lines = [told, abort, said("assistant", "Done."), said("assistant", "Done."), complete];
    expect(await partsIn(...lines, said("assistant", "Done."))).toEqual(Array(3).fill("assistant: Done."));
    // The item of the turn was never written.
    expect(await partsIn(told, abort, complete, said("user", "Polish it"), said("assistant", "Done."))).toEqual([
      "assistant: Done.",
      "user: Polish it",
      "assistant: Done.",
    ]);
  });

  test("of a prompt just before its turn begins are the item in the turn, with its images", async () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
    const content = [{ type: "input_text", text: "Which clock?" }, image];
    const lines = [
      event({ type: "agent_message", message: "The turn before died." }),
      event({ type: "user_message", message: "Which clock?" }),
      event({ type: "task_started" }),
      line("turn_context", { model: "m" }),
      item({ type: "message", role: "user", content }),
      said("assistant", "The tall one."),
      event({ type: "task_complete" }),
    ];
    expect(await partsIn(...lines)).toEqual([
      "assistant: The turn before died.",
      "user: Which clock? | file",
      "assistant: The tall one.",
    ]);
  });

  test("of a prompt that no item follows come before the answer that a later turn gives", async () => {
    const lines = [
      event({ type: "user_message", message: "Which clock?" }),
      event({ type: "task_started" }),
      event({ type: "agent_message", message: "The tall one." }),
      event({ type: "task_complete" }),
    ];
    expect(await partsIn(...lines)).toEqual(["user: Which clock?", "assistant: The tall one."]);
  });

  test("of completed items are those of their kind, where no item of the model tells the same", async () => {
    const completed = (one: object) => event({ type: "item_completed", turn_id: "t", item: one });
    const image = "data:image/png;base64,AAAA";
    const lines = [
      completed({
        type: "UserMessage",
        id: "u",
        content: [
          { type: "text", text: "look" },
          { type: "image", image_url: image },
          { type: "skill", name: "s" },
        ],
      }),
      completed({ type: "Reasoning", id: "r", summary_text: ["hm"] }),
      completed({ type: "CommandExecution", id: "x", command: ["ls"], status: "failed", aggregated_output: "no" }),
      completed({ type: "McpToolCall", id: "m", server: "docs", tool: "find", arguments: {}, result: { content: [] } }),
      completed({ type: "CommandExecution", id: "a", command: ["ls"], status: "completed", stdout: "1" }),
      call("a"),
      output("a", "1"),
      completed({ type: "AgentMessage", id: "s", content: [{ type: "Text", text: "Seen." }] }),
      said("assistant", "Seen."),
      completed({ type: "AgentMessage", id: "t", content: [{ type: "Text", text: "Only here." }] }),
      completed({ type: "WebSearch", id: "w", query: "q" }),
      completed({ type: "Hologram", id: "h" }),
      event({ type: "task_complete" }),
    ];
    expect(await partsIn(...lines)).toEqual([
      "assistant: >a",
      "tool: <a",
      "assistant: Seen.",
      "user: look | file | data",
      "assistant: hm",
      "assistant: >x",
      "tool: <x",
      "assistant: >m",
      "tool: <m",
      "assistant: Only here.",
    ]);
    const events = await read(...lines);
    const [, , , prompt, , run, failure, find] = messagesIn(events);
    expect(prompt?.parts?.slice(1)).toEqual([
      { type: "file", mediaType: "image/png", data: "AAAA" },
      { type: "data", data: { type: "skill", name: "s" } },
    ]);
    expect(run?.parts?.[0]).toMatchObject({ name: "exec_command", args: { command: ["ls"], status: "failed" } });
    expect(failure?.parts?.[0]).toMatchObject({ content: "no", isError: true });
    expect(find?.parts?.[0]).toMatchObject({ name: "find", args: { server: "docs" } });
    expect(warningsIn(events)).toEqual([[13, 'unknown type of event: "item_completed, Hologram"']]);
  });

  test("at the end of a file that may go on are reported: their items may be about to come", async () => {
    const told = event({ type: "agent_message", message: "Done." });
    const events = await eventsSoFar(codex, Buffer.from(jsonLines([META, said("user", "go"), told])));
    expect(messagesIn(events)).toHaveLength(1);
    expect(warningsIn(events)).toEqual([[3, "agent_message: its item is not in the file yet"]]);
    expect(await partsIn(said("user", "go"), told)).toEqual(["user: go", "assistant: Done."]);
    const grown = await read(said("user", "go"), told, said("assistant", "Done."));
    expect(messagesIn(grown)).toHaveLength(2);
    expect(warningsIn(grown)).toEqual([]);
  });

  test("about tokens and models stay with the assistant's message", async () => {
    const usage = { input_tokens: 5, output_tokens: 2 };
    const [message] = messagesIn(
      await read(
        line("turn_context", { model: "gpt-5-codex", effort: "high", cwd: "/srv" }),
        call("a"),
        output("a", "1"),
        event({ type: "token_count", info: { last_token_usage: usage } }),
      ),
    );
    expect(message?.metadata).toEqual({ cwd: "/srv", model: "gpt-5-codex", effort: "high", usage });
  });
});

describe("a history that was changed", () => {
  test("by a compaction keeps everything and marks the summary", async () => {
    const compacted = line("compacted", {
      message: "They said hello.",
      replacement_history: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "hello" }] },
        { type: "compaction", encrypted_content: "e" },
      ],
    });
    const messages = messagesIn(
      await read(said("user", "hello"), said("assistant", "hi"), compacted, said("user", "bye")),
    );
    expect(messages).toHaveLength(4);
    expect(messages[2]).toMatchObject({
      role: "user",
      parts: [{ text: "They said hello." }, { type: "data", data: { type: "compaction" } }],
      metadata: { isCompactSummary: true },
    });
  });

  test("by turns that were rolled back goes on in a fork", async () => {
    const events = await read(
      said("user", "<environment_context>x</environment_context>"),
      said("user", "one"),
      said("assistant", "first"),
      said("user", "two"),
      said("assistant", "second"),
      event({ type: "thread_rolled_back", num_turns: 1 }),
      said("user", "three"),
    );
    const [, , first] = messagesIn(events);
    const [root, fork] = sessionsIn(events);
    expect(root).toMatchObject({ externalId: "s", folder: "/srv/tidewatch", metadata: { git: { branch: "main" } } });
    expect(fork).toMatchObject({ parentExternalId: "s", forkedAfter: first?.id });
    expect(fork?.externalId).toBe(`s/fork-${messagesIn(events).at(-1)?.id}`);
  });

  test("knows the session that started it, and the one it was forked from", async () => {
    const spawned = line("session_meta", {
      id: "c",
      source: { subagent: { thread_spawn: { parent_thread_id: "p", depth: 1 } } },
    });
    const forked = line("session_meta", { id: "f", forked_from_id: "p" });
    const guardian = line("session_meta", {
      id: "g",
      source: { subagent: { other: "guardian" } },
      parent_thread_id: "p",
    });
    const paged = line("session_meta", { id: "h", history_base: { thread_id: "p", end_byte_offset: 512 } });
    for (const meta of [spawned, forked, guardian, paged]) {
      const events = await eventsOfLines(codex, [meta, META, said("user", "hi")]);
      const [session, ...others] = sessionsIn(events);
      expect(others).toEqual([]);
      expect(session).toMatchObject({ parentExternalId: "p" });
      expect(session?.metadata?.isSubagent).toBe([spawned, guardian].includes(meta) || undefined);
    }
    const goesOn = line("session_meta", { id: "i", history_base: { thread_id: "i", end_byte_offset: 512 } });
    const [session] = sessionsIn(await eventsOfLines(codex, [goesOn, said("user", "hi")]));
    expect(session).not.toHaveProperty("parentExternalId");
  });
});

test("thousands of messages under one id take no search for each", async () => {
  const fragments = Array.from({ length: 20_000 }, () => ({ text: "w" }));
  const completed = event({ type: "item_completed", item: { type: "HookPrompt", fragments } });
  const before = process.cpuUsage();
  const ids = messagesIn(await read(completed, event({ type: "task_complete" }))).map(({ id }) => id);
  const { user } = process.cpuUsage(before);
  expect([ids.length, new Set(ids).size, ids[19_999]]).toEqual([20_000, 20_000, `${ids[0]}#20000`]);
  expect(user / 1_000).toBeLessThan(5_000);
});

describe("a past that is written again", () => {
  const at = (timestamp: string, type: string, payload: object) => ({ timestamp, type, payload });
  const words = (time: string, role: string, text: string) =>
    at(time, "response_item", { type: "message", role, content: [{ type: "text", text }] });
  const tokens = (time: string, input_tokens: number) =>
    at(time, "event_msg", { type: "token_count", info: { last_token_usage: { input_tokens } } });
  const MORNING = "2026-03-01T09:00:00Z";
  const NOON = "2026-03-01T12:00:00Z";

  test("in the file of a resumed session is told once, and a prompt that is typed again is another one", async () => {
    const past = (time: string) => [words(time, "user", "silo?"), words(time, "assistant", "4.2 m"), call("a")];
    const meta = (time: string) => at(time, "session_meta", { id: "s", cwd: "/srv" });
    const copy = past(NOON).map((one) => ({ ...one, timestamp: NOON }));
    const lines = [meta(MORNING), ...past(MORNING), output("a", "4.2"), meta(NOON), ...copy];
    const later = "2026-03-01T12:00:09Z";
    const next = [tokens(NOON, 7), words(later, "user", "silo?"), words(later, "assistant", "3.1 m")];
    const events = await eventsOfLines(codex, [...lines, ...next]);
    const once = ["user: silo?", "assistant: 4.2 m", "assistant: >a", "tool: <a"];
    expect(saidIn(events)).toEqual([...once, "user: silo?", "assistant: 3.1 m"]);
    expect(messagesIn(events).flatMap(({ metadata }) => metadata?.usage ?? [])).toEqual([]);
  });

  test("in the file of a fork has no usage: the session that was forked has it", async () => {
    const events = await eventsOfLines(codex, [
      at(NOON, "session_meta", { id: "f", forked_from_id: "s" }),
      words(NOON, "user", "q1"),
      words(NOON, "assistant", "a1"),
      tokens(NOON, 1_000),
      words("2026-03-01T12:00:05Z", "user", "q2"),
      words("2026-03-01T12:00:06Z", "assistant", "a2"),
      tokens("2026-03-01T12:00:07Z", 800),
    ]);
    expect(messagesIn(events).map(({ metadata }) => metadata?.usage)).toEqual([
      undefined,
      undefined,
      undefined,
      { input_tokens: 800 },
    ]);
  });
});

test("thoughts of several paragraphs that an item joins are told once", async () => {
  const thoughts = ["**Looking**\n\nIt is rusty.", "**Welding**\n\nTwo passes."];
  const told = thoughts.map((thought) => event({ type: "agent_reasoning", text: thought }));
  const joined = item({ type: "reasoning", summary: thoughts.map((text) => ({ text })), encrypted_content: "e" });
  const whole = ["user: go", `assistant: ${thoughts.join("\n\n")} | done`];
  const ends = [event({ type: "task_complete" })];
  expect(await partsIn(said("user", "go"), ...told, joined, said("assistant", "done"), ...ends)).toEqual(whole);
  const aborted = [...told, event({ type: "turn_aborted" }), joined];
  expect(await partsIn(said("user", "go"), ...aborted)).toEqual([
    "user: go",
    ...thoughts.map((t) => `assistant: ${t}`),
  ]);
});

test("words whose item is written after a long rest are the message that an import told in between", async () => {
  const at = (time: string, payload: object, type = "response_item") => ({ timestamp: time, type, payload });
  const thought = { type: "reasoning", summary: [{ text: "alum" }], encrypted_content: "e" };
  const words = { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] };
  const told = { type: "agent_message", message: "I look." };
  for (const before of [[], [at("2026-03-01T09:00:00Z", thought)]]) {
    const lines = [META, said("user", "go"), ...before, at("2026-03-01T09:00:01Z", told, "event_msg")];
    const rest = [at("2026-03-01T09:30:00Z", words), { ...call("a"), timestamp: "2026-03-01T09:30:01Z" }];
    const first = messagesIn(await eventsOfLines(codex, lines));
    const whole = messagesIn(await eventsOfLines(codex, [...lines, ...rest]));
    expect(first).toHaveLength(2);
    expect(whole).toHaveLength(3);
    expect(whole.slice(0, 2)).toEqual(first);
  }
});

test("a session has the newest name that the user gave it", async () => {
  const folder = temporaryFolder();
  const named = (id: string, thread_name: string) => ({ id, thread_name, updated_at: "2026-03-01T00:00:00Z" });
  put(join(folder, "session_index.jsonl"), jsonLines([named("s", "Barometer"), named("t", "x"), named("s", "Tide")]));
  const path = put(join(folder, "sessions/2026/03/01/rollout-s.jsonl"), jsonLines([META, said("user", "go")]));
  expect(sessionsIn((await eventsAt(path)).events)[0]?.title).toBe("Tide");
  const renamed = event({ type: "thread_name_updated", thread_id: "s", thread_name: "Gauge" });
  expect(await read(said("user", "go"), renamed)).toContainEqual({
    kind: "session",
    session: expect.objectContaining({ title: "Gauge" }),
  });
  expect(isPassedOver(join(folder, "session_index.jsonl"))).toBe(true);
});
