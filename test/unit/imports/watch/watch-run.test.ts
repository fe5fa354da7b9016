import { appendFileSync, cpSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import type { ImportProgress } from "../../../../src/imports/import-files.ts";
import type { WatchEvent } from "../../../../src/imports/watch/followed-files.ts";
import { WatchRun } from "../../../../src/imports/watch/watch-run.ts";
import type { OpenOptions, Store } from "../../../../src/index.ts";
import { sessionIds } from "../../../../src/session/aids/session-ids.ts";
import { hang, scriptedEmbedder } from "../../../support/scripted-embedder.ts";
import { scriptedSummarizer } from "../../../support/scripted-summarizer.ts";
import { openedStore, temporaryFolder, temporaryStore } from "../../../support/temporary-store.ts";
import { startWatch } from "../../../support/watching.ts";
import { assistant, user } from "../../importers/claude-code/lines.ts";
import { jsonLines, put, textsOf } from "../../importers/read.ts";

const line = (session: string, content: string) => jsonLines([{ session, role: "user", content }]);

/** Lines of a session that are worth a summary. */
const longLines = (count: number) =>
  Array.from({ length: count }, (_, index) => line("a", `What of part ${index}? ${"The part fits. ".repeat(40)}`)).join(
    "",
  );

const longAgo = new Date(Date.now() - 2 * 24 * 60 * 60 * 1_000);

function wordsIn(store: Store, sessionId: string): string[] {
  return sessionIds(store, { prefix: sessionId }).includes(sessionId) ? textsOf(store, sessionId) : [];
}

interface Scene {
  folder: string;
  file: string;
  store: Store;
}

/** A folder with a transcript of one line. */
function scene(options: OpenOptions = {}): Scene {
  const folder = join(temporaryFolder(), "transcripts");
  const file = put(join(folder, "a.jsonl"), line("a", "one"));
  return { folder, file, store: openedStore(join(folder, "..", "agent.db"), options) };
}

describe("a watch", () => {
  test("waits for the end of a line, but not for a line feed after a complete one", async () => {
    const { folder, file, store } = scene();
    const { events, until, newCount } = await startWatch(store, [folder]);
    const text = line("a", "two");
    appendFileSync(file, text.slice(0, 20));
    appendFileSync(join(folder, "b.jsonl"), line("b", "meanwhile"));
    await until("meanwhile", () => newCount() === 2);
    appendFileSync(file, text.slice(20, -1));
    await until("two", () => newCount() === 3);
    appendFileSync(file, `\n${line("a", "three")}`);
    await until("three", () => newCount() === 4);
    expect(wordsIn(store, "a")).toEqual(["one", "two", "three"]);
    expect(events.filter(({ event }) => event === "warning")).toEqual([]);
  });

  test("warns about a damaged line once", async () => {
    const { folder, file, store } = scene();
    const { events, until, newCount } = await startWatch(store, [folder]);
    appendFileSync(file, `{"session":\n${line("a", "two")}`);
    await until("two", () => newCount() === 2);
    appendFileSync(file, line("a", "three"));
    await until("three", () => newCount() === 3);
    const warnings = events.filter(({ event }) => event === "warning");
    expect(warnings).toEqual([{ event: "warning", path: file, line: 2, reason: expect.stringContaining("not JSON") }]);
  });

  test.each<[string, (file: string) => void]>([
    ["is put in its place", (file) => renameSync(put(`${file}.new`, line("a", "one") + line("a", "two")), file)],
    ["is written over it", (file) => void put(file, line("a", "one") + line("a", "two"))],
  ])("goes on with a file that %s", async (_, replace) => {
    const { folder, file, store } = scene();
    const { until, newCount } = await startWatch(store, [folder]);
    replace(file);
    await until("two", () => newCount() === 2);
    appendFileSync(file, line("a", "three"));
    await until("three", () => newCount() === 3);
    expect(wordsIn(store, "a")).toEqual(["one", "two", "three"]);
  });

  test("reads the newest files first, and tells how far it has come", async () => {
    const { folder, file, store } = scene();
    const newer = join(folder, "session-2026-03-04T10-00-5d0c7e1a.jsonl");
    writeFileSync(newer, line("b", "two"));
    utimesSync(file, 1, 1);
    const told: [string, number][] = [];
    const onProgress = (progress: ImportProgress): void => {
      if (progress.phase === "read") told.push([progress.path, progress.doneCount / progress.totalCount]);
    };
    await new WatchRun(store, { paths: [folder], onProgress }).once();
    expect(Object.fromEntries(told)).toEqual({ [newer]: 0, [file]: 0.5 });
  });

  test("notices folders that are created, deleted and created again, including the watched ones", async () => {
    const { folder, store } = scene();
    const later = join(folder, "..", "later", "place");
    const { until, newCount } = await startWatch(store, [folder, later]);
    put(join(folder, "x", "y", "b.jsonl"), line("b", "one"));
    await until("a new folder", () => newCount() === 2);
    put(join(later, "c.jsonl"), line("c", "one"));
    await until("a place that was not there", () => newCount() === 3);
    rmSync(join(later, ".."), { recursive: true });
    rmSync(folder, { recursive: true });
    put(join(folder, "d.jsonl"), line("d", "one"));
    await until("a folder that has returned", () => newCount() === 4);
    put(join(later, "e.jsonl"), line("e", "one"));
    await until("a place that has returned", () => newCount() === 5);
    renameSync(folder, `${folder}.away`);
    writeFileSync(join(`${folder}.away`, "f.jsonl"), line("f", "one"));
    renameSync(`${folder}.away`, folder);
    await until("a folder that was moved away and back", () => newCount() === 6);
  });

  test("reads what it passes over in a workspace of an editor only if that is named", async () => {
    const { folder, store } = scene();
    const workspace = join(folder, "workspaceStorage", "5a1b");
    const named = join(workspace, "named");
    mkdirSync(named, { recursive: true });
    const { until, newCount } = await startWatch(store, [named]);
    writeFileSync(join(named, "b.jsonl"), line("b", "one"));
    await until("a file in a named folder", () => newCount() === 1);
    const other = temporaryStore();
    const all = await startWatch(other, [folder]);
    put(join(workspace, "new", "c.jsonl"), line("c", "one"));
    put(join(folder, "d.jsonl"), line("d", "one"));
    await all.until("a file beside", () => wordsIn(other, "d").length === 1);
    expect(wordsIn(other, "c")).toEqual([]);
  });

  test("follows links to files and to folders", async () => {
    const { folder, store } = scene();
    const elsewhere = join(folder, "..", "elsewhere");
    const file = put(join(elsewhere, "x.jsonl"), line("x", "one"));
    const inFolder = put(join(elsewhere, "sub", "y.jsonl"), line("y", "one"));
    symlinkSync(file, join(folder, "link.jsonl"));
    symlinkSync(join(elsewhere, "sub"), join(folder, "sub"));
    symlinkSync(folder, join(folder, "loop"));
    const { until, newCount } = await startWatch(store, [folder]);
    expect(newCount()).toBe(3);
    appendFileSync(inFolder, line("y", "two"));
    await until("the second in the folder", () => newCount() === 4);
    appendFileSync(file, line("x", "two"));
    await until("the second in the file", () => newCount() === 5);
  });

  test("reads a document again when it was rewritten, and a database when its log has grown", async () => {
    const { folder, store } = scene();
    const document = join(folder, "chat.json");
    const messages = [
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
    ];
    writeFileSync(document, JSON.stringify({ messages: messages.slice(0, 1) }));
    const database = new Database(join(folder, "opencode.db"));
    database.pragma("journal_mode = WAL");
    database.exec(
      "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, time_created INTEGER, time_updated INTEGER);" +
        "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);" +
        "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);" +
        "INSERT INTO session VALUES ('ses_1', NULL, '/work/web', 'Talk', 1, 1)",
    );
    const say = (id: string, text: string): void => {
      database
        .prepare("INSERT INTO message VALUES (?, 'ses_1', 1, 1, ?)")
        .run(`msg_${id}`, '{"role":"user","time":{"created":1}}');
      const part = JSON.stringify({ type: "text", text });
      database.prepare("INSERT INTO part VALUES (?, ?, 'ses_1', 1, 1, ?)").run(`prt_${id}`, `msg_${id}`, part);
    };
    say("1", "one");
    const { until, newCount } = await startWatch(store, [folder]);
    expect(newCount()).toBe(3);
    writeFileSync(document, JSON.stringify({ messages }));
    await until("the document's second", () => newCount() === 4);
    say("2", "two");
    await until("the database's second", () => newCount() === 5);
    say("3", "three");
    await until("the database's third", () => newCount() === 6);
    expect(wordsIn(store, "ses_1")).toEqual(["one", "two", "three"]);
    database.close();
  });

  test("holds nothing back of a file that was abandoned in the middle of a turn", async () => {
    const { folder, store } = scene();
    const about = { sessionId: "s", cwd: "/work/web", version: "2.0.0" };
    const thought = [{ type: "thinking", thinking: "How?", signature: "x" }];
    const turn = jsonLines([user("u1", "Build it", about), assistant("u2", "msg_1", thought, about)]);
    const left = put(join(folder, "left.jsonl"), turn);
    const old = put(join(folder, "old.jsonl"), turn.replaceAll('"s"', '"t"'));
    const uncut = put(join(folder, "uncut.jsonl"), line("cut", "one").slice(0, -1));
    const call = { id: "c1", type: "function", function: { name: "run", arguments: "{}" } };
    const messages = [
      { role: "user", content: "Run it" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "assistant", content: "Done" },
    ];
    const document = put(join(folder, "document.json"), { id: "d", messages });
    const then = new Date(Date.now() - 11 * 60 * 1_000);
    for (const path of [left, uncut, document]) utimesSync(path, then, then);
    utimesSync(old, longAgo, longAgo);
    const { until, newCount } = await startWatch(store, [folder]);
    // A thought has no searchable text.
    expect(wordsIn(store, "t")).toEqual(["Build it", ""]);
    expect(wordsIn(store, "s")).toEqual(["Build it", ""]);
    expect(wordsIn(store, "cut")).toEqual(["one"]);
    expect(wordsIn(store, "d").length).toBe(3);
    // The abandoned turn continues after all.
    const before = newCount();
    appendFileSync(left, jsonLines([assistant("u3", "msg_1", [{ type: "text", text: "So." }], about)]));
    await until("the words", () => newCount() > before);
    expect(wordsIn(store, "s")).toEqual(["Build it", "", "So."]);
  });

  test("skips files that are no transcripts, and does not open files with other names", async () => {
    const { folder, store } = scene();
    writeFileSync(join(folder, "settings.json"), '{"theme":"dark"}');
    const { events, until, newCount } = await startWatch(store, [folder]);
    writeFileSync(join(folder, "settings.json"), '{"theme":"light"}');
    writeFileSync(join(folder, "notes.txt"), line("n", "one"));
    writeFileSync(join(folder, "b.jsonl"), line("b", "one"));
    await until("the transcript", () => newCount() === 2);
    expect(events.filter(({ event }) => event === "warning")).toEqual([]);
  });

  test("that is started again reads only what has changed, until something is forgotten", async () => {
    const { folder, file, store } = scene();
    writeFileSync(file, `{"session":\n${line("a", "one")}`);
    writeFileSync(join(folder, "b.jsonl"), line("b", "one"));
    for (const path of [file, join(folder, "b.jsonl")]) utimesSync(path, longAgo, longAgo);
    const warningsOfOne = async () => {
      // A file that was written just now may change once more at the same time.
      await wait(100);
      const events: WatchEvent[] = [];
      const { signal } = new AbortController();
      await new WatchRun(store, { paths: [folder], onEvent: (event) => events.push(event), signal }).once();
      return events.filter(({ event }) => event === "warning").length;
    };
    expect(await warningsOfOne()).toBe(1);
    expect(await warningsOfOne()).toBe(0);
    appendFileSync(file, line("a", "two"));
    utimesSync(file, longAgo, longAgo);
    expect(await warningsOfOne()).toBe(1);
    expect(wordsIn(store, "a")).toEqual(["one", "two"]);
    expect(await warningsOfOne()).toBe(0);
    store.forget("b");
    expect(await warningsOfOne()).toBe(1);
    expect(sessionIds(store, { prefix: "b" })).toEqual([]);
    expect(await warningsOfOne()).toBe(0);
    store.restore("b");
    expect(await warningsOfOne()).toBe(1);
    expect(wordsIn(store, "b")).toEqual(["one"]);
  });

  test("that ended before it summarized everything does so when it is started again", async () => {
    const { folder, file, store } = scene({ summarizer: scriptedSummarizer() });
    put(file, longLines(60));
    utimesSync(file, longAgo, longAgo);
    const summaryCount = () => store.stats().summaryCount;
    const stopping = new AbortController();
    const stopThen = ({ event }: WatchEvent) => event === "caught_up" && stopping.abort();
    await new WatchRun(store, { paths: [folder], onEvent: stopThen, signal: stopping.signal }).follow();
    expect([wordsIn(store, "a").length, summaryCount()]).toEqual([60, 0]);
    const { until } = await startWatch(store, [folder]);
    await until("summaries", () => summaryCount() > 0);
  });

  test("waits for a locked store, and loses nothing", async () => {
    const { folder, file } = scene();
    const store = openedStore(join(folder, "..", "locked.db"), { busyTimeoutMs: 20 });
    const { events, until, newCount } = await startWatch(store, [folder]);
    const other = new Database(store.path);
    other.exec("BEGIN IMMEDIATE");
    appendFileSync(file, line("a", "two"));
    await until("it waits", () => events.some(({ event }) => event === "waiting"));
    appendFileSync(file, line("a", "three"));
    other.exec("ROLLBACK");
    other.close();
    await until("three", () => newCount() >= 3);
    expect(wordsIn(store, "a")).toEqual(["one", "two", "three"]);
  });

  test("leaves out a forgotten session when its file grows, and follows the others", async () => {
    const { folder, file, store } = scene();
    const { until, newCount } = await startWatch(store, [folder]);
    appendFileSync(file, line("a", "two"));
    await until("two", () => newCount() === 2);
    store.forget("a");
    appendFileSync(file, line("a", "three"));
    writeFileSync(join(folder, "b.jsonl"), line("b", "one"));
    await until("the other", () => sessionIds(store, { prefix: "b" }).length === 1);
    appendFileSync(file, line("a", "four") + line("c", "one"));
    await until("the one beside it", () => sessionIds(store, { prefix: "c" }).length === 1);
    expect(sessionIds(store)).toEqual(["b", "c"]);
  });

  test("leaves out what is excluded while it runs, and imports it when that ends", async () => {
    const { folder, file, store } = scene();
    const { until, newCount } = await startWatch(store, [folder]);
    const add = (content: string) => {
      const said = { session: "b", project: "client", role: "user", content };
      appendFileSync(join(folder, "b.jsonl"), jsonLines([said]));
    };
    add("one");
    await until("one", () => newCount() === 2);
    store.exclude({ projects: ["client"] });
    add("two");
    appendFileSync(file, line("a", "two"));
    await until("the other", () => newCount() === 3);
    appendFileSync(file, line("a", "three"));
    await until("the other again", () => newCount() === 4);
    expect(wordsIn(store, "b")).toEqual(["one"]);
    store.exclude({ projects: ["client"], remove: true });
    add("three");
    await until("the rest", () => newCount() === 6);
    expect(wordsIn(store, "b")).toEqual(["one", "two", "three"]);
  });

  test("imports a restored session again when its file grows, and keeps its summaries current", async () => {
    const { folder, file, store } = scene({ summarizer: scriptedSummarizer() });
    const { until, newCount } = await startWatch(store, [folder]);
    appendFileSync(file, line("a", "two"));
    await until("two", () => newCount() === 2);
    store.forget("a");
    store.restore("a");
    appendFileSync(file, longLines(150));
    await until("all of it", () => wordsIn(store, "a").length === 152);
    expect(wordsIn(store, "a").slice(0, 2)).toEqual(["one", "two"]);
    await until("summaries", () => store.stats().summaryCount > 0);
  });

  test("does not wait for an embedder that does not answer, and collects the vectors later", async () => {
    const { folder, file } = scene();
    const embedder = scriptedEmbedder();
    const store = openedStore(join(folder, "..", "remote.db"), { embedder });
    const { until, newCount } = await startWatch(store, [folder]);
    embedder.before = hang;
    appendFileSync(file, line("a", "two"));
    await until("two", () => newCount() === 2);
    await until("its vector is asked for", () => embedder.requests.length === 2);
    embedder.before = () => {};
    appendFileSync(file, line("a", "three"));
    appendFileSync(join(folder, "b.jsonl"), line("b", "one"));
    await until("three and one", () => newCount() === 4);
    await until("the vector of one", () => store.stats().pendingVectorCount <= 2);
    expect(wordsIn(store, "a")).toEqual(["one", "two", "three"]);
  });

  test("next to another watch and an agent's own appends imports nothing twice", async () => {
    const { folder, file, store } = scene();
    const other = openedStore(store.path);
    const [left, right] = [await startWatch(store, [folder]), await startWatch(other, [folder])];
    for (let index = 0; index < 20; index++) {
      appendFileSync(file, line("a", `line ${index}`));
      other.session("agent").append({ role: "user", content: `own ${index}` });
    }
    await left.until("all", () => left.newCount() + right.newCount() >= 21 && wordsIn(store, "a").length === 21);
    cpSync(file, join(folder, "copy.jsonl"));
    appendFileSync(file, line("a", "the end"));
    // A message is in the store before the watch that stored it reports it.
    await left.until("the end", () => left.newCount() + right.newCount() >= 22);
    expect(wordsIn(store, "a").length).toBe(22);
    expect(wordsIn(store, "agent").length).toBe(20);
    expect(left.newCount() + right.newCount()).toBe(22);
    expect(store.verify().problems).toEqual([]);
  });

  test("does nothing while nothing happens", async () => {
    const { folder, store } = scene();
    for (let index = 0; index < 100; index++) put(join(folder, `${index}`, "x.jsonl"), line(`s${index}`, "one"));
    const { until, newCount } = await startWatch(store, [folder]);
    await until("all", () => newCount() === 101);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const from = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const { user, system } = process.cpuUsage(from);
    expect((user + system) / 1_000).toBeLessThan(40);
  });
});
