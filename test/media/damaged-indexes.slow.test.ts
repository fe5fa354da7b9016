import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore, type Store } from "../../src/index.ts";
import { scanTail } from "../../src/recall/tail.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { enteringSteps } from "../../src/store/features.ts";
import { sourceDigestOf } from "../../src/store/spans.ts";
import { outlineOf } from "../../src/view/messages.ts";
import {
  changePage,
  emptyPage,
  fillIndex,
  inDatabase,
  loseFromIndex,
  rekeyIndex,
  repeatEntry,
  replacePage,
  restorePage,
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

/** Two sessions of 41 messages with forests, and a subject in both. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "coppice-test-"));
  whole = join(folder, "whole.db");
  let now = Date.UTC(2026, 0, 1);
  const store = openStore(whole, { clock: () => (now += 1_000) });
  for (const id of ["a", "b"]) {
    const session = store.session(id, SETTINGS);
    session.appendAll([user("Stay.", { pinned: true }), user(LOCK), ...talk(38), user("Bye.")]);
    session.compact();
    session.entries.append([{ value: "opened", id: "first" }, { value: "closed" }]);
    store.items.put([id], "state", "calm", { session: id });
  }
  now += 5 * DAY_MS;
  await store.upkeep();
  store.close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Damage = (path: string) => void;

/** Opens a damaged copy, of a store in which something else has happened before. */
function damagedStore(damage: Damage, happen?: (store: Store) => void): Store {
  const path = join(folder, "damaged.db");
  copyFileSync(whole, path);
  if (happen !== undefined) {
    const store = openStore(path, { clock: tickingClock() });
    happen(store);
    store.close();
  }
  damage(path);
  return openedStore(path, { readonly: true, clock: tickingClock() });
}

/** Damages rows, whatever the schema says of them. */
function changed(sql: string): Damage {
  return (path) =>
    inDatabase(path, (database) => {
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

type Read = (store: Store) => unknown;

const READS = {
  sessions: (store) => store.sessions(),
  subjects: (store) => store.subjects(),
  render: (store) => store.resume("a").render(),
  "render flat": (store) => store.resume("a").render({ strategy: "flat" }),
  messages: (store) => store.resume("a").messages(),
  outline: (store) => [0, 20].map((seqFrom) => outlineOf(store, "a", seqFrom, 20)),
  "end of outline": (store) => outlineOf(store, "a", 30, 100),
  roots: (store) => store.resume("a").roots({ level: "cluster" }),
  find: (store) => store.find(idOf(store, 2)),
  expand: (store) =>
    store
      .resume("a")
      .roots()
      .map(({ root }) => store.expand(root)),
  nearestRoots: (store) => store.nearestRoots(LOCK),
  recap: (store) => store.recap({ sinceMs: 0 }),
  subject: (store) => store.subject(`subject:${idOf(store, 1)}`),
  "expand a subject": (store) => store.expand(`subject:${idOf(store, 1)}`),
  export: (store) => [...store.export()],
  "export rows": (store) => [...store.exportRows()],
} satisfies Record<string, Read>;

function idOf(store: Store, seq: number): number {
  return Number(store.query(`SELECT id FROM messages NOT INDEXED WHERE session_id = 'a' AND seq = ${seq}`)[0]!.id);
}

describe("an index that lacks rows", () => {
  test.each<[index: string, lost: string, reads: (keyof typeof READS)[]]>([
    ["messages_by_seq", "seq = 3", ["sessions", "render", "messages", "outline"]],
    ["messages_by_seq", "seq = 39", ["sessions", "render", "render flat", "messages", "end of outline"]],
    ["messages_by_seq", "seq = 40", ["sessions", "render", "messages", "end of outline"]],
    ["messages_pinned", "seq = 0", ["sessions", "render", "render flat"]],
    ["themes_by_session", "root_id % 2 = 0", ["sessions", "render", "roots"]],
    ["clusters_by_session", "seq_last < 20", ["sessions", "roots", "nearestRoots"]],
    ["clusters_by_subject", "session_id = 'a'", ["subjects"]],
    ["unions_by_node", "kind IN ('start', 'join')", ["find"]],
    ["unions_by_session", "id > 10", ["find"]],
    ["unions_by_session", "kind = 'settle'", ["export rows"]],
    ["unions_by_root", "kind = 'join'", ["recap", "subject", "expand a subject"]],
    ["unions_of_subjects", "kind = 'unite'", ["expand a subject"]],
    ["messages_by_seq", "seq = 7", ["export rows"]],
    ["entries_by_session", "before_seq > 0", ["export", "export rows"]],
    ["items_by_key", "key = 'state'", ["export", "export rows"]],
    ["sessions_by_project", "id = 'b'", ["sessions"]],
  ])("%s, of rows with %s: nothing wrong is shown", (index, lost, reads) => {
    const store = damagedStore((path) => loseFromIndex(path, index, lost));
    for (const name of reads) {
      expect(() => READS[name](store), name).toThrow(isCorrupt);
    }
  });

  test("of the clusters: nothing wrong is shown", () => {
    const store = damagedStore((path) => emptyPage(path, "sqlite_autoindex_clusters_1"));
    for (const name of ["nearestRoots", "subjects"] as const) {
      expect(() => READS[name](store), name).toThrow(isCorrupt);
    }
  });

  test("does not stop reads that do not need the rows", () => {
    const store = damagedStore((path) => loseFromIndex(path, "messages_by_seq", "session_id = 'a' AND seq = 3"));
    const unreadable: string[] = [];
    const found = store.sessions({ onUnreadable: ({ sessionId }) => void unreadable.push(sessionId) });
    expect([found.map(({ id }) => id), unreadable]).toEqual([["b"], ["a"]]);
    expect(store.resume("b").messages()).toHaveLength(41);
    expect(store.resume("a").messages({ seqFrom: 10 })).toHaveLength(31);
  });
});

test.each<string | { index: string }>([
  "members = '[1]'",
  "node = node + 1",
  "kind = 'settle'",
  "level = 'theme'",
  "undone_at = id",
  "id = id + 1000",
  "generation = generation + 1",
  "root = root + 1",
  "session_id = 'b'",
  "score = 2",
  { index: "undone_unions_by_root" },
  { index: "undone_unions_by_session" },
])("rows that a rewind took back are damaged (%j): a handle from before it shows nothing wrong", (damage) => {
  const path = join(folder, "damaged.db");
  copyFileSync(whole, path);
  const store = openStore(path, { clock: tickingClock() });
  const [taken] = store.query(`SELECT root, max(id) AS position, count(*) AS n FROM unions
    WHERE session_id = 'a' AND kind IN ('start', 'join') AND level = 'cluster' GROUP BY root HAVING n > 2 ORDER BY root DESC`);
  const handle = `cluster:${taken!.root}@${taken!.position}`;
  const before = store.expand(handle).members.map(({ id }) => id);
  store.resume("a").rewind({ toSeq: 12 });
  const isOne = `root = ${taken!.root} AND id = ${taken!.position}`;
  expect(store.query(`SELECT 1 FROM undone_unions WHERE ${isOne}`)).toHaveLength(1);
  expect(store.expand(handle).members.map(({ id }) => id)).toEqual(before);
  store.close();
  if (typeof damage === "string") {
    inDatabase(path, (database) => database.exec(`UPDATE undone_unions SET ${damage} WHERE ${isOne}`));
  } else loseFromIndex(path, damage.index, isOne);
  expect(() => openedStore(path).expand(handle)).toThrow(isCorrupt);
});

test("forks whose index lacks rows show nothing, and what they share stays", () => {
  const fork = (toSeq: number) => (store: Store) => void store.resume("a").fork({ id: "f", toSeq });
  const unlisted = damagedStore((path) => emptyPage(path, "sqlite_autoindex_shared_pasts_1"), fork(1));
  expect(() => unlisted.resume("f").messages()).toThrow(isCorrupt);
  unlisted.close();
  const { path } = damagedStore((path) => emptyPage(path, "shared_pasts_by_holder"), fork(1));
  const shared = openedStore(path).resume("a");
  expect(() => shared.rewind({ toSeq: 0 })).toThrow(isCorrupt);
  expect(shared.messages()).toHaveLength(41);
});

test("a session whose newest message is damaged is not listed at another time", () => {
  const store = damagedStore(changed("UPDATE messages SET created_at_ms = 0 WHERE session_id = 'a' AND seq = 40"));
  const sinceMs = Date.UTC(2026, 0, 1);
  expect(() => store.sessions({ sinceMs })).toThrow(isCorrupt);
  expect(() => store.resume("a").info()).toThrow(isCorrupt);
  expect(() => store.recap({ sinceMs })).toThrow(isCorrupt);
  const left: unknown[] = [];
  const onUnreadable = ({ sessionId }: { sessionId: string }) => void left.push(sessionId);
  expect(store.sessions({ sinceMs, onUnreadable }).map(({ id }) => id)).toEqual(["b"]);
  store.recap({ sinceMs, onUnreadable });
  expect(new Set(left)).toEqual(new Set(["a"]));
});

test("of the settings: the store keeps its id, and the key of what was forgotten", () => {
  const path = join(folder, "damaged.db");
  copyFileSync(whole, path);
  const store = openStore(path);
  store.forget("a", { messageIds: [idOf(store, 5)] });
  const [first] = store.exportRows({ sessions: ["b"] });
  store.close();
  const settings = (): unknown[] =>
    inDatabase(path, (database) => database.prepare("SELECT * FROM store_settings NOT INDEXED").all());
  const before = settings();
  emptyPage(path, "sqlite_autoindex_store_settings_1");
  for (const readonly of [true, false]) {
    const damaged = openStore(path, { readonly });
    expect([...damaged.exportRows({ sessions: ["b"] })][0]).toBe(first);
    if (!readonly) damaged.forget("a", { messageIds: [idOf(damaged, 6)] });
    damaged.close();
  }
  expect(settings()).toEqual(before);
});

describe("an index that has rows which do not belong in it", () => {
  test.each<[index: string, condition: string, reads: (keyof typeof READS)[]]>([
    ["messages_pinned", "seq = 1", ["sessions", "render", "render flat"]],
    ["clusters_by_subject", "settled_at IS NULL", ["subjects"]],
  ])("%s, with rows of %s: nothing wrong is shown", (index, condition, reads) => {
    const store = damagedStore((path) => fillIndex(path, index, () => condition));
    for (const name of reads) {
      expect(() => READS[name](store), name).toThrow(isCorrupt);
    }
  });
});

test("a session that an index takes for a branch is damage, and can still be listed", () => {
  const store = damagedStore((path) => fillIndex(path, "sessions_superseded", () => "id = 'a'"));
  expect(() => store.sessions()).toThrow(isCorrupt);
  expect(() => store.sessionIds({ prefix: "" })).toThrow(isCorrupt);
  expect(store.sessions({ onUnreadable: () => undefined }).map(({ id }) => id)).toEqual(["b", "a"]);
});

describe("a row that is damaged", () => {
  test.each<[change: string, reads: (keyof typeof READS)[]]>([
    ["UPDATE messages SET token_count = token_count + 1 WHERE session_id = 'a' AND seq = 40", ["sessions"]],
    ["UPDATE themes SET token_count = token_count + 1", ["sessions"]],
    ["UPDATE clusters SET token_count = token_count + 1", ["subjects"]],
    ["UPDATE clusters SET centroid_sum = randomblob(length(centroid_sum)) WHERE root_id = 2", ["nearestRoots"]],
    ["UPDATE unions SET root = 1", ["find"]],
    ["UPDATE unions SET node = node + 1 WHERE kind = 'unite'", ["expand"]],
    ["UPDATE messages SET role = 'uses' WHERE session_id = 'a' AND seq = 0", ["sessions"]],
    ["UPDATE messages SET role = 'asristant' WHERE role = 'assistant'", ["recap"]],
  ])("%s: nothing wrong is shown", (change, reads) => {
    const store = damagedStore(changed(change));
    for (const name of reads) {
      expect(() => READS[name](store), name).toThrow(isCorrupt);
    }
  });

  test("does not stop `verify`, even if the log leads in a circle", () => {
    const change = "UPDATE unions SET root = node, checksum = -1 WHERE kind = 'unite' AND level = 'theme'";
    const store = damagedStore(changed(change));
    expect(store.verify().ok).toBe(false);
    expect(store.query("SELECT count(*) > 0 AS hasRows FROM theme_members")).toEqual([{ hasRows: 1 }]);
  });

  test("of a session is not taken for that of a branch", () => {
    const store = damagedStore((path) => {
      inDatabase(path, (database) => database.exec("UPDATE sessions SET superseded_at_ms = 1 WHERE id = 'b'"));
      loseFromIndex(path, "sessions_superseded", "id = 'b'");
    });
    expect(() => store.sessions()).toThrow(isCorrupt);
    const unreadable: string[] = [];
    store.sessions({ onUnreadable: ({ sessionId }) => void unreadable.push(sessionId) });
    expect(unreadable).toEqual(["b"]);
    expect(
      [...store.export({ onUnreadable: () => undefined })].filter((line) => "role" in line && line.session === "b"),
    ).toHaveLength(41);
  });

  test("of a cluster does not show another subject as its own", () => {
    const undamaged = openedStore(whole, { readonly: true });
    const [{ root, other }] = undamaged.query(`
      SELECT root_id AS root, (SELECT min(subject_parent_id) FROM clusters) AS other FROM clusters
      WHERE session_id = 'a' AND subject_parent_id = root_id ORDER BY root_id DESC LIMIT 1`) as [
      { root: number; other: number },
    ];
    expect(root).not.toBe(other);
    const store = damagedStore(changed(`UPDATE clusters SET subject_parent_id = ${other} WHERE root_id = ${root}`));
    expect(() => store.recap({ sinceMs: 0 })).toThrow(isCorrupt);
    const named: string[] = [];
    const { topics } = store.recap({ sinceMs: 0, onUnreadable: ({ sessionId }) => void named.push(sessionId) });
    expect(named).toEqual(["a"]);
    expect(topics.flatMap(({ sessionIds }) => sessionIds)).not.toContain("a");
    expect(() => store.subject(`subject:${root}`)).toThrow(isCorrupt);
    expect(() => store.find(root)).toThrow(isCorrupt);
  });

  test("of a session without messages does not leave the list by a time that is not its own", () => {
    const store = damagedStore((path) => {
      const growing = openStore(path, { clock: tickingClock() });
      growing.session("empty", SETTINGS);
      growing.close();
      inDatabase(path, (database) => database.exec("UPDATE sessions SET created_at_ms = 1 WHERE id = 'empty'"));
    });
    expect(() => store.sessions({ limit: 1 })).toThrow(isCorrupt);
    expect(() => store.recap({ sinceMs: 1_000 })).toThrow(isCorrupt);
    const named: string[] = [];
    store.sessions({ limit: 1, onUnreadable: ({ sessionId }) => void named.push(sessionId) });
    expect(named).toEqual(["empty"]);
  });

  test("of a cluster is not taken for that of another one, which an index names", () => {
    const undamaged = openedStore(whole, { readonly: true });
    const roots = undamaged.query("SELECT root_id FROM clusters WHERE session_id = 'a' ORDER BY root_id");
    const store = damagedStore((path) => swapEntries(path, "sqlite_autoindex_clusters_1", 0, 1));
    for (const { root_id } of roots.slice(0, 2)) expect(() => store.find(root_id as number)).toThrow(isCorrupt);
  });

  test("is left out of a recap and of the page of a subject, which name its session", () => {
    const store = damagedStore(
      changed("UPDATE messages SET stored_text = 'Other words.' WHERE session_id = 'a' AND seq = 1"),
    );
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
});

test.each([
  ["NULL", `replace(sql, '"stored_text" text NOT NULL', '"stored_text" text')`, "stored_text = NULL"],
  ["a BLOB", `replace(sql, ' <> ''blob'' THEN stored_text', ' <> '''' THEN CAST(stored_text AS BLOB)')`, "seq = seq"],
])("a message whose text reads as %s is damage, though SQLite finds none", (_what, schema, change) => {
  const path = join(folder, "damaged.db");
  copyFileSync(whole, path);
  const store = openStore(path, { clock: tickingClock() });
  store.session("c", SETTINGS).appendAll([user(LOCK), user("The gate stays shut.")]);
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

/** Returns the first value that a query finds in a file. */
function valueIn(path: string, sql: string): number {
  return inDatabase(path, (database) => database.prepare<[], number>(sql).pluck().get()!);
}

const IN_STEP = "messages_by_step";
const SHARED = "(SELECT log_position FROM shared_pasts WHERE session_id = 'f')";
const UNITES = "FROM unions WHERE session_id = 'a' AND kind = 'unite' AND level = 'theme'";
const forked = (store: Store) => void store.resume("a").fork({ id: "f", toSeq: 35 });

test.each<[what: string, damage: Damage, read: Read, happen?: (store: Store) => void]>([
  [
    "a subject without its first message",
    changed("DELETE FROM messages WHERE session_id = 'a' AND seq = 1"),
    (store) => store.expand("subject:2", { limit: 1 }),
  ],
  [
    "a subject whose first message names an unknown session",
    changed("UPDATE messages SET session_id = 'x' WHERE id = 2"),
    (store) => store.expand("subject:2", { limit: 50 }),
  ],
  ["a subject whose messages are all gone", changed("DELETE FROM messages"), (store) => store.expand("subject:2")],
  [
    "a subject in an order that a damaged session gives it",
    changed("UPDATE sessions SET created_at_ms = 1 WHERE id = 'b'"),
    READS["expand a subject"],
  ],
  [
    "a subject in another order, because an index lacks a session",
    (path) => changePage(path, "sqlite_autoindex_sessions_1", "b", "c"),
    READS["expand a subject"],
  ],
  ["a subject with one of its clusters twice", (path) => repeatEntry(path, "clusters_by_subject", 0, 1), READS.subject],
  [
    "a subject with a step that an index of the log names under its root",
    (path) => {
      const isRoot = "node = (SELECT id FROM messages WHERE session_id = 'a' AND seq = 1) AND level = 'cluster'";
      const root = valueIn(path, `SELECT root FROM unions WHERE ${isRoot}`);
      const other = valueIn(path, `SELECT max(id) FROM unions WHERE kind IN ('start', 'join') AND root <> ${root}`);
      rekeyIndex(path, "unions_by_root", "root", `CASE id WHEN ${other} THEN ${root} ELSE root END`);
    },
    READS["expand a subject"],
  ],
  [
    "a subject with a message that an index has in a step of it",
    (path) => {
      const step = valueIn(path, "SELECT id FROM messages WHERE session_id = 'a' AND seq = 1");
      rekeyIndex(path, IN_STEP, "step_id", `(CASE session_id WHEN 'c' THEN ${step} ELSE step_id END)`);
    },
    READS["expand a subject"],
    (store) => store.session("c", SETTINGS).appendAll([calls(["c1"]), results(["c1"], LOCK)]),
  ],
  [
    "a cluster with a message that an index has in a step of it",
    (path) => {
      const first = valueIn(path, "SELECT id FROM messages WHERE session_id = 'c' AND seq = 0");
      const [one, other] = [first, first + 3];
      const swapped = `(CASE step_id WHEN ${one} THEN ${other} WHEN ${other} THEN ${one} ELSE step_id END)`;
      rekeyIndex(path, IN_STEP, "step_id", swapped);
    },
    (store) => store.expand(store.resume("c").roots({ level: "cluster" })[0]!.root),
    (store) => {
      const answered = (id: string, text: string) => [calls([id]), results([id], text)];
      store
        .session("c", { ...SETTINGS, hotSize: 1, overlap: 0, evictBatch: 1 })
        .appendAll([...answered("c1", "one"), user("Now the other."), ...answered("c2", "two"), ...talk(6)]);
    },
  ],
  [
    "a page of members, if the place of another member is damaged",
    (path) => loseFromIndex(path, "messages_by_seq", "session_id = 'a' AND seq = 3"),
    (store) => store.expand(openedStore(whole, { readonly: true }).find(3).theme!, { limit: 1 }),
  ],
  ["items out of order", (path) => swapEntries(path, "items_by_key", 0, 1), (store) => store.items.list([])],
  [
    "entries out of order",
    (path) => swapEntries(path, "entries_by_session", 0, 3),
    (store) => store.resume("b").entries.list(),
  ],
  [
    "moves of the frontier out of order",
    (path) => swapEntries(path, "sqlite_autoindex_frontier_moves_1", 0, 2),
    READS["export rows"],
  ],
  [
    "a session that is not where the index has it",
    (path) => swapEntries(path, "sqlite_autoindex_sessions_1", 0, 2),
    (store) => store.resume("b").info(),
    (store) => store.session("c", SETTINGS).append(user("Nobody asked for this.")),
  ],
  [
    "an opening that SQLite cannot compute",
    redefined("replace(sql, 'json_valid(parts)', 'json_valid(pabts)')"),
    (store) => store.resume("a").info(),
  ],
  [
    "a fork whose shared messages are in no index",
    (path) => loseFromIndex(path, "messages_by_seq", "session_id = 'a' AND seq < 2"),
    (store) => store.resume("f").info(),
    forked,
  ],
  [
    "themes of a fork, from a log that lacks a unite",
    (path) => {
      const unite = valueIn(path, `SELECT max(id) ${UNITES} AND id <= ${SHARED}`);
      loseFromIndex(path, "unions_by_session", `id = ${unite}`);
    },
    (store) => store.resume("f").info(),
    forked,
  ],
  ...(["render", "pressure"] as const).map((read): [string, Damage, Read, (store: Store) => void] => [
    `${read} of a fork, with the forest of a session whose index lacks what came after it`,
    (path) => {
      const position = valueIn(path, `SELECT ${SHARED}`);
      loseFromIndex(path, "unions_by_session", `session_id = 'a' AND id > ${position}`);
    },
    (store) => store.resume("f")[read]({ tokensMax: 5_000 }),
    forked,
  ]),
  [
    "themes that an index leads in a circle",
    (path) => {
      const last = valueIn(path, `SELECT min(id) ${UNITES} AND root NOT IN (SELECT node ${UNITES})`);
      rekeyIndex(path, "unions_by_node", "node", `CASE id WHEN ${last} THEN root ELSE node END`);
    },
    (store) => store.resume("f").roots(),
    forked,
  ],
  [
    "a recap with less of a fork, because a row of it names no session",
    (path) => {
      const id = valueIn(path, "SELECT id FROM messages WHERE session_id = 'f' AND seq = 22");
      changed(`UPDATE messages SET session_id = 'g' WHERE id = ${id}`)(path);
      rekeyIndex(path, "messages_by_seq", "session_id", `(CASE id WHEN ${id} THEN 'f' ELSE session_id END)`);
    },
    READS.recap,
    (store) => {
      const fork = store.resume("a").fork({ id: "f", toSeq: 20 });
      fork.appendAll([calls(["c1"]), results(["c1"], "None is stale."), ...talk(20)]);
      fork.compact();
    },
  ],
])("%s: nothing wrong is shown", (_, damage, read, happen) => {
  const sound = damagedStore(() => {}, happen);
  expect(() => read(sound)).not.toThrow();
  sound.close();
  const store = damagedStore(damage, happen);
  expect(() => read(store)).toThrow(isCorrupt);
});

test("a message that SQLite cannot compute does not stop `verify` at a session without messages", () => {
  const damage = redefined("replace(sql, 'json_valid(parts)', 'json_valid(pabts)')");
  const store = damagedStore(damage, (store) => store.session("empty", SETTINGS));
  expect(store.verify().ok).toBe(false);
});

test("an index of the log with a wrong position is made again before members are shown", () => {
  const undamaged = openedStore(whole, { readonly: true });
  const [grown] = undamaged.query(`SELECT root, json_group_array(id) AS ids FROM (
    SELECT root, id FROM unions WHERE kind IN ('start', 'join') AND level = 'cluster' AND session_id = 'a' ORDER BY id)
    GROUP BY root HAVING count(*) > 3 ORDER BY root LIMIT 1`);
  const positions = JSON.parse(String(grown!.ids)) as number[];
  const handle = `cluster:${grown!.root}@${positions.at(-2)}`;
  const right = undamaged.expand(handle).members;
  const store = damagedStore((path) =>
    rekeyIndex(path, "unions_by_root", "id", `CASE id WHEN ${positions[1]} THEN ${positions.at(-1)} ELSE id END`),
  );
  expect(() => store.expand(handle)).toThrow(isCorrupt);
  openedStore(store.path).verify({ rebuild: true });
  expect(openedStore(store.path, { readonly: true }).expand(handle).members).toEqual(right);
});

test("a subject does not show the clusters that had left it, if the row that says so is damaged", async () => {
  const path = join(folder, "dissolved.db");
  copyFileSync(whole, path);
  let now = Date.UTC(2026, 2, 1);
  const store = openStore(path, { clock: () => (now += 1_000) });
  const [step] = store.query("SELECT min(node) AS node FROM unions WHERE session_id = 'a' AND kind = 'join'");
  store.forget("a", { messageIds: [step!.node as number] });
  const dissolved = store.query("SELECT id, node FROM unions WHERE kind = 'dissolve'");
  await store.upkeep();
  const [{ root }] = store.query(`SELECT root FROM unions WHERE kind = 'unite' AND level = 'subject' LIMIT 1`) as [
    { root: number },
  ];
  store.close();
  const read = (damage?: string): unknown => {
    const copy = join(folder, "damaged.db");
    copyFileSync(path, copy);
    inDatabase(copy, (database) => {
      database.pragma("ignore_check_constraints = ON");
      database.pragma("foreign_keys = OFF");
      if (damage !== undefined) database.exec(damage);
    });
    const store = openedStore(copy, { readonly: true, clock: tickingClock() });
    try {
      return store.expand(`subject:${root}`).members.map(({ id }) => id);
    } catch (error) {
      return (error as { code?: unknown }).code;
    } finally {
      store.close();
    }
  };
  expect(dissolved.length).toBeGreaterThan(0);
  const right = read();
  expect(right).toEqual(expect.arrayContaining([root]));
  const answers = dissolved.flatMap(({ id }) =>
    ["kind = 'dissolvd'", "generation = 3"].map((change) => read(`UPDATE unions SET ${change} WHERE id = ${id}`)),
  );
  // Those of other subjects are not read.
  for (const answer of answers) if (answer !== "STORE_CORRUPT") expect(answer).toEqual(right);
  expect(answers).toContain("STORE_CORRUPT");
});

test("a message is in no other step than its own, even if the index by step has it in one that is read, too", () => {
  let steps: number[] = [];
  const store = damagedStore((path) => {
    const growing = openStore(path, { clock: tickingClock() });
    const session = growing.session("c", SETTINGS);
    session.appendAll([calls(["c1"]), results(["c1"], "one"), user("Now the other.")]);
    const [call, result, other] = session.messages().map(({ id }) => id);
    steps = [call!, other!];
    growing.close();
    rekeyIndex(path, "messages_by_step", "step_id", `(CASE id WHEN ${result} THEN ${other} ELSE step_id END)`);
  });
  expect(() => internalsOf(store).repositories.messages.idsOfSteps(steps)).toThrow("in a wrong step");
});

test("a session is not left out because the index has an older message in the place of its newest", () => {
  const sinceMs = Date.UTC(2026, 0, 9);
  const later = (damage: (path: string) => void): Store =>
    damagedStore((path) => {
      const growing = openStore(path, { clock: () => sinceMs });
      growing.resume("a").append(user("Later."));
      growing.close();
      damage(path);
    });
  const sound = later(() => {});
  expect(sound.recap({ sinceMs })).toMatchObject({ sessionCount: 1 });
  sound.close();
  const swapped = "(CASE seq WHEN 41 THEN 3 WHEN 3 THEN CASE session_id WHEN 'a' THEN 41 ELSE 3 END ELSE seq END)";
  expect(() => later((path) => rekeyIndex(path, "messages_by_seq", "seq", swapped)).recap({ sinceMs })).toThrow(
    isCorrupt,
  );
});

test("no handle has the id that a flipped bit gives to the newest row of the log", () => {
  const sound = damagedStore(() => {});
  const found = READS.find(sound);
  sound.close();
  const store = damagedStore((path) => {
    inDatabase(path, (database) => {
      const position = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'unions'").pluck().get();
      database.exec("UPDATE unions SET id = id + 2 WHERE id = (SELECT max(id) FROM unions)");
      database.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'unions'").run(position);
    });
    restorePage(path, "unions_by_session", whole);
  });
  expect(READS.find(store)).toEqual(found);
});

test.each([
  ["lacks one", (path: string) => loseFromIndex(path, "messages_by_seq", "session_id = 'a' AND seq = 2")],
  [
    "has another in its place",
    (path: string) => rekeyIndex(path, "messages_by_seq", "seq", "(CASE seq WHEN 2 THEN 9 WHEN 9 THEN 2 ELSE seq END)"),
  ],
])("a hit is not shown with neighbors of which the index %s", async (_, damage) => {
  const sound = damagedStore(() => {});
  const [hit] = await sound.recall(`"${LOCK}"`, { sessionIds: ["a"] });
  sound.close();
  expect(hit!.neighbors.map(({ seq }) => seq)).toEqual([0, 2]);
  await expect(damagedStore(damage).recall(`"${LOCK}"`, { sessionIds: ["a"] })).rejects.toThrow(isCorrupt);
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
    const { database, evidence, generations, pushedRows } = internalsOf(store).repositories;
    const { embedderId } = generations.newest()!;
    const id = idOf(store, 5);
    expect(() => database.read(() => evidence.embeddings([id], embedderId))).toThrow(isCorrupt);
    expect(() => database.read(() => [...pushedRows.vectors("a")])).toThrow(isCorrupt);
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

test("a schema that computes other texts is not called sound", () => {
  const store = damagedStore(redefined("replace(sql, '[0].content', '[1].content')"));
  const text = "the definition of table messages is not the one of this version";
  expect(store.verify().problems).toContainEqual({ sessionId: null, text, rebuildable: false });
  expect(() => store.resume("a").info()).toThrow(isCorrupt);
  expect(() => store.sessions()).toThrow(isCorrupt);
});

describe("a row that is gone, or whose content is damaged", () => {
  /** A store with a step of a call and its result, a long string, and items. */
  function storeWith(damage: (path: string) => void): Store {
    const path = join(mkdtempSync(join(folder, "rows-")), "store.db");
    const store = openStore(path, { clock: tickingClock() });
    const session = store.session("a", SETTINGS);
    const call = { type: "tool_call" as const, toolCallId: "1", name: "read", args: { path: "a.ts" } };
    const result = { type: "tool_result" as const, toolCallId: "1", content: "long ".repeat(4_000) };
    session.appendAll([user("Read it."), { role: "assistant", parts: [call] }, { role: "tool", parts: [result] }]);
    session.appendAll(talk(20));
    for (const name of ["x", "y"]) store.items.put([name], "state", "calm", { session: "a" });
    session.entries.append([{ value: "calm" }]);
    session.rewind({ toSeq: session.messages().at(-3)!.seq });
    store.close();
    damage(path);
    return openedStore(path, { readonly: true, clock: tickingClock() });
  }

  test.each<[string, (path: string) => void, Read]>([
    [
      "the first message of a step",
      changed("DELETE FROM messages WHERE seq = 1"),
      (store) => store.expand(3, { level: "step" }),
    ],
    [
      "a long string",
      changed("UPDATE artifacts SET content = randomblob(100)"),
      (store) => [...store.exportRows({ sessions: ["a"] })],
    ],
    [
      "the name of an embedder",
      changed("UPDATE messages SET embedder_id = 'other' WHERE seq = 0"),
      (store) => [...store.exportRows({ sessions: ["a"] })],
    ],
    ["items", (path) => emptyPage(path, "items"), (store) => store.items.namespaces()],
    [
      "an item in the index",
      (path) => loseFromIndex(path, "items_by_key", "key = 'state'"),
      (store) => store.items.list([]),
    ],
    [
      "an item's key in the index",
      (path) => changePage(path, "items_by_key", '["y"]', '["z"]'),
      (store) => store.items.get(["y"], "state"),
    ],
    [
      "an entry in the index",
      (path) => loseFromIndex(path, "entries_by_session", "id = 1"),
      (store) => store.resume("a").entries.list(),
    ],
    [
      "a branch in the index",
      (path) => loseFromIndex(path, "sessions_by_parent", "parent_session_id = 'a'"),
      (store) => store.resume("a").branches(),
    ],
    [
      "a message of a branch in the index",
      (path) => loseFromIndex(path, "messages_by_seq", "session_id <> 'a'"),
      (store) => store.resume("a").branches(),
    ],
  ])("%s: nothing wrong is shown", (_what, damage, read) => {
    expect(() => read(storeWith(() => {}))).not.toThrow();
    const store = storeWith(damage);
    expect(() => read(store)).toThrow(isCorrupt);
  });
});
