import { describe, expect, test } from "vitest";
import { type MessageInput, openStore, type Store } from "../../../src/index.ts";
import { allRows } from "../../support/rows.ts";
import { talk, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const SMALL = { hotSize: 4, overlap: 1, evictBatch: 4, maxThemes: 2 } as const;

class Undone extends Error {}

/** Runs work in a transaction that is rolled back. */
function undone(store: Store, work: () => void): void {
  expect(() =>
    store.atomically(() => {
      work();
      throw new Undone();
    }),
  ).toThrow(Undone);
}

function prepared(): { store: Store; path: string } {
  const path = temporaryPath();
  const store = openedStore(path, { clock: () => 1_700_000_000_000 });
  store.session("s", SMALL).append(talk(20));
  return { store, path };
}

describe("work that ends", () => {
  test("is committed as a whole, and its value is returned", () => {
    const { store, path } = prepared();
    const seq = store.atomically(() => {
      const { seq } = store.session("s").append([user("one"), user("two")])[0]!;
      store.session("s").entries.append([{ value: { after: seq } }]);
      store.items.put(["app"], "seq", seq);
      // A reader of another connection sees nothing of it yet.
      const other = openStore(path, { readonly: true });
      expect(other.resume("s").messages()).toHaveLength(20);
      expect(other.items.get(["app"], "seq")).toBeUndefined();
      other.close();
      return seq;
    });
    expect(seq).toBe(20);
    const other = openedStore(path);
    expect(other.resume("s").messages()).toHaveLength(22);
    expect(other.resume("s").entries.list()).toMatchObject([{ beforeSeq: 22, value: { after: 20 } }]);
    expect(other.items.get(["app"], "seq")?.value).toBe(20);
  });

  test("renders what it has appended", () => {
    const { store } = prepared();
    const session = store.resume("s");
    const rendered = store.atomically(() => {
      session.append(user("the newest of all"));
      return session.render();
    });
    expect(rendered).toEqual(session.render());
    expect(JSON.stringify(rendered.messages)).toContain("the newest of all");
  });
});

describe("work that throws", () => {
  test("leaves no row, and its own error comes through, even one that looks like damage", () => {
    const { store, path } = prepared();
    const before = allRows(path);
    for (const error of [new Undone(), new SyntaxError("Unexpected token"), "text", undefined]) {
      let thrown: unknown = "nothing";
      try {
        store.atomically(() => {
          store.session("s").append(talk(30));
          store.session("new", SMALL).append(user("hello"));
          store.session("s", { hotSize: 9 });
          store.session("s").entries.append([{ value: 1 }]);
          store.items.put([], "key", 1);
          throw error;
        });
      } catch (caught) {
        thrown = caught;
      }
      expect(thrown).toBe(error);
    }
    expect(allRows(path)).toEqual(before);
    expect(() => store.resume("new")).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  });

  test("leaves the sessions in memory as if it had not run", () => {
    const { store } = prepared();
    const session = store.resume("s");
    const context = session.render();
    const compacted = session.pressure();
    undone(store, () => {
      session.append(talk(30).map(({ content }) => user(`undone: ${content}`)));
      session.compact();
      session.render();
    });
    expect(session.render()).toEqual(context);
    expect(session.pressure()).toEqual(compacted);
    expect(session.append(user("next"))).toMatchObject({ seq: 20 });
    session.append(talk(12));

    // As a process that never saw the rollback.
    const twin = prepared().store.resume("s");
    twin.append(user("next"));
    twin.append(talk(12));
    expect(session.render()).toEqual(twin.render());
    expect(session.roots({ level: "cluster" }).map(({ label }) => label)).toEqual(
      twin.roots({ level: "cluster" }).map(({ label }) => label),
    );
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("does not let `sync` believe that the host's messages are stored", () => {
    const store = openedStore(temporaryPath());
    const session = store.session("s");
    const history: MessageInput[] = [user("first")];
    session.sync(history);
    history.push(user("second"));
    undone(store, () => void session.sync(history));
    expect(session.sync(history)).toHaveLength(1);
    expect(session.messages().map(({ text }) => text)).toEqual(["first", "second"]);
  });

  test("is found by no search afterwards, and neither is its vector under a number that is given again", async () => {
    const { store } = prepared();
    await store.recall("warm up the caches of a search");
    undone(store, () => void store.session("s").append(Array.from({ length: 120 }, () => user("zebra migration"))));
    store.session("s").append(user("the quarterly invoice"));
    expect(await store.recall('"zebra migration"', { limit: 3 })).toEqual([]);
    const [hit] = await store.recall("quarterly invoice", { limit: 1 });
    expect(hit).toMatchObject({ seq: 20, snippet: "the quarterly invoice" });
    await store.upkeep();
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });
});

describe("work in work", () => {
  test("is part of the outer one", () => {
    const { store, path } = prepared();
    const before = allRows(path);
    undone(store, () => {
      expect(store.atomically(() => store.session("s").append(user("inner")).seq)).toBe(20);
    });
    expect(allRows(path)).toEqual(before);
  });

  test("is undone alone if the outer one catches its error", () => {
    const { store } = prepared();
    const session = store.resume("s");
    store.atomically(() => {
      session.append(user("kept"));
      undone(store, () => void session.append(user("undone")));
      session.append(user("kept, too"));
    });
    expect(session.messages({ seqFrom: 20 }).map(({ seq, text }) => [seq, text])).toEqual([
      [20, "kept"],
      [21, "kept, too"],
    ]);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("goes on after an append that was refused", () => {
    const { store } = prepared();
    const session = store.resume("s");
    store.atomically(() => {
      session.append({ ...user("kept"), id: "m1" });
      expect(() => session.append([user("not kept"), { ...user("other"), id: "m1" }])).toThrow(
        expect.objectContaining({ code: "MESSAGE_CONFLICT" }),
      );
    });
    expect(session.messages({ seqFrom: 20 }).map(({ text }) => text)).toEqual(["kept"]);
  });
});

describe("refused", () => {
  test.each<[string, () => unknown]>([
    ["an async function", async () => {}],
    ["a function that returns a promise", () => Promise.reject(new Error("nobody hears this"))],
    // biome-ignore lint/suspicious/noThenProperty: it is what is refused.
    ["a thenable", () => ({ then: () => {} })],
  ])("%s, and nothing of it is stored", (_, work) => {
    const { store, path } = prepared();
    const before = allRows(path);
    expect(() =>
      store.atomically(() => {
        store.session("s").append(user("never"));
        return work();
      }),
    ).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    let isCalled = false;
    const asynchronous = async () => {
      isCalled = true;
    };
    const generating = function* () {
      isCalled = true;
      yield 0;
    };
    for (const refused of [asynchronous, generating]) {
      expect(() => store.atomically<unknown>(refused)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    }
    expect(isCalled).toBe(false);
    expect(allRows(path)).toEqual(before);
  });

  test("calls that a rollback would not undo", async () => {
    const store = openedStore(temporaryPath(), { summarizer: scriptedSummarizer("good") });
    const session = store.session("s", SMALL);
    session.append(talk(20));
    const refusal = expect.objectContaining({ code: "NOT_ATOMIC" });
    const running: unknown[] = [];
    store.atomically(() => {
      running.push(store.recall("x"), store.upkeep(), store.upkeep({ only: "vectors" }), store.backup(temporaryPath()));
      running.push(session.resolveDirty());
      expect(() => store.nearestRoots("x")).toThrow(refusal);
      expect(() => session.render({ query: "x" })).toThrow(refusal);
      expect(() => store.verify()).toThrow(refusal);
      expect(() => store.close()).toThrow(refusal);
      expect(store.forget([]).erased).toBe(false);
    });
    for (const result of running) await expect(result).rejects.toThrow(refusal);
    expect(await store.recall("x")).toBeInstanceOf(Array);
  });

  test("a reader", () => {
    const { path } = prepared();
    const reader = openedStore(path, { readonly: true });
    expect(() => reader.atomically(() => 1)).toThrow(expect.objectContaining({ code: "STORE_READONLY" }));
  });
});

test("forget inside of it is committed or undone with the rest, and erases later", () => {
  const { store } = prepared();
  undone(store, () => void store.forget("s"));
  expect(store.resume("s").messages()).toHaveLength(20);
  expect(store.atomically(() => store.forget("s"))).toMatchObject({ messageCount: 20, erased: false });
  expect(store.sessions()).toEqual([]);
  expect(store.forget([]).erased).toBe(true);
});
