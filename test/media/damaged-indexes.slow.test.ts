import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Question, questionsOf } from "../../scripts/bench/damage/questions.ts";
import { Stored } from "../../scripts/bench/damage/shown.ts";
import { openStore, type Store, StoreError } from "../../src/index.ts";
import { scanTail } from "../../src/recall/tail.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { enteringSteps } from "../../src/store/derived/past-forests.ts";
import { sourceDigestOf } from "../../src/store/facts/spans.ts";
import {
  changePage,
  emptyPage,
  fillIndex,
  inDatabase,
  inSealed,
  loseFromIndex,
  rekeyIndex,
  repeatEntry,
  replacePage,
  swapEntries,
} from "../support/rows.ts";
import { calls, results, talk, user } from "../support/said.ts";
import { openedStore, tickingClock } from "../support/temporary-store.ts";

const SETTINGS = { project: "p", hotSize: 3, overlap: 1, evictBatch: 4, maxThemes: 3, openClustersMax: 3 };
const DAY_MS = 86_400_000;
const LOCK = "the stale session lock blocks the writer until the lock file is removed";

const isCorrupt = expect.objectContaining({ code: "STORE_CORRUPT" });

let folder: string;
let whole: string;
let full: string;
let questions: readonly Question[];
let answers: readonly string[];
let stored: Stored;

/** Two sessions of 41 messages with forests, and a subject in both. Then also others: of calls, rewound, empty, and forks. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "coppice-test-"));
  whole = join(folder, "whole.db");
  let now = Date.UTC(2026, 0, 1);
  const store = openStore(whole, { clock: () => (now += 1_000) });
  for (const id of ["a", "b"]) {
    const session = store.session(id, SETTINGS);
    session.append([user("Stay.", { pinned: true }), user(LOCK), ...talk(38), user("Bye.")]);
    session.compact();
    session.entries.append([{ value: "opened", id: "first" }, { value: "closed" }]);
    store.items.put([id], "state", "calm", { session: id });
  }
  now += 5 * DAY_MS;
  await store.upkeep();
  store.close();
  full = join(folder, "full.db");
  copyFileSync(whole, full);
  const growing = openStore(full, { clock: () => (now += 1_000) });
  const answered = (id: string, text: string) => [calls([id]), results([id], text)];
  const asked = [...answered("c1", "one"), user("Now the other."), ...answered("c2", "two"), ...talk(6)];
  growing.session("c", { ...SETTINGS, hotSize: 1, overlap: 0, evictBatch: 1 }).append(asked);
  const rewound = growing.session("r", SETTINGS);
  rewound.append(talk(40));
  rewound.rewind({ toSeq: 12 });
  growing.session("empty", SETTINGS);
  growing.resume("a").fork({ id: "f", toSeq: 35 });
  const fork = growing.resume("a").fork({ id: "g", toSeq: 20 });
  fork.append([...answered("c1", "None is stale."), ...talk(20)]);
  fork.compact();
  growing.close();
  const sound = openStore(full, { readonly: true, clock: tickingClock() });
  questions = questionsOf(sound);
  answers = await answersOf(sound);
  stored = new Stored(
    sound,
    answers.filter((answer) => !/^[A-Z_]+$/.test(answer)),
  );
  sound.close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a store says to each question: JSON, or the code of an error of ours. */
async function answersOf(store: Store): Promise<string[]> {
  const said: string[] = [];
  for (const { ask } of questions) {
    try {
      said.push(JSON.stringify(await ask(store)) ?? "null");
    } catch (error) {
      if (!StoreError.is(error)) throw error;
      said.push(error.code);
    }
  }
  return said;
}

type Damage = (path: string) => void;

/** Opens a damaged copy. */
function damagedStore(damage: Damage, from = whole): Store {
  const path = join(mkdtempSync(join(folder, "copy-")), "damaged.db");
  copyFileSync(from, path);
  damage(path);
  return openedStore(path, { readonly: true, clock: tickingClock() });
}

/** Damages rows, whatever the schema says of them. */
function changed(sql: string): Damage {
  return (path) =>
    inSealed(path, (database) => {
      database.pragma("ignore_check_constraints = ON");
      database.pragma("foreign_keys = OFF");
      database.exec(sql);
    });
}

/** Damages the definition of the table of messages. */
function redefined(sql: string): Damage {
  return (path) =>
    inDatabase(path, (database) => {
      database.unsafeMode(true);
      database.pragma("writable_schema = ON");
      database.exec(`UPDATE sqlite_master SET sql = ${sql} WHERE name = 'messages'`);
      database.pragma("writable_schema = RESET");
    });
}

function idOf(store: Store, seq: number): number {
  return Number(store.query(`SELECT id FROM messages NOT INDEXED WHERE session_id = 'a' AND seq = ${seq}`)[0]!.id);
}

/** Returns the first value that a query finds in a file. */
function valueIn(path: string, sql: string): number {
  return inDatabase(path, (database) => database.prepare<[], number>(sql).pluck().get()!);
}

const SHARED = "(SELECT log_position FROM shared_pasts WHERE session_id = 'f')";
const UNITES = "FROM unions WHERE session_id = 'a' AND kind = 'unite' AND level = 'theme'";
const TAKEN = "kind = 'join'";

const lost = (index: string, rows: string): [string, Damage] => [
  `${index} lacks ${rows}`,
  (path) => loseFromIndex(path, index, rows),
];
const row = (change: string): [string, Damage] => [change, changed(change)];
const swapped = (index: string, one: number, other: number): [string, Damage] => [
  `${index} is out of order`,
  (path) => swapEntries(path, index, one, other),
];

/**
 * Goal: a damaged index or row may hide something, and shows nothing that is wrong; the scrub finds it.
 * Method: each kind of damage that was ever thought of; every question of the benchmark of damage; each text, name and time of an
 * answer is compared with all that were stored, and the order with that of the conversation.
 */
test.each<[what: string, damage: Damage]>([
  lost("messages_by_seq", "seq = 3"),
  lost("messages_by_seq", "seq = 40"),
  lost("messages_by_seq", "session_id = 'a' AND seq < 2"),
  lost("messages_pinned", "seq = 0"),
  lost("themes_by_session", "root_id % 2 = 0"),
  lost("clusters_by_session", "seq_last < 20"),
  lost("clusters_by_subject", "session_id = 'a'"),
  lost("unions_by_node", "kind IN ('start', 'join')"),
  lost("unions_by_session", "id > 10"),
  lost("unions_by_session", "kind = 'unite' AND session_id = 'a'"),
  lost("unions_by_root", "kind = 'join'"),
  lost("unions_of_subjects", "kind = 'unite'"),
  lost("undone_unions_by_root", TAKEN),
  lost("undone_unions_by_session", TAKEN),
  lost("entries_by_session", "before_seq > 0"),
  lost("items_by_key", "key = 'state'"),
  lost("sessions_by_project", "id = 'b'"),
  lost("sessions_by_parent", "parent_session_id = 'r'"),
  ...["sqlite_autoindex_clusters_1", "sqlite_autoindex_shared_pasts_1", "shared_pasts_by_holder", "items"].map(
    (name): [string, Damage] => [`${name} is empty`, (path) => emptyPage(path, name)],
  ),
  ["messages_pinned has others", (path) => fillIndex(path, "messages_pinned", () => "seq = 1")],
  ["clusters_by_subject has others", (path) => fillIndex(path, "clusters_by_subject", () => "settled_at IS NULL")],
  ["an index takes a session for a branch", (path) => fillIndex(path, "sessions_superseded", () => "id = 'a'")],
  swapped("items_by_key", 0, 1),
  swapped("entries_by_session", 0, 3),
  swapped("sqlite_autoindex_sessions_1", 0, 2),
  swapped("sqlite_autoindex_clusters_1", 0, 1),
  ["an index has a cluster twice", (path) => repeatEntry(path, "clusters_by_subject", 0, 1)],
  ["an index has a session elsewhere", (path) => changePage(path, "sqlite_autoindex_sessions_1", "b", "d")],
  ["an index has an item elsewhere", (path) => changePage(path, "items_by_key", '["b"]', '["d"]')],
  [
    "an index of the log has a step under another root",
    (path) => {
      const root = valueIn(path, "SELECT root FROM unions WHERE node = 2 AND level = 'cluster'");
      const other = valueIn(path, `SELECT max(id) FROM unions WHERE kind IN ('start', 'join') AND root <> ${root}`);
      rekeyIndex(path, "unions_by_root", "root", `CASE id WHEN ${other} THEN ${root} ELSE root END`);
    },
  ],
  [
    "an index has messages in other steps",
    (path) => {
      const first = valueIn(path, "SELECT id FROM messages WHERE session_id = 'c' AND seq = 0");
      const steps = `(CASE step_id WHEN ${first} THEN ${first + 3} WHEN ${first + 3} THEN ${first} ELSE step_id END)`;
      rekeyIndex(path, "messages_by_step", "step_id", steps);
    },
  ],
  [
    "an index has messages in each other's place",
    (path) => rekeyIndex(path, "messages_by_seq", "seq", "(CASE seq WHEN 2 THEN 9 WHEN 9 THEN 2 ELSE seq END)"),
  ],
  [
    "an index has an older message in the place of the newest",
    (path) => rekeyIndex(path, "messages_by_seq", "seq", "(CASE seq WHEN 40 THEN 3 WHEN 3 THEN 40 ELSE seq END)"),
  ],
  [
    "an index leads themes in a circle",
    (path) => {
      const last = valueIn(path, `SELECT min(id) ${UNITES} AND root NOT IN (SELECT node ${UNITES})`);
      rekeyIndex(path, "unions_by_node", "node", `CASE id WHEN ${last} THEN root ELSE node END`);
    },
  ],
  [
    "the index of a log lacks what came after a fork",
    (path) =>
      loseFromIndex(path, "unions_by_session", `session_id = 'a' AND id > ${valueIn(path, `SELECT ${SHARED}`)}`),
  ],
  [
    "a row of a fork and the index name different sessions",
    (path) => {
      const id = valueIn(path, "SELECT id FROM messages WHERE session_id = 'g' AND seq = 22");
      changed(`UPDATE messages SET session_id = 'h' WHERE id = ${id}`)(path);
      rekeyIndex(path, "messages_by_seq", "session_id", `(CASE id WHEN ${id} THEN 'g' ELSE session_id END)`);
    },
  ],
  row("DELETE FROM messages WHERE session_id = 'a' AND seq = 1"),
  row("UPDATE messages SET created_at_ms = 0 WHERE session_id = 'a' AND seq = 40"),
  row("UPDATE messages SET token_count = token_count + 1 WHERE session_id = 'a' AND seq = 40"),
  row("UPDATE messages SET role = 'uses' WHERE session_id = 'a' AND seq = 0"),
  row("UPDATE messages SET role = 'asristant' WHERE role = 'assistant'"),
  row("UPDATE messages SET session_id = 'x' WHERE id = 2"),
  row("UPDATE messages SET stored_text = 'Other words.' WHERE session_id = 'a' AND seq = 1"),
  row("UPDATE sessions SET created_at_ms = 1 WHERE id = 'empty'"),
  row("UPDATE sessions SET superseded_at_ms = 1 WHERE id = 'b'"),
  row("UPDATE clusters SET token_count = token_count + 1"),
  row("UPDATE clusters SET subject_parent_id = (SELECT min(subject_parent_id) FROM clusters) WHERE session_id = 'a'"),
  row("UPDATE clusters SET centroid_sum = randomblob(length(centroid_sum)) WHERE root_id = 2"),
  row("UPDATE unions SET root = 1"),
  row("UPDATE unions SET node = node + 1 WHERE kind = 'unite'"),
  row("UPDATE unions SET id = id + 2 WHERE id = (SELECT max(id) FROM unions)"),
  ...["members = '[1]'", "node = node + 1", "kind = 'settle'", "level = 'theme'", "undone_at = id"].map((change) =>
    row(`UPDATE undone_unions SET ${change} WHERE ${TAKEN}`),
  ),
  ["the schema computes other texts", redefined("replace(sql, '[0].content', '[1].content')")],
  ["SQLite cannot compute texts", redefined("replace(sql, 'json_valid(parts)', 'json_valid(pabts)')")],
])("%s: nothing wrong is shown, and the scrub finds it", async (_, damage) => {
  const store = damagedStore(damage, full);
  const said = await answersOf(store);
  for (const [index, { name }] of questions.entries()) {
    const answer = said[index]!;
    if (answer === answers[index] || /^[A-Z_]+$/.test(answer)) continue;
    expect(stored.wrongIn(answer), name).toBeUndefined();
  }
  expect(store.verify().ok).toBe(false);
});

test("rows without an index can be read, and those of other sessions", () => {
  const store = damagedStore((path) => loseFromIndex(path, "messages_by_seq", "session_id = 'a' AND seq = 3"));
  expect(store.resume("b").messages()).toHaveLength(41);
  expect(store.resume("a").messages({ seqFrom: 10 })).toHaveLength(31);
});

test("what forks share stays, although an index hides who shares it", () => {
  const { path } = damagedStore((path) => emptyPage(path, "shared_pasts_by_holder"), full);
  const shared = openedStore(path).resume("a");
  expect(() => shared.rewind({ toSeq: 0 })).toThrow(isCorrupt);
  expect(shared.messages()).toHaveLength(41);
});

test("a log that leads in a circle does not stop `verify`", () => {
  const change = "UPDATE unions SET root = node, checksum = -1 WHERE kind = 'unite' AND level = 'theme'";
  const store = damagedStore(changed(change));
  expect(store.verify().ok).toBe(false);
  expect(store.query("SELECT count(*) > 0 AS hasRows FROM theme_members")).toEqual([{ hasRows: 1 }]);
});

test("a damaged message is left out of a recap and of the page of a subject, which name its session", () => {
  const damage = changed("UPDATE messages SET stored_text = 'Other words.' WHERE session_id = 'a' AND seq = 1");
  const store = damagedStore(damage);
  const undamaged = openedStore(whole, { readonly: true, clock: tickingClock() });
  const { subject } = undamaged.subjects()[0]!;
  for (const read of [
    (options = {}) => store.recap({ sinceMs: 0, ...options }),
    (options = {}) => store.subject(subject, options),
  ]) {
    expect(() => read()).toThrow(isCorrupt);
    const named: string[] = [];
    const shown = read({ onUnreadable: ({ sessionId }: { sessionId: string }) => void named.push(sessionId) });
    expect(named).toEqual(["a"]);
    expect(JSON.stringify(shown)).toContain('"sessionId":"b"');
    expect(JSON.stringify(shown)).not.toContain("Other words");
  }
});

test("a list of sessions names the one whose newest message is damaged", () => {
  const store = damagedStore(changed("UPDATE messages SET created_at_ms = 9e15 WHERE session_id = 'a' AND seq = 40"));
  expect(() => store.sessions()).toThrow(isCorrupt);
  const named: string[] = [];
  const listed = store.sessions({ onUnreadable: ({ sessionId }) => void named.push(sessionId) });
  expect(named).toContain("a");
  expect(listed.map(({ id }) => id)).toContain("b");
});

test("of the settings: the store keeps its id, and the key of what was forgotten", () => {
  const path = join(folder, "damaged.db");
  copyFileSync(whole, path);
  const store = openStore(path);
  store.forget("a", { messageIds: [idOf(store, 5)] });
  const [first] = store.export({ rows: true, sessions: ["b"] });
  store.close();
  const settings = (): unknown[] =>
    inDatabase(path, (database) => {
      // How far messages were read changes, and is nothing that is lost.
      return database.prepare("SELECT * FROM store_settings NOT INDEXED WHERE name <> 'noted_to'").all();
    });
  const before = settings();
  emptyPage(path, "sqlite_autoindex_store_settings_1");
  for (const readonly of [true, false]) {
    const damaged = openStore(path, { readonly });
    expect([...damaged.export({ rows: true, sessions: ["b"] })][0]).toBe(first);
    if (!readonly) damaged.forget("a", { messageIds: [idOf(damaged, 6)] });
    damaged.close();
  }
  expect(settings()).toEqual(before);
});

test.each([
  [
    "NULL",
    "replace(replace(sql, '`stored_text` text NOT NULL', '`stored_text` text'), 'VIRTUAL NOT NULL', 'VIRTUAL')",
    "stored_text = NULL",
  ],
  ["a BLOB", `replace(sql, ' <> ''blob'' THEN stored_text', ' <> '''' THEN CAST(stored_text AS BLOB)')`, "seq = seq"],
])("a message whose text reads as %s is damage, though SQLite finds none", (_what, schema, change) => {
  const path = join(folder, "damaged.db");
  copyFileSync(whole, path);
  const store = openStore(path, { clock: tickingClock() });
  store.session("c", SETTINGS).append([user(LOCK), user("The gate stays shut.")]);
  store.close();
  inDatabase(path, (database) => {
    database.unsafeMode(true);
    database.pragma("writable_schema = ON");
    database.exec(`UPDATE sqlite_master SET sql = ${schema} WHERE name = 'messages'`);
    database.pragma("writable_schema = RESET");
    database.exec(`UPDATE messages SET ${change} WHERE session_id = 'c' AND seq = 0`);
    database.exec("DELETE FROM messages_fts_docsize"); // so that all messages are in the tail
    expect(database.pragma("integrity_check(1)", { simple: true })).toBe("ok");
  });
  const damaged = openedStore(path, { clock: tickingClock() });
  const { database, fullText, messages } = internalsOf(damaged).repositories;
  const stepId = Number(damaged.query("SELECT id FROM messages WHERE session_id = 'c' AND seq = 0")[0]!.id);
  expect(() => database.read(() => scanTail(fullText, []))).toThrow(isCorrupt);
  expect(() => database.read(() => enteringSteps(messages.graduatingOf([stepId]), -1))).toThrow(isCorrupt);
  expect(damaged.resume("b").messages()).toHaveLength(41);
});

test("a store that has lost its generation is read as far as it does not need it", () => {
  const store = damagedStore((path) => emptyPage(path, "generations"));
  expect(() => store.nearestRoots(LOCK)).toThrow(isCorrupt);
  expect(store.resume("a").messages()).toHaveLength(41);
  const writable = openedStore(store.path);
  expect(writable.verify().ok).toBe(false);
  expect(writable.query("SELECT count(*) AS n FROM generations")).toEqual([{ n: 0 }]);
});

test("a full-text index that has a page of the messages is made again, and no message is lost", async () => {
  const path = join(folder, "replaced.db");
  copyFileSync(whole, path);
  replacePage(path, "messages_fts_config", "messages");
  const store = openedStore(path);
  const messages = store.resume("a").messages();
  await expect(store.recall("stale lock")).rejects.toThrow(isCorrupt);
  expect(store.verify()).toMatchObject({ ok: false });
  expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, entryCount: 4, problems: [] });
  expect(store.resume("a").messages()).toEqual(messages);
  expect((await store.recall("stale lock"))[0]).toMatchObject({ text: LOCK });
  expect(store.verify()).toMatchObject({ ok: true, entryCount: 4 });
});

test("forgetting in such a store loses no other message", () => {
  const path = join(folder, "forgetful.db");
  copyFileSync(whole, path);
  replacePage(path, "messages_fts_config", "messages");
  const store = openedStore(path);
  const messages = store.resume("a").messages();
  store.forget("b");
  expect(store.resume("a").messages()).toEqual(messages);
  expect(store.verify()).toMatchObject({ ok: true, messageCount: 41 });
});

describe("a stored value of another type than was written", () => {
  test.each(["'text'", "0", "''"])("a vector (%s) is damage, and is made again", (value) => {
    const store = damagedStore(changed(`UPDATE messages SET embedding = ${value} WHERE session_id = 'a' AND seq = 5`));
    const { database, evidence, generations } = internalsOf(store).repositories;
    const { embedderId } = generations.newest()!;
    const id = idOf(store, 5);
    expect(() => database.read(() => evidence.embeddings([id], embedderId))).toThrow(isCorrupt);
    expect(store.verify().problems.map(({ text }) => text)).toContain(
      `the vector of message ${id} is not that of its text`,
    );
    store.close();
    const writer = openedStore(store.path, { clock: tickingClock() });
    expect(writer.verify({ rebuild: true }).problems).toEqual([]);
  });

  test("a digest is damage", () => {
    const path = join(folder, "damaged.db");
    copyFileSync(whole, path);
    const store = openedStore(path, { clock: tickingClock() });
    const session = store.session("c", SETTINGS);
    const message = { ...user("The gate stays shut."), id: "one" };
    const { messageId } = session.append(message);
    inDatabase(path, (database) => database.exec("UPDATE messages SET digest = 'text' WHERE session_id = 'c'"));
    const { database, messages } = internalsOf(store).repositories;
    const digest = (): string => sourceDigestOf(messages.digestsOfSteps([messageId]));
    expect(() => database.read(digest)).toThrow(isCorrupt);
  });
});
