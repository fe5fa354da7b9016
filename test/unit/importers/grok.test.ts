import { appendFileSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { grok } from "../../../src/importers/grok.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import {
  collect,
  countsOf,
  eventsOfLines,
  fileOf,
  jsonLines,
  messagesIn,
  put,
  sessionsIn,
  warningsIn,
} from "./read.ts";

const SAMPLE = readFileSync(sampleOf("grok.jsonl"), "utf8");

const newPath = () => join(temporaryFolder(), "sessions", "%2Fwork%2Fmill", "0199c3a0", "chat_history.jsonl");

const user = (text: string, more: object = {}) => ({ type: "user", content: [{ type: "text", text }], ...more });
const update = (timestamp: number, update: object) =>
  jsonLines([{ timestamp, method: "session/update", params: { sessionId: "s", update } }]);

test("a session has the facts of its summary, or else those of its path", async () => {
  const path = newPath();
  const read = () => collect(grok.read(fileOf(SAMPLE, 65_536, path)));
  expect(sessionsIn(await read())).toMatchObject([{ externalId: "0199c3a0", source: "grok", folder: "/work/mill" }]);
  const elsewhere = await collect(grok.read(fileOf(SAMPLE, 65_536, path.replace("chat_history", "copy"))));
  expect(sessionsIn(elsewhere)).toMatchObject([{ externalId: expect.stringMatching(/^copy-/), source: "grok" }]);
  const summary = {
    info: { id: "0199c3a1", cwd: "/work/mill/deep" },
    created_at: "2026-03-05T09:00:00Z",
    generated_title: "The mill",
    session_summary: "Why",
    parent_session_id: "p",
    session_kind: "subagent",
  };
  put(join(dirname(path), "summary.json"), summary);
  const events = await read();
  expect(events).toContainEqual({ kind: "title", session: "0199c3a1", title: "The mill" });
  const createdAtMs = Date.parse(summary.created_at);
  const about = { externalId: "0199c3a1", folder: "/work/mill/deep", parentExternalId: "p", createdAtMs };
  expect(sessionsIn(events)).toMatchObject([about]);
});

test("times and failures come from the log of updates, as far as it is written and whole", async () => {
  const path = newPath();
  const updates = join(dirname(path), "updates.jsonl");
  const times = async () => {
    const said = messagesIn(await collect(grok.read(fileOf(SAMPLE, 65_536, path))));
    const failed = said.filter(({ parts = [] }) => parts.some(({ isError }) => isError === true)).map(({ id }) => id);
    return [said.flatMap(({ role, createdAt }) => (role === "user" ? [] : [createdAt])), failed.length];
  };
  put(
    updates,
    update(100, { sessionUpdate: "user_message_chunk", content: {}, _meta: { promptIndex: 0 } }) +
      update(101, { sessionUpdate: "tool_call", toolCallId: "c1", status: "pending" }) +
      `${"x".repeat(3_000_000)}tool_call\n[]\n` +
      update(103, { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "failed" }) +
      '{"timestamp":104,"params":{"update":{"sessionUpdate":"tool_call","toolCallId":"c3"',
  );
  expect(await times()).toEqual([[100_000, 103_000, 103_000, 103_000, 103_000, 103_000, 103_000, 103_000], 1]);
  appendFileSync(updates, "}}}\n");
  expect((await times())[0]).toEqual([100_000, 103_000, 103_000, 103_000, 103_000, 104_000, 104_000, 104_000]);
});

test("a message stays the same if the log tells only later that its tool failed", async () => {
  const path = newPath();
  const store = temporaryStore();
  expect(await countsOf(store, put(path, SAMPLE))).toEqual([14, 0, 0]);
  const failed = { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "failed" };
  put(join(dirname(path), "updates.jsonl"), update(103, failed));
  appendFileSync(path, '{"type":"user","content":"Thanks.","prompt_index":2}\n');
  expect(await countsOf(store, path)).toEqual([1, 14, 0]);
});

test("the file may be written again with fewer items, and those that are left have the ids that they had", async () => {
  const prompt = (words: string, prompt_index: number) => user(words, { prompt_index });
  const done = { type: "assistant", content: "Done.", model_id: "grok-9" };
  const idsOf = async (lines: object[]) => messagesIn(await eventsOfLines(grok, lines)).map(({ id }) => id);
  const before = await idsOf([prompt("Look.", 0), done, prompt("Go on.", 1), done, prompt("Go on.", 2), done]);
  expect(new Set(before).size).toBe(6);
  expect(await idsOf([prompt("Go on.", 2), done, prompt("Go on.", 3), done])).toEqual([
    ...before.slice(4),
    expect.not.stringContaining(before[4]!),
    expect.not.stringContaining(before[5]!),
  ]);
});

test("what nobody typed is the program's, but for what the user says meanwhile", async () => {
  const events = await eventsOfLines(grok, [
    user("<user_info>linux</user_info>"),
    user("Task c1 has ended.", { synthetic_reason: "task_completed", prompt_index: 1 }),
    user("Quickly.", { synthetic_reason: "interjection" }),
    user("The user sent a message:\n<user_query>\nTighten it.\n</user_query>", { prompt_index: 2 }),
    { type: "user", content: "Plain." },
    { type: "tide" },
  ]);
  const words = messagesIn(events).map(({ parts = [] }) => parts.filter(({ injected }) => injected !== true));
  expect(words).toMatchObject([[], [], [{ text: "Quickly." }], [{ text: "\nTighten it.\n" }], [{ text: "Plain." }]]);
  expect(warningsIn(events)).toEqual([[6, 'unknown type of item: "tide"']]);
});
