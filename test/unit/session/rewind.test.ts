import { expect, test } from "vitest";
import { openStore, StoreError } from "../../../src/index.ts";
import { hashingEmbedder } from "../../../src/models/hashing-embedder.ts";
import { sessionIds } from "../../../src/session/aids/session-ids.ts";
import { slow } from "../../support/effort.ts";
import { letterEmbedder } from "../../support/other-embedders.ts";
import { allRows, inDatabase } from "../../support/rows.ts";
import { assistant, calls, results, talk, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const SMALL = { hotSize: 6, overlap: 2, evictBatch: 6, maxThemes: 3, openClustersMax: 4 } as const;

test("the later messages leave the session, and the next message follows the one that stays", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  const appended = session.append([user("the harbor"), assistant("a lighthouse"), user("the whale")]);
  const { branchId, supersededCount } = session.rewind({ toMessageId: appended[0]!.messageId });
  expect(supersededCount).toBe(2);
  expect(session.messages().map(({ text }) => text)).toEqual(["the harbor"]);
  expect(session.append(assistant("a pier"))).toMatchObject({ seq: 1 });
  expect(session.messages().map(({ text }) => text)).toEqual(["the harbor", "a pier"]);
  expect(JSON.stringify(session.render())).not.toContain("lighthouse");
  expect(await store.recall("whale lighthouse")).toEqual([]);

  expect(store.expand(appended[2]!.messageId).members.map(({ text }) => text)).toEqual(["the whale"]);
  expect(store.expand(appended[2]!.messageId)).toMatchObject({
    members: [{ sessionId: branchId, seq: 2 }],
    root: null,
  });
  const exported = [...store.export({ sessions: [branchId!] })].map((line) =>
    "seq" in line ? line.seq : line.session,
  );
  expect(exported).toEqual([branchId, 1, 2]);
  expect(store.sessions().map(({ id }) => id)).toEqual(["s"]);
  expect(sessionIds(store)).toEqual(["s"]);
  expect(store.stats()).toMatchObject({ sessionCount: 1, messageCount: 4, supersededCount: 2 });
  expect(store.verify()).toMatchObject({ ok: true, sessionCount: 1, messageCount: 4 });
});

test("a session can be rewound to before its first message, and to its last without any effect", () => {
  const session = temporaryStore().session("s");
  session.append(talk(3));
  expect(session.rewind({ toSeq: 2 })).toEqual({ branchId: null, supersededCount: 0 });
  expect(session.rewind({ toSeq: -1 })).toMatchObject({ supersededCount: 3 });
  expect(session.messages()).toEqual([]);
  expect(session.append(user("again"))).toMatchObject({ seq: 0 });
});

test("a message of another session, of a branch, or of no session is refused, and nothing changes", () => {
  const store = temporaryStore();
  const session = store.session("s");
  const other = store.session("other").append(user("elsewhere"));
  const [, second] = session.append(talk(2));
  session.rewind({ toSeq: 0 });
  for (const toMessageId of [other.messageId, second!.messageId, 999]) {
    expect(() => session.rewind({ toMessageId })).toThrow(
      new StoreError("MESSAGE_NOT_FOUND", { messageId: toMessageId }),
    );
  }
  expect(() => session.rewind({ toSeq: 1 })).toThrow('a seq from -1 to 0, the last of session "s", got 1');
  expect(() => session.rewind({})).toThrow("toSeq or toMessageId");
  expect(() => session.rewind({ toSeq: 0, toMessageId: 1 })).toThrow("toSeq or toMessageId");
  expect(session.messages()).toHaveLength(1);
});

test("a branch is not opened as a session", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append(talk(2));
  const { branchId } = session.rewind({ toSeq: 0 });
  const refusal = new StoreError("SESSION_SUPERSEDED", { sessionId: branchId!, parentSessionId: "s" });
  expect(() => store.resume(branchId!)).toThrow(refusal);
  expect(() => store.session(branchId!)).toThrow(refusal);
  // An import would bring back what was forgotten under another name than its session's.
  expect(() => store.forget(branchId!)).toThrow(refusal);
  expect(() => store.forget(branchId!, { messageIds: [2] })).toThrow(refusal);
});

test("a branch has no title of its own, also if its session gets one later", () => {
  const store = temporaryStore();
  for (const [id, ...titles] of [["titled", "a title"], ["untitled"]] as const) {
    const session = store.session(id, { ...(titles[0] !== undefined && { title: titles[0] }) });
    session.append(talk(2));
    session.rewind({ toSeq: 0 });
  }
  store.session("untitled", { title: "a later title" });
  expect(store.resume("untitled").info().title).toBe("a later title");
  expect(store.query("SELECT title FROM sessions WHERE superseded_at_ms IS NOT NULL")).toEqual(
    Array(2).fill({ title: null }),
  );
});

test("a call that has lost its result is open again, and takes another result into its step", () => {
  const store = temporaryStore();
  const session = store.session("s");
  const [, call, first, second] = session.append([
    user("read both"),
    calls(["a", "b"]),
    results(["a"], "one"),
    results(["b"], "two"),
    assistant("done"),
  ]);
  session.rewind({ toMessageId: first!.messageId });
  expect(JSON.stringify(session.render().messages)).not.toContain("two");
  session.append(results(["b"], "three"));
  const step = store.expand(call!.messageId, { level: "step" }).members;
  expect(step.map(({ text }) => text)).toEqual([expect.stringContaining("read_file"), "one", "three"]);
  expect(store.expand(second!.messageId, { level: "step" }).members.map(({ text }) => text)).toEqual(["two"]);
  expect(store.verify()).toMatchObject({ ok: true });
});

test("forgetting adds no messages of a theme to handles of its clusters from before a rewind", () => {
  const store = temporaryStore();
  const session = store.session("s", SMALL);
  session.append(talk(60));
  const united = store.query("SELECT root, max(id) AS id FROM unions WHERE level = 'theme' GROUP BY root");
  expect(united).not.toEqual([]);
  const members = () =>
    united.flatMap(({ root, id }) =>
      store.expand(`cluster:${root}@${id}`, { limit: 1_000 }).members.map(({ id }) => id),
    );
  const before = members();
  session.rewind({ toSeq: 1 });
  const forgotten = before.at(-1)!;
  store.forget("s", { messageIds: [forgotten] });
  expect(members()).toEqual(before.filter((id) => id !== forgotten));
});

test("handles of an older generation expand to what they held, whatever becomes of the step where the rewind was", async () => {
  const embedders = { [hashingEmbedder.id]: hashingEmbedder, [letterEmbedder.id]: letterEmbedder };
  const store = temporaryStore({ embedder: (id) => embedders[id ?? ""] ?? hashingEmbedder });
  const session = store.session("s", SMALL);
  session.append([user("read both"), calls(["a", "b"]), results(["a"], "one"), results(["b"], "two")]);
  session.append([...talk(30), calls(["c"]), ...talk(30)]);
  const handles = [...session.roots(), ...session.roots({ level: "cluster" })].map(({ root }) => root);
  const membersOf = (handle: string) => store.expand(handle, { limit: 1_000 }).members.map(({ id }) => id);
  const before = handles.map(membersOf);
  await store.reembed({ embedder: letterEmbedder });
  session.rewind({ toSeq: 34 }); // the call that nothing answered
  session.append(results(["c"], "three"));
  expect(handles.map(membersOf)).toEqual(before);
  session.rewind({ toSeq: 2 });
  expect(handles.map(membersOf)).toEqual(before);
  session.append(results(["b"], "four"));
  session.append(talk(40));
  session.rewind({ toSeq: 2 });
  expect(handles.map(membersOf)).toEqual(before);
  const member = before[0]!.findLast((id) => !handles.some((handle) => handle.includes(`:${id}@`)))!;
  store.forget("s", { messageIds: [member] });
  expect(handles.map(membersOf)).toEqual(before.map((ids) => ids.filter((id) => id !== member)));
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("summaries of superseded messages leave the context, and others stay", async () => {
  const store = temporaryStore({ summarizer: scriptedSummarizer("good") });
  const session = store.session("s", { ...SMALL, resolveTokensMin: 20 });
  session.append(talk(60));
  await session.resolveDirty();
  session.append(talk(60, 4));
  await session.resolveDirty();
  const summaries = () =>
    store.query("SELECT log_position FROM summaries WHERE status = 'done' AND shown_until IS NULL");
  const before = summaries().length;
  session.rewind({ toSeq: 100 });
  const left = summaries();
  expect(left.length).toBeGreaterThan(0);
  expect(left.length).toBeLessThan(before);
  const covered = store.query(
    `SELECT y.id FROM summaries y WHERE y.status = 'done' AND y.shown_until IS NULL AND EXISTS (
       SELECT 1 FROM undone_unions u WHERE u.root = y.root_id AND u.kind IN ('start', 'join') AND u.id <= y.log_position)`,
  );
  expect(covered).toEqual([]);
  expect(store.verify()).toMatchObject({ ok: true });
});

test("undo brings summaries back with their messages, and no model is paid for them again", async () => {
  const summarizer = scriptedSummarizer("good");
  const store = temporaryStore({ summarizer });
  const session = store.session("s", { ...SMALL, resolveTokensMin: 20 });
  session.append(talk(120));
  await session.resolveDirty();
  session.compact();
  const shown = () =>
    store.query("SELECT id, root_id, text FROM summaries WHERE status = 'done' AND shown_until IS NULL ORDER BY id");
  const [before, context] = [shown(), session.render().messages.filter(({ role }) => role === "system")];
  session.rewind({ toSeq: 60 });
  session.append(talk(3));
  expect(shown().length).toBeLessThan(before.length);
  session.undo();
  expect(shown()).toEqual(before);
  expect(session.render().messages.filter(({ role }) => role === "system")).toEqual(context);
  const paid = summarizer.requests.length;
  await session.resolveDirty();
  expect(summarizer.requests).toHaveLength(paid);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a summary does not come back if some of its messages were forgotten, or summarized again", async () => {
  const store = temporaryStore({ summarizer: scriptedSummarizer("good") });
  const session = store.session("s", { ...SMALL, resolveTokensMin: 20 });
  session.append(talk(120));
  await session.resolveDirty();
  const ids = (sql: string) => store.query(sql).map(({ id }) => Number(id));
  session.rewind({ toSeq: 90 });
  await session.resolveDirty();
  const left = ids("SELECT id FROM summaries WHERE shown_until IS NOT NULL");
  const [member] = ids(
    `SELECT node AS id FROM undone_unions WHERE kind = 'join' AND root = (SELECT root_id FROM summaries WHERE id = ${left.at(-1)})`,
  );
  store.forget("s", { messageIds: [member!] });
  session.undo();
  expect(ids(`SELECT id FROM summaries WHERE id = ${left.at(-1)}`)).toEqual([]);
  // Each message of a cluster is covered once.
  expect(
    store.query(
      `SELECT root_id FROM summaries y WHERE shown_until IS NULL GROUP BY root_id
       HAVING sum(message_count) > (SELECT message_count FROM clusters c WHERE c.root_id = y.root_id)`,
    ),
  ).toEqual([]);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("undo brings the summary of a span back", async () => {
  const summarizer = scriptedSummarizer("good");
  const store = temporaryStore({ summarizer });
  const session = store.session("s", { strategy: "flat", contextTokensMax: 600, flatTrigger: 0.5, flatTail: 0.2 });
  session.append(talk(80));
  session.compact();
  await session.resolveDirty();
  const before = session.render().messages;
  session.rewind({ toSeq: 30 });
  expect(session.render().messages).not.toEqual(before);
  session.compact();
  await session.resolveDirty();
  session.undo();
  expect(session.render().messages).toEqual(before);
  const paid = summarizer.requests.length;
  session.compact();
  await session.resolveDirty();
  expect(summarizer.requests).toHaveLength(paid);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("results stay with the call that began a cluster when its theme is no longer absorbed", () => {
  const store = temporaryStore();
  const session = store.session("s", { ...SMALL, maxThemes: 4 });
  const words = "deploy region bucket parser template grammar invoice currency refund thumbnail photograph pixel".split(
    " ",
  );
  let random = 4; // with this seed, the theme of the call is absorbed long after it began
  const next = (end: number): number => {
    random = (random * 48_271) % 2_147_483_647;
    return random % end;
  };
  session.append([calls(["a"]), results(["a"], "photograph pixel")]); // a call begins a cluster only before any request
  for (let count = 0; count < 60; count++) {
    const from = 3 * next(4);
    session.append(user(Array.from({ length: 4 + next(6) }, () => words[from + next(3)]).join(" ")));
  }
  for (let toSeq = 50; toSeq > 9; toSeq -= 10) {
    session.rewind({ toSeq });
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  }
  expect(
    store.query(
      "SELECT 1 FROM undone_unions u JOIN messages m ON m.step_id = u.node AND m.id <> u.node WHERE u.kind = 'unite'",
    ),
  ).not.toEqual([]);
});

test("`sync` appends what another process has superseded, if the host says it again", () => {
  const path = temporaryPath();
  const [one, two] = [openedStore(path).session("s"), openedStore(path).session("s")];
  const history = [user("one"), assistant("two"), user("three"), assistant("four")];
  two.sync(history);
  one.rewind({ toSeq: 1 });
  expect(two.sync(history.slice(0, 3))).toMatchObject([{ seq: 2, appended: true }]);
  one.rewind({ toSeq: 1 });
  expect(two.sync(history).map(({ seq }) => seq)).toEqual([2, 3]);
  expect(one.messages().map(({ text }) => text)).toEqual(["one", "two", "three", "four"]);
});

test("the handle of a cluster that no longer is names nothing without a log position", () => {
  const store = temporaryStore();
  const session = store.session("s", SMALL);
  session.append(talk(60));
  const root = session.roots({ level: "cluster" }).at(-1)!.root;
  const memberCount = store.expand(root).memberCount;
  session.rewind({ toSeq: 20 });
  const [handle] = root.split("@");
  expect(() => store.expand(handle!)).toThrow(new StoreError("ROOT_NOT_FOUND", { handle: handle! }));
  expect(store.expand(root)).toMatchObject({ memberCount });
});

test("a damaged checkpoint is found, and `verify` with `rebuild` removes it", () => {
  const path = temporaryPath();
  const store = openStore(path);
  store.session("s", SMALL).append(talk(600));
  store.close();
  inDatabase(path, (database) => database.exec("UPDATE theme_checkpoints SET themes = '[]'"));
  const damaged = openedStore(path);
  const session = damaged.resume("s");
  expect(() => session.rewind({ toSeq: 590 })).toThrow("theme_checkpoints is damaged");
  expect(damaged.verify().problems).toMatchObject([
    { text: expect.stringContaining("theme_checkpoints"), rebuildable: true },
  ]);
  expect(damaged.verify({ rebuild: true })).toMatchObject({ ok: true });
  expect(session.rewind({ toSeq: 590 })).toMatchObject({ supersededCount: 9 });
  expect(damaged.verify()).toMatchObject({ ok: true, problems: [] });
});

test("if all later messages were forgotten, there is no branch, and the session goes back nevertheless", () => {
  const store = temporaryStore();
  const session = store.session("s");
  const appended = session.append(talk(4));
  store.forget("s", { messageIds: appended.slice(2).map(({ messageId }) => messageId) });
  expect(session.rewind({ toSeq: 1 })).toEqual({ branchId: null, supersededCount: 0 });
  expect(session.branches()).toEqual([]);
  expect(session.undo()).toEqual({ restoredCount: 0, supersededCount: 0 });
  expect(session.append(user("next"))).toMatchObject({ seq: 2 });
  session.entries.append([{ value: "after the third" }]);
  expect(session.rewind({ toSeq: 1 }).branchId).not.toBeNull();
  expect(session.undo()).toEqual({ restoredCount: 1, supersededCount: 0 });
  const last = session.append(user("last")).messageId;
  session.entries.append([{ value: "after the fourth" }]);
  store.forget("s", { messageIds: [last] });
  expect(session.rewind({ toSeq: 2 })).toMatchObject({ branchId: expect.any(String), supersededCount: 0 });
  expect(session.entries.list()).toHaveLength(1);
  session.undo();
  expect(session.entries.list()).toHaveLength(2);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("inside `atomically`, it is undone with everything else", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append(talk(4));
  expect(() =>
    store.atomically(() => {
      session.rewind({ toSeq: 1 });
      session.append(user("other"));
      throw new Error("changed my mind");
    }),
  ).toThrow("changed my mind");
  expect(session.messages()).toHaveLength(4);
  store.atomically(() => {
    session.rewind({ toSeq: 1 });
    session.append(user("other"));
  });
  expect(session.messages().map(({ seq }) => seq)).toEqual([0, 1, 2]);
  expect(session.messages({ last: 1 })[0]).toMatchObject({ text: "other" });
});

test("forgetting the session forgets its branches, and superseded messages can be forgotten alone", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s", SMALL);
  session.append(talk(40));
  const [secret] = session.messages({ seqFrom: 20, seqTo: 20 });
  const handles = session.roots().map(({ root }) => root);
  session.rewind({ toSeq: 10 });
  expect(store.forget("s", { messageIds: [secret!.id] })).toMatchObject({ messageCount: 1 });
  const members = handles.flatMap((handle) => store.expand(handle, { limit: 1_000 }).members.map(({ id }) => id));
  expect(members).not.toContain(secret!.id);
  expect(members).toContain(secret!.id + 1);
  expect(store.verify()).toMatchObject({ ok: true });
  expect(store.forget("s")).toMatchObject({ messageCount: 39, sessionCount: 1 });
  for (const table of ["sessions", "messages", "unions", "undone_unions", "frontier_moves"]) {
    expect(store.query(`SELECT count(*) AS n FROM ${table}`)).toEqual([{ n: 0 }]);
  }
});

test("an import does not bring superseded messages back", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append([user("one", { id: "m1" }), user("two", { id: "m2" })]);
  session.rewind({ toSeq: 0 });
  // The path may use the id again.
  expect(session.append(user("another two", { id: "m2" }))).toMatchObject({ seq: 1, appended: true });
});

test("a rewind changes nothing if the store has lost where the frontier was", () => {
  const path = temporaryPath();
  const store = openStore(path);
  store.session("s", SMALL).append(talk(80));
  store.close();
  inDatabase(path, (database) => database.exec("DELETE FROM frontier_moves"));
  const rows = allRows(path);
  const session = openedStore(path).resume("s");
  expect(() => session.rewind({ toSeq: 50 })).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  expect(allRows(path)).toEqual(rows);
});

test("entries after a superseded message go with it", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append(talk(2));
  session.entries.append([{ value: "after the second" }]);
  session.append(talk(2));
  session.entries.append([{ value: "after the fourth" }]);
  session.rewind({ toSeq: 1 });
  expect(session.entries.list().map(({ value }) => value)).toEqual(["after the second"]);
  expect(store.verify()).toMatchObject({ ok: true });
});

test("undo brings an entry back although its id was given again, and the later entry is superseded", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append(talk(2));
  session.entries.append([{ id: "run", value: "first" }]);
  session.rewind({ toSeq: 0 });
  session.entries.append([{ id: "run", value: "second" }, { value: "other" }]);
  expect(session.undo()).toEqual({ restoredCount: 1, supersededCount: 0 });
  expect(session.entries.list().map(({ value }) => value)).toEqual(["first", "other"]);
  expect(store.verify()).toMatchObject({ ok: true, problems: [], entryCount: 3 });
});

slow(test)("a long session is put back from a checkpoint, bit for bit", () => {
  const store = temporaryStore();
  const session = store.session("s", SMALL);
  session.append(talk(3_000, 5));
  expect(store.query("SELECT count(*) AS n FROM theme_checkpoints")).toEqual([{ n: 4 }]);
  for (const toSeq of [2_990, 2_400, 1_700, 1_030]) {
    session.rewind({ toSeq });
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  }
});

test("undo takes rewinds back one by one, and what was appended since is superseded", async () => {
  const store = temporaryStore();
  const session = store.session("s", SMALL);
  const appended = session.append([...talk(60), user("a lighthouse")]);
  const before = session.render();
  session.rewind({ toSeq: 40 });
  session.append(talk(10, 2));
  session.rewind({ toSeq: 20 });
  session.append(user("a submarine"));
  store.verify({ rebuild: true }); // indexes everything
  expect(session.undo()).toEqual({ restoredCount: 30, supersededCount: 1 });
  expect(session.undo()).toEqual({ restoredCount: 20, supersededCount: 10 });
  expect(session.undo()).toEqual({ restoredCount: 0, supersededCount: 0 });
  expect(session.messages().map(({ id }) => id)).toEqual(appended.map(({ messageId }) => messageId));
  expect(session.render().messages.length).toBe(before.messages.length);
  expect((await store.recall("lighthouse"))[0]).toMatchObject({ messageId: appended.at(-1)!.messageId });
  expect(await store.recall("submarine")).toEqual([]);
  expect(store.stats()).toMatchObject({ messageCount: 72, supersededCount: 11 });
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("undo gives results back to the call that a rewind had parted from them", () => {
  const session = temporaryStore().session("s");
  const [call, , second] = session.append([
    calls(["a", "b"]),
    results(["a"], "one"),
    results(["b"], "two"),
    user("on"),
  ]);
  session.rewind({ toSeq: 1 });
  session.undo();
  const found = session.messages().find(({ id }) => id === second!.messageId);
  expect(found).toMatchObject({ seq: 2, stepId: call!.messageId });
});

test("an edit supersedes the message and all later ones, all or nothing, and undo takes it back", () => {
  const store = temporaryStore();
  const session = store.session("s");
  const [, second] = session.append([user("one"), assistant("two"), user("three", { id: "m3" })]);
  expect(() => session.edit(second!.messageId, { role: "tool", content: "nothing" } as never)).toThrow(
    "cannot be stored as it is",
  );
  expect(session.messages()).toHaveLength(3);
  expect(session.edit(second!.messageId, assistant("another two"))).toMatchObject({ seq: 1 });
  expect(session.messages().map(({ text }) => text)).toEqual(["one", "another two"]);
  expect(() => session.edit(second!.messageId, assistant("x"))).toThrow(
    new StoreError("MESSAGE_NOT_FOUND", { messageId: second!.messageId }),
  );
  session.undo();
  expect(session.messages().map(({ text }) => text)).toEqual(["one", "two", "three"]);
});

test("a session lists its branches, and which of them `undo` brings back", () => {
  const session = temporaryStore().session("s");
  const [, second, third] = session.append(talk(3));
  expect(session.branches()).toEqual([]);
  const { branchId } = session.rewind({ toSeq: 1 });
  const { branchId: nextId } = session.rewind({ toSeq: 0 });
  const facts = { messageCount: 1, supersededAtMs: expect.any(Number), isUndoable: true };
  expect(session.branches()).toEqual([
    { id: branchId, afterSeq: 1, firstMessageId: third!.messageId, ...facts },
    { id: nextId, afterSeq: 0, firstMessageId: second!.messageId, ...facts },
  ]);
  const { messageId } = session.append(user("instead"));
  session.undo();
  expect(session.branches()).toMatchObject([
    { afterSeq: 0, firstMessageId: messageId, isUndoable: false },
    { id: branchId, isUndoable: true },
  ]);
});
