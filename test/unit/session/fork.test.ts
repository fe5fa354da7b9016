import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importFiles } from "../../../src/imports/index.ts";
import type { MessageInput, Session, Store } from "../../../src/index.ts";
import { inDatabase } from "../../support/rows.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryFolder, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const SMALL = { hotSize: 4, overlap: 1, evictBatch: 4, maxThemes: 3, openClustersMax: 4 } as const;
const SUBJECTS = ["deploy region lock", "parser brace token", "invoice currency tax", "photograph resize queue"];

const said = (seq: number): MessageInput =>
  (seq % 2 === 0 ? user : assistant)(`${SUBJECTS[seq % 4]} number ${seq} of ${SUBJECTS[(seq * 7) % 3]}`);

function talk(session: Session, from: number, to: number): void {
  for (let seq = from; seq < to; seq++) session.append(said(seq));
}

function forked(): { store: Store; session: Session; fork: Session } {
  const store = temporaryStore();
  const session = store.session("s", { ...SMALL, project: "web", title: "Deploys" });
  talk(session, 0, 30);
  const fork = session.fork({ toSeq: 19, id: "f" });
  talk(fork, 20, 40);
  return { store, session, fork };
}

const textsOf = (session: Session): string[] => session.messages().map(({ text }) => text);

test("a fork shares the past, and both go on independently", () => {
  const { store, session, fork } = forked();
  expect(textsOf(fork).slice(0, 20)).toEqual(textsOf(session).slice(0, 20));
  expect(fork.messages({ seqTo: 20 }).map(({ sessionId }) => sessionId)).toEqual([...Array(20).fill("s"), "f"]);
  expect([session.messages({ last: 1 })[0]!.seq, fork.messages({ last: 1 })[0]!.seq]).toEqual([29, 39]);
  expect(fork.info()).toMatchObject({ messageCount: 40, project: "web", title: "Deploys", parentSessionId: "s" });
  expect(fork.info().opening).toBe(textsOf(session)[0]);
  expect(store.stats()).toMatchObject({ sessionCount: 2, messageCount: 50 });
  const { sources, omitted } = fork.render();
  expect(sources.length + omitted.length).toBeGreaterThan(0);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("nothing of the past is copied, at the fork, at its first message, or when the frontier moves", () => {
  const store = temporaryStore();
  const session = store.session("s", SMALL);
  talk(session, 0, 300);
  const counts = (): unknown[] =>
    ["messages", "unions", "clusters", "themes"].map(
      (table) => store.query(`SELECT count(*) AS count FROM ${table}`)[0]!.count,
    );
  const before = counts();
  const fork = session.fork();
  expect(counts()).toEqual(before);
  fork.append(said(300));
  expect(counts()).toEqual([301, ...before.slice(1)]);
  talk(fork, 301, 320);
  const [messages, unions, clusters, themes] = counts() as number[];
  expect(messages).toBe(320);
  const [, unionsBefore, clustersBefore, themesBefore] = before as number[];
  expect(unions! - unionsBefore!).toBeLessThan(60);
  expect(clusters! - clustersBefore!).toBeLessThan(30);
  expect(themes! - themesBefore!).toBeLessThanOrEqual(3);
});

test("a search of the fork finds what it shares, and nothing that the session said later", async () => {
  const { store, session, fork } = forked();
  session.append(user("The harbor pilot likes lighthouses."));
  fork.append(user("The harbor pilot likes whales."));
  const found = async (sessionIds?: string[]) =>
    (await store.recall("harbor pilot deploy", { limit: 100, ...(sessionIds && { sessionIds }) })).map(
      ({ sessionId, seq }) => `${sessionId} ${seq}`,
    );
  const inFork = await found(["f"]);
  expect(inFork).toContain("f 40");
  expect(inFork).toContain("f 0"); // shared
  expect(inFork.filter((hit) => hit.startsWith("s "))).toEqual([]);
  const inBoth = await found();
  expect(inBoth).toEqual(expect.arrayContaining(["s 0", "s 30", "f 40"]));
  expect(inBoth).not.toContain("f 0");
  expect(new Set(inBoth).size).toBe(inBoth.length);
});

test("handles of both keep their members", () => {
  const { store, session, fork } = forked();
  const members = (handle: string): number[] => store.expand(handle, { limit: 100 }).members.map(({ id }) => id);
  const pathOf = (of: Session): Set<number> => new Set(of.messages().map(({ id }) => id));
  for (const of of [session, fork]) {
    const path = pathOf(of);
    for (const { root, messageCount } of [...of.roots(), ...of.roots({ level: "cluster" })]) {
      expect(members(root)).toHaveLength(messageCount);
      expect(members(root).every((id) => path.has(id))).toBe(true);
    }
  }
  const before = fork.roots().map(({ root }) => [root, members(root)] as const);
  talk(session, 30, 60);
  talk(fork, 40, 70);
  for (const [root, ids] of before) expect(members(root)).toEqual(ids);
});

test("what a fork shares stays, and errors say what to do", () => {
  const { store, session, fork } = forked();
  const shared = (operation: string) =>
    expect.objectContaining({ code: "SESSION_SHARED", details: { sessionId: "s", forkId: "f", operation } });
  const [first] = session.messages({ limit: 1 });
  const refusals: [operation: string, change: () => unknown][] = [
    ["rewind", () => session.rewind({ toSeq: 18 })],
    ["rewind", () => session.edit(first!.id, user("Something else."))],
    ["change", () => session.pin(first!.id)],
    ["change", () => fork.pin(first!.id)],
    ["forget", () => store.forget("s")],
    ["forget", () => store.forget("s", { messageIds: [first!.id] })],
    ["forget", () => store.forget("f", { messageIds: [first!.id] })],
    ["move", () => [...store.export({ rows: true, sessions: ["f"] })]],
  ];
  for (const [operation, change] of refusals) expect(change).toThrow(shared(operation));
  expect(() => fork.rewind({ toSeq: 18 })).toThrow(/from 19 on, where the fork begins.*fork session "s"/);
  expect(session.rewind({ toSeq: 19 }).supersededCount).toBe(10);
  expect(session.undo().restoredCount).toBe(10);
  expect(fork.rewind({ toSeq: 19 }).supersededCount).toBe(20);
  expect(fork.undo().restoredCount).toBe(20);
  expect(store.verify().ok).toBe(true);
  store.forget("f");
  expect(session.rewind({ toSeq: 5 }).supersededCount).toBe(24);
  expect(store.verify().ok).toBe(true);
});

test("a fork outlives the fork that it was made from, and does not take an imported session for it", async () => {
  const { store, session } = forked();
  const middle = session.fork({ toSeq: 15, id: "middle" });
  talk(middle, 16, 18);
  const last = middle.fork({ toSeq: 9, id: "last" });
  talk(last, 10, 40);
  const before = textsOf(last);
  const path = join(temporaryFolder(), "export.jsonl");
  writeFileSync(path, [...store.export()].map((line) => `${JSON.stringify(line)}\n`).join(""));

  store.forget("middle");
  expect(textsOf(store.resume("last"))).toEqual(before);
  store.restore("middle");
  await importFiles(store, [path], { summarize: false });
  expect(store.resume("middle").messages()).toHaveLength(18);
  expect(textsOf(store.resume("last"))).toEqual(before);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a fork whose frontier moved before its first message can go back", () => {
  const store = temporaryStore();
  const session = store.session("s", SMALL);
  talk(session, 0, 19);
  const fork = session.fork({ id: "f" });
  const other = session.fork({ id: "other" });
  fork.compact();
  session.compact();
  for (const of of [fork, other]) {
    talk(of, 19, 21);
    of.rewind({ toSeq: 18 });
    talk(of, 19, 22);
    of.rewind({ toSeq: 19 });
    of.append(said(20));
    expect(of.render().tokenCount).toBeGreaterThan(0);
  }
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a cluster of the past is in no subject of the fork, whatever became of it in the session", async () => {
  const { store, session, fork } = forked();
  for (let seq = 30; seq < 120; seq++) session.append(user(`topic${seq >> 3} word${seq >> 3} thing${seq >> 3}`));
  await store.upkeep();
  const inherited = store.query(`SELECT f.root_id FROM clusters f JOIN clusters c ON c.root_id = f.root_id
    WHERE f.session_id = 'f' AND c.session_id = 's' AND f.subject_parent_id IS NULL AND c.subject_parent_id IS NOT NULL`);
  expect(inherited.length).toBeGreaterThan(0);
  const found = fork.messages({ seqFrom: 20 }).map(({ id }) => store.expand(id));
  const inPast = found.filter(({ place }) =>
    inherited.some(({ root_id }) => place?.cluster?.startsWith(`cluster:${root_id}@`)),
  );
  expect(inPast.length).toBeGreaterThan(0);
  expect(inPast.map(({ place }) => place!.subject)).toEqual(inPast.map(() => null));
  for (const { members } of inPast) expect(members).not.toEqual([]);
  expect((await store.recall(SUBJECTS.join(" "))).length).toBeGreaterThan(0);
});

test("a fork is not taken for one that was rolled back", () => {
  const store = temporaryStore();
  const session = store.session("s", SMALL);
  talk(session, 0, 60);
  const rollBack = (): void => {
    session.fork({ toSeq: 21, id: "f" }).render();
    throw new Error("no fork");
  };
  expect(() => store.atomically(rollBack)).toThrow("no fork");
  const fork = session.fork({ toSeq: 41, id: "f" });
  const other = session.fork({ toSeq: 41, id: "other" });
  const sizesOf = (of: Session): unknown[] => of.roots().map(({ root, messageCount }) => [root, messageCount]);
  expect(sizesOf(fork)).toEqual(sizesOf(other));
  talk(fork, 42, 44);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a fork begins after a whole step, and under an id of its own", () => {
  const store = temporaryStore();
  const session = store.session("s");
  const refused = (options: Parameters<Session["fork"]>[0]) => expect(() => session.fork(options)).toThrow(/Expected/);
  refused({});
  session.append([user("Read it."), calls(["a", "b"]), results(["a"], "one"), { role: "system", content: "Hm." }]);
  for (const toSeq of [1, 2, 3, 4]) refused({ toSeq });
  refused({ toSeq: 0, id: "s" });
  refused({ toSeq: 0, toMessageId: 1 });
  expect(session.fork({ toSeq: 0 }).messages()).toHaveLength(1);
  session.append(results(["b"], "two"));
  refused({ toSeq: 2 });
  expect(session.fork().messages()).toHaveLength(5);
});

test("ids of a host and entries of the past are known in a fork", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append(user("One", { id: "m-1" }));
  session.entries.append([{ id: "e-1", value: 1 }]);
  session.append(user("Two", { id: "m-2" }));
  session.entries.append([{ value: 2 }]);
  const fork = session.fork();
  session.entries.append([{ value: 3 }]);
  expect(fork.append(user("One", { id: "m-1" }))).toMatchObject({ seq: 0, appended: false });
  expect(fork.sync([user("One", { id: "m-1" }), user("Two", { id: "m-2" }), user("Three")])).toHaveLength(1);
  fork.entries.append([{ value: 4 }]);
  expect(fork.entries.list().map(({ value }) => value)).toEqual([1, 4]);
  expect(fork.entries.list({ descending: true }).map(({ value }) => value)).toEqual([4, 1]);
  expect(() => fork.entries.append([{ id: "e-1", value: 5 }], { known: "replace" })).toThrow(
    expect.objectContaining({ code: "SESSION_SHARED" }),
  );
});

test("what a store exports of a fork is not new to the store", async () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s");
  session.append(user("One", { id: "m-1" }));
  session.entries.append([{ id: "e-1", value: 1 }, { value: 2 }]);
  session.append(assistant("Two"));
  const fork = session.fork({ id: "f" });
  fork.entries.append([{ value: 3 }]);
  const exported = `${path}.jsonl`;
  writeFileSync(exported, [...store.export()].map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(await importFiles(store, [exported])).toMatchObject({ newCount: 0, valueCount: 0 });
  expect(fork.entries.list()).toHaveLength(3);
});

test("an export of a fork is whole", () => {
  const { store, fork } = forked();
  const lines = [...store.export({ sessions: ["f"] })];
  expect(lines).toHaveLength(41);
  expect(new Set(lines.map(({ session }) => session))).toEqual(new Set(["f"]));
  expect(lines.slice(1).map((line) => "seq" in line && line.seq)).toEqual(fork.messages().map(({ seq }) => seq));
});

test("rows of a store with a fork are refused before the first line, and those of other sessions move", () => {
  const { store } = forked();
  const read = (options?: { sessions: string[] }) =>
    store
      .export({ rows: true, ...options })
      [Symbol.iterator]()
      .next();
  expect(() => read()).toThrow(
    expect.objectContaining({
      code: "SESSION_SHARED",
      hint: expect.stringContaining("name the sessions whose rows are to move"),
    }),
  );
  expect(read({ sessions: ["s"] }).done).toBe(false);
});

test("a recap counts what a fork shares once, in the session that holds it", () => {
  const store = temporaryStore();
  const session = store.session("s", { ...SMALL, project: "web" });
  talk(session, 0, 20);
  session.append(user("Which port do we use?"));
  const count = (): number => store.recap({ sinceMs: 0 }).messageCount;
  const before = [count(), store.recap({ sinceMs: 0 }).topics.flatMap(({ open }) => open)] as const;
  session.fork({ toSeq: 9 });
  session.fork();
  expect([count(), store.recap({ sinceMs: 0 }).topics.flatMap(({ open }) => open)]).toEqual(before);
  const fork = session.fork();
  fork.append(assistant("Port 80."));
  expect(count()).toBe(before[0] + 1);
  talk(fork, 22, 60); // its open clusters go on with messages of its own
  expect(fork.info().clusterCount).toBeGreaterThan(0);
  expect(count()).toBe(before[0] + 39);
});

test("a fork at an older message writes no more than what it shares, and reads as if it had rows", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s", SMALL);
  talk(session, 0, 300);
  const rows = (): unknown[] => [
    ...["messages", "unions", "clusters", "themes", "theme_checkpoints"].map(
      (table) => store.query(`SELECT count(*) AS count FROM ${table}`)[0]!.count,
    ),
  ];
  const before = rows();
  const fork = session.fork({ toSeq: 99, id: "f" });
  const again = fork.fork({ toSeq: 49, id: "g" });
  expect(rows()).toEqual(before);
  const seenOf = (of: Session) => [
    of.render().messages,
    of.roots(),
    of.roots({ level: "cluster" }),
    of.info().themeCount,
  ];
  const seen = [fork, again].map(seenOf);
  const reader = openedStore(path, { readonly: true });
  expect(["f", "g"].map((id) => seenOf(reader.resume(id)))).toEqual(seen);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  expect(rows()).toEqual(before);
  const lists = seen.map(([, ...roots]) => roots);
  for (const of of [fork, again]) of.append(said(of.messages({ last: 1 })[0]!.seq + 1));
  expect(rows()).not.toEqual(before);
  expect([fork, again].map((of) => seenOf(of).slice(1))).toEqual(lists);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("two that have the file open append to a fork that has no rows yet", () => {
  const path = temporaryPath();
  const [store, other] = [openedStore(path), openedStore(path)];
  talk(store.session("s", SMALL), 0, 200);
  store.resume("s").fork({ toSeq: 99, id: "f" });
  const forks = [store.resume("f"), other.resume("f")];
  const contexts = forks.map((fork) => fork.render().messages);
  expect(contexts[0]).toEqual(contexts[1]);
  for (let seq = 100; seq < 130; seq++) forks[seq % 2]!.append(said(seq));
  expect(forks[0]!.roots()).toEqual(forks[1]!.roots());
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  expect(other.resume("s").info().messageCount).toBe(200);
});

test("SQL shows the messages of a fork with those that it shares", () => {
  const { store, fork } = forked();
  fork.fork({ toSeq: 29, id: "g" });
  for (const of of ["s", "f", "g"]) {
    expect(
      store.query(
        `SELECT seq, message_id, holder_id, role, text FROM session_messages WHERE session_id = '${of}' ORDER BY seq`,
      ),
    ).toEqual(
      store
        .resume(of)
        .messages()
        .map(({ seq, id, sessionId, role, text }) => {
          return { seq, message_id: id, holder_id: sessionId, role, text };
        }),
    );
  }
  const plan = store.query("EXPLAIN QUERY PLAN SELECT seq FROM session_messages WHERE session_id = 'f'");
  expect(plan.filter(({ detail }) => /^SCAN (?!CONSTANT)/.test(String(detail)))).toEqual([]);
});

test("a fork whose frontier has not moved yet can be forked, read and verified, wherever it begins", () => {
  const { store, session } = forked();
  for (let toSeq = 1; toSeq < 29; toSeq += 1) {
    const early = session.fork({ toSeq, id: `early ${toSeq}` });
    talk(early, toSeq + 1, toSeq + 3);
    const again = early.fork({ id: `again ${toSeq}` });
    expect(textsOf(again)).toEqual([...textsOf(session).slice(0, toSeq + 1), ...textsOf(early).slice(toSeq + 1)]);
    for (const { root } of again.roots()) expect(store.expand(root).memberCount).toBeGreaterThan(0);
    talk(again, toSeq + 3, toSeq + 9);
  }
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

/** A store with a fork whose file was changed by SQL. */
function changedFile(sql: string): Store {
  const path = temporaryPath();
  const store = openedStore(path);
  talk(store.session("other"), 0, 30);
  const session = store.session("s", SMALL);
  talk(session, 0, 30);
  session.fork({ toSeq: 19, id: "f" });
  store.close();
  inDatabase(path, (database) => database.exec(sql));
  return openedStore(path);
}

test.each([
  ["tokens", "UPDATE messages SET token_count = token_count + 1 WHERE seq = 3", (fork: Session) => fork.roots()],
  ["opening", "UPDATE messages SET parts = replace(parts, ' ', '-') WHERE seq = 0", (fork: Session) => fork.info()],
])("a fork does not show the %s of a damaged message that it shares", (_, sql, read) => {
  expect(() => read(changedFile(sql).resume("f"))).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
});

test.each([
  "UPDATE shared_pasts SET checksum = -1, seq_last = seq_last - 1",
  "UPDATE shared_pasts SET checksum = -1, seq_last = seq_last + 2",
  "UPDATE shared_pasts SET checksum = -1, seq_first = 1",
  "UPDATE shared_pasts SET checksum = -1, holder_id = 'other'",
  "UPDATE shared_pasts SET log_position = log_position - 1",
])("a fork whose past is damaged shows nothing: %s", (sql) => {
  const damaged = changedFile(sql);
  const fork = damaged.resume("f");
  for (const read of [
    () => fork.messages(),
    () => fork.messages({ last: 1 })[0],
    () => fork.render(),
    () => fork.info(),
  ]) {
    expect(read).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  }
  expect(damaged.resume("s").messages()).toHaveLength(30);
  expect(textOfProblems(damaged)).toContainEqual(
    expect.stringMatching(/^(fork f does not share what session \w+ had|row f of shared_pasts is damaged)/),
  );
});

function textOfProblems(store: Store): string[] {
  return store.verify().problems.map(({ text }) => text);
}

test("a fork of a fork begins with the frontier of the first, although the session has moved again before its next message", async () => {
  const path = temporaryPath();
  let now = Date.UTC(2026, 0, 1);
  const store = openedStore(path, { clock: () => (now += 1_000) });
  const session = store.session("s", SMALL);
  talk(session, 0, 20);
  session.compact();
  const fork = session.fork({ id: "f" });
  now += 3 * 86_400_000;
  await store.upkeep(); // the session is idle, so its frontier moves
  fork.append(said(20));
  const next = fork.fork({ id: "g" });
  talk(next, 21, 40);
  expect(store.verify().problems).toEqual([]);
  expect(next.render().omitted).toBeDefined();
});

test("a fork after a rewind shows no summary of what was taken back", async () => {
  const store = openedStore(temporaryPath(), { summarizer: scriptedSummarizer("good") });
  const session = store.session("s", { ...SMALL, resolveTokensMin: 20 });
  talk(session, 0, 20);
  await session.resolveDirty();
  session.compact();
  session.rewind({ toSeq: 3 });
  talk(session, 4, 20);
  const fork = session.fork({ id: "f", toSeq: 2 });
  talk(fork, 3, 20);
  expect(fork.render().messages.length).toBeGreaterThan(0);
  expect(fork.roots().flatMap(({ summaries }) => summaries)).toEqual([]);
});
