import { describe, expect, test } from "vitest";
import type { Session } from "../../../src/index.ts";
import { inDatabase } from "../../support/rows.ts";
import { assistant, calls, results, talk, user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const newSession = (): Session => temporaryStore().session("s");

/** seq of the first message of each message's step. */
function stepsOf(session: Session): number[] {
  const messages = session.messages();
  return messages.map(({ stepId }) => messages.find(({ id }) => id === stepId)!.seq);
}

describe("append", () => {
  test("returns the id and the place of each message", () => {
    const session = newSession();
    expect(session.append(user("a"))).toEqual({ messageId: 1, seq: 0, appended: true });
    expect(session.append([assistant("b"), user("c")])).toEqual([
      { messageId: 2, seq: 1, appended: true },
      { messageId: 3, seq: 2, appended: true },
    ]);
    expect(session.append([])).toEqual([]);
  });

  test("numbers each session from 0 and gives no id twice in a store", () => {
    const store = temporaryStore();
    const [one, other] = [store.session("a"), store.session("b")];
    const places = [one, other, one, other].map((session) => session.append(user("hello")));
    expect(places.map(({ messageId, seq }) => [messageId, seq])).toEqual([
      [1, 0],
      [2, 0],
      [3, 1],
      [4, 1],
    ]);
  });

  test("has written text, embedding, tokens and parent when it returns", () => {
    const path = temporaryPath();
    const session = openedStore(path).session("s");
    session.append([user("Why did the deploy fail?"), user("?!"), user("")]);
    const rows = inDatabase(path, (database) =>
      database
        .prepare(
          "SELECT text, length(embedding) AS bytes, embedder_id, token_count, token_counter, parent_id = id AS own FROM messages ORDER BY seq",
        )
        .raw()
        .all(),
    );
    expect(rows).toEqual([
      ["Why did the deploy fail?", 388, "hashing-v1-384", 10, "pieces-1", 1],
      ["?!", null, null, 5, "pieces-1", 1],
      ["", null, null, 4, "pieces-1", 1],
    ]);
  });

  test("takes the time that is given, or asks the clock", () => {
    const session = temporaryStore({ clock: () => 42 }).session("s");
    session.append([user("a"), user("b", { createdAt: "2023-11-14T22:13:20Z" })]);
    expect(session.messages().map(({ createdAtMs }) => createdAtMs)).toEqual([42, 1_700_000_000_000]);
  });

  test("appends a message under the same id only once", () => {
    const session = newSession();
    const first = session.append(user("a", { id: "m1" }));
    expect(session.append(user("a", { id: "m1", createdAt: 5, metadata: { retry: true } }))).toEqual({
      ...first,
      appended: false,
    });
    expect(session.append([user("b", { id: "m2" }), user("b", { id: "m2" }), user("a", { id: "m1" })])).toEqual([
      { messageId: 2, seq: 1, appended: true },
      { messageId: 2, seq: 1, appended: false },
      { messageId: 1, seq: 0, appended: false },
    ]);
    expect(session.messages()).toHaveLength(2);
  });

  test("knows an id in its own session only", () => {
    const store = temporaryStore();
    store.session("a").append(user("one", { id: "m1" }));
    expect(store.session("b").append(user("other", { id: "m1" })).appended).toBe(true);
  });

  test("refuses another message under an id that is taken, and all that came with it", () => {
    const session = newSession();
    session.append(user("a", { id: "m1" }));
    expect(() => session.append([user("new"), user("b", { id: "m1" })])).toThrow(
      expect.objectContaining({
        code: "MESSAGE_CONFLICT",
        details: { sessionId: "s", externalId: "m1", messageId: 1 },
      }),
    );
    expect(session.messages()).toHaveLength(1);
    expect(session.append(user("next")).seq).toBe(1);
  });

  test("refuses a place that is not the next one", () => {
    const session = newSession();
    session.append(user("a"), { seq: 0 });
    expect(() => session.append(user("b"), { seq: 0 })).toThrow(
      expect.objectContaining({ code: "SESSION_CHANGED", details: { sessionId: "s", seqExpected: 0, seqFound: 1 } }),
    );
    expect(() => session.append(user("b"), { seq: 2 })).toThrow(expect.objectContaining({ code: "SESSION_CHANGED" }));
    expect(session.append(user("b"), { seq: 1 }).seq).toBe(1);
  });

  test("writes nothing while another process holds the file, and goes on afterwards", () => {
    const path = temporaryPath();
    const session = openedStore(path, { busyTimeoutMs: 0 }).session("s");
    inDatabase(path, (database) => {
      database.exec("BEGIN IMMEDIATE");
      expect(() => session.append(user("a"))).toThrow(expect.objectContaining({ code: "STORE_BUSY" }));
      expect(() => session.compact()).toThrow(expect.objectContaining({ code: "STORE_BUSY" }));
      database.exec("ROLLBACK");
    });
    expect(session.append(user("a"))).toMatchObject({ messageId: 1, seq: 0 });
  });

  test("goes by the settings that another process has given the session meanwhile", () => {
    const path = temporaryPath();
    const [one, other] = [openedStore(path), openedStore(path)];
    const session = one.session("s", { hotSize: 9, overlap: 0, evictBatch: 1 });
    session.append(talk(6));
    other.session("s", { hotSize: 2 });
    session.append(user("now"));
    expect(one.query("SELECT graduated_seq FROM sessions")).toEqual([{ graduated_seq: 5 }]);
  });

  test("is refused by a store that was opened for reading", () => {
    const path = temporaryPath();
    openedStore(path).session("s").append(user("a"));
    const session = openedStore(path, { readonly: true }).resume("s");
    for (const write of [() => session.append(user("b")), () => session.compact(), () => session.sync([user("b")])]) {
      expect(write).toThrow(expect.objectContaining({ code: "STORE_READONLY" }));
    }
    expect(session.render().sources).toHaveLength(1);
  });
});

describe("steps", () => {
  test("holds an assistant message and the results that answer it", () => {
    const session = newSession();
    session.append([user("go"), calls(["a", "b"]), results(["b"]), results(["a"]), assistant("done")]);
    expect(stepsOf(session)).toEqual([0, 1, 1, 1, 4]);
  });

  test("gives a repeated tool id to the newest call", () => {
    const session = newSession();
    session.append([calls(["call_0"]), results(["call_0"]), calls(["call_0"]), results(["call_0"])]);
    expect(stepsOf(session)).toEqual([0, 0, 2, 2]);
  });

  test("stands alone with a result that answers nothing, whose id is answered, or whose step a user has closed", () => {
    const session = newSession();
    session.append([
      results(["a"]),
      calls(["a"]),
      results(["a"]),
      results(["a"]),
      calls(["b"]),
      user("stop"),
      results(["b"]),
    ]);
    expect(stepsOf(session)).toEqual([0, 1, 1, 3, 4, 5, 6]);
  });

  test("lets a system message and a stray result pass between a call and its answer", () => {
    const session = newSession();
    session.append([calls(["a"]), { role: "system", content: "Be brief." }, results(["x"]), results(["a"])]);
    expect(stepsOf(session)).toEqual([0, 1, 2, 0]);
  });

  test("takes a result late, also in another process", () => {
    const path = temporaryPath();
    const first = openedStore(path);
    first.session("s").append([user("go"), calls(["a", "b"]), results(["a"])]);
    first.close();
    const session = openedStore(path).resume("s");
    session.append(results(["b"]));
    session.append(results(["b"]));
    expect(stepsOf(session)).toEqual([0, 1, 1, 1, 4]);
  });

  test("knows the turn of each message by the user message that opened it", () => {
    const session = newSession();
    session.append([assistant("hello"), user("go"), calls(["a"]), results(["a"]), user("more"), assistant("yes")]);
    expect(session.messages().map(({ turnSeq }) => turnSeq)).toEqual([-1, 1, 1, 1, 4, 4]);
  });
});

describe("pinned messages", () => {
  test("are those that the caller pins, every system message, and the results of a pinned call", () => {
    const session = newSession();
    session.append([
      { role: "system", content: "Be brief." },
      user("remember this", { pinned: true }),
      calls(["a"], { pinned: true }),
      results(["a"]),
      user("plain"),
    ]);
    expect(session.messages().map(({ pinned }) => pinned)).toEqual([true, true, true, true, false]);
  });

  test("are never a result whose call is not pinned", () => {
    const session = newSession();
    session.append(calls(["a"]));
    expect(() => session.append(results(["a"], "done", { pinned: true }))).toThrow(
      expect.objectContaining({
        code: "MESSAGE_INVALID",
        details: { path: "pinned", reason: "a result is pinned with its call: pin the assistant message that calls" },
      }),
    );
    expect(session.messages()).toHaveLength(1);
  });
});
