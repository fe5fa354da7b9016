import { hash } from "node:crypto";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { kimi } from "../../../src/importers/kimi.ts";
import { importFiles } from "../../../src/imports/import-files.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { eventsOfLines, messagesIn, warningsIn } from "./read.ts";

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
  const subagent = join(folder, "subagents", "sweep");
  mkdirSync(subagent, { recursive: true });
  writeFileSync(join(share, "kimi.json"), '{"work_dirs":[{"path":"/work/mill"},{"path":"/work/kiln"}]}');
  writeFileSync(join(folder, "state.json"), '{"custom_title":"The kiln"}');
  cpSync(sampleOf("kimi/context-of-old.jsonl"), join(folder, "context.jsonl"));
  writeFileSync(join(subagent, "wire.jsonl"), `${JSON.stringify(event("TurnBegin", { user_input: "Sweep." }))}\n`);
  const store = temporaryStore();
  const read = () => importFiles(store, join(share, "sessions"), { summarize: false });
  expect((await read()).warningCount).toBe(0);
  expect(store.sessions()).toMatchObject([
    { externalId: ID, title: "The kiln", project: "/work/kiln" },
    { externalId: `${ID}/agent-sweep` },
  ]);
  const { messageCount } = store.sessions().find(({ externalId }) => externalId === ID)!;
  cpSync(sampleOf("kimi/wire.jsonl"), join(folder, "wire.jsonl"));
  writeFileSync(join(folder, "context.jsonl"), '{"role":"_checkpoint","id":0}\n{"role":"user","content":"New."}\n');
  await read();
  const texts = store.sessions().flatMap(({ id }) =>
    store
      .session(id)
      .messages()
      .map((message) => message.text),
  );
  expect(texts).not.toContain("New.");
  expect(texts.length).toBeGreaterThan(messageCount);
});

test("a prompt is the program's only if all of it is", async () => {
  const [own, mixed] = [
    "<system>a</system>\n<system-reminder>b</system-reminder>",
    "<system>a</system> Go. <system>b</system>",
  ];
  const events = await eventsOfLines(
    kimi,
    [own, mixed].map((words) => event("TurnBegin", { user_input: words })),
  );
  expect(messagesIn(events).map(({ parts }) => parts?.[0]?.injected)).toEqual([true, undefined]);
});
