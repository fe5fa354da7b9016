import { describe, expect, test } from "vitest";
import type { MessageInput, Store } from "../../../src/index.ts";
import { FORGOTTEN_PLACE, newMessages, type SyncKey } from "../../../src/ingest/sync.ts";
import { hashingEmbedder } from "../../../src/models/hashing-embedder.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

/** One letter a message; `a:1` is the message `a` under the id `1`, `a!` says what was forgotten, and `!` is its place. */
function keysOf(letters: string): SyncKey[] {
  if (letters === "") return [];
  return letters.split(" ").map((letter) => {
    const [digest, externalId] = letter.replace("!", "").split(":");
    return { digest: digest!, externalId, places: letter.endsWith("!") ? [FORGOTTEN_PLACE] : [] };
  });
}

describe("newMessages", () => {
  test.each<[what: string, stored: string, history: string, fresh: number[]]>([
    ["everything, to an empty session", "", "a b c", [0, 1, 2]],
    ["nothing of an empty history", "a b", "", []],
    ["nothing of the same history", "a b c", "a b c", []],
    ["what follows the end", "a b", "a b c d", [2, 3]],
    ["what follows the end of a history without its head", "a b c", "c d", [1]],
    ["words said again", "a ok b ok", "a ok b ok ok", [4]],
    ["words said again after the head is gone", "a ok b ok", "b ok ok", [2]],
    ["an old message said again", "a b c", "c a", [1]],
    ["a summary in place of the head, and what follows the end", "a b c d", "S c d e", [0, 3]],
    ["nothing for a summary that is known", "a b c d S e", "S c d e", []],
    ["nothing where a known summary is the last that was stored", "a b c S", "S b c", []],
    ["what follows a known summary", "a b c d S e", "S c d e f", [4]],
    ["a second summary in place of the first", "a b c d S e f", "T e f g", [0, 3]],
    ["a history that was never here", "a b", "x y", [0, 1]],
    ["a message that was put in between", "a b c", "a x b c", [1]],
    ["a message under a new id, whatever it says", "a:1 b:2", "a:1 b:2 a:3", [2]],
    ["nothing for an id that is known, wherever it stands", "a:1 b:2 c:3", "c:3 a:1", []],
    ["nothing for a message that has lost its id", "a:1 b:2", "a b", []],
    ["nothing for a message that has been given an id since", "a b", "a:1 b:2", []],
    ["nothing for a forgotten message, although it was the last", "a ok !", "a ok x!", []],
    ["forgotten words that are said again", "a ok !", "a ok x! x!", [3]],
    ["a word said again, of which one was forgotten", "a ok b ! c", "a ok b ok! c ok!", [5]],
    ["nothing of the old words, if the first of them was forgotten", "! a ok b ok", "ok! a ok! b ok!", []],
    ["a summary and what follows it, if the last message was forgotten", "a b !", "S b c", [0, 2]],
    ["forgotten words that are said again to a host that has lost the first of them", "a ok ! b", "a ok b x!", [3]],
  ])("finds %s", (_, stored, history, fresh) => {
    expect(newMessages(keysOf(history), keysOf(stored))).toEqual(fresh);
  });

  test("goes by the host's own order where that explains more: a summary stands before the one message that is left", () => {
    const stored = keysOf("a b S");
    expect(newMessages(keysOf("S b c"), stored, keysOf("S b"))).toEqual([2]);
    expect(newMessages(keysOf("a b S c"), stored, keysOf("S b"))).toEqual([3]);
  });

  test("finds the end among ten thousand messages that say the same two things", () => {
    const times = (count: number): SyncKey[] => keysOf(Array(count).fill("call pending").join(" "));
    expect(newMessages(times(5_001), times(5_000))).toEqual([10_000, 10_001]);
    expect(newMessages([...times(100), ...keysOf("done")], times(5_000))).toEqual([200]);
  });
});

describe("sync", () => {
  test("appends what is new and says where it stands", () => {
    const session = temporaryStore().session("s");
    expect(session.sync([user("a"), assistant("b")])).toEqual([
      { messageId: 1, seq: 0, appended: true },
      { messageId: 2, seq: 1, appended: true },
    ]);
    expect(session.sync([user("a"), assistant("b")])).toEqual([]);
    expect(session.sync([assistant("b"), user("c")])).toEqual([{ messageId: 3, seq: 2, appended: true }]);
  });

  test("sees what was appended beside it, and in another process", () => {
    const path = temporaryPath();
    const [one, other] = [openedStore(path).session("s"), openedStore(path).session("s")];
    one.sync([user("a")]);
    one.append(assistant("b"));
    other.append(user("c"));
    expect(one.sync([user("a"), assistant("b"), user("c"), assistant("d")])).toMatchObject([{ seq: 3 }]);
    expect(other.sync([user("c"), assistant("d")])).toEqual([]);
  });

  test("refuses other words under a known id, and appends nothing", () => {
    const session = temporaryStore().session("s");
    session.append(user("a", { id: "m1" }));
    expect(() => session.sync([user("b", { id: "m1" }), user("c")])).toThrow(
      expect.objectContaining({ code: "MESSAGE_CONFLICT", details: expect.objectContaining({ messageId: 1 }) }),
    );
    expect(session.messages()).toHaveLength(1);
  });

  test("appends nothing twice when another process syncs the same at the same moment", () => {
    const path = temporaryPath();
    const history = (count: number): MessageInput[] =>
      Array.from({ length: count }, (_, index) => user(`message ${index}`));
    const other = openedStore(path).session("s");
    let raced = false;
    // What happens between comparing and appending: the embedder is asked.
    const embedder = {
      ...hashingEmbedder,
      embed(text: string) {
        if (!raced) {
          raced = true;
          other.sync(history(3));
        }
        return hashingEmbedder.embed(text);
      },
    };
    const session = openedStore(path, { embedder }).session("s");
    expect(session.sync(history(5))).toMatchObject([{ seq: 3 }, { seq: 4 }]);
    expect(session.messages().map(({ text }) => text)).toEqual([
      "message 0",
      "message 1",
      "message 2",
      "message 3",
      "message 4",
    ]);
  });
});

describe("what was forgotten", () => {
  const idOf = (store: Store, text: string): number =>
    Number(store.query(`SELECT id FROM messages WHERE text = '${text}' ORDER BY id DESC LIMIT 1`)[0]!.id);

  test.each<[what: string, id: (index: number) => object]>([
    ["by content", () => ({})],
    ["by id", (index) => ({ id: `m${index}` })],
  ])("stays out of the array of a host that starts again, recognized %s, until it is restored", (_, id) => {
    const path = temporaryPath();
    const said = ["a", "the key is hunter2", "ok", "b", "ok"].map((text, index) => user(text, id(index)));
    const store = openedStore(path);
    store.session("s").sync(said);
    store.forget("s", { messageIds: [idOf(store, "the key is hunter2"), idOf(store, "ok")] });
    const host = openedStore(path).session("s");
    expect(host.sync(said)).toEqual([]);
    const again = [...said, user("ok", id(5)), user("the key is hunter2", id(6))];
    expect(host.sync(again)).toMatchObject([{ seq: 5 }, { seq: 6 }]);
    expect(openedStore(path).session("s").sync(again)).toEqual([]);
    expect(host.messages().map(({ text }) => text)).toEqual(["a", "ok", "b", "ok", "the key is hunter2"]);
    store.restore("s");
    expect(openedStore(path).session("s").sync(again)).toMatchObject([{ seq: 7 }, { seq: 8 }]);
  });

  test("stays out with its system message and with a result that the host has shortened", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const said = (output: string): MessageInput[] => [
      { role: "system", content: "You help Mira." },
      user("Read it."),
      calls(["c1"]),
      results(["c1"], output),
      assistant("Done."),
    ];
    store.session("s").sync(said("a long secret"));
    const [system, , call] = store.session("s").messages();
    store.forget("s", { messageIds: [system!.id, call!.id] });
    const host = openedStore(path).session("s");
    expect(host.sync(said("…"))).toEqual([]);
    const next = [...said("…"), user("Again."), calls(["c1"]), results(["c1"], "another")];
    expect(host.sync(next)).toHaveLength(3);
    expect(host.messages()).toHaveLength(5);
  });

  test("is not appended again under its id, and the result says where it stood", () => {
    const store = temporaryStore();
    const session = store.session("s");
    const given = ["a", "b", "c", "d"].map((text) => user(text, { id: text }));
    const before = session.append(given);
    store.forget("s", { messageIds: [before[1]!.messageId, before[2]!.messageId] });
    expect(session.append(given)).toEqual(before.map((result) => ({ ...result, appended: false })));
    expect(() => session.append(user("other", { id: "b" }))).toThrow(
      expect.objectContaining({
        code: "MESSAGE_CONFLICT",
        message: expect.stringContaining("has forgotten a different message"),
        details: { sessionId: "s", externalId: "b", messageId: before[1]!.messageId, isForgotten: true },
      }),
    );
    expect(session.append(user("b")).appended).toBe(true); // without an id, it was said again
    store.restore("s", { messageIds: [before[2]!.messageId] });
    expect(session.append(user("other", { id: "c" }))).toMatchObject({ appended: true, seq: 5 });
    expect(session.append(user("b", { id: "b" }))).toMatchObject({ appended: false, messageId: before[1]!.messageId });
  });

  test("is said again under another id", () => {
    const path = temporaryPath();
    const session = openedStore(path).session("s");
    const yes = (id: string) => user("yes", { id });
    const said = [user("a", { id: "1" }), assistant("b", { id: "2" })];
    const { messageId } = session.sync([...said, yes("3")])[2]!;
    const store = openedStore(path);
    store.forget("s", { messageIds: [messageId] });
    for (const host of [session, store.session("s")]) expect(host.sync([...said, yes("3")])).toEqual([]);
    expect(
      openedStore(path)
        .session("s")
        .sync([...said, user("yes")]),
    ).toEqual([]);
    expect(store.session("s").sync([...said, yes("4")])).toHaveLength(1);
    expect(
      openedStore(path)
        .session("s")
        .sync([...said, yes("3"), yes("4"), yes("5")]),
    ).toHaveLength(1);
  });

  test("is refused as the array of a whole session, and the session can begin anew", () => {
    const store = temporaryStore();
    const said = ["a", "b", "c", "d"].map((text) => user(text));
    store.session("s").sync(said);
    store.forget("s");
    const session = store.session("s");
    expect(() => session.sync([...said, user("e")])).toThrow(expect.objectContaining({ code: "SESSION_FORGOTTEN" }));
    expect(session.messages()).toEqual([]);
    expect(session.sync([user("a"), user("b")])).toHaveLength(2); // two texts are too few to be taken for it
    store.forget("s");
    store.restore("s");
    expect(store.session("s").sync([...said, user("e")])).toHaveLength(5);
    expect(store.session("other").sync(said)).toHaveLength(4);
  });
});
