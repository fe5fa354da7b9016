import { hash } from "node:crypto";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { kimi } from "../../../src/importers/kimi.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, eventsOfLines, jsonLines, messagesIn, put, warningsIn } from "./read.ts";

const ID = "531d195b-6436-426e-b010-4bf723a992de";
const event = (type: string, payload: object, timestamp = 1) => ({ timestamp, message: { type, payload } });

test("the events of a step are one reply, with its usage, and its results follow their calls", async () => {
  const call = (id: string) => ({ type: "function", id, function: { name: "Look", arguments: `{"at":"${id}"}` } });
  const result = (tool_call_id: string, return_value: object) => event("ToolResult", { tool_call_id, return_value });
  const events = await eventsOfLines(kimi, [
    event("TurnBegin", { user_input: "Look." }, 1_772_700_000.5),
    event("StepBegin", { n: 1 }),
    event("ContentPart", { type: "think", think: "Where?", encrypted: "sig" }),
    event("ToolCall", call("1")),
    event("ToolCall", call("2")),
    event("StatusUpdate", { token_usage: { input_other: 5, output: 2, input_cache_read: 1, input_cache_creation: 0 } }),
    result("2", { is_error: true, output: "", message: "gone" }),
    result("1", { is_error: false, output: "seen", message: "Read." }),
    event("BtwBegin", { id: "b", question: "Why?" }),
    event("BtwEnd", { id: "b", response: "So." }),
    event("SubagentEvent", { agent_id: "a", event: { type: "ContentPart", payload: { type: "text", text: "no" } } }),
    event("Tide", {}),
    { role: "king", content: "?" },
    { tide: 1 },
  ]);
  expect(messagesIn(events)).toMatchObject([
    { role: "user", parts: [{ text: "Look." }], createdAt: 1_772_700_000_500 },
    {
      parts: [
        { text: "Where?", signature: "sig" },
        { toolCallId: "1", args: { at: "1" } },
      ],
    },
    { parts: [{ toolCallId: "1", content: [{ text: "Read." }, { text: "seen" }], isError: false }] },
    { parts: [{ toolCallId: "2" }], metadata: { usage: { input_tokens: 5, output_tokens: 2 } } },
    { parts: [{ toolCallId: "2", content: "gone", isError: true }] },
    { role: "user", parts: [{ text: "Why?" }] },
    { role: "assistant", parts: [{ text: "So." }] },
  ]);
  expect(warningsIn(events).map(([line]) => line)).toEqual([12, 13, 14]);
});

test("a session has the folder whose hash names its own, its title and its subagents, and its log comes before its context", async () => {
  const share = temporaryFolder();
  const folder = join(share, "sessions", hash("md5", "/work/kiln"), ID);
  put(join(share, "kimi.json"), '{"work_dirs":[{"path":"/work/mill"},{"path":"/work/kiln"}]}');
  put(join(folder, "state.json"), '{"custom_title":"The kiln"}');
  cpSync(sampleOf("kimi/context-of-old.jsonl"), join(folder, "context.jsonl"));
  put(join(folder, "subagents", "sweep", "wire.jsonl"), jsonLines([event("TurnBegin", { user_input: "Sweep." })]));
  const store = temporaryStore();
  expect((await countsOf(store, join(share, "sessions"))).at(-1)).toBe(0);
  expect(store.sessions()).toMatchObject([
    { externalId: ID, title: "The kiln", project: "/work/kiln" },
    { externalId: `${ID}/agent-sweep` },
  ]);
  const { messageCount } = store.sessions().find(({ externalId }) => externalId === ID)!;
  cpSync(sampleOf("kimi/wire.jsonl"), join(folder, "wire.jsonl"));
  put(join(folder, "context.jsonl"), '{"role":"_checkpoint","id":0}\n{"role":"user","content":"New."}\n');
  await countsOf(store, join(share, "sessions"));
  const texts = store.query("SELECT text FROM messages").map(({ text }) => text);
  expect(texts).not.toContain("New.");
  expect(texts.length).toBeGreaterThan(messageCount);
});

test("a prompt is the program's only if all of it is", async () => {
  const own = "<system>a</system>\n<system-reminder>b</system-reminder>";
  const prompts = [own, "<system>a</system> Go. <system>b</system>"];
  const lines = prompts.map((user_input) => event("TurnBegin", { user_input }));
  const events = await eventsOfLines(kimi, lines);
  expect(messagesIn(events).map(({ parts }) => parts?.[0]?.injected)).toEqual([true, undefined]);
});
