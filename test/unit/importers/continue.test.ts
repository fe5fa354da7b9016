import { join } from "node:path";
import { expect, test } from "vitest";
import { continueDev } from "../../../src/importers/continue.ts";
import { importFiles } from "../../../src/imports/import-files.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, eventsOf, messagesIn, put, warningsIn } from "./read.ts";

const session = (history: object[], about: object = {}) =>
  JSON.stringify({ sessionId: "s", title: "New Session", workspaceDirectory: "/work/clock", ...about, history });
const call = (id: string) => ({ id, type: "function", function: { name: "look", arguments: '{"n":1}' } });
const state = (id: string, status: string, output: object[] = []) => ({
  toolCallId: id,
  toolCall: call(id),
  status,
  output,
});

test("a call has the result that stands beside it once, with its failure", async () => {
  const events = await eventsOf(
    continueDev,
    session([
      { message: { role: "user", content: "Look." }, contextItems: [{ name: "a.md", content: "notes" }] },
      {
        message: { role: "assistant", content: "", toolCalls: [call("1"), call("2"), call("3")] },
        toolCallStates: [
          state("1", "done", [{ name: "Result", content: "seen" }]),
          state("2", "canceled"),
          state("3", "done", [{ content: "one" }, { content: "two" }]),
        ],
      },
      { message: { role: "tool", toolCallId: "1", content: "seen" } },
      { message: { role: "assistant", content: "Seen." } },
      { message: { role: "tide", content: "?" } },
    ]),
  );
  expect(messagesIn(events).map(({ parts }) => parts)).toMatchObject([
    [{ text: "notes", name: "a.md", injected: true }, { text: "Look." }],
    [{ toolCallId: "1", name: "look", args: { n: 1 } }, { toolCallId: "2" }, { toolCallId: "3" }],
    [{ toolCallId: "1", name: "look", content: "seen" }],
    [{ toolCallId: "2", content: "canceled", isError: true }],
    [{ toolCallId: "3", content: [{ text: "one" }, { text: "two" }] }],
    [{ text: "Seen." }],
  ]);
  expect(warningsIn(events)).toEqual([[1, 'unknown role: "tide"']]);
});

test("arguments that are the text null stay null, and no arguments are an empty object", async () => {
  const calls = ["null", null].map((args) => ({ ...call(`${args}?`), function: { name: "list", arguments: args } }));
  const events = await eventsOf(
    continueDev,
    session([said("user", "List."), { message: { role: "assistant", content: "", toolCalls: calls } }]),
  );
  expect(messagesIn(events)[1]!.parts).toMatchObject([{ args: null }, { args: {} }]);
});

const ID = "5832a36f-ea52-4eb4-b8f7-16ed2bf063dd";
const listed = { sessionId: ID, title: "The clock", dateCreated: "1772700000000", workspaceDirectory: "/work/clock" };
const said = (role: string, content: string) => ({ message: { role, content }, contextItems: [] });

test("a session has the folder, the title and the time that Continue keeps, and an edited message is a new one", async () => {
  const folder = temporaryFolder();
  put(join(folder, "sessions.json"), [listed]);
  const store = temporaryStore();
  const save = (...saved: Parameters<typeof session>) => {
    put(join(folder, `${ID}.json`), session(saved[0], { sessionId: ID, ...saved[1] }));
    return importFiles(store, folder, { summarize: false });
  };
  const first = await save([said("user", "Slow?"), said("assistant", "Yes.")]);
  expect(first).toMatchObject({ newCount: 2, knownCount: 0, warningCount: 0, passedOver: { ".json": 1 } });
  expect(store.sessions()).toMatchObject([{ externalId: ID, source: "continue", project: "/work/clock", title: null }]);
  const edited = await save([said("user", "Fast?"), said("assistant", "No.")], { title: "The clock" });
  expect(edited).toMatchObject({ newCount: 2, knownCount: 0, warningCount: 0, passedOver: { ".json": 1 } });
  expect(store.sessions()).toMatchObject([{ messageCount: 4 }]);
  expect(store.query("SELECT min(created_at_ms) AS t FROM messages")).toEqual([{ t: 1772700000000 }]);
});

test("a session whose id and folder stand behind its messages has them from its name and from the list beside it", async () => {
  const folder = temporaryFolder();
  const history = [said("user", "Slow?"), said("assistant", "Yes.")];
  const { sessionId, title, workspaceDirectory } = listed;
  put(join(folder, "sessions.json"), [{ ...listed, dateCreated: "2026-03-05T09:00:00.000Z" }]);
  put(join(folder, `${ID}.json`), { history, title, workspaceDirectory, sessionId });
  const store = temporaryStore();
  expect(await countsOf(store, folder)).toEqual([2, 0, 0]);
  expect(store.sessions()).toMatchObject([{ externalId: ID, project: "/work/clock", title: "The clock" }]);
});
