import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore, type Store, type VerifyReport } from "../../../src/index.ts";
import { indexAll } from "../../support/full-text.ts";
import { derivedRows, emptyPage, fillIndex, inDatabase, inSealed, restorePage } from "../../support/rows.ts";
import { calls, results, talk, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { copyStore } from "../../support/store-files.ts";
import { openedStore, temporaryPath, temporaryStore, tickingClock } from "../../support/temporary-store.ts";

let folder: string;
let grown: string;
let indexed: string;

/** A store with a forest of several themes, and a long string kept apart; and the same with all messages in the full-text index. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "coppice-test-"));
  [grown, indexed] = [join(folder, "grown.db"), join(folder, "indexed.db")];
  const store = openStore(grown, { clock: tickingClock() });
  const session = store.session("s", { hotSize: 3, overlap: 0, evictBatch: 3, maxThemes: 3, openClustersMax: 3 });
  session.append([...talk(30), calls(["a"]), results(["a"], "x".repeat(20_000)), ...talk(8)]);
  const bare = copyStore(grown, join(folder, "bare.db"));
  store.verify({ rebuild: true });
  store.close();
  renameSync(grown, indexed);
  for (const suffix of ["", "-wal"]) renameSync(bare + suffix, grown + suffix);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function grownStore(whole = grown): { path: string; store: Store } {
  const path = copyStore(whole, temporaryPath());
  return { path, store: openedStore(path) };
}

function afterDamage(sql: string): VerifyReport {
  const { path, store } = grownStore();
  inSealed(path, (database) => {
    database.pragma("foreign_keys = OFF");
    database.pragma("ignore_check_constraints = ON");
    database.exec(sql);
  });
  return store.verify();
}

const textsOf = ({ problems }: VerifyReport): string[] => problems.map(({ text }) => text);

/** A session whose turn is too long for one cluster. The second has its title from the request in the first. */
function repairedThermostat(store: Store) {
  const session = store.session("s", { hotSize: 1, overlap: 0, evictBatch: 10 });
  const { messageId: request } = session.append(user("Please repair the greenhouse thermostat."));
  session.append(Array.from({ length: 80 }, () => ({ role: "assistant", content: "thermostat harp" })));
  return { session, request };
}

describe("verify", () => {
  test("finds nothing in a sound store, and counts what it saw", () => {
    const { store } = grownStore();
    const [log] = store.query("SELECT count(*) AS n FROM unions");
    expect(store.verify()).toEqual({
      ok: true,
      sessionCount: 1,
      messageCount: 40,
      unionCount: log!.n,
      entryCount: 0,
      itemCount: 0,
      rebuiltCount: 0,
      problemCount: 0,
      problems: [],
    });
  });

  test.each([
    [
      "UPDATE messages SET parts = replace(parts, 'Message 3:', 'Message 4:') WHERE seq = 3",
      "message 4 cannot be read: row 4 of messages is damaged",
    ],
    [
      "UPDATE messages SET parts = replace(parts, 'Message 3:', 'Message 4:'), checksum = -1 WHERE seq = 3",
      "message 4 is not what was appended: its digest differs",
    ],
    ["UPDATE messages SET role = 'user' WHERE seq = 3", "message 4 cannot be read: row 4 of messages is damaged"],
    [
      "UPDATE messages SET digest = CAST(digest AS TEXT) WHERE seq = 3",
      "message 4 cannot be read: row 4 of messages is damaged",
    ],
    ["UPDATE sessions SET title = 'other'", "row s of sessions is damaged"],
    ["UPDATE unions SET score = 0.5 WHERE id = 2", "row 2 of unions is damaged"],
    ["UPDATE messages SET seq = 40 WHERE seq = 39", "no message is at seq 39, and none was forgotten"],
    ["UPDATE messages SET parts = '[' WHERE seq = 3", /^message 4 cannot be read: /],
    ["UPDATE artifacts SET content = x'00'", /^message 32 cannot be read: artifact [0-9a-f]{64} does not inflate$/],
    [
      "UPDATE artifacts SET content = x'78', byte_length = 1, compressed = 0",
      /^message 32 cannot be read: artifact [0-9a-f]{64} has other bytes$/,
    ],
    [
      "UPDATE artifacts SET byte_length = byte_length + 32",
      /^message 32 cannot be read: artifact [0-9a-f]{64} has other bytes$/,
    ],
    ["UPDATE artifacts SET content = 12", "message 32 cannot be read: a stored value is not a BLOB"],
    [
      "DELETE FROM unions WHERE id = 2",
      "33 steps entered the forest by the log, and 34 by the frontier; 0 steps of the log are unknown",
    ],
    [
      "INSERT INTO unions (session_id, generation, level, kind, node, root, checksum) VALUES ('s', 1, 'theme', 'unite', 1, 99, -1)",
      "row 41 of the log cannot have happened: no theme has this root",
    ],
  ])("finds damaged facts, which nothing brings back: %s", (sql, text) => {
    const report = afterDamage(sql);
    expect(report.ok).toBe(false);
    expect(textsOf(report)).toContainEqual(typeof text === "string" ? text : expect.stringMatching(text));
    expect(report.problems.every(({ rebuildable }) => !rebuildable)).toBe(true);
  });

  test("finds a summary with other words, which no context shows", async () => {
    const path = temporaryPath();
    const store = openedStore(path, { summarizer: scriptedSummarizer("good") });
    const session = store.session("s", { hotSize: 3, overlap: 0, evictBatch: 3, resolveTokensMin: 10 });
    session.append(talk(30));
    await session.resolveDirty();
    session.compact();
    inDatabase(path, (database) => database.exec("UPDATE summaries SET text = 'other'"));
    expect(textsOf(store.verify())).toContainEqual(expect.stringMatching(/^row \d+ of summaries is damaged$/));
    const read = openedStore(path, { readonly: true }).resume("s");
    expect(() => read.render({ tokensMax: 2_000 })).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  });

  test.each(["UPDATE sessions SET title = 'other'", "UPDATE unions SET score = 0.5 WHERE id = 2"])(
    "a session that is damaged can be forgotten: %s",
    (sql) => {
      const { path, store } = grownStore();
      inDatabase(path, (database) => database.exec(sql));
      expect(store.verify().ok).toBe(false);
      expect(store.forget("s").messageCount).toBe(40);
      expect(store.verify()).toMatchObject({ ok: true, sessionCount: 0 });
    },
  );

  test.each(["digest = CAST(digest AS TEXT)", "digest = zeroblob(16)"])(
    "keeps the summary of a span of which a message is damaged: %s",
    async (change) => {
      const path = temporaryPath();
      const store = openedStore(path, { summarizer: scriptedSummarizer("good") });
      const session = store.session("s", { strategy: "flat", contextTokensMax: 1_000 });
      session.append(talk(30));
      await session.resolveDirty();
      const done = (): unknown[] => store.query("SELECT id, text FROM summaries WHERE status = 'done'");
      const before = done();
      expect(before.length).toBeGreaterThan(0);
      inDatabase(path, (database) => database.exec(`UPDATE messages SET ${change} WHERE seq = 3`));
      expect(textsOf(store.verify({ rebuild: true }))).toEqual([
        "message 4 cannot be read: row 4 of messages is damaged",
      ]);
      expect(done()).toEqual(before);
      expect(() => store.forget("s", { messageIds: [4] })).not.toThrow();
    },
  );

  test("a long string that got lost is never replaced by its note", () => {
    const { path, store } = grownStore();
    inDatabase(path, (database) => database.exec("DELETE FROM message_artifacts"));
    const reads = [() => store.resume("s").messages(), () => store.resume("s").render({ strategy: "full" })];
    for (const read of reads) expect(read).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  });

  test("finds rows that point to rows that are not there", () => {
    expect(textsOf(afterDamage("DELETE FROM artifacts"))).toContain(
      "row 1 of message_artifacts points to a row of artifacts that does not exist",
    );
  });

  test.each([
    ["DELETE FROM clusters WHERE root_id = 1", /^1 of \d+ rows of clusters are missing or differ; \d+ are there$/],
    [
      "UPDATE clusters SET centroid_sum = zeroblob(length(centroid_sum)) WHERE root_id = 1",
      "rows of clusters cannot be read: row 1 of clusters is damaged",
    ],
    ["UPDATE clusters SET settled_at = 1 WHERE settled_at IS NULL", /^\d+ of \d+ rows of clusters/],
    [
      "UPDATE themes SET token_count = token_count + 1, checksum = -1",
      "3 of 3 rows of themes are missing or differ; 3 are there",
    ],
    ["UPDATE messages SET parent_id = 1 WHERE seq >= 38", "2 parent pointers differ from the log"],
    [
      "UPDATE messages SET embedding = zeroblob(length(embedding)) WHERE seq = 3",
      "the vector of message 4 is not that of its text",
    ],
    ["UPDATE messages SET embedder_id = 'unknown' WHERE seq = 3", "the vector of message 4 is not that of its text"],
  ])("finds damaged derived rows, and brings them back bit for bit: %s", (sql, text) => {
    const { path, store } = grownStore();
    const before = [...derivedRows(path), ...store.export({ rows: true })];
    inSealed(path, (database) => database.exec(sql));
    const report = store.verify();
    expect(textsOf(report)).toContainEqual(typeof text === "string" ? text : expect.stringMatching(text));
    expect(report.problems.every(({ rebuildable }) => rebuildable)).toBe(true);
    expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 1, problemCount: 0 });
    expect([...derivedRows(path), ...store.export({ rows: true })]).toEqual(before);
    expect(store.verify()).toMatchObject({ ok: true, rebuiltCount: 0 });
  });

  test.each([
    ["DELETE FROM messages_fts WHERE rowid = 3", "the full-text index lacks 1 messages"],
    [
      "INSERT INTO messages_fts (rowid, words) VALUES (0, 'stranger')",
      "the full-text index has 1 messages that do not exist",
    ],
    [
      "DELETE FROM messages_fts WHERE rowid = 3; INSERT INTO messages_fts (rowid, words) VALUES (3, 'other words')",
      "the full-text index has a wrong number of words for 1 messages",
    ],
    ["DELETE FROM messages_fts_docsize", /^the full-text index has wrong messages for \d+ words$/],
    [
      "UPDATE messages_fts_data SET block = x'' WHERE id = 1",
      "the full-text index claims to hold 0 messages, but holds 40",
    ],
    ["DROP TABLE messages_fts_docsize", /^the full-text index cannot be read/],
    ["DROP TABLE messages_fts_terms", /^the full-text index cannot be read/],
    ["DROP TABLE messages_fts", /^the full-text index cannot be read/],
    [
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'porter', 'portar') WHERE name = 'messages_fts'",
      "the definition of table messages_fts is not the one of this version",
    ],
    ["DELETE FROM messages_fts_data WHERE id > 10", /full-text|fts5/],
    [
      "UPDATE messages_fts_data SET block = unhex(replace(hex(block), hex('umbnail'), hex('umbnaim'))) WHERE id > 10",
      "the full-text index has wrong messages for 2 words",
    ],
    ["DELETE FROM messages_fts_data", /full-text|fts5/],
  ])("finds a damaged full-text index, and builds it again: %s", (sql, text) => {
    const { path, store } = grownStore(indexed);
    const termsOf = (): unknown[] => store.query("SELECT * FROM messages_fts_terms");
    const before = termsOf();
    expect(before.length).toBeGreaterThan(30);
    inDatabase(path, (database) => {
      database.unsafeMode(true); // else SQLite protects the tables of the index
      database.exec(sql);
    });
    const report = store.verify();
    expect(textsOf(report)).toContainEqual(typeof text === "string" ? text : expect.stringMatching(text));
    expect(report.problems.every(({ rebuildable }) => rebuildable)).toBe(true);
    // It keeps nobody from the messages.
    expect(store.session("s").messages()).toHaveLength(40);
    expect(openedStore(path).session("s").append(user("still here")).seq).toBe(40);
    expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    store.forget("s", { messageIds: [41] });
    expect(termsOf()).toEqual(before);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("finds words that the full-text index has and does not find", async () => {
    const { path, store } = grownStore();
    const word = (number: number): string => `w${number.toString(36).padStart(4, "0")}x`;
    const texts = Array.from({ length: 80 }, (_, at) =>
      Array.from({ length: 60 }, (_, own) => word(60 * at + own)).join(" "),
    );
    store.session("words").append(texts.map((text) => user(text)));
    indexAll(store);
    const asked = word(4_700);
    const found = await store.recall(asked);
    expect(found).not.toEqual([]);
    inDatabase(path, (database) => {
      database.unsafeMode(true);
      expect(database.prepare("DELETE FROM messages_fts_idx WHERE term <> ''").run().changes).toBeGreaterThan(1);
    });
    const reopened = openedStore(path);
    expect(await reopened.recall(asked)).toEqual([]);
    expect(textsOf(reopened.verify())).toEqual([
      expect.stringMatching(/^the full-text index has wrong messages for \d+ words$/),
    ]);
    expect(reopened.verify({ rebuild: true })).toMatchObject({ ok: true });
    expect(await reopened.recall(asked)).toEqual(found);
  });

  test.each([
    ["clusters_open", () => "label <> ''", /^\d+ rows are in, and \d+ rows belong in index clusters_open$/],
    ["messages_pinned", () => "seq = 3", /^1 rows are in, and 0 rows belong in index messages_pinned$/],
    ["clusters_by_session", () => "seq_last > 20", /^wrong # of entries in index clusters_by_session$/],
    ["messages_by_seq", () => "seq <> 3", /^row 4 missing from index messages_by_seq$/],
  ])("finds what an index has that its table has not, or the reverse, and makes it again: %s", (index, rows, text) => {
    const { path, store } = grownStore();
    store.close();
    fillIndex(path, index, rows);
    const damaged = openedStore(path);
    const report = damaged.verify();
    expect(report.problems).toContainEqual(
      expect.objectContaining({ text: expect.stringMatching(text), rebuildable: true }),
    );
    expect(damaged.verify({ rebuild: true })).toMatchObject({ ok: true, problems: [] });
    expect(damaged.verify()).toMatchObject({ ok: true, problems: [] });
    expect(damaged.resume("s").messages()).toHaveLength(40);
  });

  test("does not give an entry the position that only its damaged row has", () => {
    const { path, store } = grownStore();
    store.session("s").entries.append([{ value: 1 }, { value: 2 }]);
    store.close();
    const copy = temporaryPath();
    copyFileSync(path, copy);
    inDatabase(path, (database) => database.exec("UPDATE entries SET id = 9 WHERE id = 2"));
    restorePage(path, "entries_by_session", copy);
    const damaged = openedStore(path);
    expect(textsOf(damaged.verify({ rebuild: true }))).toContainEqual(expect.stringContaining("entries_by_session"));
    expect(() => damaged.resume("s").entries.list()).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  });

  test("leaves indexes as they are that show what a table has lost", () => {
    const { path, store } = grownStore();
    store.close();
    emptyPage(path, "sessions");
    const damaged = openedStore(path, { readonly: true });
    const lost = textsOf(damaged.verify()).filter((text) => text.includes("index"));
    expect(lost).not.toEqual([]);
    damaged.close();
    const writer = openedStore(path);
    expect(textsOf(writer.verify({ rebuild: true })).filter((text) => text.includes("index"))).toEqual(lost);
  });

  test("fills an empty full-text index again", () => {
    const { path, store } = grownStore(indexed);
    inDatabase(path, (database) => database.exec("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')"));
    expect(store.stats().unindexedCount).toBe(40);
    expect(textsOf(store.verify())).toEqual([]); // empty is not wrong
    expect(store.verify({ rebuild: true }).ok).toBe(true);
    expect(store.stats().unindexedCount).toBe(0);
  });

  test("rebuilds the title of a cluster whose turn was begun by a message in another cluster", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const { session } = repairedThermostat(store);
    const titles = () => session.roots({ level: "cluster" }).map(({ label }) => label);
    expect(titles()).toEqual(["Repair the greenhouse thermostat", "Repair the greenhouse thermostat (2)"]);
    inSealed(path, (database) => database.exec("UPDATE clusters SET label = '', checksum = -1, message_count = 0"));
    expect(store.verify({ rebuild: true }).ok).toBe(true);
    expect(titles()).toEqual(["Repair the greenhouse thermostat", "Repair the greenhouse thermostat (2)"]);
  });

  test("forgets a request in the titles of all clusters of its turn", () => {
    const store = temporaryStore();
    const { session, request } = repairedThermostat(store);
    store.forget("s", { messageIds: [request] });
    expect(session.roots({ level: "cluster" }).map(({ label }) => label)).toEqual([
      "thermostat, harp",
      "thermostat, harp (2)",
    ]);
  });

  test("rebuilds labels of texts that are long in characters that take two units", () => {
    const store = temporaryStore();
    const session = store.session("s", { hotSize: 1, overlap: 0, evictBatch: 2 });
    for (let round = 0; round < 6; round++)
      session.append(user(`harbour ${"🎉 ".repeat(900)} banana ${"🎉".repeat(900)} cherry ${round}`));
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("rebuilds while a session is open, which then goes on with what was rebuilt", () => {
    const { path, store } = grownStore();
    const session = store.session("s");
    const before = JSON.stringify(session.render());
    inDatabase(path, (database) => database.exec("DELETE FROM themes; DELETE FROM clusters"));
    store.verify({ rebuild: true });
    expect(JSON.stringify(session.render())).toBe(before);
    session.append(talk(12));
    expect(store.verify().ok).toBe(true);
  });

  test("is refused once the store is closed, and a rebuild where nothing may be written", () => {
    const { path, store } = grownStore();
    inDatabase(path, (database) => database.exec("DELETE FROM themes"));
    const reader = openedStore(path, { readonly: true });
    expect(() => reader.verify({ rebuild: true })).toThrow(expect.objectContaining({ code: "STORE_READONLY" }));
    expect(reader.verify()).toMatchObject({ ok: false, problemCount: 2 });
    store.close();
    expect(() => store.verify()).toThrow(expect.objectContaining({ code: "STORE_CLOSED" }));
  });
});

describe("subjects", () => {
  /** Three sessions about the same, at rest and placed: messages 1 and 4 of the first and the second are together. */
  async function placedStore(): Promise<{ path: string; store: Store }> {
    const path = temporaryPath();
    const store = openedStore(path);
    for (const id of ["a", "b", "c"]) {
      const said = ["the stale session lock blocks the writer", "purple buttons beside headings", "Thanks!"];
      store.session(id).append(said.map((text) => user(text, { createdAt: 1_000 })));
    }
    await store.upkeep();
    return { path, store };
  }

  test("come back from the log, wherever their pointers lead", async () => {
    const { path, store } = await placedStore();
    expect(
      store.query(
        "SELECT root_id, subject_parent_id FROM clusters WHERE root_id <> subject_parent_id ORDER BY root_id",
      ),
    ).toEqual([
      { root_id: 4, subject_parent_id: 1 },
      { root_id: 5, subject_parent_id: 2 },
      { root_id: 7, subject_parent_id: 1 },
      { root_id: 8, subject_parent_id: 2 },
    ]);
    const [log] = store.query("SELECT count(*) AS n FROM unions");
    expect(store.verify()).toMatchObject({ ok: true, unionCount: log!.n });
    const before = derivedRows(path);
    inDatabase(path, (database) =>
      database.exec("UPDATE clusters SET subject_parent_id = CASE root_id WHEN 4 THEN NULL WHEN 5 THEN 1 ELSE 2 END"),
    );
    const found = store.verify();
    expect(textsOf(found)).toEqual([
      "1 of 2 rows of clusters are missing or differ; 2 are there",
      "2 of 2 rows of clusters are missing or differ; 2 are there",
      "1 of 2 rows of clusters are missing or differ; 2 are there",
    ]);
    expect(found.problems.every(({ rebuildable }) => rebuildable)).toBe(true);
    expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 3 });
    expect(derivedRows(path)).toEqual(before);
  });

  test.each([
    ["DELETE FROM unions WHERE level = 'subject' AND node = 2", "2 rows of the log name a subject that had not begun"],
    [
      "UPDATE unions SET root = 5, checksum = -1 WHERE level = 'subject' AND kind = 'unite' AND node = 5",
      /a subject cannot absorb itself$/,
    ],
    [
      "UPDATE unions SET kind = 'dissolve', checksum = -1 WHERE level = 'subject' AND kind = 'start' AND node = 4",
      /the cluster is in no subject$/,
    ],
  ])("are facts where the log speaks of them: %s", async (sql, text) => {
    const { path, store } = await placedStore();
    inSealed(path, (database) => database.exec(sql));
    const { problems } = store.verify();
    const found = problems.filter(({ rebuildable }) => !rebuildable).map((problem) => problem.text);
    expect(found).toEqual([typeof text === "string" ? text : expect.stringMatching(text)]);
  });
});
