import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { eventsAt, messagesIn, sessionsIn, warningsIn } from "./read.ts";

/** Returns a frame of zstd with one block that is not compressed. */
function packed(value: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(value));
  const header = Buffer.alloc(3);
  header.writeUIntLE((bytes.length << 3) | 1, 0, 3);
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50]), header, bytes]);
}

const AT = "2026-03-05T09:00:00+00:00";

async function read(threads: readonly (readonly [id: string, data: Buffer | string, parent?: string])[]) {
  const path = join(temporaryFolder(), "threads.db");
  const database = new Database(path);
  database.exec(`CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL,
    data_type TEXT NOT NULL, data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT)`);
  for (const [id, data, parent = null] of threads) {
    database
      .prepare("INSERT INTO threads VALUES (?, ?, ?, 'zstd', ?, ?, '/work/gate\n/work/other')")
      .run(id, `Title of ${id}`, AT, data, parent);
  }
  database.close();
  const { format, events } = await eventsAt(path);
  expect(format).toBe("zed");
  return events;
}

test("a thread comes with its calls and results, after the thread that started it", async () => {
  const call = { id: "c1", name: "read_file", input: { path: "a.md" }, is_input_complete: true };
  const failure = { tool_use_id: "c2", tool_name: "grep", is_error: true, content: [{ Text: "none" }, { Text: "." }] };
  const messages = [
    { User: { id: "u1", content: [{ Mention: { uri: { File: {} }, content: "notes" } }, { Text: "Why?" }] } },
    {
      Agent: {
        content: [
          { Thinking: { text: "Hm.", signature: "sig" } },
          { Text: "I look." },
          { ToolUse: call },
          { ToolUse: { ...call, id: "c2", name: "grep" } },
        ],
        tool_results: { c1: { tool_use_id: "c1", tool_name: "read_file", content: { Text: "seen" } }, c2: failure },
      },
    },
    "Resume",
    { Agent: { content: [{ Text: "So." }, { RedactedThinking: "x" }], tool_results: {} } },
    { User: { id: "u2", content: [{ Image: { source: "aGk=" } }, { Tide: 1 }] } },
    { Tide: {} },
  ];
  const model = { provider: "zed.dev", model: "sol" };
  const child = { title: "Child", version: "0.3.0", messages: [{ User: { id: "u", content: [{ Text: "Go." }] } }] };
  const events = await read([
    ["child", packed(child), "root"],
    ["root", packed({ title: "Root", messages, updated_at: AT, model, version: "0.3.0" })],
  ]);
  expect(sessionsIn(events)).toEqual([
    {
      externalId: "root",
      source: "zed",
      title: "Title of root",
      folder: "/work/gate",
      createdAtMs: Date.parse(AT),
      metadata: model,
    },
    expect.objectContaining({ externalId: "child", parentExternalId: "root" }),
  ]);
  expect(messagesIn(events).map(({ parts }) => parts)).toMatchObject([
    [{ text: "notes", injected: true }, { text: "Why?" }],
    [
      { text: "Hm.", signature: "sig" },
      { text: "I look." },
      { toolCallId: "c1", name: "read_file", args: { path: "a.md" } },
      { toolCallId: "c2" },
    ],
    [{ toolCallId: "c1", content: "seen" }],
    [{ toolCallId: "c2", name: "grep", content: "none\n.", isError: true }],
    [{ text: "So." }, { type: "reasoning", redacted: "x" }],
    [{ type: "file", data: "aGk=" }, { data: { Tide: 1 } }],
    [{ text: "Go." }],
  ]);
  expect(warningsIn(events)).toEqual([[2, "thread root: unknown kind of message: Tide"]]);
});

test("threads of the first versions are read, and a damaged one costs no other", async () => {
  const old = {
    version: "0.2.0",
    summary: "Old",
    messages: [
      { id: 0, role: "user", segments: [{ type: "text", text: "Why?" }], context: "notes" },
      {
        id: 1,
        role: "assistant",
        segments: [
          { type: "thinking", text: "Hm." },
          { type: "text", text: "So." },
        ],
        tool_uses: [{ id: "c", name: "grep", input: { regex: "x" } }],
        tool_results: [{ tool_use_id: "c", is_error: false, content: "found" }],
      },
    ],
  };
  const events = await read([
    ["cut", packed(old).subarray(0, 40)],
    ["old", JSON.stringify(old)],
  ]);
  expect(messagesIn(events).map(({ parts }) => parts)).toMatchObject([
    [{ text: "notes", injected: true }, { text: "Why?" }],
    [{ type: "reasoning", text: "Hm." }, { text: "So." }, { name: "grep", args: { regex: "x" } }],
    [{ toolCallId: "c", content: "found", isError: false }],
  ]);
  expect(warningsIn(events)).toEqual([[1, expect.stringContaining("thread cut: it is compressed, and")]]);
});

test("a thread with only an unknown kind of message costs no other", async () => {
  const events = await read([
    ["strange", packed({ messages: [{ Tide: {} }] })],
    ["plain", packed({ messages: [{ User: { id: "u", content: [{ Text: "Go." }] } }] })],
  ]);
  expect(sessionsIn(events).map(({ externalId }) => externalId)).toEqual(["plain"]);
  expect(warningsIn(events)).toEqual([[1, "thread strange: unknown kind of message: Tide"]]);
});
