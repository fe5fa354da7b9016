import { join } from "node:path";
import { expect, test } from "vitest";
import { kimiCode } from "../../../src/importers/kimi-code.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, eventsAt, eventsOfLines, jsonLines, messagesIn, pathsIn, put, saidIn } from "./read.ts";

const prompt = (text: string, origin: object = { kind: "user" }) => ({
  type: "context.append_message",
  message: { role: "user", content: [{ type: "text", text }], toolCalls: [], origin },
});
const event = (type: string, fields: object) => ({ type: "context.append_loop_event", event: { type, ...fields } });
const says = (uuid: string, text: string) => event("content.part", { uuid, part: { type: "text", text } });
const META = { type: "metadata", protocol_version: "1.4", created_at: 1 };

test("the events of a step are one reply, with its usage and model, and what the program says is marked", async () => {
  const events = await eventsOfLines(kimiCode, [
    META,
    { type: "config.update", modelAlias: "k2" },
    { type: "turn.prompt", input: [{ type: "text", text: "Look." }], origin: { kind: "user" } },
    prompt("Look."),
    prompt("It is noon.", { kind: "injection", variant: "time" }),
    event("step.begin", { uuid: "s1" }),
    event("content.part", { uuid: "t", part: { type: "think", think: "Where?" } }),
    event("tool.call", { uuid: "c", toolCallId: "1", name: "Look", args: { at: "kiln" } }),
    event("step.end", { uuid: "s1", usage: { inputOther: 5, output: 2, inputCacheRead: 1, inputCacheCreation: 0 } }),
    event("tool.result", { parentUuid: "c", toolCallId: "1", result: { output: "gone", isError: true } }),
    event("step.begin", { uuid: "s2" }),
    says("p", "It is gone."),
    prompt("You MUST sweep.", { kind: "plugin_command", commandName: "sweep" }),
  ]);
  expect(saidIn(events)).toEqual([
    "user: Look.",
    "user: [It is noon.]",
    "assistant: Where? | >1",
    "tool: <1",
    "assistant: It is gone.",
    "user: [You MUST sweep.]",
  ]);
  expect(messagesIn(events)[2]?.metadata).toEqual({
    model: "k2",
    usage: { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 1, cache_creation_input_tokens: 0 },
  });
});

test("what was undone is on another path", async () => {
  const events = await eventsOfLines(kimiCode, [
    META,
    prompt("One."),
    says("a", "1"),
    prompt("Two."),
    says("b", "2"),
    { type: "context.undo", count: 1 },
    prompt("Three."),
    says("c", "3"),
  ]);
  expect(Object.values(pathsIn(events)).map((path) => path.length)).toEqual([4, 3]);
  expect(events.at(-1)).toMatchObject({ kind: "head", messageId: "c" });
});

test("a session has the title and folder of its state, and its agents are its children", async () => {
  const folder = join(temporaryFolder(), "sessions", "wd_kiln", "session_1");
  const agents = { main: { parentAgentId: null }, "agent-1": { parentAgentId: "main" } };
  put(join(folder, "state.json"), { title: "The kiln", workDir: "/work/kiln", agents });
  put(join(folder, "agents", "main", "wire.jsonl"), jsonLines([META, prompt("Look."), says("a", "Seen.")]));
  put(join(folder, "agents", "agent-1", "wire.jsonl"), jsonLines([META, prompt("Sweep."), says("a", "Swept.")]));
  const store = temporaryStore();
  expect(await countsOf(store, folder)).toEqual([4, 0, 0]);
  const [main, agent] = ["session_1", "session_1/agent-agent-1"].map((id) =>
    store.sessions().find(({ externalId }) => externalId === id),
  );
  expect(main).toMatchObject({ externalId: "session_1", title: "The kiln", project: "/work/kiln" });
  expect(agent).toMatchObject({ externalId: "session_1/agent-agent-1", parentSessionId: main!.id });
});

test("a file of an unknown version is refused by the version that it tells", async () => {
  const folder = temporaryFolder();
  const path = put(
    join(folder, "wire.jsonl"),
    jsonLines([
      { type: "metadata", protocol_version: "9.1", created_at: 1 },
      prompt("Look."),
      ...Array.from({ length: 6 }, (_, at) => ({ type: "tide.rise", at })),
    ]),
  );
  await expect(eventsAt(path)).rejects.toMatchObject({
    code: "IMPORT_UNREADABLE",
    details: { reason: expect.stringMatching(/less than half.*kimi-code; 6 of its 8 items.*protocol_version is 9\.1/) },
  });
});
