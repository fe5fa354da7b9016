import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { countsOf, eventsAt, messagesIn, saidIn, sessionsIn, warningsIn } from "./read.ts";

function databaseIn(project: string): Database.Database {
  mkdirSync(join(project, ".crush"), { recursive: true });
  const database = new Database(join(project, ".crush", "crush.db"));
  database.exec(`
    CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, created_at INTEGER NOT NULL,
      summary_message_id TEXT);
    CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL DEFAULT '[]',
      model TEXT, created_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT);
  `);
  return database;
}

function add(
  database: Database.Database,
  session: string,
  id: string,
  role: string,
  ...parts: [string, object][]
): void {
  const content = JSON.stringify(parts.map(([type, data]) => ({ type, data })));
  const insert = database.prepare(
    "INSERT INTO messages (id, session_id, role, parts, created_at) VALUES (?, ?, ?, ?, ?)",
  );
  insert.run(id, session, role, content, 1_772_700_000);
}

const END: [string, object] = ["finish", { reason: "end_turn", time: 1_772_700_001 }];

test("each session of a project's database is read with its subagents, and belongs to the project", async () => {
  const project = join(temporaryFolder(), "windmill");
  const database = databaseIn(project);
  const session = database.prepare("INSERT INTO sessions VALUES (?, ?, ?, 1772700000, ?)");
  session.run("m2$$c1", "s", "Look at the sails", null);
  session.run("s", null, "Untitled Session", "m5");
  add(database, "m2$$c1", "n1", "user", ["text", { text: "Count the sails." }]);
  add(
    database,
    "s",
    "m1",
    "user",
    ["text", { text: "Why does it stand?" }],
    ["shell_command", { command: "uname", output: "Mill", exit_code: 0 }],
  );
  const call = { id: "c1", name: "agent", input: '{"prompt":"Count the sails."}', finished: true };
  add(
    database,
    "s",
    "m2",
    "assistant",
    ["reasoning", { thinking: "Hm." }],
    ["text", { text: "I look." }],
    ["tool_call", call],
    END,
  );
  add(database, "s", "m3", "tool", [
    "tool_result",
    { tool_call_id: "c1", name: "agent", content: "three", is_error: true },
  ]);
  add(database, "s", "m4", "user", ["text", { text: "Go on.", hidden: true }]);
  add(database, "s", "m5", "assistant", ["text", { text: "One sail is missing." }], END);
  add(database, "s", "m6", "ghost", END);
  database.close();
  const { format, events } = await eventsAt(join(project, ".crush", "crush.db"));
  expect(format).toBe("crush");
  expect(sessionsIn(events)).toMatchObject([
    { externalId: "s", folder: project, createdAtMs: 1_772_700_000_000 },
    { externalId: "m2$$c1", title: "Look at the sails", parentExternalId: "s", metadata: { isSubagent: true } },
  ]);
  expect(sessionsIn(events)[0]).not.toHaveProperty("title");
  expect(saidIn(events)).toEqual([
    "user: Why does it stand? | $ uname | [Mill\n(exit code 0)]",
    "assistant: Hm. | I look. | >c1",
    "tool: <c1",
    "user: [Go on.]",
    "assistant: One sail is missing.",
    "user: [Count the sails.]",
  ]);
  expect(messagesIn(events)[4]?.metadata).toMatchObject({ isCompactSummary: true });
  expect(warningsIn(events)).toEqual([[7, 'unknown role: "ghost"']]);
});

test("a reply that is being written waits, and then comes once", async () => {
  const project = temporaryFolder();
  const database = databaseIn(project);
  database.exec("INSERT INTO sessions VALUES ('s', NULL, 'The mill', 1772700000, NULL)");
  add(database, "s", "m1", "user", ["text", { text: "Why?" }]);
  add(database, "s", "m2", "assistant", ["text", { text: "It is" }]);
  const store = temporaryStore();
  expect(await countsOf(store, project)).toEqual([1, 0, 1]);
  database.prepare("UPDATE messages SET parts = ? WHERE id = 'm2'").run(
    JSON.stringify([
      { type: "text", data: { text: "It is dry." } },
      { type: "finish", data: {} },
    ]),
  );
  expect(await countsOf(store, project)).toEqual([1, 1, 0]);
  database.close();
  expect(
    store
      .session(store.sessions()[0]!.id)
      .messages()
      .map(({ text }) => text),
  ).toEqual(["Why?", "It is dry."]);
});
