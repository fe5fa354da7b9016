import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cline, clineCli } from "../../../src/importers/cline.ts";
import { importFiles } from "../../../src/imports/import-files.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import {
  collect,
  countsOf,
  eventsAt,
  eventsOf,
  fileOf,
  messagesIn,
  put,
  saidIn,
  sessionsIn,
  warningsIn,
} from "./read.ts";

const text = (words: string) => ({ type: "text", text: words });

test("only the words of the user are the user's", async () => {
  const user = (...words: string[]) => ({ role: "user", content: words.map(text) });
  const reply = (content: string) => ({ role: "assistant", content });
  const messages = [
    user("<task>\nMend it.\n</task>\n\n<file_content path='a'>\nx\n</file_content>", "# TODO LIST RECOMMENDED"),
    reply("<read_file><path>a</path></read_file>"),
    user("[read_file for 'a'] Result:", "x", "<environment_details>\ny\n</environment_details>"),
    reply("Done."),
    user("<user_message>\n(The user did not provide a new message.)\n</user_message>"),
    reply("Well?"),
    user("[attempt_completion] Result:\n<feedback>\nNot yet.\n</feedback>", "Typed."),
  ];
  const events = await eventsOf(cline, JSON.stringify(messages));
  expect(warningsIn(events)).toEqual([]);
  expect(saidIn(events)).toEqual([
    "user: [<task>\n] | Mend it. | [\n</task>\n\n<file_content path='a'>\nx\n</file_content>] | [# TODO LIST RECOMMENDED]",
    "assistant: <read_file><path>a</path></read_file>",
    "user: [[read_file for 'a'] Result:] | [x] | [<environment_details>\ny\n</environment_details>]",
    "assistant: Done.",
    "user: [<user_message>\n] | [(The user did not provide a new message.)] | [\n</user_message>]",
    "assistant: Well?",
    "user: [[attempt_completion] Result:\n<feedback>\n] | Not yet. | [\n</feedback>] | Typed.",
  ]);
});

test("a result that Cline wrote as a text answers the call that it names", async () => {
  const call = (id: string, name: string) => ({ type: "tool_use", id, name, input: {} });
  const events = await eventsOf(
    cline,
    JSON.stringify([
      { role: "user", content: [text("<task>\nLook.\n</task>")] },
      { role: "assistant", content: [call("a", "read_file"), call("b", "read_file"), call("c", "ask")] },
      {
        role: "user",
        content: [
          text("[read_file for 'x'] Result:\none"),
          text("[read_file for 'y'] Result:"),
          text("two"),
          text("[ask for 'z'] Result:\n<answer>\nyes\n</answer>"),
        ],
      },
      { role: "assistant", content: [call("d", "use_subagents")] },
      { role: "user", content: [text("[subagents] Result:\nthree")] },
      { role: "assistant", content: [text("Seen.")] },
    ]),
  );
  const results = messagesIn(events).flatMap(({ parts }) => parts!.filter(({ type }) => type === "tool_result"));
  expect(results).toMatchObject([
    { toolCallId: "a", content: [text("[read_file for 'x'] Result:\none")] },
    { toolCallId: "b", content: [text("[read_file for 'y'] Result:"), text("two")] },
    { toolCallId: "c", content: [text("[ask for 'z'] Result:\n")] },
    { toolCallId: "d", content: [text("[subagents] Result:\nthree")] },
  ]);
  const words = messagesIn(events).flatMap(({ role, parts }) => (role === "user" ? parts! : []));
  expect(words.filter(({ injected }) => injected !== true).map((part) => part.text)).toEqual(["Look.", "yes"]);
});

test("a task has the folder, times and usage that its files tell", async () => {
  const task = join(temporaryFolder(), "globalStorage", "saoudrizwan.claude-dev", "tasks", "1772700000000");
  cpSync(sampleOf("cline/api_conversation_history.json"), join(task, "api_conversation_history.json"));
  const ui = [-1, 0, 0, 1].map((conversationHistoryIndex, index) => {
    return { ts: 1772700000100 + index, type: "say", say: "text", text: "shown", conversationHistoryIndex };
  });
  put(join(task, "ui_messages.json"), ui);
  put(join(task, "task_metadata.json"), { files_in_context: [], model_usage: [] });
  const store = temporaryStore();
  const { newCount, warningCount, passedOver } = await importFiles(store, join(task, ".."), { summarize: false });
  expect({ newCount, warningCount, passedOver }).toEqual({ newCount: 10, warningCount: 0, passedOver: { ".json": 1 } });
  expect(store.sessions()).toMatchObject([{ externalId: "1772700000000", source: "cline", project: "/work/lamp" }]);
  const times = store.query("SELECT created_at_ms - 1772700000000 AS t FROM messages ORDER BY seq LIMIT 4");
  expect(times.map(({ t }) => t)).toEqual([100, 101, 103, 103]);
  const usage = { model: "sol", input_tokens: 10, output_tokens: 5, cache_read_tokens: 90, cost_usd: 0.25 };
  expect(store.query("SELECT * FROM usage")).toMatchObject([usage]);
});

test("a task of Roo Code has the title and the parent of its history item, and keeps its messages when one is put before them", async () => {
  const tasks = join(temporaryFolder(), "globalStorage", "rooveterinaryinc.roo-cline", "tasks");
  const item = { id: "0199c3a0", parentTaskId: "0199c3a1", title: "Hinge", task: "Oil", workspace: "/work/house" };
  put(join(tasks, "0199c3a0", "history_item.json"), item);
  const said = (ts: number, role: string, words: string) => ({ role, content: [text(words)], ts });
  const messages = [
    said(1, "user", "<user_message>\nOil it.\n</user_message>"),
    said(2, "assistant", "Which oil?"),
    said(3, "user", "<user_message>\nThe light one.\n</user_message>"),
    said(4, "assistant", "Done."),
  ];
  const store = temporaryStore();
  const save = (saved: object) => {
    put(join(tasks, "0199c3a0", "api_conversation_history.json"), saved);
    return countsOf(store, tasks);
  };
  expect(await save(messages)).toEqual([4, 0, 0]);
  expect(store.sessions()).toMatchObject([{ externalId: "0199c3a0", title: "Hinge", project: "/work/house" }]);
  const condensed = messages.map((one) => ({ ...one, condenseParent: "c" }));
  const summary = { ...said(5, "user", "## Summary"), isSummary: true, condenseId: "c" };
  expect(await save({ version: 2, messages: [...condensed, summary] })).toEqual([1, 4, 0]);
});

test("a session of the CLI has what its manifest says, and its subagents are its children", async () => {
  const folder = join(temporaryFolder(), "sessions", "1772700000000_lamp1");
  const externalId = "1772700000000_lamp1";
  const content = readFileSync(sampleOf(`cline/${externalId}.messages.json`));
  const manifest = { version: 1, session_id: externalId, cwd: "/work/sail", metadata: { title: "Sails" } };
  put(join(folder, `${externalId}.json`), manifest);
  const sessionAt = async (name: string) =>
    sessionsIn(await collect(clineCli.read(fileOf(content, 65_536, join(folder, name)))))[0];
  const about = { externalId, title: "Sails", folder: "/work/sail" };
  expect(await sessionAt(`${externalId}.messages.json`)).toMatchObject(about);
  const agent = { externalId: `${externalId}/agent_1`, parentExternalId: externalId };
  expect(await sessionAt("agent_1.messages.json")).toMatchObject(agent);
});

test("what was shown of a task is read if the messages of the model are gone", async () => {
  const task = join(temporaryFolder(), "globalStorage", "saoudrizwan.claude-dev", "tasks", "1772700000001");
  const shown = join(task, "ui_messages.json");
  put(
    shown,
    JSON.stringify([
      { ts: 1_772_700_000_000, type: "say", say: "task", text: "Sharpen the chisel." },
      { ts: 1_772_700_000_001, type: "say", say: "completion_result", text: "Done." },
      { ts: 1_772_700_000_002, type: "ask", ask: "completion_result", text: "Done." },
    ]),
  );
  const { format, events } = await eventsAt(shown);
  expect(format).toBe("cline-ui");
  expect(sessionsIn(events)).toMatchObject([{ externalId: "1772700000001", unlessFrom: "cline" }]);
  expect(messagesIn(events).map(({ role }) => role)).toEqual(["user", "assistant"]);
  put(join(task, "api_conversation_history.json"), [{ role: "user", content: "Sharpen the chisel." }]);
  expect((await eventsAt(shown)).events).toEqual([]);
});
