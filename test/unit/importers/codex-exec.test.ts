import { describe, expect, test } from "vitest";
import { codexExec } from "../../../src/importers/codex/exec.ts";
import { collect, eventsOfLines, eventsSoFar, fileOf, messagesIn, sessionsIn, warningsIn } from "./read.ts";

const thread = (id: string) => ({ type: "thread.started", thread_id: id });
const ended = (item: object) => ({ type: "item.completed", item });
const begun = (item: object) => ({ type: "item.started", item });
const said = (id: string, text: string) => ended({ id, type: "agent_message", text });
const command = (id: string, fields: object) => ({ id, type: "command_execution", command: "make", ...fields });

const read = (...lines: object[]) => eventsOfLines(codexExec, [thread("t"), ...lines]);
const outlineOf = async (...lines: object[]) =>
  messagesIn(await read(...lines)).map(({ role, parts }) => [
    role,
    ...parts!.map((part) => part.text ?? part.content ?? part.args),
  ]);

test("a thought is joined to what follows it, and a call has its result", async () => {
  const events = await outlineOf(
    ended({ id: "item_0", type: "reasoning", text: "hm" }),
    said("item_1", "I make it."),
    begun(command("item_2", { status: "in_progress" })),
    ended(command("item_2", { aggregated_output: "no rule", exit_code: 2, status: "failed" })),
    ended({
      id: "item_3",
      type: "mcp_tool_call",
      tool: "ask",
      arguments: { q: 1 },
      error: { message: "gone" },
      status: "failed",
    }),
  );
  expect(events).toEqual([
    ["assistant", "hm", "I make it."],
    ["assistant", { command: "make" }],
    ["tool", "no rule"],
    ["assistant", { q: 1 }],
    ["tool", "gone"],
  ]);
});

describe("a call that did not end", () => {
  const lines = [thread("t"), begun(command("item_0", { status: "in_progress" }))];

  test("is told at the end, or before the next run", async () => {
    const events = await eventsOfLines(codexExec, [...lines, thread("t"), said("item_0", "again")]);
    expect(messagesIn(events).map(({ parts }) => parts![0]!.type)).toEqual(["tool_call", "text"]);
    expect(messagesIn(await eventsOfLines(codexExec, lines))).toHaveLength(1);
  });

  test("waits while the file may grow", async () => {
    const events = await eventsSoFar(codexExec, Buffer.from(lines.map((line) => JSON.stringify(line)).join("\n")));
    expect(messagesIn(events)).toEqual([]);
    expect(warningsIn(events)).toEqual([
      [2, "not imported yet, because the file may still grow: the call has not ended"],
    ]);
  });
});

test("items of several runs and threads are told apart, though each run numbers them from 0", async () => {
  const events = await read(
    said("item_0", "one"),
    thread("t"),
    said("item_0", "two"),
    thread("u"),
    said("item_0", "three"),
  );
  expect(sessionsIn(events).map(({ externalId, source }) => [externalId, source])).toEqual([
    ["t", "codex-exec"],
    ["u", "codex-exec"],
  ]);
  const ids = messagesIn(events).map(({ id }) => id);
  expect(new Set(ids).size).toBe(3);
  const resumed = await eventsOfLines(codexExec, [thread("t"), said("item_0", "two")]);
  expect(messagesIn(resumed).map(({ id }) => id)).toEqual([ids[1]]);
});

test("what is not known is reported, and errors of the provider are no part of the conversation", async () => {
  const events = await read(
    { type: "error", message: "Reconnecting" },
    ended({ id: "item_0", type: "error", message: "No host" }),
    said("item_1", "done"),
    { type: "turn.failed", error: { message: "Gone" } },
    ended({ id: "item_2", type: "odd" }),
    { type: "odd" },
  );
  expect(warningsIn(events)).toEqual([
    [6, 'unknown type of item: "odd"'],
    [7, 'unknown type of line: "odd"'],
  ]);
  expect(messagesIn(events)).toHaveLength(1);
});

test("a file without the beginning of its run is recognized and named after itself", async () => {
  const file = fileOf(JSON.stringify(said("item_3", "done")), 1_000, "/runs/night.jsonl");
  expect(codexExec.detect(JSON.stringify(said("item_3", "done")))).toBe(true);
  expect(codexExec.detect(JSON.stringify(ended({ id: "x", type: "odd" })))).toBe(false);
  expect(sessionsIn(await collect(codexExec.read(file)))[0]?.externalId).toMatch(/^night-/);
});
