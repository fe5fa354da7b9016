import { expect, test } from "vitest";
import { atif } from "../../../src/importers/atif.ts";
import { kiro } from "../../../src/importers/kiro.ts";
import { sweAgent } from "../../../src/importers/swe-agent.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { eventsAt, eventsOf, eventsOfLines, messagesIn, sessionsIn, warningsIn } from "./read.ts";

test("a trajectory of another version of ATIF fails, and says which", async () => {
  const steps = [{ step_id: 1, source: "user", message: "Trim the wick." }];
  const events = await eventsOf(atif, JSON.stringify({ schema_version: "ATIF-v2.0", steps }));
  expect(messagesIn(events)).toEqual([]);
  const reason = expect.stringContaining('expected version 1 of ATIF, got "ATIF-v2.0"');
  expect(events.at(-1)).toMatchObject({ kind: "misread", reason });
});

test("what an ATIF step shows without naming its call answers its only call, or is marked", async () => {
  const observation = { results: [{ content: "9 mm" }] };
  const call = { tool_call_id: "c", function_name: "look", arguments: {} };
  const steps = [
    { step_id: 1, source: "user", message: "Trim the wick." },
    { step_id: 2, source: "agent", message: "I look.", tool_calls: [call], observation },
    { step_id: 3, source: "agent", message: "I look again.", observation },
  ];
  const events = await eventsOf(atif, JSON.stringify({ schema_version: "ATIF-v1.2", session_id: "s", steps }));
  expect(messagesIn(events).map(({ parts }) => parts?.at(-1))).toMatchObject([
    { type: "text" },
    { type: "tool_call", toolCallId: "c" },
    { type: "tool_result", toolCallId: "c", content: "9 mm" },
    { text: "I look again." },
    { text: "9 mm", injected: true },
  ]);
});

test("a demonstration of SWE-agent is no word of the user, and an action in words is a call", async () => {
  const { format, events } = await eventsAt(sampleOf("swe-agent.json").pathname);
  expect(format).toBe("swe-agent");
  expect(
    messagesIn(events).map(({ role, parts }) => [role, parts?.map(({ type, injected }) => injected ?? type)]),
  ).toEqual([
    ["system", ["text"]],
    ["user", [true]],
    ["user", ["text"]],
    ["assistant", ["text", "tool_call"]],
    ["tool", ["tool_result"]],
    ["assistant", ["text", "tool_call"]],
    ["tool", ["tool_result"]],
  ]);
  expect(sessionsIn(events)[0]?.source).toBe(sweAgent.name);
});

test("records of another version of Kiro's CLI fail, and say which", async () => {
  const record = (version: string) => ({
    version,
    kind: "Prompt",
    data: { content: [{ kind: "text", data: "Tune it." }] },
  });
  const events = await eventsOfLines(
    kiro,
    Array.from({ length: 6 }, () => record("v9")),
  );
  expect(events.at(-1)).toMatchObject({ kind: "misread", reason: expect.stringContaining("version is v9") });
  expect(warningsIn(events)).toHaveLength(6);
});
