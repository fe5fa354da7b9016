import { describe, expect, test } from "vitest";
import type { Session, Store } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { allRows } from "../../support/rows.ts";
import { talk, user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

describe("session", () => {
  test("creates a session, and resumes it from then on", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const session = store.session("support-42", { project: "web", title: "Deploy" });
    session.append(user("hello"));
    expect(store.session("support-42")).toBe(session);
    store.close();
    const again = openedStore(path).session("support-42", { project: "web" });
    expect(again.info()).toMatchObject({ id: "support-42", project: "web", title: "Deploy", messageCount: 1 });
  });

  test("makes up an id in order of time where none is given", () => {
    const store = temporaryStore();
    const ids = [store.session().id, store.session().id];
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids.toSorted()).toEqual(ids);
  });

  test("keeps its settings, and takes new ones", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("s", { hotSize: 2, overlap: 0, evictBatch: 2 }).append(talk(3));
    store.close();
    const again = openedStore(path);
    again.session("s").append(user("the fourth makes a batch"));
    expect(again.query("SELECT count(*) AS n FROM message_zones WHERE is_cold = 1")).toEqual([{ n: 2 }]);
    again.session("s", { hotSize: 20 }).append(talk(10));
    expect(again.query("SELECT count(*) AS n FROM message_zones WHERE is_cold = 1")).toEqual([{ n: 2 }]);
  });

  test("refuses another project than the session's own", () => {
    const store = temporaryStore();
    store.session("s", { project: "web" });
    expect(() => store.session("s", { project: "api" })).toThrow(
      expect.objectContaining({
        code: "SESSION_CONFLICT",
        details: { sessionId: "s", field: "project", stored: "web", given: "api" },
      }),
    );
  });

  test.each(["", "x".repeat(513), "a\0b", "a\nb", "\ud800", 5 as unknown as string])("refuses the id %j", (id) => {
    const store = temporaryStore();
    expect(() => store.session(id)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect(() => store.session("s", { project: id })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect(store.sessions()).toEqual([]);
  });

  test("refuses to resume what is not there", () => {
    expect(() => temporaryStore().resume("s")).toThrow(
      expect.objectContaining({ code: "SESSION_NOT_FOUND", details: { sessionId: "s" } }),
    );
  });

  test("makes nothing in a store that was opened for reading", () => {
    const path = temporaryPath();
    openedStore(path);
    const reader = openedStore(path, { readonly: true });
    expect(() => reader.session("s")).toThrow(expect.objectContaining({ code: "STORE_READONLY" }));
  });
});

describe("importedSession", () => {
  const origin = { source: "claude-code", externalId: "abc" };

  test("is the same for every import of it, under its own name where that is free", () => {
    const store = temporaryStore();
    expect(internalsOf(store).intake.session(origin).id).toBe("abc");
    expect(internalsOf(store).intake.session(origin)).toBe(store.session("abc"));
  });

  test("is another where the name is taken, the same one each time", () => {
    const store = temporaryStore();
    store.session("abc").append(user("mine"));
    const imported = internalsOf(store).intake.session(origin);
    expect(imported.id).not.toBe("abc");
    expect(internalsOf(store).intake.session(origin)).toBe(imported);
    expect(internalsOf(store).intake.session({ ...origin, source: "codex" }).id).not.toBe(imported.id);
  });
});

describe("messages", () => {
  test("gives a range of places, both ends included", () => {
    const session = temporaryStore().session("s");
    session.append(talk(10));
    const seqs = (options: Parameters<Session["messages"]>[0]): number[] =>
      session.messages(options).map(({ seq }) => seq);
    expect(seqs({ seqFrom: 2, seqTo: 4 })).toEqual([2, 3, 4]);
    expect(seqs({ seqFrom: 8 })).toEqual([8, 9]);
    expect(seqs({ seqFrom: 2, limit: 3 })).toEqual([2, 3, 4]);
    expect(seqs({ seqFrom: 2, seqTo: 3, limit: 5 })).toEqual([2, 3]);
    expect(seqs({ limit: 0 })).toEqual([]);
    expect(seqs({ seqFrom: 20 })).toEqual([]);
    expect(seqs({ seqFrom: 4, seqTo: 3 })).toEqual([]);
    expect(() => session.messages({ limit: 10_001 })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect(() => session.messages({ seqFrom: -1 })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});

test("reads write nothing", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s", { hotSize: 2, overlap: 0, evictBatch: 2 });
  session.append(talk(20));
  const before = allRows(path);
  session.render();
  session.roots();
  session.messages();
  session.info();
  store.expand(session.roots()[0]!.root);
  store.expand(1);
  store.stats();
  store.sessions();
  store.verify();
  store.resume("s");
  expect(allRows(path)).toEqual(before);
});

test("everything is refused once the store is closed", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append(user("hello"));
  store.close();
  const uses: ((store: Store) => unknown)[] = [
    () => session.append(user("a")),
    () => session.append([user("a")]),
    () => session.sync([user("a")]),
    () => session.render(),
    () => session.compact(),
    () => session.messages(),
    () => session.roots(),
    () => session.info(),
    () => store.session("t"),
    () => internalsOf(store).intake.session({ source: "a", externalId: "b" }),
    () => store.resume("s"),
    () => store.sessions(),
    () => store.expand(1),
    () => store.query("SELECT 1"),
    () => store.stats(),
    () => store.verify(),
  ];
  for (const use of uses) expect(() => use(store)).toThrow(expect.objectContaining({ code: "STORE_CLOSED" }));
});
