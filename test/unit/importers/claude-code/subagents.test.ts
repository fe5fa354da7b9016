import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { claudeCode } from "../../../../src/importers/claude-code/importer.ts";
import { walkFiles } from "../../../../src/importers/files.ts";
import type { ImportEvent } from "../../../../src/importers/importer.ts";
import { temporaryFolder } from "../../../support/temporary-store.ts";
import { collect, eventsOfLines, sessionsIn, warningsIn } from "../read.ts";
import { assistant, call, line, outline, result, SESSION, text, user } from "./lines.ts";

const CHILD = `${SESSION}/agent-x1`;

const task = (id: string, input: object) => ({ type: "tool_use", id, name: "Task", input });
const TASK = task("t1", { prompt: "Survey.", description: "Survey the code", subagent_type: "Explore" });

/** A subagent's message as a progress line carries it: no session, no place. */
const told = (uuid: string, content: unknown) => ({ type: "user", uuid, message: { role: "user", content } });
const answered = (uuid: string, id: string, content: unknown) => ({
  type: "assistant",
  uuid,
  message: { id, role: "assistant", content },
});
const progress = (message: object | undefined, normalizedMessages?: readonly object[]) =>
  line("progress", undefined, {
    cwd: "/w/tidewatch",
    parentToolUseID: "t1",
    data: { type: "agent_progress", agentId: "x1", prompt: "Survey.", message, normalizedMessages },
  });

const sidechain = (entry: object, fields: object = {}) => ({ ...entry, isSidechain: true, ...fields });

/** The events of a folder with these files in it. */
async function eventsOfFiles(files: Record<string, readonly object[]>): Promise<ImportEvent[]> {
  const folder = temporaryFolder();
  for (const [name, lines] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), lines.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  }
  const events: ImportEvent[] = [];
  for (const file of await collect(walkFiles([folder]))) events.push(...(await collect(claudeCode.read(file))));
  return events;
}

describe("a subagent in progress lines", () => {
  const prompt = told("p1", [text("Survey.")]);
  const words = answered("p2", "m1", [text("Looking.")]);
  const search = answered("p3", "m1", [call("s1")]);
  const found = told("p4", [result("s1")]);

  test("becomes a child session that knows the call which started it", async () => {
    const events = await eventsOfLines(claudeCode, [assistant("a", "m", [TASK]), progress(prompt, [prompt])]);
    expect(sessionsIn(events)[1]).toEqual({
      externalId: CHILD,
      source: "claude-code",
      parentExternalId: SESSION,
      title: "Survey the code",
      folder: "/w/tidewatch",
      metadata: { agentId: "x1", toolCallId: "t1", agentType: "Explore", cwd: "/w/tidewatch", isSubagent: true },
    });
    expect(outline(events, CHILD)).toEqual(["p1 user: Survey."]);
  });

  test("says each thing once, though every line repeats what came before", async () => {
    const events = await eventsOfLines(claudeCode, [
      progress(prompt, [prompt]),
      progress(search, [words, search]),
      progress(found, [words, search, found]),
    ]);
    expect(outline(events, CHILD)).toEqual([
      "p1 user: Survey.",
      "p2 assistant: Looking.",
      "p3 assistant: >s1",
      "p4 tool: <s1",
    ]);
  });

  test("is whole where only the newest messages are told, or only the messages so far", async () => {
    const both = ["p1 user: Survey.", "p2 assistant: Looking.", "p3 assistant: >s1", "p4 tool: <s1"];
    const newest = [prompt, words, search, found].map((message) => progress(message));
    expect(outline(await eventsOfLines(claudeCode, newest), CHILD)).toEqual(both);
    const soFar = progress(undefined, [prompt, words, search, found]);
    expect(outline(await eventsOfLines(claudeCode, [soFar]), CHILD)).toEqual(both);
  });

  test("is recognized where a message is told whole and block by block under derived uuids", async () => {
    const derived = (nth: number) => `12345678-1234-4234-8234-00000000000${nth}`;
    const whole = answered("12345678-1234-4234-8234-abcdefabcdef", "m1", [text("Looking."), call("s1")]);
    const blocks = [answered(derived(0), "m1", [text("Looking.")]), answered(derived(1), "m1", [call("s1")])];
    const asked = told("22345678-1234-4234-8234-abcdefabcdef", "Survey.");
    const askedBlock = told("22345678-1234-4234-8234-000000000000", [text("Survey.")]);
    const events = await eventsOfLines(claudeCode, [progress(asked), progress(whole, [askedBlock, ...blocks])]);
    expect(outline(events, CHILD).map((entry) => entry.replace(/^\S+ /, ""))).toEqual([
      "user: Survey.",
      "assistant: Looking.",
      "assistant: >s1",
    ]);
  });

  test("is recognized under any uuid by its message's id, or that of the call it answers", async () => {
    const again = [
      answered("y1", "m1", [text("Looking.")]),
      answered("y2", "m1", [call("s1")]),
      told("y3", [result("s1")]),
    ];
    const events = await eventsOfLines(claudeCode, [progress(words), progress(search), progress(found, again)]);
    expect(outline(events, CHILD).map((entry) => entry.replace(/^\S+ /, ""))).toEqual([
      "assistant: Looking.",
      "assistant: >s1",
      "tool: <s1",
    ]);
  });

  test("says the same thing twice if it did", async () => {
    const first = answered("q1", "m1", [text("Again.")]);
    const second = answered("q2", "m1", [text("Again.")]);
    const newest = await eventsOfLines(claudeCode, [progress(first), progress(second), progress(second)]);
    expect(outline(newest, CHILD)).toEqual(["q1 assistant: Again.", "q2 assistant: Again."]);
    for (const lines of [
      [progress(second, [first, second]), progress(second, [first, second])],
      [progress(first), progress(first), progress(undefined, [first, second])],
    ]) {
      expect(outline(await eventsOfLines(claudeCode, lines), CHILD)).toEqual([
        "q1 assistant: Again.",
        "q2 assistant: Again.",
      ]);
    }
  });

  test("brings along what else its program wrote, and reports what nobody knows", async () => {
    const boundary = { type: "system", uuid: "b", subtype: "compact_boundary", content: "Compacted" };
    const reminder = { type: "attachment", uuid: "r", attachment: { type: "todo_reminder" } };
    const odd = { type: "odd", uuid: "o" };
    const events = await eventsOfLines(claudeCode, [
      progress(prompt, [prompt, reminder, boundary]),
      progress(odd, [prompt, reminder, boundary]),
    ]);
    expect(outline(events, CHILD)).toEqual(["p1 user: Survey.", "b user: Compacted"]);
    expect(warningsIn(events)).toEqual([[2, 'unknown type of line: "odd"']]);
  });

  test("is left to its own file where there is one", async () => {
    const main = [assistant("a", "m", [TASK]), progress(prompt, [prompt])];
    const own = [sidechain(user("p1", "Survey."), { agentId: "x1" })];
    const files = { [`${SESSION}.jsonl`]: main, [`${SESSION}/subagents/agent-x1.jsonl`]: own };
    const events = await eventsOfFiles(files);
    expect(outline(events, CHILD)).toEqual(["p1 user: Survey."]);
    expect(sessionsIn(events).map(({ externalId }) => externalId)).toEqual([SESSION, CHILD]);
  });

  /**
   * Goal: no choice of what a progress line repeats makes a subagent say a thing twice or lose one.
   * Method: a random subagent; each of its messages is told as the newest, beside a list of the messages so far that
   * may begin anywhere. What comes out must be the messages themselves.
   */
  test("is the same whatever its progress lines repeat", async () => {
    let toldMax = 0;
    const step = fc.record({
      words: fc.constantFrom("a", "b"),
      assistant: fc.boolean(),
      from: fc.nat(),
      told: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const messages = steps.map(({ words: said, assistant: byAgent }, index) =>
          byAgent ? answered(`u${index}`, `m${index}`, [text(said)]) : told(`u${index}`, [text(said)]),
        );
        const lines = messages.map((message, index) => {
          const { from, told: listed } = steps[index]!;
          return progress(message, listed ? messages.slice(from % (index + 1), index + 1) : []);
        });
        const expected = steps.map(
          ({ words: said, assistant: byAgent }, index) => `u${index} ${byAgent ? "assistant" : "user"}: ${said}`,
        );
        expect(outline(await eventsOfLines(claudeCode, lines), CHILD)).toEqual(expected);
        toldMax = Math.max(toldMax, steps.length);
      }),
    );
    expect(toldMax).toBeGreaterThan(8);
  });
});

describe("a subagent in a file of its own", () => {
  const own = [
    sidechain(user("p1", "Survey."), { agentId: "x1" }),
    sidechain(assistant("p2", "m1", [text("Looking.")]), { agentId: "x1" }),
  ];

  test("belongs to the session named in its lines, whether that is there or not", async () => {
    const events = await eventsOfFiles({ "agent-x1.jsonl": own });
    expect(sessionsIn(events)).toEqual([
      {
        externalId: CHILD,
        source: "claude-code",
        parentExternalId: SESSION,
        createdAtMs: expect.any(Number),
        metadata: { agentId: "x1", isSubagent: true },
      },
    ]);
    expect(outline(events, CHILD)).toEqual(["p1 user: Survey.", "p2 assistant: Looking."]);
  });

  test("has its id from the file's name where its lines do not say it", async () => {
    const events = await eventsOfFiles({ "agent-x1.jsonl": [sidechain(user("p1", "Survey."))] });
    expect(outline(events, CHILD)).toEqual(["p1 user: Survey."]);
  });

  test("finds the call that started it in its session's file: by the agent's id, else by the prompt", async () => {
    const other = task("t0", { prompt: "Else." });
    const byId = [
      assistant("a", "m", [task("t2", { prompt: "Reworded." }), TASK]),
      user("r", [result("t2")], { toolUseResult: { agentId: "x1" } }),
    ];
    const byPrompt = [assistant("a", "m", [other, TASK])];
    const asked = [assistant("a", "m", [TASK, task("t2", { prompt: "Survey." })])];
    const resumed = [
      ...asked,
      user("r1", [result("t1")], { toolUseResult: { agentId: "x1" } }),
      user("r2", [result("t2")], { toolUseResult: { agentId: "x1" } }),
    ];
    const byNothing = [assistant("a", "m", [other])];
    for (const [parent, metadata] of [
      [byId, { agentId: "x1", toolCallId: "t2" }],
      [byPrompt, { agentId: "x1", toolCallId: "t1", agentType: "Explore" }],
      [asked, { agentId: "x1", toolCallId: "t1", agentType: "Explore" }],
      [resumed, { agentId: "x1", toolCallId: "t1", agentType: "Explore" }],
      [byNothing, { agentId: "x1" }],
    ] as const) {
      const files = { [`${SESSION}.jsonl`]: parent, [`${SESSION}/subagents/agent-x1.jsonl`]: own };
      const child = sessionsIn(await eventsOfFiles(files)).find(({ externalId }) => externalId === CHILD);
      expect(child!.metadata).toEqual({ ...metadata, isSubagent: true });
    }
  });
});

describe("a subagent among the lines of its session", () => {
  test("is told apart by its id", async () => {
    const events = await eventsOfLines(claudeCode, [
      user("u", "hi"),
      sidechain(user("p1", "Survey."), { agentId: "x1" }),
      sidechain(user("q1", "Else."), { agentId: "x2" }),
      sidechain(assistant("p2", "m1", [text("Looking.")]), { agentId: "x1" }),
    ]);
    expect(outline(events)).toEqual(["u user: hi"]);
    expect(outline(events, CHILD)).toEqual(["p1 user: Survey.", "p2 assistant: Looking."]);
    expect(outline(events, `${SESSION}/agent-x2`)).toEqual(["q1 user: Else."]);
  });

  test("is told apart by the root of its chain where it has no id", async () => {
    const events = await eventsOfLines(claudeCode, [
      assistant("a", "m", [task("t0", { prompt: "Else." }), TASK]),
      sidechain(user("p1", "Survey."), { parentUuid: null }),
      sidechain(user("q1", "Else."), { parentUuid: null }),
      sidechain(assistant("p2", "m1", [text("Looking.")]), { parentUuid: "p1" }),
      sidechain(assistant("q2", "m2", [text("Elsewhere.")]), { parentUuid: "q1" }),
    ]);
    expect(outline(events, `${SESSION}/agent-p1`)).toEqual(["p1 user: Survey.", "p2 assistant: Looking."]);
    expect(outline(events, `${SESSION}/agent-q1`)).toEqual(["q1 user: Else.", "q2 assistant: Elsewhere."]);
    expect(sessionsIn(events).map(({ metadata }) => metadata?.toolCallId)).toEqual([undefined, "t1", "t0"]);
  });
});
