import { join } from "node:path";
import { expect, test } from "vitest";
import { copilotCli } from "../../../src/importers/copilot-cli.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { collect, eventsOfLines, fileOf, jsonLines, messagesIn, put, saidIn, sessionsIn, warningsIn } from "./read.ts";

let count = 0;
const event = (type: string, data: unknown, more = {}) => {
  count += 1;
  return { type, data, id: `e${count}`, timestamp: "2026-03-05T09:00:00.000Z", parentId: null, ...more };
};
const START = event("session.start", { sessionId: "s", context: { cwd: "/srv/tidewatch", branch: "main" } });
const user = (content: string, more = {}) => event("user.message", { content, ...more });
const reply = (content: string, more = {}) => event("assistant.message", { content, model: "m", ...more });

const read = (...lines: object[]) => eventsOfLines(copilotCli, [START, ...lines]);

test("what the program puts in is marked, and commands of the user are the user's", async () => {
  const run = { toolCallId: "u", toolName: "bash", arguments: { command: "ls" } };
  const events = await read(
    user("hi", { transformedContent: "<time/>hi", attachments: [{ type: "selection", text: "code" }] }),
    user("skill", { source: "skill-pdf" }),
    user("go on", { isAutopilotContinuation: true }),
    event("system.notification", { content: "a shell ended", kind: { type: "shell_completed" } }),
    event("tool.user_requested", run),
    event("tool.execution_complete", { toolCallId: "u", success: true, result: { content: "a.txt" } }),
    event("system.message", { role: "system", content: "prompt" }),
  );
  const marked = ["user: [skill]", "user: [go on]", "user: [a shell ended]"];
  expect(saidIn(events)).toEqual(["user: hi | [code]", ...marked, "user: ! ls | [a.txt]"]);
});

test("a thought that is told twice counts once, and a failure is the result", async () => {
  const call = { toolCallId: "c", name: "view", arguments: {} };
  const events = await read(
    event("assistant.reasoning", { content: "hm", reasoningId: "r" }),
    reply("I look.", { reasoningText: "hm", toolRequests: [call] }),
    event("tool.execution_complete", { toolCallId: "c", success: false, error: { message: "no file" } }),
    event("tool.execution_complete", { toolCallId: "d", success: true, result: { content: "a file" } }),
  );
  expect(messagesIn(events).flatMap(({ parts }) => parts)).toEqual([
    { type: "reasoning", text: "hm" },
    { type: "text", text: "I look." },
    { type: "tool_call", toolCallId: "c", name: "view", args: {} },
    { type: "tool_result", toolCallId: "c", name: "view", content: "no file", isError: true },
    { type: "tool_result", toolCallId: "d", content: "a file", isError: false },
  ]);
  const thoughts = async (...lines: object[]) =>
    messagesIn(await read(...lines)).flatMap(({ parts }) => parts!.filter(({ type }) => type === "reasoning"));
  const after = event("assistant.reasoning", { content: "hm", reasoningId: "r" });
  expect(await thoughts(reply("yes", { reasoningText: "hm" }), after)).toHaveLength(1);
  // The same thought in another turn is another one.
  const again = [reply("a", { reasoningText: "hm" }), user("and?"), reply("b", { reasoningText: "hm" })];
  expect(await thoughts(...again)).toHaveLength(2);
  // A subagent that works meanwhile changes nothing.
  const aside = event("assistant.reasoning", { content: "aside", parentToolCallId: "c" });
  expect(await thoughts(after, aside, reply("yes", { reasoningText: "hm" }))).toHaveLength(2);
});

test("an image comes from the event that holds it", async () => {
  const asset = { assetId: "sha256:1", type: "image", mimeType: "image/png", data: "aGk=" };
  const attachments = [{ type: "file", displayName: "a.png", assetId: "sha256:1" }];
  const events = await read(event("session.binary_asset", asset), user("see", { attachments }));
  const file = { type: "file", mediaType: "image/png", data: "aGk=", name: "a.png" };
  expect(messagesIn(events)[0]?.parts?.[1]).toEqual(file);
});

test("a subagent is a session of its own", async () => {
  const events = await read(user("a"), event("user.message", { content: "b" }, { agentId: "x" }), reply("c"));
  const metadata = { cwd: "/srv/tidewatch", branch: "main" };
  const about = { source: "copilot-cli", folder: "/srv/tidewatch", metadata };
  expect(sessionsIn(events)).toMatchObject([
    { ...about, externalId: "s" },
    { ...about, externalId: "s/agent-x", parentExternalId: "s" },
  ]);
});

test("new events of the program are no news, and new events of a conversation are", async () => {
  const events = await read(event("model.novelty", {}), event("session.novelty", {}), event("poem.recited", {}));
  expect(warningsIn(events)).toEqual([[4, 'unknown type of event: "poem.recited"']]);
  const broken = await read({ type: "user.message", data: 7 }, event("tool.execution_complete", { success: true }));
  expect(warningsIn(broken)).toEqual([
    [2, "expected an event with a type and data"],
    [3, "toolCallId: expected a string"],
  ]);
});

test("a session has the name that the CLI gave it, and without a start the name of its folder", async () => {
  const folder = join(temporaryFolder(), "my-session");
  const titleOf = async (yaml: string, field = "name", ...more: object[]) => {
    put(join(folder, "workspace.yaml"), `id: x\n${field}: ${yaml}\nuser_named: false\n`);
    const file = fileOf(jsonLines([user("hi"), ...more]), 99, join(folder, "events.jsonl"));
    return sessionsIn(await collect(copilotCli.read(file)));
  };
  expect(await titleOf("Fog horn")).toMatchObject([{ externalId: "my-session", title: "Fog horn" }]);
  expect((await titleOf("'it''s on'"))[0]?.title).toBe("it's on");
  expect((await titleOf('"a \\"b\\""'))[0]?.title).toBe('a "b"');
  expect((await titleOf("Old horn", "summary"))[0]?.title).toBe("Old horn");
  expect((await titleOf("|-", "summary", event("session.title_changed", { title: "New horn" })))[0]?.title).toBe(
    "New horn",
  );
});

test("a rewind takes back the event that it names and all later ones", async () => {
  const [first, turn, second] = [user("one"), event("assistant.turn_start", { turnId: "0" }), user("two")];
  const back = event("session.snapshot_rewind", { upToEventId: turn.id, eventsRemoved: 2 });
  const events = await read(first, turn, second, back, user("three"));
  expect(sessionsIn(events).slice(1)).toMatchObject([{ pathOf: "s", forkedAfter: first.id }]);
  expect((await read(first, turn, second, back)).at(-1)).toEqual({ kind: "head", session: "s", messageId: first.id });
  expect(warningsIn(await read(first, event("session.snapshot_rewind", { upToEventId: "gone" })))).toHaveLength(1);
});
