import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { qwenCode } from "../../../src/importers/qwen-code.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, eventsOfLines, jsonLines, messagesIn, put, sessionsIn, warningsIn } from "./read.ts";

const record = (uuid: string, parentUuid: string | null, type: string, parts: object[], about: object = {}) => ({
  ...{ uuid, parentUuid, sessionId: "s", timestamp: "2026-03-05T09:00:00.000Z", type, cwd: "/work/mill" },
  message: { role: type === "assistant" ? "model" : "user", parts },
  ...about,
});
const call = (id: string) => ({ functionCall: { id, name: "look", args: {} } });
const answer = (id: string) => ({ functionResponse: { id, name: "look", response: { output: `seen ${id}` } } });

test("what the user took back is superseded, and records beside the conversation begin no path", async () => {
  const store = temporaryStore();
  expect(await countsOf(store, fileURLToPath(sampleOf("qwen-code.jsonl")))).toEqual([13, 0, 0]);
  const externalId = "6a1f0c3e-7d52-4b7e-9a53-0e2c5d1b8f40";
  const about = { externalId, source: "qwen-code", title: "The mill", project: "/work/mill" };
  expect(store.sessions()).toMatchObject([about]);
  const texts = store
    .session(store.sessions()[0]!.id)
    .messages()
    .map(({ role, text }) => `${role}: ${text}`);
  expect(texts.filter((text) => /keep(09|11)/.test(text))).toEqual([]);
  expect(texts.filter((text) => /keep(01|08|12|13|17)/.test(text))).toHaveLength(5);
  const usage = { model: "qwen3-coder-plus", input_tokens: 40, cache_read_tokens: 60, output_tokens: 20 };
  expect(store.query("SELECT * FROM usage")).toMatchObject([usage]);
});

test("a call that failed or was cancelled says so in its result, and a notice is not the user's", async () => {
  const events = await eventsOfLines(qwenCode, [
    record("a", null, "user", [{ text: "Look." }]),
    record("b", "a", "assistant", [call("1")]),
    record("c", "b", "tool_result", [{ functionResponse: { name: "look", response: { output: "seen 1" } } }], {
      toolCallResult: { callId: "1", status: "error" },
    }),
    record("d", "c", "user", [{ text: "Done." }], { subtype: "cron" }),
    { ...record("e", "d", "system", []), subtype: "tide", systemPayload: {} },
    record("f", "e", "assistant", [{ text: "Seen." }]),
  ]);
  expect(messagesIn(events).map(({ parts }) => parts![0])).toMatchObject([
    { text: "Look." },
    { toolCallId: "1" },
    { toolCallId: "1", content: "seen 1", isError: true },
    { text: "Done.", injected: true },
    { text: "Seen." },
  ]);
  expect(sessionsIn(events)).toHaveLength(1);
  expect(warningsIn(events)).toEqual([[5, 'unknown type of record: "tide"']]);
});

test("a compression adds its summary, and not the messages that it keeps", async () => {
  const kept = [{ text: "Grind." }];
  const compressedHistory = [
    { role: "user", parts: [{ text: "They ground flour." }] },
    { role: "user", parts: kept },
  ];
  const events = await eventsOfLines(qwenCode, [
    record("a", null, "user", kept),
    { ...record("b", "a", "system", []), subtype: "chat_compression", systemPayload: { compressedHistory } },
    record("c", "b", "assistant", [{ text: "Ground." }]),
  ]);
  expect(messagesIn(events).map(({ id, metadata }) => [id, metadata?.isCompactSummary])).toEqual([
    ["a", undefined],
    ["b", true],
    ["c", undefined],
  ]);
});

test("a branch of a session and a subagent are its children, and each call of a subagent is followed by its result", async () => {
  const project = join(temporaryFolder(), "projects", "-work-mill");
  const agents = join(project, "subagents", "s");
  const write = (path: string, ...records: object[]) => put(path, jsonLines(records));
  const said = [record("a", null, "user", [{ text: "Grind." }]), record("b", "a", "assistant", [{ text: "Ground." }])];
  write(join(project, "chats", "s.jsonl"), ...said);
  const copied = said.map((one) => ({ ...one, sessionId: "t", forkedFrom: { sessionId: "s", messageUuid: one.uuid } }));
  const own = record("c", "b", "user", [{ text: "Finer." }], { sessionId: "t" });
  write(join(project, "chats", "t.jsonl"), ...copied, own);
  const about = { agentId: "miller", isSidechain: true };
  write(
    join(agents, "agent-miller.jsonl"),
    record("d", null, "user", [{ text: "Look at the sieve." }], about),
    record("e", "d", "assistant", [{ text: "I look." }], about),
    record("f", "e", "assistant", [call("1")], about),
    record("g", "f", "assistant", [call("2")], about),
    record("h", "g", "tool_result", [answer("1")], about),
    record("i", "h", "tool_result", [answer("2")], about),
    record("j", "i", "assistant", [{ text: "It is torn." }], about),
  );
  put(join(agents, "agent-miller.meta.json"), { agentId: "miller", parentSessionId: "s" });
  const store = temporaryStore();
  expect((await countsOf(store, project)).at(-1)).toBe(0);
  const sessions = store.sessions();
  const [parent] = sessions.filter(({ externalId }) => externalId === "s");
  for (const id of ["t", "s/agent-miller"]) {
    expect(sessions.find(({ externalId }) => externalId === id)).toMatchObject({ parentSessionId: parent!.id });
  }
  const agent = sessions.find(({ externalId }) => externalId === "s/agent-miller")!;
  const ids = store.query(`SELECT external_id AS id FROM messages WHERE session_id = '${agent.id}' ORDER BY seq`);
  expect(ids.map(({ id }) => id)).toEqual(["d", "e", "f", "h", "g", "i", "j"]);
});
