import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { claudeCode } from "../../../../src/importers/claude-code/importer.ts";
import { collect, eventsOfLines, fileOf, jsonLines, messagesIn, sessionsIn, warningsIn } from "../read.ts";
import { assistant, call, line, outline, result, SESSION, text, user } from "./lines.ts";

const read = (lines: readonly object[]) => eventsOfLines(claudeCode, lines);
const outlineOf = async (lines: readonly object[]) => outline(await read(lines));

describe("an assistant message", () => {
  test("is a message for each of its lines, a thought with what it leads to, under the thought's uuid", async () => {
    const lines = [
      user("u", "hi"),
      assistant("a1", "m1", [{ type: "thinking", thinking: "", signature: "s" }]),
      assistant("a2", "m1", [text("I look.")]),
      assistant("a3", "m1", [call("t1")]),
      user("r1", [result("t1")]),
      assistant("a4", "m2", [text("Done.")]),
    ];
    expect(await outlineOf(lines)).toEqual([
      "u user: hi",
      "a1 assistant: reasoning I look.",
      "a3 assistant: >t1",
      "r1 tool: <t1",
      "a4 assistant: Done.",
    ]);
  });

  test("with a thought knows its lines, the first one's place, and the usage and stop reason of the last", async () => {
    const usage = (output_tokens: number) => ({ model: "claude", usage: { output_tokens } });
    const about = {
      cwd: "/w/tidewatch",
      gitBranch: "main",
      version: "2.1.7",
      requestId: "req_1",
      userType: "external",
    };
    const first = { ...about, parentUuid: "u", timestamp: "2026-02-03T09:00:00.250Z" };
    const later = { ...about, parentUuid: "a1", timestamp: "2026-02-03T09:00:09.000Z" };
    const message = (content: object, tokens: number, stop_reason: string | null) => ({
      message: { id: "m", role: "assistant", type: "message", content: [content], stop_reason, ...usage(tokens) },
    });
    const [found] = messagesIn(
      await read([
        line("assistant", "a1", { ...first, ...message({ type: "thinking", thinking: "a" }, 1, null) }),
        line("assistant", "a2", { ...later, ...message(text("b"), 7, "end_turn") }),
      ]),
    );
    expect(found).toEqual({
      id: "a1",
      role: "assistant",
      createdAt: 1770109200250,
      parts: [{ type: "reasoning", text: "a" }, text("b")],
      metadata: {
        parentUuid: "u",
        cwd: "/w/tidewatch",
        gitBranch: "main",
        version: "2.1.7",
        requestId: "req_1",
        message: { id: "m", model: "claude", usage: { output_tokens: 7 }, stop_reason: "end_turn" },
        uuids: ["a1", "a2"],
        anthropic: { coppice: { content: "list" } },
      },
    });
  });

  test("ends at the next prompt, though a proxy gives the next message the same id", async () => {
    const lines = [assistant("a1", "m", [text("a")]), user("u", "more"), assistant("a2", "m", [text("b")])];
    expect(await outlineOf(lines)).toEqual(["a1 assistant: a", "u user: more", "a2 assistant: b"]);
  });

  test("goes on behind a prompt typed meanwhile, where its request says that it is the same", async () => {
    const lines = [
      assistant("a1", "m", [call("t1")], { requestId: "r" }),
      user("u", "by the way"),
      assistant("a2", "m", [call("t2")], { requestId: "r" }),
      user("r1", [result("t1")]),
      user("r2", [result("t2")]),
    ];
    expect(await outlineOf(lines)).toEqual([
      "a1 assistant: >t1",
      "r1 tool: <t1",
      "a2 assistant: >t2",
      "r2 tool: <t2",
      "u user: by the way",
    ]);
  });

  test("ends with its request", async () => {
    const lines = [
      assistant("a1", "m", [text("a")], { requestId: "r1" }),
      assistant("a2", "m", [text("b")], { requestId: "r2" }),
    ];
    expect(await outlineOf(lines)).toEqual(["a1 assistant: a", "a2 assistant: b"]);
  });

  test("makes a call once, though several of its lines show it; says a thing as often as it was said", async () => {
    const lines = [
      assistant("a1", "m", [text("x"), call("t1")]),
      assistant("a2", "m", [text("x"), call("t1"), call("t2")]),
      assistant("a3", "m", [call("t2")]),
    ];
    const answers = [user("r1", [result("t1")]), user("r2", [result("t2")])];
    expect(await outlineOf([...lines, ...answers])).toEqual([
      "a1 assistant: x >t1",
      "r1 tool: <t1",
      "a2 assistant: x >t2",
      "r2 tool: <t2",
    ]);
  });

  test("is kept without content, without answers to its calls, and without a message id", async () => {
    const bare = line("assistant", "a3", { message: { role: "assistant", content: "plain" } });
    const lines = [assistant("a1", "m1", []), assistant("a2", "m2", [call("t")]), bare, { ...bare, uuid: "a4" }];
    expect(await outlineOf(lines)).toEqual([
      "a1 assistant:",
      "a2 assistant: >t",
      "a3 assistant: plain",
      "a4 assistant: plain",
    ]);
  });
});

describe("a reply that the provider refused to finish", () => {
  const note = "The model refused; another one answers.";
  const reply = [
    user("u", "pick the lock of my shed"),
    assistant("a1", "m1", [{ type: "thinking", thinking: "Hm.", signature: "s" }]),
    assistant("a2", "m1", [text("First you")]),
    assistant("a3", "m1", [call("t1")]),
  ];
  const answer = assistant("b1", "m2", [text("Ask a locksmith.")]);

  test.each([
    line("system", "x", { subtype: "api_refusal", content: note, retractedMessageUuids: ["a2", "a3", "gone"] }),
    line("api_refusal", "x", { content: note, retracted_message_uuids: ["a2", "a3"] }),
    line("system", "x", { subtype: "model_refusal_fallback", content: note, retractedMessageUuids: ["a2", "a3"] }),
  ])("stays in its place, but nobody has said it: $type $subtype", async (refusal) => {
    const events = await read([...reply, refusal, answer]);
    expect(warningsIn(events)).toEqual([]);
    expect(outline(events)).toEqual([
      "u user: pick the lock of my shed",
      "a1 assistant: reasoning First you",
      "a3 assistant: >t1",
      `x user: ${note}`,
      "b1 assistant: Ask a locksmith.",
    ]);
    const marks = messagesIn(events).map(({ parts, metadata }) => {
      return [parts!.every(({ injected }) => injected === true), metadata?.isRetracted === true];
    });
    expect(marks).toEqual([
      [false, false],
      [true, true],
      [true, true],
      [true, false],
      [false, false],
    ]);
  });

  test("is said as far as the refusal took nothing of it back, and a refusal without words is no message", async () => {
    const events = await read([...reply, line("api_refusal", "x", { retractedMessageUuids: ["a3"] }), answer]);
    expect(warningsIn(events)).toEqual([]);
    expect(messagesIn(events).map(({ id, metadata }) => [id, metadata?.isRetracted])).toEqual([
      ...[["u"], ["a1"]].map(([id]) => [id, undefined]),
      ["a3", true],
      ["b1", undefined],
    ]);
  });
});

describe("a user line", () => {
  test("with results and words gives a tool message and a user message", async () => {
    const lines = [assistant("a", "m", [call("t")]), user("u", [text("Stop."), result("t")])];
    expect(await outlineOf(lines)).toEqual(["a assistant: >t", "u:result tool: <t", "u user: Stop."]);
  });

  test("with an answer to no call is kept where it stands", async () => {
    expect(await outlineOf([user("u1", "a"), user("r", [result("lost")]), user("u2", "b")])).toEqual([
      "u1 user: a",
      "r tool: <lost",
      "u2 user: b",
    ]);
  });

  test("that was written while a tool ran comes after the results", async () => {
    const lines = [
      assistant("a", "m", [call("t1"), call("t2")]),
      user("r1", [result("t1")]),
      user("u", "by the way"),
      user("r2", [result("t2")]),
      assistant("b", "n", [text("ok")]),
      user("v", "thanks"),
    ];
    expect(await outlineOf(lines)).toEqual([
      "a assistant: >t1 >t2",
      "r1 tool: <t1",
      "r2 tool: <t2",
      "u user: by the way",
      "b assistant: ok",
      "v user: thanks",
    ]);
  });

  test("that is written twice comes once; another line under its uuid comes under a name of its own", async () => {
    expect(await outlineOf([user("u", "a"), user("u", "a"), user("u", "b")])).toEqual(["u user: a", "u#2 user: b"]);
  });

  test("without a uuid gets an id from its time and words", async () => {
    const bare = line("user", undefined, {
      timestamp: "2026-02-03T09:00:00Z",
      message: { role: "user", content: "a" },
    });
    const once = messagesIn(await read([bare]));
    expect(once[0]!.id).toMatch(/^[0-9a-f]{32}$/);
    expect(messagesIn(await read([user("u", "before"), bare]))[1]!.id).toBe(once[0]!.id);
  });

  test("keeps its marks, its unknown fields, and a time that cannot be read", async () => {
    const marks = {
      isMeta: true,
      isCompactSummary: true,
      permissionMode: "plan",
      somethingNew: { a: 1 },
      timestamp: "noon",
    };
    const [message] = messagesIn(await read([user("u", "hi", { ...marks, parentUuid: null })]));
    expect(message!.metadata).toEqual(marks);
    expect(message!.createdAt).toBeUndefined();
  });

  test("keeps of the program's own copy of a result only what is short", async () => {
    const toolUseResult = { agentId: "a1", totalTokens: 5, interrupted: false, file: { content: "x".repeat(300) } };
    const metadataOf = async (copy: unknown) =>
      messagesIn(await read([user("r", [result("t")], { toolUseResult: copy })]))[0]!.metadata;
    expect(await metadataOf(toolUseResult)).toEqual({
      toolUseResult: { agentId: "a1", totalTokens: 5, interrupted: false },
    });
    expect(await metadataOf("Error: no such file")).toEqual({});
    expect(await metadataOf([{ type: "text", text: "ok" }])).toEqual({});
  });
});

describe("compaction", () => {
  test("is told in its place, by its boundary and its summary, and replaces nothing", async () => {
    const boundary = line("system", "b", {
      subtype: "compact_boundary",
      content: "Conversation compacted",
      compactMetadata: { trigger: "auto", preTokens: 9 },
    });
    const lines = [user("u", "old"), boundary, boundary, user("c", "Summary", { isCompactSummary: true })];
    const events = await read(lines);
    expect(outline(events)).toEqual(["u user: old", "b user: Conversation compacted", "c user: Summary"]);
    expect(messagesIn(events).map(({ metadata }) => metadata)).toEqual([
      {},
      { type: "system", subtype: "compact_boundary", compactMetadata: { trigger: "auto", preTokens: 9 } },
      { isCompactSummary: true },
    ]);
  });
});

/**
 * Goal: no order of lines loses a call or a result, or puts a result anywhere but behind its call's message.
 * Method: a random conversation in which every message calls some tools; each result, and stray notes, are written at
 * any place between their call's line and the next message. Each result must come right behind its call.
 */
test("pairs calls and results under any interleaving", async () => {
  let resultsMax = 0;
  const round = fc.record({
    calls: fc.integer({ min: 0, max: 4 }),
    places: fc.array(fc.nat(8), { minLength: 6, maxLength: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(round, { maxLength: 5 }), async (rounds) => {
      const lines: object[] = [];
      const expected: string[] = [];
      const notes: string[] = [];
      let resultCount = 0;
      for (const [index, { calls, places }] of rounds.entries()) {
        const ids = Array.from({ length: calls }, (_, nth) => `t${index}.${nth}`);
        const written: object[] = [assistant(`a${index}`, `m${index}`, [text("x")])];
        for (const id of ids) written.push(assistant(`a${id}`, `m${index}`, [call(id)]));
        for (const [nth, id] of ids.entries()) {
          const callAt = written.findIndex((one) => (one as { uuid: string }).uuid === `a${id}`);
          const place = callAt + 1 + (places[nth]! % (written.length - callAt));
          written.splice(place, 0, user(`r${id}`, [result(id)]));
        }
        written.splice(1 + (places[5]! % written.length), 0, user(`n${index}`, "note", { isMeta: true }));
        lines.push(...written);
        expected.push(
          `a${index} assistant: x`,
          ...ids.flatMap((id) => [`a${id} assistant: >${id}`, `r${id} tool: <${id}`]),
        );
        notes.push(`n${index} user: note`);
        resultCount += calls;
      }
      const found = await outlineOf(lines);
      expect(found.filter((entry) => !entry.startsWith("n"))).toEqual(expected);
      expect(found.filter((entry) => entry.startsWith("n"))).toEqual(notes);
      for (const [index, entry] of found.entries()) {
        if (entry.includes(" tool: ")) expect(found[index - 1]).toContain(entry.replace(/^.*</, " assistant: >"));
      }
      resultsMax = Math.max(resultsMax, resultCount);
    }),
  );
  expect(resultsMax).toBeGreaterThan(8);
});

describe("a session", () => {
  test("is named by its lines, not by its file, and begins with its first message", async () => {
    const events = await read([
      line("system", "x", { subtype: "turn_duration", timestamp: "2026-02-03T08:00:00Z" }),
      user("u", "hi", { cwd: "C:\\work\\tidewatch\\", timestamp: "2026-02-03T09:00:00Z" }),
      user("v", "ho", { cwd: "/elsewhere" }),
    ]);
    expect(sessionsIn(events)).toEqual([
      {
        externalId: SESSION,
        source: "claude-code",
        folder: "C:\\work\\tidewatch\\",
        createdAtMs: 1770109200000,
        metadata: { cwd: "C:\\work\\tidewatch\\" },
      },
    ]);
  });

  test("is titled by the user, else by the model, else by the newest summary of its own leaves", async () => {
    const summary = (words: string, leafUuid: string) => ({ type: "summary", summary: words, leafUuid });
    const titleOf = async (...lines: object[]) => sessionsIn(await read([user("u", "hi"), ...lines]))[0]!.title;
    const own = [summary("first", "u"), summary("second", "u"), summary("another conversation's", "elsewhere")];
    const ai = line("ai-title", undefined, { aiTitle: "By the model" });
    expect(await titleOf()).toBeUndefined();
    expect(await titleOf(own[2]!)).toBeUndefined();
    expect(await titleOf(...own)).toBe("second");
    expect(await titleOf(ai, ...own)).toBe("By the model");
    expect(await titleOf(line("custom-title", undefined, { customTitle: "Mine" }), ai)).toBe("Mine");
  });

  test("is not begun by the journal of a workflow, whose words stand in the subagents' files", async () => {
    const lines = [
      { type: "started", key: "v2:k", agentId: "a" },
      { type: "result", key: "v2:k", agentId: "a", result: "swept" },
    ];
    expect(await eventsOfLines(claudeCode, lines)).toEqual([]);
    const [unknown] = await eventsOfLines(claudeCode, [{ type: "result", result: "swept" }]);
    expect(unknown).toMatchObject({ kind: "warning", line: 1 });
  });

  test("knows where the program moved it to, and belongs to the folder in which it began", async () => {
    const moved = line("relocated", undefined, { relocatedCwd: "/work/tide" });
    const [known] = sessionsIn(await read([user("u", "hi", { cwd: "/work/.trees/tide" }), moved]));
    expect(known).toMatchObject({ folder: "/work/.trees/tide", metadata: { relocatedCwd: "/work/tide" } });
    // Its lines may be in another file.
    const [only] = sessionsIn(await read([moved, user("u", "hi")]));
    expect(only).toMatchObject({ folder: "/work/tide", metadata: { cwd: "/work/tide", relocatedCwd: "/work/tide" } });
    expect(claudeCode.detect(JSON.stringify(moved))).toBe(true);
  });

  test("is not told what the program reminds the model of", async () => {
    const reminders = [
      "read_truncation_notice",
      "dynamic_skill",
      "total_tokens_reminder",
      "batching_reminder_sent",
      "silent_turn_reminder",
    ];
    const lines = reminders.map((type, index) => line("attachment", `x${index}`, { attachment: { type } }));
    const events = await read([user("u", "hi"), ...lines]);
    expect(warningsIn(events)).toEqual([]);
    expect(outline(events)).toEqual(["u user: hi"]);
  });

  test("is not begun by bookkeeping alone", async () => {
    expect(
      await read([{ type: "summary", summary: "x", leafUuid: "u" }, line("mode", undefined, { mode: "normal" })]),
    ).toEqual([]);
  });

  test("comes beside another, where a file holds lines of both", async () => {
    const events = await read([user("u", "a"), user("v", "b", { sessionId: "s2" }), user("w", "c")]);
    expect(sessionsIn(events).map(({ externalId }) => externalId)).toEqual(["s1", "s2"]);
    expect(outline(events)).toEqual(["u user: a", "w user: c"]);
    expect(outline(events, "s2")).toEqual(["v user: b"]);
  });
});

describe("a line that is not understood", () => {
  test.each([
    ['unknown type of line: "brand-new"', line("brand-new", "x", {})],
    ["unknown type of line: undefined", { sessionId: "s" }],
    ['unknown subtype of a system line: "odd"', line("system", "x", { subtype: "odd", content: "?" })],
    ['unknown type of attachment: "odd"', line("attachment", "x", { attachment: { type: "odd" } })],
    ['unknown type of progress: "odd"', line("progress", "x", { data: { type: "odd" } })],
    ['unknown type of progress: "told"', line("progress", "x", { data: { type: "told", message: "half done" } })],
    ['unknown queue operation: "odd"', line("queue-operation", undefined, { operation: "odd" })],
    ["user line without message.content", line("user", "x", { message: null })],
    ["assistant line without message.content", line("assistant", "x", { message: { content: 7 } })],
  ])("is reported: %s", async (reason, odd) => {
    const events = await read([user("u", "hi"), odd]);
    expect(warningsIn(events)).toEqual([[2, reason]]);
    expect(outline(events)).toEqual(["u user: hi"]);
  });

  test("is reported when the store would refuse it", async () => {
    let deep: unknown = 1;
    for (let level = 0; level < 250; level++) deep = [deep];
    const events = await read([user("u", "hi"), assistant("a", "m", [call("t", { deep })])]);
    expect(warningsIn(events)).toEqual([[2, "nested deeper than 200 levels"]]);
    expect(outline(events)).toEqual(["u user: hi"]);
  });
});

test("iFlow writes the same lines, with ids of its own, and puts the words of a result into a response of Gemini's", async () => {
  const sessionId = "session-041101e6-2a7f-4dfd-90b0-57888a353f6a";
  const response = { functionResponse: { id: "c", name: "Bash", response: { output: "04:12" } } };
  const content = { callId: "c", responseParts: response, resultDisplay: "04:12" };
  const about = { sessionId, cwd: "/work/tide", isSidechain: false };
  const events = await eventsOfLines(claudeCode, [
    { ...user("u1", "When is high water?"), ...about, parentUuid: null },
    { ...assistant("a1", "m", [call("c"), call("d")]), ...about, parentUuid: "u1" },
    { ...user("u2", [result("c", content), result("d", response)]), ...about, parentUuid: "a1" },
  ]);
  expect(sessionsIn(events)).toMatchObject([{ externalId: sessionId, source: "iflow", folder: "/work/tide" }]);
  expect(messagesIn(events).at(-1)!.parts).toMatchObject([
    { type: "tool_result", toolCallId: "c", content: "04:12" },
    { type: "tool_result", toolCallId: "d", content: "04:12" },
  ]);
  const path = "/home/mira/.iflow/projects/-work-tide/041101e6-2a7f-4dfd-90b0-57888a353f6a.jsonl";
  const inItsFolder = await collect(claudeCode.read(fileOf(jsonLines([user("u1", "When is high water?")]), 99, path)));
  expect(sessionsIn(inItsFolder)[0]?.source).toBe("iflow");
});
