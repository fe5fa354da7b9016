import { utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copilotChat } from "../../../src/importers/copilot-chat/importer.ts";
import { importFiles } from "../../../src/imports/import-files.ts";
import { expectLinearTime } from "../../support/processor-time.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { eventsOf, eventsOfLines, jsonLines, messagesIn, put, saidIn, sessionsIn, warningsIn } from "./read.ts";

const ID = "1f0d6a52-9b1c-4e53-8f0b-2a6f5f1f7e11";
const request = (requestId: string, response: object[], more: object = {}) => ({
  requestId,
  responseId: `${requestId}/answer`,
  message: { text: requestId },
  response,
  modelState: { value: 1 },
  ...more,
});
const chat = (...requests: object[]) =>
  JSON.stringify({ responderUsername: "GitHub Copilot", initialLocation: "panel", requests });
const tool = (toolCallId: string, toolId: string, more: object = {}) => ({
  kind: "toolInvocationSerialized",
  toolCallId,
  toolId,
  isComplete: true,
  ...more,
});
/** Lines of the log: its start, and requests that it adds, at a place or at the end. */
const start = (...requests: object[]) => ({ kind: 0, v: { version: 3, creationDate: 1, sessionId: "s", requests } });
const push = (v: object[], i?: number) => ({ kind: 2, k: ["requests"], v, i });
const called = (id: string, name: string, args: object) => ({ id, name, arguments: JSON.stringify(args) });

test("a call has what the model sent, found by its id or its name, and one that is not shown comes too", async () => {
  const metadata = {
    toolCallRounds: [
      { toolCalls: [called("a__vscode-1", "read_file", { filePath: "/w/a" }), called("b", "file_search", { q: 1 })] },
      { toolCalls: [called("c", "manage_todo_list", { n: 2 })] },
    ],
    toolCallResults: {
      "a__vscode-1": { content: [{ value: "one" }] },
      b: { content: [{ value: "ERROR while calling tool: none" }] },
      lost: { content: [{ value: "of nobody" }] },
    },
  };
  const shown = [tool("a", "copilot_readFile"), tool("9f", "copilot_findFiles"), { value: "Done." }];
  const events = await eventsOf(copilotChat, chat(request("Look", shown, { result: { metadata } })));
  expect(messagesIn(events).map(({ parts }) => parts)).toMatchObject([
    [{ text: "Look" }],
    [
      { toolCallId: "a__vscode-1", name: "read_file", args: { filePath: "/w/a" } },
      { toolCallId: "b", name: "file_search", args: { q: 1 } },
    ],
    [{ toolCallId: "a__vscode-1", content: "one" }],
    [{ toolCallId: "b", isError: true }],
    [{ text: "Done." }, { toolCallId: "c", args: { n: 2 } }],
    [{ data: { toolCallId: "lost", content: "of nobody" } }],
  ]);
});

test("a call that only the editor knows has what is shown of it", async () => {
  const message = { value: "Reading [](file:///w/a%20b)", uris: { "file:///w/a%20b#1-2": {} } };
  const events = await eventsOf(
    copilotChat,
    chat(
      request("Look", [
        tool("1", "copilot_readFile", { invocationMessage: message, pastTenseMessage: { value: "Read it" } }),
        tool("2", "run_in_terminal", {
          toolSpecificData: {
            kind: "terminal",
            commandLine: { original: "make", userEdited: "make all" },
            terminalCommandOutput: { text: "built" },
          },
        }),
        tool("3", "look", { isComplete: false }),
        tool("4", "ask", { resultDetails: { input: "{}", output: "Error: 0", isError: false } }),
      ]),
    ),
  );
  expect(messagesIn(events).flatMap(({ parts }) => parts)).toMatchObject([
    { text: "Look" },
    { name: "copilot_readFile", args: { filePath: "/w/a b", message: message.value } },
    { name: "run_in_terminal", args: { command: "make all" } },
    { name: "look", args: {} },
    { name: "ask", args: {} },
    { toolCallId: "1", content: "Read it" },
    { toolCallId: "2", content: "built" },
    { toolCallId: "4", content: "Error: 0", isError: false },
  ]);
});

test("requests that the log takes back are on another path, and a damaged line costs no other", async () => {
  const events = await eventsOfLines(copilotChat, [
    start(request("a", [{ value: "A" }])),
    push([request("b", [{ value: "B" }])]),
    push([request("c", [{ value: "C" }])], 1),
    { kind: 1, k: ["requests", -1, "result"], v: {} },
    { kind: 2, k: ["requests", 1, "response"], v: [{ value: "D" }] },
    { kind: 2, k: ["requests", 1, "response", "x"], v: [] },
    { kind: 9 },
  ]);
  const said = events.flatMap((event) =>
    event.kind === "message" ? [`${event.session}: ${event.message.parts?.map((part) => part.text).join("")}`] : [],
  );
  expect(said).toEqual(["s: a", "s: A", "s: b", "s: B", "s/fork-c: c", "s/fork-c: CD"]);
  expect(warningsIn(events).map(([line]) => line)).toEqual([4, 6, 7]);
  expect(events.at(-1)).toMatchObject({ kind: "head", messageId: "c/answer" });
});

test("a chat has the folder of its workspace, and a response waits until it is complete", async () => {
  const storage = temporaryFolder();
  const workspace = join(storage, "workspaceStorage", "5a1b");
  put(join(workspace, "GitHub.copilot-chat", "transcripts", `${ID}.jsonl`), '{"type":"tide"}\n');
  put(join(workspace, "workspace.json"), '{"folder":"vscode-remote://wsl%2Bubuntu/work/my%20pump"}');
  const store = temporaryStore();
  const lines: object[] = [start(), push([request("a", [], { modelState: { value: 0 } })])];
  const save = async (...more: object[]) => {
    lines.push(...more);
    put(join(workspace, "chatSessions", `${ID}.jsonl`), jsonLines(lines));
    const { newCount, warningCount, files } = await importFiles(store, storage, { summarize: false });
    return [newCount, warningCount, files.length];
  };
  expect(await save()).toEqual([1, 1, 1]);
  expect(await save({ kind: 1, k: ["requests", 0, "modelState"], v: { value: 1 } })).toEqual([0, 2, 1]);
  expect(await save({ kind: 2, k: ["requests", 0, "response"], v: [{ value: "A" }] })).toEqual([1, 0, 1]);
  expect(await save({ kind: 1, k: ["customTitle"], v: "The pump" })).toEqual([0, 0, 1]);
  expect(store.sessions()).toMatchObject([{ externalId: ID, project: "/work/my pump" }]);
});

test("a response that rested within a call is told with what the call was given and returned, once", async () => {
  const path = join(temporaryFolder(), "chatSessions", `${ID}.jsonl`);
  const store = temporaryStore();
  const shown = [{ value: "I look." }, tool("a", "copilot_readFile"), { value: "Done." }];
  const metadata = {
    toolCallRounds: [{ toolCalls: [called("a__vscode-1", "read_file", { filePath: "/w/a" })] }],
    toolCallResults: { "a__vscode-1": { content: [{ value: "one" }] } },
  };
  const rested = [start(request("Look", shown, { modelState: { value: 0 } }))];
  const ends = { kind: 1, k: ["requests", 0, "result"], v: { metadata } };
  for (const [lines, counts] of [
    [rested, [2, 1]],
    [
      [...rested, ends],
      [3, 0],
    ],
    [
      [...rested, ends],
      [0, 0],
    ],
  ] as const) {
    put(path, jsonLines(lines));
    utimesSync(path, 1, 1);
    const { newCount, warningCount } = await importFiles(store, path, { summarize: false, again: true });
    expect([newCount, warningCount]).toEqual(counts);
  }
  const said = store.resume(store.sessions()[0]!.id).messages();
  expect(said.flatMap(({ parts }) => parts)).toMatchObject([
    { text: "Look" },
    { text: "I look." },
    { toolCallId: "a__vscode-1", args: { filePath: "/w/a" } },
    { toolCallId: "a__vscode-1", content: "one" },
    { text: "Done." },
  ]);
  const killed = await eventsOfLines(copilotChat, [...rested, push([request("Go on", [])])]);
  expect(saidIn(killed)).toContain("assistant: I look. | >a");
});

const [A, B, C] = ["a", "b", "c"].map((id) => request(id, [{ value: id.toUpperCase() }])) as [object, object, object];

test.each([
  ["the newest request", push([], 2), "b/answer"],
  ["a request between others", { kind: 1, k: ["requests"], v: [A, C] }, "c/answer"],
  ["the newest requests", push([], 1), "a/answer"],
  ["all requests", push([], 0), null],
])(
  "the conversation is at the newest request that is left when the user took back %s",
  async (_, change, messageId) => {
    const events = await eventsOfLines(copilotChat, [start(A, B, C), change]);
    expect(messagesIn(events)).toHaveLength(6);
    const newest = messagesIn(events).at(-1)?.id;
    expect(events.findLast(({ kind }) => kind === "head") ?? { messageId: newest }).toMatchObject({ messageId });
  },
);

test("a session with many calls and changes is read in linear time", async () => {
  const chatOf = (count: number) => {
    const ids = Array.from({ length: count }, (_, index) => `c${index}`);
    const toolCalls = ids.map((id) => called(id, "read_file", {}));
    const shown = ids.map((id) => tool(`shown ${id}`, "copilot_readFile"));
    const first = request("a", shown, { result: { metadata: { toolCallRounds: [{ toolCalls }] } } });
    const changes = ids.map((id) => ({ kind: 1, k: ["requests", 0, "vote"], v: id }));
    return [start(first), ...changes];
  };
  await expectLinearTime(1_000, chatOf, (lines) => eventsOfLines(copilotChat, lines));
});

test("a large image costs no request", async () => {
  const bytes = Buffer.alloc(2_000_001, "lamp");
  const image = { kind: "image", mimeType: "image/png", value: { ...bytes } };
  const requests = [request("a", []), request("b", [], { variableData: { variables: [image] } }), request("c", [])];
  const events = await eventsOfLines(copilotChat, [start(...requests)]);
  expect(saidIn(events)).toEqual(["user: a", "user: b | file", "user: c"]);
  expect(messagesIn(events)[1]?.parts?.[1]?.data === bytes.toString("base64")).toBe(true);
});

test("the name of a thread is the session's, wherever an export has it", async () => {
  const requests = [request("Why does the pump stop?", [{ value: "It is dry." }])];
  for (const field of ["customTitle", "title", "name", "threadName"]) {
    for (const about of [
      { [field]: "The pump", requests },
      { requests, [field]: "The pump" },
    ]) {
      const exported = { responderUsername: "GitHub Copilot", initialLocation: "panel", ...about };
      expect(sessionsIn(await eventsOf(copilotChat, JSON.stringify(exported)))[0]?.title).toBe("The pump");
    }
  }
});
