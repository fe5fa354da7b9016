import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importRows } from "../../../src/imports/import-rows.ts";
import { openStore, type Session, type Store, StoreError } from "../../../src/index.ts";
import { ID_BLOCK_SIZE } from "../../../src/store/derived/id-block.ts";
import { rowOfText } from "../../../src/store/moves/read-rows.ts";
import { columns } from "../../../src/store/sql/statement.ts";
import { TABLES } from "../../../src/store/sql/tables.ts";
import { letterEmbedder } from "../../support/other-embedders.ts";
import { allRows, inSealed } from "../../support/rows.ts";
import { assistant, calls, results, talk, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryFolder } from "../../support/temporary-store.ts";

const SMALL = {
  hotSize: 6,
  overlap: 2,
  evictBatch: 6,
  maxThemes: 3,
  openClustersMax: 4,
  resolveTokensMin: 50,
} as const;

/** Writes the rows of sessions, by default of all, into a file. */
function exported(store: Store, ...sessions: string[]): string {
  const path = join(temporaryFolder(), "moved.rows");
  const lines = store.export({ rows: true, ...(sessions.length > 0 && { sessions }) });
  writeFileSync(path, [...lines].map((line) => `${line}\n`).join(""));
  return path;
}

function newStore(name = "agent"): Store {
  return openedStore(join(temporaryFolder(), `${name}.db`), { summarizer: scriptedSummarizer("good") });
}

/** A store whose ids come from a block, so that ids of two such stores are equally long. */
function storeWithBlock(block: number): Store {
  const path = join(temporaryFolder(), "agent.db");
  openStore(path).close();
  inSealed(path, (database) => {
    database.exec("DELETE FROM sqlite_sequence WHERE name <> 'generations'");
    const set = database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)");
    for (const table of ["messages", "unions", "summaries", "entries"]) set.run(table, block * ID_BLOCK_SIZE);
    const value = JSON.stringify({ block, newestOfFirst: 0 });
    database.prepare("INSERT INTO store_settings (name, value, checksum) VALUES ('idBlock', ?, -1)").run(value);
  });
  return openedStore(path, { summarizer: scriptedSummarizer("good") });
}

/** Makes a store take part in exchanges before it begins sessions. */
function withOwnIds(store: Store): Store {
  for (const _ of store.export({ rows: true, sessions: [], ownIds: true }));
  return store;
}

/** Everything that a reader can see of a session. */
function seen(store: Store, id: string): unknown {
  const session = store.resume(id);
  return {
    messages: session.messages(),
    contexts: [800, 2_000, 8_000].map((tokensMax) => session.render({ tokensMax })),
    queried: session.render({ tokensMax: 2_000, query: "lock file of the region" }),
    others: (["flat", "sandwich"] as const).map((strategy) => session.render({ tokensMax: 3_000, strategy })),
    roots: session.roots(),
    clusters: session.roots({ level: "cluster" }),
    expanded: session.roots().map(({ root }) => store.expand(root)),
    branches: session.branches().map(({ id: branchId }) => [...store.export({ sessions: [branchId] })]),
    entries: session.entries.list(),
    items: store.items.list([id]),
    frontier: store.query(`SELECT title, project, graduated_seq, evicted_seq FROM sessions WHERE id = '${id}'`),
  };
}

function expectSound(store: Store): void {
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
}

/** A session with some of everything. */
async function rich(store: Store, id: string, parts: Partial<Record<"project", string>> = {}): Promise<Session> {
  const session = store.session(id, { ...SMALL, ...parts });
  session.append({ role: "system", content: "You are careful." });
  session.append(user("Remember the harbor rule.", { pinned: true }));
  session.append(talk(30));
  session.append(calls(["c1", "c2"]));
  session.append(results(["c1"], "a long output is kept apart ".repeat(1_000)));
  session.append(results(["c2"], "short"));
  session.entries.append([{ id: "e1", value: { step: 1 } }]);
  store.items.put([id], "note", { open: true }, { session: id });
  await session.resolveDirty();
  session.append(talk(20).map((message, index) => ({ ...message, id: `m${index}` })));
  session.rewind({ toSeq: 44 });
  session.entries.append([{ value: "after the rewind" }]);
  session.append(assistant("Another way."));
  const [gone] = session.messages({ seqFrom: 12, seqTo: 12 });
  store.forget(id, { messageIds: [gone!.id] });
  session.append(talk(25));
  await session.resolveDirty();
  return session;
}

test("a session moves into a fresh store, goes on there, and is taken back", () => {
  const home = newStore();
  home.session("moving", SMALL).append(talk(60));
  const fresh = newStore();
  expect(importRows(fresh, exported(home))).toEqual([
    { sessionId: "moving", outcome: "new", newCount: 60, forgottenCount: 0, notes: [], error: null },
  ]);
  expect(seen(fresh, "moving")).toEqual(seen(home, "moving"));
  expectSound(fresh);

  fresh.resume("moving").append(talk(50));
  fresh.session("other").append(talk(20));
  home.session("meanwhile").append(talk(20));
  expect(importRows(home, exported(fresh, "moving"))).toMatchObject([{ outcome: "continued", newCount: 50 }]);
  expect(seen(home, "moving")).toEqual(seen(fresh, "moving"));
  home.resume("moving").append(talk(10));
  expectSound(home);
  expect(importRows(fresh, exported(home))).toMatchObject([
    { sessionId: "moving", outcome: "continued", newCount: 10 },
    { sessionId: "meanwhile", outcome: "new", newCount: 20 },
  ]);
  expectSound(fresh);
});

/**
 * Goal: no kind of row is left behind, wherever the session goes.
 * Method: a session with pinned messages, long strings, calls, summaries, a branch, forgotten messages, entries and items; a fresh store,
 * and one with sessions of the same project.
 */
test("everything of a session moves", async () => {
  const home = newStore();
  await rich(home, "other", { project: "web" });
  await rich(home, "moving", { project: "web" });
  const busy = withOwnIds(newStore());
  await rich(busy, "own", { project: "web" });
  await busy.upkeep();
  const own = seen(busy, "own");
  const path = exported(home, "moving");
  for (const store of [newStore(), busy]) {
    expect(importRows(store, path)).toMatchObject([
      { outcome: "new", notes: store === busy ? [expect.any(String)] : [] },
    ]);
    expect(seen(store, "moving")).toEqual(seen(home, "moving"));
    expectSound(store);
    expect(await store.recall("lock file bucket", { sessionIds: ["moving"] })).toHaveLength(10);
    await store.upkeep();
    expectSound(store);
    store.resume("moving").undo();
    expectSound(store);
  }
  expect(seen(busy, "own")).toEqual(own);
  home.resume("moving").undo();
  const [here, there] = [home, busy].map((store) =>
    store
      .resume("moving")
      .messages()
      .map(({ text }) => text),
  );
  expect(there).toEqual(here);
});

test("the next fifty messages are placed in the same way in both stores", () => {
  const [home, away] = [storeWithBlock(5_000), storeWithBlock(6_000)];
  home.session("s", SMALL).append(talk(40));
  away.session("own", SMALL).append(talk(12));
  expect(importRows(away, exported(home))).toMatchObject([{ error: null, outcome: "new" }]);
  const said = talk(50, 3).map((message) => ({ ...message, createdAt: 1_800_000_000_000 }));
  const after = [home, away].map((store) => {
    const session = store.resume("s");
    const contexts = said.map((message) => {
      session.append(message);
      return session.render({ tokensMax: 1_500 });
    });
    const seqOf = new Map(session.messages().map(({ id, seq }) => [id, seq]));
    const first = session.messages({ seqFrom: 40, limit: 1 })[0]!.id;
    // New ids and log positions differ, and are equally long.
    const plain = (digits: string): string => {
      const id = Number(digits);
      return seqOf.has(id) ? `#${seqOf.get(id)}` : id > first ? `+${id - first}` : digits;
    };
    return JSON.stringify([contexts, session.roots(), session.roots({ level: "cluster" })]).replace(/\d{13}/g, plain);
  });
  const [here, there] = after.map((text) => text.replace(/@[#+]?\d+/g, "@"));
  expect(there).toBe(here);
});

test("what the store has already is not written again, and two continuations are refused", () => {
  const [home, away] = [newStore(), newStore()];
  const session = home.session("s", SMALL);
  session.append(talk(30));
  const early = exported(home);
  importRows(away, early);
  const rows = allRows(away.path);
  expect(importRows(away, early)).toMatchObject([{ outcome: "known", newCount: 0 }]);
  expect(allRows(away.path)).toEqual(rows);

  session.append(user("only at home"));
  importRows(away, exported(home));
  expect(importRows(away, early)).toMatchObject([{ outcome: "known" }]);
  expect(away.resume("s").messages({ last: 1 })[0]?.text).toBe("only at home");

  const { messageId } = away.resume("s").append(user("only away"));
  session.append(user("at home again"));
  const before = allRows(away.path);
  expect(importRows(away, exported(home))).toEqual([
    {
      ...{ sessionId: "s", outcome: "refused", newCount: 0, forgottenCount: 0, notes: [] },
      error: new StoreError("SESSION_DIVERGED", { sessionId: "s", what: `message ${messageId}` }),
    },
  ]);
  expect(allRows(away.path)).toEqual(before);
});

test("a newer state drops no item that only the receiving store has, nor its title", () => {
  const [here, there] = [newStore(), newStore()];
  const put = (store: Store, key: string, value: string) => store.items.put(["n"], key, value, { session: "s" });
  const values = (store: Store) => Object.fromEntries(store.items.list(["n"]).map(({ key, value }) => [key, value]));
  here.session("s").append(talk(4));
  put(here, "both", "old");
  importRows(there, exported(here));
  const older = exported(here);
  there.resume("s").update({ title: "own title" });
  for (const key of ["both", "own"]) put(there, key, "there");
  here.resume("s").append(user("more"));
  for (const key of ["both", "came"]) put(here, key, "here");
  const [continued] = importRows(there, exported(here));
  expect(continued).toMatchObject({ outcome: "continued", newCount: 1 });
  expect(continued!.notes).toEqual(['The item "both" of this store was replaced with the one that came.']);
  expect(values(there)).toEqual({ both: "here", came: "here", own: "there" });
  expect(there.resume("s").info().title).toBe("own title");

  expect(importRows(there, older)).toMatchObject([{ outcome: "known", notes: [] }]);
  expect(values(there)).toEqual({ both: "here", came: "here", own: "there" });
  here.resume("s").update({ title: "new title" });
  const [renamed] = importRows(there, exported(here));
  expect(renamed!.notes).toEqual(['The title "own title" of this store was replaced with the one that came.']);
  expect(there.resume("s").info().title).toBe("new title");
  expect(values(there)).toEqual({ both: "here", came: "here", own: "there" });
  expect(there.verify().problems).toEqual([]);
});

test("going back and forgetting move, too", () => {
  const [home, away] = [newStore(), newStore()];
  const session = home.session("s", SMALL);
  session.append(talk(40));
  importRows(away, exported(home));
  session.rewind({ toSeq: 29 });
  session.append(user("another way"));
  expect(importRows(away, exported(home))).toMatchObject([{ outcome: "continued", newCount: 1 }]);
  expect(seen(away, "s")).toEqual(seen(home, "s"));
  home.forget("s", { messageIds: [session.messages({ seqFrom: 3, limit: 1 })[0]!.id] });
  expect(importRows(away, exported(home))).toMatchObject([{ outcome: "continued", newCount: 0 }]);
  expect(seen(away, "s")).toEqual(seen(home, "s"));
  expectSound(away);

  // An older file does not bring back what was forgotten.
  const other = newStore();
  importRows(other, exported(home));
  other.forget("s", { messageIds: [other.resume("s").messages({ last: 1 })[0]!.id] });
  expect(importRows(other, exported(home))).toMatchObject([{ outcome: "known" }]);
  expect(other.resume("s").messages({ last: 1 })[0]?.text).not.toBe("another way");
});

test("taken ids are refused, and sessions that begin with own ids are not", () => {
  const [home, away] = [newStore(), newStore()];
  home.session("s").append(talk(10));
  const { messageId } = away.session("own").append(user("first"));
  const path = exported(home);
  const before = allRows(away.path);
  const error = new StoreError("ID_TAKEN", { sessionId: "s", what: `message ${messageId}`, holder: "own" });
  expect(importRows(away, path)).toMatchObject([{ outcome: "refused", error }]);
  expect(allRows(away.path)).toEqual(before);

  away.forget("own");
  expect(importRows(away, path)).toMatchObject([{ outcome: "refused", error: { details: { holder: null } } }]);

  withOwnIds(home).session("later").append(talk(10));
  expect(importRows(away, exported(home, "later"))).toMatchObject([{ outcome: "new" }]);
  expectSound(away);
});

test("a forgotten session and a session of another embedder stay out", async () => {
  const [home, away] = [newStore(), newStore()];
  home.session("s").append(talk(10));
  const path = exported(home);
  importRows(away, path);
  away.forget("s");
  expect(importRows(away, path)).toMatchObject([{ outcome: "refused", error: { code: "SESSION_FORGOTTEN" } }]);
  away.restore("s");
  expect(importRows(away, path)).toMatchObject([{ outcome: "new" }]);

  const letters = openedStore(join(temporaryFolder(), "letters.db"), { embedder: letterEmbedder });
  expect(importRows(letters, path)).toMatchObject([{ outcome: "refused", error: { code: "EMBEDDER_MISMATCH" } }]);
  expect(letters.sessions()).toEqual([]);
});

test("a session that was embedded again moves with the forest in use", async () => {
  const home = newStore();
  home.session("s", SMALL).append(talk(60));
  await home.resume("s").resolveDirty();
  await home.reembed({ embedder: letterEmbedder });
  home.resume("s").append(talk(80).slice(60));
  const away = openedStore(join(temporaryFolder(), "letters.db"), { embedder: letterEmbedder });
  expect(importRows(away, exported(home))).toMatchObject([{ outcome: "new", newCount: 80 }]);
  expect(seen(away, "s")).toEqual(seen(home, "s"));
  expectSound(away);
  for (const store of [home, away]) store.resume("s").rewind({ toSeq: 50 });
  const [here, there] = [home, away].map((store) =>
    store
      .resume("s")
      .roots()
      .map(({ seqFirst, seqLast }) => [seqFirst, seqLast]),
  );
  expect(there).toEqual(here);
  expectSound(away);
});

test("a message may have a vector only of the embedder of its session", () => {
  const home = newStore();
  home.session("s", SMALL).append(talk(12));
  const path = exported(home);
  const changed = rowChanger(path, ({ table, row }) => table === "messages" && row.seq === 3);
  const away = newStore();
  for (const embedderId of ["other", null]) {
    changed({ embedderId });
    expect(importRows(away, path)).toMatchObject([{ outcome: "refused", error: { code: "ROWS_INVALID" } }]);
  }
  expect(away.sessions()).toEqual([]);
  changed({ embedderId: "older", embedding: null });
  expect(importRows(away, path)).toMatchObject([{ outcome: "new", newCount: 12 }]);
  expect(away.query("SELECT embedder_id AS embedderId FROM messages WHERE seq = 3")).toEqual([{ embedderId: null }]);
  expect(importRows(newStore(), exported(away))).toMatchObject([{ outcome: "new" }]);
  expectSound(away);
});

test("a message may have only the vector that the embedder makes of its text", () => {
  const home = newStore();
  home.session("s", SMALL).append(talk(12));
  const path = exported(home);
  const rows = readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -2)
    .map((line) => JSON.parse(line) as FileRow);
  const { row: other } = rows.find(({ table, row }) => table === "messages" && row.seq === 8)!;
  const changed = rowChanger(path, ({ table, row }) => table === "messages" && row.seq === 3);
  const away = newStore();
  changed({ embedding: other.embedding });
  expect(importRows(away, path)).toMatchObject([{ outcome: "refused", error: { code: "ROWS_INVALID" } }]);
  expect(away.sessions()).toEqual([]);
  changed({});
  expect(importRows(away, path)).toMatchObject([{ outcome: "new" }]);
  expectSound(away);
});

test("a session whose frontier cannot be is refused", () => {
  const home = newStore();
  home.session("s", SMALL).append(talk(12));
  const path = exported(home);
  const changed = rowChanger(path, ({ table }) => table === "sessions");
  const away = newStore();
  const wrong = { graduatedSeq: 0, evictedSeq: 1 };
  for (const before of ["none", "an earlier state"]) {
    changed(wrong);
    expect(importRows(away, path), before).toMatchObject([{ outcome: "refused", error: { code: "ROWS_INVALID" } }]);
    changed({});
    expect(importRows(away, path)).toMatchObject([{ error: null }]);
  }
  expectSound(away);
});

test("a child comes before its parent, and finds it later", () => {
  const [home, away] = [withOwnIds(newStore()), newStore()];
  home.session("parent").append(talk(4));
  home.session("child").append(talk(4));
  inSealed(home.path, (database) =>
    database.exec("UPDATE sessions SET parent_session_id = 'parent', checksum = -1 WHERE id = 'child'"),
  );
  const parentOf = (id: string): unknown => away.sessions().find((session) => session.id === id)?.parentSessionId;
  importRows(away, exported(home, "child"));
  expect(parentOf("child")).toBeNull();
  importRows(away, exported(home, "parent"));
  expect(importRows(away, exported(home, "child"))).toMatchObject([{ outcome: "known" }]);
  expect(parentOf("child")).toBe("parent");
  expectSound(away);
  const both = newStore();
  expect(importRows(both, exported(home, "child", "parent")).map(({ sessionId }) => sessionId)).toEqual([
    "parent",
    "child",
  ]);
});

test("a file that is cut, changed, of another format or no such file is refused before anything is written", () => {
  const home = newStore();
  home.session("s", SMALL).append(talk(12));
  const path = exported(home);
  const whole = readFileSync(path, "utf8");
  const lines = whole.split("\n").slice(0, -1);
  const away = newStore();
  const before = allRows(away.path);
  const refusal = (content: string | Buffer): unknown => {
    writeFileSync(path, content);
    try {
      return importRows(away, path);
    } catch (error) {
      return StoreError.is(error) ? error.code : error;
    }
  };
  for (const count of [0, 1, 2, 5, lines.length - 1]) {
    expect(
      refusal(
        lines
          .slice(0, count)
          .map((line) => `${line}\n`)
          .join(""),
      ),
    ).toBe("ROWS_INVALID");
  }
  for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 40))
    expect(refusal(whole.slice(0, at))).toBe("ROWS_INVALID");
  for (const rubbish of ["{}\n", "[]\n", "null\n", "rubbish", Buffer.alloc(5_000, 255), whole + whole]) {
    expect(refusal(rubbish)).toBe("ROWS_INVALID");
  }
  expect(refusal(whole.replace("Message 3", "Message 4"))).toBe("ROWS_INVALID");
  expect(refusal(whole.replace('"version":1', '"version":2'))).toBe("FORMAT_UNSUPPORTED");
  expect(() => importRows(away, join(path, "..", "missing"))).toThrow(StoreError);
  expect(() => importRows(away, temporaryFolder())).toThrow(StoreError);
  expect(allRows(away.path)).toEqual(before);
  expect(refusal(whole)).toMatchObject([{ outcome: "new" }]);
});

test("bytes of a row that are no text, such as a very deep list, are refused", () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const isInvalid = expect.objectContaining({ code: "ROWS_INVALID" });
  for (const bytes of [deep, "{}", "7", "null"]) {
    expect(() => rowOfText(`{"table":"items","row":{"value":{"base64":${bytes}}}}`)).toThrow(isInvalid);
  }
});

test("a row of the log that was taken back is refused if it has other values than the log", () => {
  const home = newStore();
  const session = home.session("s", SMALL);
  session.append(talk(60));
  session.rewind({ toSeq: 29 });
  const path = exported(home);
  const changed = rowChanger(path, ({ table }) => table === "undoneUnions");
  const away = newStore();
  for (const values of [{ kind: "st\ud800rt" }, { level: "theme" }, { members: "[1" }, { members: "\ud800" }]) {
    changed(values);
    expect(importRows(away, path)).toMatchObject([{ outcome: "refused", error: { code: "ROWS_INVALID" } }]);
  }
  changed({});
  expect(importRows(away, path)).toMatchObject([{ outcome: "new" }]);
});

test("a title that nothing could have stored, and JSON that nothing could have appended, are refused", () => {
  const home = newStore();
  home.session("s", { title: "A title" }).append(talk(3));
  const path = exported(home);
  const away = newStore();
  const refused = (change: () => void): unknown => {
    change();
    try {
      return importRows(away, path)[0];
    } catch (error) {
      return { outcome: "refused", error };
    }
  };
  const changedTitle = rowChanger(path, ({ table }) => table === "sessions");
  const changedMessage = rowChanger(path, ({ table }) => table === "messages");
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const invalid = { outcome: "refused", error: { code: "ROWS_INVALID" } };
  expect(refused(() => changedTitle({ title: "t".repeat(513) }))).toMatchObject(invalid);
  const parts = `[{"type":"tool_call","toolCallId":"a","name":"b","arguments":${deep}}]`;
  expect(refused(() => changedMessage({ parts }))).toMatchObject(invalid);
  expect(refused(() => changedMessage({ metadata: `{"a":${deep}}` }))).toMatchObject(invalid);
  changedTitle({});
  expect(importRows(away, path)).toMatchObject([{ outcome: "new" }]);
});

type FileRow = { table: string; row: Record<string, unknown> };

/** Returns a function that writes a file of rows again, with other values in the first row that is chosen. */
function rowChanger(path: string, isChosen: (row: FileRow) => boolean): (values: object) => void {
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -2);
  const at = lines.findIndex((line) => isChosen(JSON.parse(line)));
  return (values) => {
    const { table, row: own } = JSON.parse(lines[at]!) as FileRow;
    const row: Record<string, unknown> = { ...own, ...values };
    if (table === "sessions") columns(TABLES.sessions).seal(row);
    const body = lines.with(at, JSON.stringify({ table, row })).map((line) => `${line}\n`);
    const sha256 = createHash("sha256").update(body.join("")).digest("hex");
    writeFileSync(path, `${body.join("")}${JSON.stringify({ end: "coppice-rows", sha256 })}\n`);
  };
}

test("only the summaries and the log of the forest in use move", async () => {
  const own = newStore();
  const session = own.session("s", SMALL);
  session.append(talk(30));
  await session.resolveDirty();
  session.compact();
  session.rewind({ toSeq: 15 }); // leaves rows of the log that are older than the next forest
  session.append(talk(20));
  await own.reembed({ embedder: letterEmbedder });
  await own.resume("s").resolveDirty();
  own.resume("s").compact();
  inSealed(own.path, (database) => {
    database.exec(`CREATE TEMP TABLE claim AS SELECT * FROM summaries WHERE status = 'done' ORDER BY id DESC LIMIT 1;
      UPDATE claim SET id = NULL, status = 'claimed', text = NULL, checksum = -1;
      INSERT INTO summaries SELECT * FROM claim`);
  });
  const path = exported(own);
  const moved = readFileSync(path, "utf8").split("\n");
  const rowsOf = (table: string) => moved.filter((line) => line.startsWith(`{"table":"${table}"`));
  expect(rowsOf("undoneUnions")).toEqual([]);
  const ofForest = "FROM summaries, generations WHERE generations.id = 2 AND status <> 'claimed'";
  const summaries = `SELECT summaries.id, summaries.checksum ${ofForest} AND summaries.log_position > generations.log_position`;
  const expected = own.query(summaries);
  expect(expected.length).toBeGreaterThan(0);
  expect(rowsOf("summaries")).toHaveLength(expected.length);
  const other = openedStore(join(temporaryFolder(), "other.db"), { embedder: letterEmbedder });
  expect([...importRows(other, path)]).toEqual([expect.objectContaining({ sessionId: "s" })]);
  expect(other.query("SELECT id, checksum FROM summaries")).toEqual(expected);
  expect(other.verify().problems).toEqual([]);
  expect([...importRows(own, exported(other))]).toEqual([
    expect.objectContaining({ sessionId: "s", outcome: "known" }),
  ]);
});
