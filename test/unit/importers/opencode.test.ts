import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chunksOf } from "../../../src/importers/files.ts";
import type { ImportFile } from "../../../src/importers/importer.ts";
import { opencode } from "../../../src/importers/opencode/importer.ts";
import { openImport } from "../../../src/importers/registry.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { collect, eventsAt, messagesIn, saidIn, sessionsIn, warningsIn } from "./read.ts";

let folder: string;
let path: string;
let database: Database.Database;

beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder, "opencode.db");
  database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.exec(`
    CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text, title text, version text,
      time_created integer, time_updated integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
    CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, data text);
  `);
});
afterEach(() => void database.close());

function session(id: string, parent: string | null = null, created = 1): void {
  const insert = "INSERT INTO session (id, parent_id, directory, title, time_created) VALUES (?, ?, '/srv/tide', ?, ?)";
  database.prepare(insert).run(id, parent, `Title of ${id}`, created);
}
let partCount = 0;
function message(sessionId: string, id: string, info: object, ...parts: (object | string)[]): void {
  const created = database.prepare("SELECT count(*) FROM message").pluck().get() as number;
  const data = JSON.stringify({ time: { created, completed: created + 1 }, ...info });
  database.prepare("INSERT INTO message VALUES (?, ?, ?, 0, ?)").run(id, sessionId, created, data);
  for (const part of parts) {
    const text = typeof part === "string" ? part : JSON.stringify(part);
    const partId = `prt_${String(++partCount).padStart(4, "0")}`;
    database.prepare("INSERT INTO part VALUES (?, ?, ?, 0, ?)").run(partId, id, sessionId, text);
  }
}
const text = (words: string, more: object = {}) => ({ type: "text", text: words, ...more });

async function read(about: Partial<ImportFile> = {}) {
  const { format, events } = await eventsAt(path, about);
  expect(format).toBe("opencode");
  return events;
}

test("sessions come with their messages, each after the one that started it", async () => {
  session("child", "root", 1);
  session("root", null, 2);
  session("orphan", "gone", 3);
  for (const id of ["child", "root", "orphan"]) message(id, `${id}-1`, { role: "user" }, text(id));
  const events = await read();
  expect(sessionsIn(events).map(({ externalId, parentExternalId }) => [externalId, parentExternalId])).toEqual([
    ["root", undefined],
    ["child", "root"],
    ["orphan", "gone"],
  ]);
  const about = { folder: "/srv/tide", title: "Title of root", createdAtMs: 2, source: "opencode" };
  expect(sessionsIn(events)[0]).toMatchObject(about);
});

test("sessions that are each other's parents come all the same", async () => {
  session("a", "b");
  session("b", "a");
  message("a", "a1", { role: "user" }, text("a"));
  message("b", "b1", { role: "user" }, text("b"));
  expect(sessionsIn(await read())).toHaveLength(2);
});

test("what was just written and is still in the log file is read, and the database is not changed", async () => {
  session("s");
  database.pragma("wal_checkpoint(TRUNCATE)");
  const before = readFileSync(path);
  message("s", "m1", { role: "user" }, text("in the log"));
  expect(messagesIn(await read())).toHaveLength(1);
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("a call and its result, in one part there, are two messages; a running one has no result", async () => {
  session("s");
  const tool = (callID: string, state: object) => {
    return { type: "tool", callID, tool: "bash", state: { input: { n: callID }, ...state } };
  };
  message(
    "s",
    "m1",
    { role: "assistant", modelID: "m", tokens: { input: 1 }, cost: 0.5 },
    { type: "step-start" },
    tool("a", { status: "completed", output: "x", time: { start: 1, end: 2, compacted: 3 } }),
    tool("b", { status: "error", error: "no" }),
    tool("c", { status: "running" }),
    { type: "step-finish" },
    { type: "patch", hash: "h" },
    { type: "step-start" },
    text("done"),
  );
  const events = await read();
  const messages = messagesIn(events);
  expect(messages.map(({ id }) => id)).toEqual(["m1", "m1:a", "m1/1", "m1/1:b", "m1/2", "m1/3"]);
  const pairs = ["assistant: >a", "tool: <a", "assistant: >b", "tool: <b"];
  expect(saidIn(events)).toEqual([...pairs, "assistant: >c", "assistant: done"]);
  // What the reply took is told by its last message only.
  const taken = { tokens: { input: 1 }, cost: 0.5 };
  expect(messages.map(({ metadata }) => metadata)).toEqual([
    ...[{ modelID: "m" }, {}, { modelID: "m" }, {}, { modelID: "m" }],
    { modelID: "m", ...taken },
  ]);
  expect(messages[3]?.parts).toEqual([
    { type: "tool_result", toolCallId: "b", name: "bash", content: "no", isError: true },
  ]);
});

test("words that are still being written come when they are whole, and are reported until then", async () => {
  session("s");
  message(
    "s",
    "m1",
    { role: "assistant", time: { created: 1 } },
    text("whole", { time: { start: 1, end: 2 } }),
    text("hal", { time: { start: 3 } }),
  );
  const events = await read();
  expect(messagesIn(events).map(({ parts }) => parts)).toEqual([[{ type: "text", text: "whole" }]]);
  expect(warningsIn(events)).toEqual([
    [1, "not imported yet, because the file may still grow: message m1 is still being written"],
  ]);
});

test("a summary of its own compaction is marked", async () => {
  session("s");
  message("s", "m1", { role: "user" }, { type: "compaction", auto: true });
  message("s", "m2", { role: "assistant", summary: true }, text("so far"));
  expect(messagesIn(await read()).map(({ metadata }) => metadata?.isCompactSummary)).toEqual([undefined, true]);
});

test("a row that cannot be read costs no other", async () => {
  session("s");
  message("s", "m1", { role: "user" }, '{"type":"te', text("good"));
  database.prepare("INSERT INTO message VALUES ('m2', 's', 9, 0, 'oops')").run();
  message("s", "m3", { role: "wizard" }, text("abracadabra"));
  const events = await read();
  expect(messagesIn(events).map(({ id, parts }) => [id, parts!.length])).toEqual([["m1", 1]]);
  expect(
    warningsIn(events)
      .map(([, reason]) => reason.split(":")[0])
      .sort(),
  ).toEqual(["message m2", `part prt_${String(partCount - 2).padStart(4, "0")}`, "role"]);
});

test("another program's database is none of ours, and one from standard input cannot be read", async () => {
  database.exec("DROP TABLE part");
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.exec("VACUUM");
  database.pragma("wal_checkpoint(TRUNCATE)");
  await expect(openImport({ path, chunks: chunksOf(path) })).rejects.toMatchObject({ code: "IMPORT_UNREADABLE" });
  await expect(collect(opencode.read({ path: "-", chunks: chunksOf(path) }))).rejects.toMatchObject({
    message: "Cannot import -: a database is read from a file.",
  });
});

/**
 * Goal: a damaged page costs what is on it, and no other file of the import.
 * Method: overwrite one page after the other, and import the database into a store.
 */
test("a damaged database brings what can be read of it, and says what cannot", async () => {
  database.exec("CREATE INDEX part_message ON part (message_id)");
  session("a");
  session("b");
  for (let index = 0; index < 60; index++) {
    message(index % 2 ? "a" : "b", `m${index}`, { role: "user" }, text(`${index} ${"word ".repeat(100)}`));
  }
  database.close();
  const whole = readFileSync(path);
  const store = temporaryStore();
  let newCount = 0;
  let silentCount = 0;
  for (let start = 4096 * 6; start < whole.length; start += 4096) {
    writeFileSync(path, Buffer.from(whole).fill(0xff, start, start + 4096));
    const run = new ImportRun(store, { format: "auto", onProgress: () => {} });
    const report = await run.read({ path, chunks: chunksOf(path) });
    newCount += report.newCount;
    if (report.newCount + report.knownCount < 60 && report.warnings.length === 0 && report.error === null)
      silentCount++;
  }
  expect(newCount).toBe(60);
  expect(silentCount).toBe(0);
});

test("of a database that is followed, only sessions that have changed are read again", async () => {
  database.exec("ALTER TABLE part ADD COLUMN time_updated integer");
  partCount = 0;
  const say = (sessionId: string, id: string, part: object): void => {
    database
      .prepare("INSERT INTO message VALUES (?, ?, 1, 1, ?)")
      .run(id, sessionId, '{"role":"assistant","time":{"created":1}}');
    const insert =
      "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, 1, 1, ?)";
    database.prepare(insert).run(`prt_${id}`, id, sessionId, JSON.stringify(part));
  };
  for (const id of ["one", "two"]) session(id);
  say("one", "m1", text("whole"));
  say("two", "m2", text("whole"));
  const fingerprints = new Map<string, string>();
  const readOn = () => read({ fingerprints });
  const readAtRest = () => read({ fingerprints, isFinished: true });
  expect(messagesIn(await readOn()).map(({ id }) => id)).toEqual(["m1", "m2"]);
  expect(await readOn()).toEqual([]);
  say("two", "m3", text("not yet wh", { time: { start: 1 } }));
  const events = await readOn();
  expect(messagesIn(events).map(({ id }) => id)).toEqual(["m2"]);
  expect(warningsIn(events)).toEqual([]);
  expect(await readOn()).toEqual([]);
  // Nobody writes any more: what has begun is all there is.
  expect(messagesIn(await readAtRest()).map(({ id }) => id)).toEqual(["m2", "m3"]);
  expect(await readAtRest()).toEqual([]);
  const finished = JSON.stringify(text("not yet whole", { time: { start: 1, end: 2 } }));
  database.prepare("UPDATE part SET data = ? WHERE id = 'prt_m3'").run(finished);
  expect(messagesIn(await readOn()).map(({ id }) => id)).toEqual(["m2", "m3"]);
});
