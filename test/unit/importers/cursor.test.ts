import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseMessage } from "../../../src/core/message.ts";
import { ConversationTranslator } from "../../../src/importers/cursor/conversation.ts";
import { chunksOf } from "../../../src/importers/files.ts";
import { openImport } from "../../../src/importers/registry.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import { runs } from "../../support/effort.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { collect, eventsAt, messagesIn, sessionsIn, warningsIn } from "./read.ts";

let folder: string;
let path: string;
let database: Database.Database;

beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, "state.vscdb");
  database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.exec(`
    CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
    CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
    INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', 'hush');
    INSERT INTO cursorDiskKV VALUES ('checkpointId:1', '{"x":1}');
  `);
});
afterEach(() => void database.close());

type Fields = Record<string, unknown>;

function put(key: string, value: unknown): void {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  database.prepare("INSERT INTO cursorDiskKV VALUES (?, ?)").run(key, text);
}

const workspaceIdentifier = { id: "w", uri: { fsPath: "/srv/tidewatch" } };

function conversation(id: string, bubbles: readonly Fields[], more: Fields = {}): void {
  const fullConversationHeadersOnly = bubbles.map(({ bubbleId, type }) => ({ bubbleId, type }));
  const about = { _v: 3, composerId: id, name: `Title of ${id}`, createdAt: 1_772_701_200_000, workspaceIdentifier };
  put(`composerData:${id}`, { ...about, modelConfig: { modelName: "gpt-5" }, fullConversationHeadersOnly, ...more });
  for (const bubble of bubbles) put(`bubbleId:${id}:${bubble.bubbleId}`, bubble);
}

const user = (bubbleId: string, more: Fields = {}) => ({ bubbleId, type: 1, text: bubbleId, ...more });
const reply = (bubbleId: string, more: Fields = {}) => ({ bubbleId, type: 2, text: bubbleId, ...more });
const tool = (bubbleId: string, more: Fields = {}) => ({
  bubbleId,
  type: 2,
  text: "",
  toolFormerData: { tool: 5, name: "read_file", toolCallId: `call_${bubbleId}`, rawArgs: '{"path":"a"}', ...more },
});

async function read(more: object = {}) {
  const { format, events } = await eventsAt(path, { isFinished: true, ...more });
  expect(format).toBe("cursor");
  return events;
}

test("a conversation comes in its own order, with thoughts, calls, results, images, times and models", async () => {
  const bubbles = [
    user("a", { createdAt: "2026-03-05T09:00:00.000Z", images: [{ data: "aGk=", mimeType: "image/jpeg" }] }),
    { bubbleId: "z", type: 2, text: "", thinking: { text: "hm", signature: "sig" } },
    tool("b", { result: '{"contents":"x"}', status: "completed" }),
    tool("c", { result: "", status: "error", rawArgs: "torn {" }),
    reply("d", { modelInfo: { modelName: "sonnet" }, tokenCount: { inputTokens: 5, outputTokens: 2 } }),
  ];
  conversation("s", bubbles);
  put("bubbleId:s:taken-back", reply("taken-back"));
  const events = await read();
  expect(warningsIn(events)).toEqual([]);
  const about = { source: "cursor", folder: "/srv/tidewatch", metadata: { cwd: "/srv/tidewatch" } };
  const session = { externalId: "s", title: "Title of s", createdAtMs: 1_772_701_200_000, ...about };
  expect(sessionsIn(events)).toEqual([session]);
  expect(messagesIn(events)).toMatchObject([
    {
      id: "a",
      createdAt: Date.UTC(2026, 2, 5, 9),
      parts: [
        { type: "text", text: "a" },
        { type: "file", mediaType: "image/jpeg", data: "aGk=" },
      ],
    },
    {
      id: "z",
      metadata: { model: "gpt-5" },
      parts: [
        { type: "reasoning", text: "hm", signature: "sig" },
        { type: "tool_call", toolCallId: "call_b", name: "read_file", args: { path: "a" } },
      ],
    },
    { id: "b:call_b", parts: [{ type: "tool_result", toolCallId: "call_b", content: '{"contents":"x"}' }] },
    { id: "c", parts: [{ type: "tool_call", args: { text: "torn {" } }] },
    { id: "c:call_c", parts: [{ type: "tool_result", content: "", isError: true }] },
    { id: "d", metadata: { model: "sonnet", usage: { inputTokens: 5, outputTokens: 2 } } },
  ]);
  expect(JSON.stringify(events)).not.toContain("hush");
});

test("what a reply took is told once, and a reply after the result of a call tells its own", async () => {
  const took = { tokenCount: { inputTokens: 6, outputTokens: 1 } };
  conversation("s", [
    user("a"),
    { ...tool("b", { result: "x", status: "completed" }), ...took },
    reply("c", took),
    reply("d", took),
  ]);
  const usages = messagesIn(await read()).map(({ id, metadata }) => [id, metadata?.usage ?? null]);
  expect(usages).toEqual([
    ["a", null],
    ["b", took.tokenCount],
    ["b:call_b", null],
    ["c", took.tokenCount],
    ["d", null],
  ]);
});

test("subagents come after the conversation that started them, and names from the table of headers", async () => {
  database.exec("CREATE TABLE composerHeaders (composerId TEXT PRIMARY KEY, value TEXT)");
  const header = { name: "Foghorn", workspaceIdentifier: { uri: { fsPath: "/srv/horn" } } };
  database.prepare("INSERT INTO composerHeaders VALUES ('child', ?)").run(JSON.stringify(header));
  conversation("child", [user("a")], { createdAt: 1 });
  conversation("root", [user("b")], { createdAt: 2, subagentComposerIds: ["child", "gone"] });
  conversation("loop", [user("c")], { createdAt: 3, subagentComposerIds: ["loop"] });
  const sessions = sessionsIn(await read());
  expect(sessions.map(({ externalId }) => externalId)).toEqual(["root", "child", "loop"]);
  expect(sessions[1]).toMatchObject({ parentExternalId: "root", title: "Foghorn", folder: "/srv/horn" });
});

test("an older conversation holds its messages, and a prompt may be the state of an editor", async () => {
  const paragraph = (text: string) => ({ type: "paragraph", children: [{ type: "text", text }] });
  const richText = JSON.stringify({ root: { type: "root", children: [paragraph("one"), paragraph("two")] } });
  const inside = [
    { type: 1, text: "", richText, bubbleId: "a" },
    { type: 2, text: "yes" },
  ];
  put("composerData:old", { composerId: "old", conversation: inside });
  expect(messagesIn(await read()).map(({ id, parts }) => [id, parts?.[0]?.text])).toEqual([
    ["a", "one\ntwo"],
    ["1", "yes"],
  ]);
});

test("what cannot be read is named, and costs nothing else", async () => {
  conversation("s", [user("a"), user("b"), user("c"), user("d")]);
  put("bubbleId:s:a", "{torn");
  put("bubbleId:s:b", "null");
  put("bubbleId:s:c", { type: 9 });
  put("composerData:t", "[]");
  const events = await read();
  expect(messagesIn(events).map(({ id }) => id)).toEqual(["d"]);
  expect(warningsIn(events).map(([, reason]) => reason)).toEqual([
    "conversation t: expected a JSON object",
    expect.stringContaining("message a: not JSON"),
    "message c: type: expected 1 or 2, got 9",
  ]);
});

test("a conversation that grows brings what is new, and nothing twice", async () => {
  const store = temporaryStore();
  const run = new ImportRun(store);
  const fingerprints = new Map<string, string>();
  const look = async () => {
    const { newCount, knownCount, warnings, error } = await run.read({ path, chunks: chunksOf(path), fingerprints });
    return { newCount, knownCount, warnings, error };
  };
  const quiet = { warnings: [], error: null };
  conversation("s", [user("a"), tool("b", { status: "running" })], { status: "generating" });
  conversation("t", [user("x"), reply("y")]);
  expect(await look()).toEqual({ ...quiet, newCount: 3, knownCount: 0 });
  expect(await look()).toEqual({ ...quiet, newCount: 0, knownCount: 0 });
  const done = [user("a"), tool("b", { status: "completed", result: "x" }), reply("c")];
  conversation("s", done, { status: "completed" });
  expect(await look()).toEqual({ ...quiet, newCount: 3, knownCount: 1 });
  expect((await new ImportRun(store).read({ path, chunks: chunksOf(path) })).newCount).toBe(0);
  const ids = store.query("SELECT external_id AS id FROM messages WHERE session_id = 's' ORDER BY seq");
  expect(ids.map(({ id }) => id)).toEqual(["a", "b", "b:call_b", "c"]);
});

test("a message that is being written comes when nobody writes any more", async () => {
  conversation("s", [user("a"), reply("b")], { status: "generating" });
  const fingerprints = new Map<string, string>();
  expect(messagesIn(await read({ fingerprints, isFinished: false })).map(({ id }) => id)).toEqual(["a"]);
  expect(await read({ fingerprints, isFinished: false })).toEqual([]);
  expect(messagesIn(await read({ fingerprints })).map(({ id }) => id)).toEqual(["a", "b"]);
  expect(await read({ fingerprints })).toEqual([]);
  expect(warningsIn(await read({ isFinished: false })).map(([, reason]) => reason)).toEqual([
    "not imported yet, because the file may still grow: message b is still being written",
  ]);
});

test("the database of another program is none of Cursor's, and a locked one is read", async () => {
  conversation("s", [user("a")]);
  database.exec("BEGIN IMMEDIATE; INSERT INTO cursorDiskKV VALUES ('bubbleId:s:b', '{}')");
  expect(messagesIn(await read())).toHaveLength(1);
  database.exec("ROLLBACK; DROP TABLE cursorDiskKV");
  const opened = openImport({ path, chunks: chunksOf(path), isUncertain: true });
  expect((await opened).format).toBeUndefined();
  database.exec("CREATE VIEW cursorDiskKV AS SELECT key, value FROM ItemTable");
  await expect(openImport({ path, chunks: chunksOf(path) })).rejects.toThrow("none of the known formats");
}, 20_000);

test("a damaged database brings what can be read of it, and says that something is missing", async () => {
  for (let at = 0; at < 40; at++) conversation(`s${at}`, [user("a", { text: "x".repeat(3_000) })]);
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  const bytes = readFileSync(path);
  bytes.fill(0xff, bytes.length - 3 * 4_096, bytes.length - 4_096);
  writeFileSync(path, bytes);
  const store = temporaryStore();
  const { newCount, error, format } = await new ImportRun(store).read({
    path,
    chunks: chunksOf(path),
    isFinished: true,
  });
  expect(format).toBe("cursor");
  expect(newCount).toBeGreaterThan(20);
  expect(newCount).toBeLessThan(40);
  expect(error?.code).toBe("IMPORT_UNREADABLE");
});

/**
 * Goal: nothing that JSON can say in a message makes the importer fail or bring a message that the store refuses.
 * Method: put a random value in the place of any field.
 */
test("makes messages or warnings of whatever a message holds", async () => {
  const whole: Fields = {
    ...tool("b", { status: "completed", result: "x" }),
    text: "t",
    thinking: { text: "h" },
    images: [{}],
  };
  const fields = [...Object.keys(whole), "richText", "createdAt", "tokenCount", "modelInfo", "allThinkingBlocks"];
  const call = whole.toolFormerData as Fields;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...fields),
      fc.constantFrom(...Object.keys(call)),
      fc.jsonValue(),
      fc.constantFrom(1, 2),
      async (field, inCall, value, type) => {
        const values = [
          { ...whole, type, [field]: value },
          { ...whole, type, toolFormerData: { ...call, [inCall]: value } },
        ];
        const bubbles = values.map((one, at) => ({ line: at, id: `b${at}`, value: one as never, isLast: false }));
        const about = { id: "s", data: { [field]: value } as never, header: {}, order: [], inside: [], children: [] };
        const translator = new ConversationTranslator({ path, isFinished: true }, about);
        const events = await collect(translator.translate(bubbles));
        for (const message of messagesIn(events)) parseMessage(message);
        expect(events.length).toBeGreaterThan(0);
      },
    ),
    { numRuns: runs(150) },
  );
});
