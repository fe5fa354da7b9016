import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chunksOf } from "../../../src/importers/files.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import type { MessageInput, Store } from "../../../src/index.ts";
import type { Unreadable } from "../../../src/session/moving/export.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { runs, seenInRuns } from "../../support/effort.ts";
import { nastyMessage } from "../../support/message-arbitraries.ts";
import { inDatabase } from "../../support/rows.ts";
import { calls, inputOf, results, talk, user } from "../../support/said.ts";
import {
  inFolderAsync,
  openedStore,
  openFresh,
  temporaryFolder,
  temporaryPath,
  temporaryStore,
} from "../../support/temporary-store.ts";

/** A line of no export, for the same session. */
const PLAIN = JSON.stringify({ session: "a", role: "user", content: "plain" });

/** Import an export of `store` into a store of its own, as the command line does. Returns the number of new messages. */
async function carryOver(
  store: Store,
  target: Store,
  folder: string,
  warnings: readonly unknown[] = [],
): Promise<number> {
  const path = join(folder, "export.jsonl");
  writeFileSync(path, [...store.export()].map((line) => `${JSON.stringify(line)}\n`).join(""));
  const run = new ImportRun(target, { format: "auto", onProgress: () => {} });
  const report = await run.read({ path, chunks: chunksOf(path) });
  expect([report.format, report.error]).toEqual(["jsonl", null]);
  expect(report.warnings.map(({ reason }) => reason)).toEqual(warnings);
  return report.newCount;
}

/** What people know a session by, oldest first. */
function sessionsOf(store: Store) {
  return store.query(
    "SELECT id, project, title, source, external_id, parent_session_id, fork_seq, settings, metadata, created_at_ms FROM sessions ORDER BY created_at_ms, id",
  );
}

describe("the lines", () => {
  test("are a session and its messages in order, then the next session, with all that was appended", () => {
    const store = temporaryStore();
    const session = store.session("support-42", { project: "web", title: "The deploy", hotSize: 7 });
    session.append([
      { role: "system", content: "Be brief.", createdAt: 1 },
      {
        role: "user",
        content: "Read it",
        name: "Mira",
        id: "m1",
        createdAt: 2,
        pinned: true,
        metadata: { cache: "warm" },
      },
      calls(["c1"], { createdAt: 3 }),
      results(["c1"], "done", { createdAt: 4 }),
    ]);
    store.session("empty");
    const [first, ...rest] = store.export();
    expect(first).toEqual({
      session: "support-42",
      project: "web",
      title: "The deploy",
      createdAt: store.sessions().find(({ id }) => id === "support-42")!.createdAtMs,
      settings: expect.objectContaining({ hotSize: 7, maxThemes: 10 }),
    });
    const call = { type: "tool_call", toolCallId: "c1", name: "read_file", args: { path: "a.ts" } };
    expect(rest).toEqual([
      { session: "support-42", seq: 0, role: "system", content: "Be brief.", createdAt: 1 },
      {
        session: "support-42",
        seq: 1,
        role: "user",
        content: "Read it",
        createdAt: 2,
        name: "Mira",
        id: "m1",
        pinned: true,
        metadata: { cache: "warm" },
      },
      { session: "support-42", seq: 2, role: "assistant", parts: [call], createdAt: 3 },
      {
        session: "support-42",
        seq: 3,
        role: "tool",
        parts: [{ type: "tool_result", toolCallId: "c1", content: "done" }],
        createdAt: 4,
      },
      expect.objectContaining({ session: "empty" }),
    ]);
  });

  test("of an imported session say where it came from, and come after its parent's", () => {
    const store = temporaryStore();
    const origin = { source: "claude-code", createdAtMs: 5 };
    internalsOf(store).intake.session({ ...origin, externalId: "child", createdAtMs: 1 }, { title: "Look it up" });
    internalsOf(store).intake.session({ ...origin, externalId: "parent", metadata: { branch: "main" } });
    internalsOf(store).intake.session({ ...origin, externalId: "child", parentExternalId: "parent" });
    expect([...store.export()]).toMatchObject([
      { session: "parent", source: "claude-code", externalId: "parent", metadata: { branch: "main" }, createdAt: 5 },
      { session: "child", source: "claude-code", externalId: "child", parent: "parent", createdAt: 1 },
    ]);
  });

  test("are those of the sessions asked for", () => {
    const store = temporaryStore();
    for (const id of ["a", "b", "c"]) store.session(id).append(user(`hello from ${id}`));
    const names = [...store.export({ sessions: ["c", "a"] })].map(({ session }) => session);
    expect(names).toEqual(["c", "c", "a", "a"]);
    expect(() => [...store.export({ sessions: ["a", "nobody"] })]).toThrow(
      expect.objectContaining({ code: "SESSION_NOT_FOUND", details: { sessionId: "nobody" } }),
    );
  });

  test("come a page at a time, and others may write in between", () => {
    const store = temporaryStore();
    const session = store.session("s");
    session.append(talk(120));
    const places: number[] = [];
    for (const line of store.export()) {
      if ("seq" in line) places.push(line.seq);
      session.append(user("meanwhile"));
    }
    expect(places).toEqual(Array.from({ length: 120 }, (_, index) => index));
  });

  test("leave out a session that is forgotten before its turn", () => {
    const store = temporaryStore();
    for (const id of ["a", "b"]) store.session(id).append(user(id));
    const lines = store.export();
    expect(lines.next().value).toMatchObject({ session: "a" });
    inDatabase(store.path, (database) =>
      database.exec("PRAGMA foreign_keys = ON; DELETE FROM sessions WHERE id = 'b'"),
    );
    expect([...lines]).toMatchObject([{ session: "a", seq: 0 }]);
  });

  test("need an open store", () => {
    const store = temporaryStore();
    store.session("s").append(talk(120));
    const lines = store.export();
    lines.next();
    store.close();
    expect(() => store.export()).toThrow(expect.objectContaining({ code: "STORE_CLOSED" }));
    expect(() => [...lines]).toThrow(expect.objectContaining({ code: "STORE_CLOSED" }));
  });
});

describe("a damaged store", () => {
  function damagedStore(): Store {
    const path = temporaryPath();
    const store = openFresh(path);
    const long = (letter: string): MessageInput => user(letter.repeat(20_000));
    store.session("s").append([user("first"), long("x"), user("third"), long("y"), user("fifth")]);
    store.close();
    inDatabase(path, (database) => {
      database.exec("UPDATE artifacts SET content = x'00' WHERE rowid = 1");
      database.exec("UPDATE messages SET parts = '[{' WHERE seq = 2");
    });
    return openedStore(path, { readonly: true });
  }

  test("gives every message that can be read, and names the others", () => {
    const unreadable: Unreadable[] = [];
    const lines = [...damagedStore().export({ onUnreadable: (message) => void unreadable.push(message) })];
    expect(lines.slice(1)).toMatchObject([
      { seq: 0, content: "first" },
      { seq: 3, content: "y".repeat(20_000) },
      { seq: 4, content: "fifth" },
    ]);
    expect(unreadable).toEqual([
      { sessionId: "s", seq: 1, reason: expect.stringContaining("does not inflate") },
      { sessionId: "s", seq: 2, reason: "row 3 of messages is damaged" },
    ]);
  });

  test("gives the messages of a damaged session without its line, and lists the others, and names it", () => {
    const path = temporaryPath();
    const store = openFresh(path);
    for (const [index, id] of ["a", "b", "c"].entries()) {
      store.session(id, { title: "first" }).append(user(`in ${id}`, { createdAt: 1_700_000_000_000 + index }));
    }
    store.close();
    inDatabase(path, (database) => database.exec("UPDATE sessions SET title = 'wrong' WHERE id = 'a'"));
    const damagedStore = openedStore(path, { readonly: true });
    const unreadable: Unreadable[] = [];
    const onUnreadable = (each: Unreadable): void => void unreadable.push(each);
    const lines = [...damagedStore.export({ onUnreadable })];
    expect(lines.map((line) => ("role" in line ? line.content : `line of ${line.session}`))).toEqual([
      "in a",
      "line of b",
      "in b",
      "line of c",
      "in c",
    ]);
    expect(damagedStore.sessions({ onUnreadable }).map(({ id }) => id)).toEqual(["c", "b"]);
    expect(damagedStore.sessions({ onUnreadable, limit: 2, offset: 1 }).map(({ id }) => id)).toEqual(["b"]);
    const damage = { sessionId: "a", reason: "row a of sessions is damaged" };
    expect(unreadable).toEqual([damage, damage, damage]);
    expect(() => damagedStore.sessions()).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
    expect(() => [...damagedStore.export()]).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  });

  test("throws where nobody asks for the rest", () => {
    expect(() => [...damagedStore().export()]).toThrow();
  });
});

describe("an export that is imported into an empty store", () => {
  /**
   * Goal: nothing that was said is lost or altered on the way through a file, whatever it is.
   * Method: append random messages full of what breaks files (keys named __proto__, halves of surrogate pairs, NUL, line
   * separators, long strings), some with ids and some pinned, to two sessions, one the child of the other; export,
   * import, and compare messages as JSON text, which tells apart what `toEqual` does not. Then import the file again.
   * Count how many of the rarer things were among them.
   */
  test("brings the same sessions and messages back, and nothing when it comes again", async () => {
    const counts = { messages: 0, named: 0, pinned: 0, surrogates: 0, protos: 0, artifacts: 0 };
    const message = fc
      .tuple(nastyMessage, fc.boolean(), fc.boolean())
      .map(([said, hasId, pinned]) => ({ said, hasId, pinned: pinned && said.role === "user" }));
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 10, maxLength: 25, size: "max" }), (messages) =>
        inFolderAsync(async (folder) => {
          const store = openFresh(join(folder, "agent.db"));
          const inputs = messages.map(
            ({ said, hasId, pinned }, index): MessageInput => ({
              ...said,
              ...(hasId && { id: `id ${index}` }),
              ...(pinned && { pinned }),
            }),
          );
          const origin = { source: "codex", metadata: { ["__proto__"]: 1 } };
          internalsOf(store)
            .intake.session({ ...origin, externalId: "mother" }, { project: "web", title: "灯台 “lamp”" })
            .append(inputs);
          store.session("native", { hotSize: 5 }).append(inputs);
          internalsOf(store)
            .intake.session({ source: "codex", externalId: "child", parentExternalId: "mother" })
            .append(inputs.slice(0, 3));
          const copy = openFresh(join(folder, "copy.db"));
          const messageCount = 2 * messages.length + 3;
          expect(await carryOver(store, copy, folder)).toBe(messageCount);
          expect(await carryOver(store, copy, folder)).toBe(0);
          expect(await carryOver(store, store, folder)).toBe(0);
          expect(sessionsOf(copy)).toEqual(sessionsOf(store));
          for (const id of ["mother", "native", "child"]) {
            const [stored, expected] = [copy, store].map((one) => one.resume(id).messages().map(inputOf));
            expect(JSON.stringify(stored)).toBe(JSON.stringify(expected));
          }
          const text = JSON.stringify(inputs);
          counts.messages += messages.length;
          counts.named += inputs.filter(({ id }) => id !== undefined).length;
          counts.pinned += inputs.filter(({ pinned }) => pinned === true).length;
          counts.surrogates += text.split("\\ud800").length - 1;
          counts.protos += text.split('"__proto__":').length - 1;
          counts.artifacts += copy.stats().artifactCount;
          store.close();
          copy.close();
        }),
      ),
      { numRuns: runs(4) },
    );
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(seenInRuns(2));
  });

  test("adds what the session has gained since, and refuses what has become another", async () => {
    const [store, copy, folder] = [temporaryStore(), temporaryStore(), temporaryFolder()];
    const session = store.session("s");
    session.append([user("one"), user("two")]);
    expect(await carryOver(store, copy, folder)).toBe(2);
    session.append(user("three"));
    expect(await carryOver(store, copy, folder)).toBe(1);
    session.append(user("four"));
    copy.session("s").append(user("something else"));
    const warning = expect.stringContaining('session "s" has another message with seq 3');
    expect(await carryOver(store, copy, folder, [warning])).toBe(0);
    expect(
      copy
        .session("s")
        .messages()
        .map(({ text }) => text),
    ).toEqual(["one", "two", "three", "something else"]);
  });

  test.each([
    ["a line that was added without a seq", (lines: string[]) => [...lines.slice(0, 3), PLAIN, ...lines.slice(3)]],
    ["lines in another order", (lines: string[]) => [lines[0]!, ...lines.slice(1).reverse()]],
  ])("loses and doubles nothing of %s", async (_, change) => {
    const store = temporaryStore();
    const session = store.session("a");
    session.append(["m0", "m1", "m2", "m3"].map((content) => ({ role: "user" as const, content })));
    const exported = () => [...store.export()].map((line) => JSON.stringify(line));
    const target = temporaryStore();
    const path = join(temporaryFolder(), "export.jsonl");
    const read = async (lines: readonly string[]) => {
      writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
      return await new ImportRun(target).read({ path, chunks: chunksOf(path) });
    };
    await read(exported());
    session.append([{ role: "user", content: "m4" }]);
    const changed = change(exported());
    expect((await read(changed)).warnings).toHaveLength(1); // the file was rewritten
    const texts = target
      .resume("a")
      .messages()
      .map(({ text }) => text);
    const isAdded = changed.includes(PLAIN);
    expect(texts.toSorted()).toEqual(["m0", "m1", "m2", "m3", "m4", ...(isAdded ? ["plain"] : [])]);
  });

  test("stands beside a session that only has the same id", async () => {
    const [store, copy, folder] = [
      temporaryStore(),
      openedStore(temporaryPath(), { clock: () => 7 }),
      temporaryFolder(),
    ];
    store.session("s").append(user("there"));
    copy.session("s").append(user("here"));
    expect(await carryOver(store, copy, folder)).toBe(1);
    expect(await carryOver(store, copy, folder)).toBe(0);
    expect(copy.session("s").messages()).toMatchObject([{ text: "here" }]);
    expect(copy.query("SELECT source, external_id FROM sessions WHERE id <> 's'")).toEqual([
      { source: "jsonl", external_id: "s" },
    ]);
  });

  test("brings back a session without messages, and a child whose parent is not in the file without one", async () => {
    const store = temporaryStore();
    internalsOf(store).intake.session({ source: "codex", externalId: "mother" });
    internalsOf(store).intake.session(
      { source: "codex", externalId: "child", parentExternalId: "mother" },
      { title: "alone" },
    );
    const [line] = store.export({ sessions: ["child"] });
    const folder = temporaryFolder();
    const path = join(folder, "child.jsonl");
    writeFileSync(path, `${JSON.stringify(line)}\n`);
    const copy = temporaryStore();
    await new ImportRun(copy, { format: "auto", onProgress: () => {} }).read({ path, chunks: chunksOf(path) });
    expect(copy.sessions()).toMatchObject([{ id: "child", title: "alone", parentSessionId: null, messageCount: 0 }]);
  });
});
