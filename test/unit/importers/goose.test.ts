import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { goose } from "../../../src/importers/goose/importer.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import {
  countsOf,
  eventsAt,
  eventsOf,
  eventsOfLines,
  jsonLines,
  messagesIn,
  put,
  sessionsIn,
  warningsIn,
} from "./read.ts";

const text = (words: string) => ({ type: "text", text: words });
const said = (role: string, created: number, ...content: object[]) => ({ role, created, content });

function databaseAt(path: string): Database.Database {
  const database = new Database(path);
  database.exec(`
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT NOT NULL,
      parent_session_id TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,
      content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
  `);
  return database;
}

function add(database: Database.Database, session: string, message: ReturnType<typeof said>, about: object = {}): void {
  const { role, content, created } = message;
  const columns = "session_id, role, content_json, created_timestamp, metadata_json";
  const insert = database.prepare(`INSERT INTO messages (${columns}) VALUES (?, ?, ?, ?, ?)`);
  insert.run(session, role, JSON.stringify(content), created, JSON.stringify(about));
}

test("sessions come from the database with their subagents, and a damaged row costs no other", async () => {
  const path = join(temporaryFolder(), "sessions.db");
  const database = databaseAt(path);
  const session = database.prepare("INSERT INTO sessions VALUES (?, ?, '', ?, '/work/mill', ?)");
  session.run("20260305_2", "Look", "sub_agent", "20260305_1");
  session.run("20260305_1", "CLI Session", "user", null);
  add(database, "20260305_2", said("user", 1_772_700_001, text("Look.")));
  add(database, "20260305_1", said("user", 1_772_700_000, text("Why?")));
  database.exec("INSERT INTO messages (session_id, role, content_json) VALUES ('20260305_1', 'user', '[{')");
  const request = { type: "toolRequest", id: "c", toolCall: { status: "error", error: "no such tool" } };
  add(database, "20260305_1", said("assistant", 1_772_700_002, text("So."), request));
  database.close();
  const { format, events } = await eventsAt(path);
  expect(format).toBe("goose");
  expect(sessionsIn(events)).toMatchObject([
    { externalId: "20260305_1", folder: "/work/mill", createdAtMs: 1_772_700_000_000 },
    { externalId: "20260305_2", title: "Look", parentExternalId: "20260305_1" },
  ]);
  expect(sessionsIn(events)[0]).not.toHaveProperty("title");
  expect(messagesIn(events).map(({ parts }) => parts)).toMatchObject([
    [{ text: "Why?" }],
    [{ text: "So." }, { name: "unknown", error: "no such tool" }],
    [{ text: "Look." }],
  ]);
  expect(warningsIn(events)).toEqual([[3, expect.stringContaining("message 3: not JSON")]]);
});

test("a session that cannot be understood costs no other", async () => {
  const path = join(temporaryFolder(), "sessions.db");
  const database = databaseAt(path);
  database.exec("INSERT INTO sessions (id, working_dir) VALUES ('strange', '/work/mill'), ('plain', '/work/mill')");
  add(database, "strange", said("system", 1, text("Be brief.")));
  add(database, "plain", said("user", 2, text("Why?")));
  database.close();
  const { events } = await eventsAt(path);
  expect(sessionsIn(events).map(({ externalId }) => externalId)).toEqual(["plain"]);
  expect(warningsIn(events)).toEqual([[1, expect.stringContaining("expected a role")]]);
});

test("messages that a compaction writes anew are the same, and its summary is one", async () => {
  const folder = temporaryFolder();
  const database = databaseAt(join(folder, "sessions.db"));
  database.exec("INSERT INTO sessions (id, name, working_dir) VALUES ('20260305_1', 'The mill', '/work/mill')");
  const store = temporaryStore();
  const [first, second] = [said("user", 1, text("Why?")), said("assistant", 2, text("It is dry."))];
  put(join(folder, "20260305_1.jsonl"), jsonLines([{ working_dir: "/work/mill" }, first, second]));
  for (const message of [first, second]) add(database, "20260305_1", message);
  expect(await countsOf(store, folder)).toEqual([2, 2, 0]);
  database.exec("DELETE FROM messages");
  for (const message of [first, second]) add(database, "20260305_1", message, { agentVisible: false });
  add(database, "20260305_1", said("user", 3, text("It was dry.")), { userVisible: false, agentVisible: true });
  add(database, "20260305_1", said("user", 4, text("The date is known.")), { userVisible: false });
  database.close();
  expect(await countsOf(store, folder)).toEqual([2, 4, 0]);
  const messages = store.session(store.sessions()[0]!.id).messages();
  expect(messages.map(({ metadata, parts }) => [metadata?.isCompactSummary, parts?.[0]?.injected])).toEqual([
    [undefined, undefined],
    [undefined, undefined],
    [true, undefined],
    [undefined, true],
  ]);
});

test("a result is what the model got, and an export is one session", async () => {
  const result = (id: string, toolResult: object) => ({ type: "toolResponse", id, toolResult });
  const forUser = { ...text("in red"), annotations: { audience: ["user"] } };
  const content = [
    result("1", { status: "success", value: { content: [text("plain"), forUser], isError: false } }),
    result("2", { status: "success", value: { content: [text("one"), text("two")], isError: true } }),
    result("3", { status: "error", error: "gone" }),
  ];
  const call = (id: string) => ({ type: "toolRequest", id, toolCall: { value: { name: "look", arguments: { id } } } });
  const calls = ["1", "2", "3"].map(call);
  const conversation = [said("user", 1, text("Look.")), said("assistant", 2, ...calls), said("user", 3, ...content)];
  const exported = { id: "20260305_7", working_dir: "/w", name: "Look", conversation };
  const events = await eventsOf(goose, JSON.stringify(exported));
  expect(sessionsIn(events)).toMatchObject([{ externalId: "20260305_7", folder: "/w", title: "Look" }]);
  expect(messagesIn(events).map(({ parts }) => parts?.at(-1))).toMatchObject([
    { text: "Look." },
    { toolCallId: "3", args: { id: "3" } },
    { toolCallId: "1", content: "plain", isError: false },
    { toolCallId: "2", content: [{ text: "one" }, { text: "two" }], isError: true },
    { toolCallId: "3", content: "gone", isError: true },
  ]);
  const strange = await eventsOfLines(goose, [conversation[0]!, { role: "system", created: 2, content: "Be brief." }]);
  expect(warningsIn(strange)).toEqual([[2, "expected a role, user or assistant, and a list as content"]]);
});
