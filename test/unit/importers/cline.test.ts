import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Part } from "../../../src/core/message.ts";
import { cline, clineCli } from "../../../src/importers/cline.ts";
import type { Importer } from "../../../src/importers/importer.ts";
import { importFiles } from "../../../src/imports/import-files.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { collect, eventsOf, fileOf, messagesIn, sessionsIn, warningsIn } from "./read.ts";

const text = (words: string) => ({ type: "text", text: words });

/** What the user said, and what was added to it, of each message. */
async function saidIn(importer: Importer, messages: unknown[]) {
  const events = await eventsOf(importer, JSON.stringify(messages));
  expect(warningsIn(events)).toEqual([]);
  return messagesIn(events).map(({ role, parts }) => {
    const texts = (parts as Part[]).filter(({ type }) => type === "text");
    const of = (isInjected: boolean) =>
      texts.filter((part) => (part.injected === true) === isInjected).map((part) => part.text);
    return [role, of(false), of(true)];
  });
}

test("only the words of the user are the user's", async () => {
  const said = await saidIn(cline, [
    {
      role: "user",
      content: [
        text("<task>\nMend it.\n</task>\n\n<file_content path='a'>\nx\n</file_content>"),
        text("# TODO LIST RECOMMENDED"),
      ],
    },
    { role: "assistant", content: "<read_file><path>a</path></read_file>" },
    {
      role: "user",
      content: [
        text("[read_file for 'a'] Result:"),
        text("x"),
        text("<environment_details>\ny\n</environment_details>"),
      ],
    },
    { role: "assistant", content: "Done." },
    { role: "user", content: [text("<user_message>\n(The user did not provide a new message.)\n</user_message>")] },
    { role: "assistant", content: "Well?" },
    {
      role: "user",
      content: [text("[attempt_completion] Result:\n<feedback>\nNot yet.\n</feedback>"), text("Typed.")],
    },
  ]);
  expect(said).toEqual([
    [
      "user",
      ["Mend it."],
      ["<task>\n", "\n</task>\n\n<file_content path='a'>\nx\n</file_content>", "# TODO LIST RECOMMENDED"],
    ],
    ["assistant", ["<read_file><path>a</path></read_file>"], []],
    ["user", [], ["[read_file for 'a'] Result:", "x", "<environment_details>\ny\n</environment_details>"]],
    ["assistant", ["Done."], []],
    ["user", [], ["<user_message>\n", "(The user did not provide a new message.)", "\n</user_message>"]],
    ["assistant", ["Well?"], []],
    ["user", ["Not yet.", "Typed."], ["[attempt_completion] Result:\n<feedback>\n", "\n</feedback>"]],
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
  mkdirSync(task, { recursive: true });
  const path = join(task, "api_conversation_history.json");
  cpSync(sampleOf("cline/api_conversation_history.json"), path);
  const ui = [-1, 0, 0, 1].map((conversationHistoryIndex, index) => {
    return { ts: 1772700000100 + index, type: "say", say: "text", text: "shown", conversationHistoryIndex };
  });
  writeFileSync(join(task, "ui_messages.json"), JSON.stringify(ui));
  writeFileSync(join(task, "task_metadata.json"), JSON.stringify({ files_in_context: [], model_usage: [] }));
  const store = temporaryStore();
  const { newCount, warningCount, passedOverCount } = await importFiles(store, join(task, ".."), { summarize: false });
  expect([newCount, warningCount, passedOverCount]).toEqual([10, 0, 2]);
  expect(store.sessions()).toMatchObject([{ externalId: "1772700000000", source: "cline", project: "/work/lamp" }]);
  expect(store.query("SELECT created_at_ms - 1772700000000 AS t FROM messages ORDER BY seq LIMIT 4")).toEqual([
    { t: 100 },
    { t: 101 },
    { t: 103 },
    { t: 103 },
  ]);
  const usage = { model: "sol", input_tokens: 10, output_tokens: 5, cache_read_tokens: 90, cost_usd: 0.25 };
  expect(store.query("SELECT * FROM usage")).toMatchObject([usage]);
});

test("a task of Roo Code has the title and the parent of its history item, and keeps its messages when one is put before them", async () => {
  const tasks = join(temporaryFolder(), "globalStorage", "rooveterinaryinc.roo-cline", "tasks");
  const task = join(tasks, "0199c3a0");
  mkdirSync(task, { recursive: true });
  const item = { id: "0199c3a0", parentTaskId: "0199c3a1", title: "Hinge", task: "Oil", workspace: "/work/house" };
  writeFileSync(join(task, "history_item.json"), JSON.stringify(item));
  const messages = [
    { role: "user", content: [text("<user_message>\nOil it.\n</user_message>")], ts: 1 },
    { role: "assistant", content: [text("Which oil?")], ts: 2 },
    { role: "user", content: [text("<user_message>\nThe light one.\n</user_message>")], ts: 3 },
    { role: "assistant", content: [text("Done.")], ts: 4 },
  ];
  const path = join(task, "api_conversation_history.json");
  const store = temporaryStore();
  const save = async (saved: object) => {
    writeFileSync(path, JSON.stringify(saved));
    const { newCount, knownCount, warningCount } = await importFiles(store, tasks, { summarize: false });
    return [newCount, knownCount, warningCount];
  };
  expect(await save(messages)).toEqual([4, 0, 0]);
  expect(store.sessions()).toMatchObject([{ externalId: "0199c3a0", title: "Hinge", project: "/work/house" }]);
  const condensed = messages.map((one) => ({ ...one, condenseParent: "c" }));
  const summary = { role: "user", content: [text("## Summary")], ts: 5, isSummary: true, condenseId: "c" };
  expect(await save({ version: 2, messages: [...condensed, summary] })).toEqual([1, 4, 0]);
});

test("a session of the CLI has what its manifest says, and its subagents are its children", async () => {
  const folder = join(temporaryFolder(), "sessions", "1772700000000_lamp1");
  mkdirSync(folder, { recursive: true });
  const name = "1772700000000_lamp1.messages.json";
  cpSync(sampleOf(`cline/${name}`), join(folder, name));
  cpSync(sampleOf(`cline/${name}`), join(folder, "agent_1.messages.json"));
  const manifest = { version: 1, session_id: "1772700000000_lamp1", cwd: "/work/sail", metadata: { title: "Sails" } };
  writeFileSync(join(folder, "1772700000000_lamp1.json"), JSON.stringify(manifest));
  const sessionAt = async (file: string) =>
    sessionsIn(await collect(clineCli.read(fileOf(readFileSync(join(folder, file)), 65_536, join(folder, file)))))[0];
  const session = await sessionAt(name);
  expect(session).toMatchObject({ externalId: "1772700000000_lamp1", title: "Sails", folder: "/work/sail" });
  expect(await sessionAt("agent_1.messages.json")).toMatchObject({
    externalId: "1772700000000_lamp1/agent_1",
    parentExternalId: "1772700000000_lamp1",
  });
});
