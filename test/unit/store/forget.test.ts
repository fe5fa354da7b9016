import { existsSync, readFileSync } from "node:fs";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import type { Session, Store } from "../../../src/index.ts";
import { searching } from "../../support/full-text.ts";
import { inDatabase } from "../../support/rows.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const CANARY = "canary-7f3a9c";

/** Turns of four messages: a question, a call, its result, an answer. The settings move the frontier early. */
const SMALL = { hotSize: 4, overlap: 2, evictBatch: 4, maxThemes: 3, resolveTokensMin: 10 };
const SUBJECTS = [
  "session lock pid stale reboot flock kernel lock.ts",
  "upload retry backoff jitter bucket throttle retry.ts",
  "config parser unknown key megabyte suffix parse.ts",
];

function say(session: Session, turns: number, from = 0): void {
  for (let turn = from; turn < from + turns; turn++) {
    const subject = SUBJECTS[Math.floor(turn / 3) % SUBJECTS.length]!;
    session.append([
      user(`${subject}: why, the ${turn}th time?`),
      calls(["call_0"]),
      results(["call_0"], `Line ${turn} of ${subject}.`),
      assistant(`Answer ${turn}: ${subject} was wrong in ${turn} places; decided to fix it.`),
    ]);
  }
}

/** Whether the text is in a byte of the store: the database, its write-ahead log, its shared memory. */
function bytesHold(path: string, text: string): boolean {
  return ["", "-wal", "-shm"].some((end) => existsSync(path + end) && readFileSync(path + end).includes(text));
}

describe("forgetting messages", () => {
  test("takes them, their steps and every byte of them, and leaves the rest as it was", async () => {
    const path = temporaryPath();
    const store = openedStore(path, { summarizer: scriptedSummarizer("good") });
    const session = store.session("s", SMALL);
    say(session, 6);
    session.append(calls(["secret"]));
    const { messageId } = session.append(results(["secret"], `TOKEN=${CANARY} `.repeat(2_000)));
    session.append(assistant(`The token is ${CANARY}.`, { id: "told" }));
    say(session, 8, 6);
    await session.resolveDirty();
    session.compact();
    expect(bytesHold(path, CANARY)).toBe(true);
    const before = session.messages();
    const told = before.find(({ externalId }) => externalId === "told")!;

    const report = store.forget("s", { messageIds: [messageId, told.id] });

    // The call goes with its result.
    expect(report).toMatchObject({ messageCount: 3, artifactCount: 1, erased: true });
    expect(report.summaryCount).toBeGreaterThan(0);
    expect(bytesHold(path, CANARY)).toBe(false);
    const kept = before.filter(({ seq }) => ![24, 25, 26].includes(seq));
    expect(session.messages()).toEqual(kept);
    expect(store.verify()).toMatchObject({ ok: true, messageCount: kept.length });
    const context = session.render({ tokensMax: 2_000 });
    const counts = [...context.sources, ...context.omitted].map(({ messageCount }) => messageCount);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(kept.length);
  });

  test("keeps summaries that did not cover them, word for word", async () => {
    const store = temporaryStore({ summarizer: scriptedSummarizer("good") });
    const session = store.session("s", { ...SMALL, maxThemes: 10 });
    say(session, 12);
    await session.resolveDirty();
    session.compact();
    const summaries = session.roots().flatMap((root) => root.summaries ?? []);
    const [victim, ...others] = summaries;
    expect(others.length).toBeGreaterThan(0);
    const [member] = store.expand(victim!.root, { limit: 1 }).members;

    expect(store.forget("s", { messageIds: [member!.id] }).summaryCount).toBe(1);

    const left = session.roots().flatMap((root) => root.summaries ?? []);
    expect(left).toEqual(others);
    for (const { root, messageCount } of left) expect(store.expand(root).memberCount).toBe(messageCount);
  });

  test("lets the session go on, in this process and in another, and gives no place twice", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const session = store.session("s", SMALL);
    say(session, 8);
    const other = openedStore(path).resume("s");
    expect(other.render().messages).toEqual(session.render().messages);
    const newest = session.messages({ seqFrom: 31 })[0]!;
    store.forget("s", { messageIds: [newest.id, session.messages()[0]!.id] });

    expect(other.messages().map(({ seq }) => seq)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
    expect(other.append(user("And now?")).seq).toBe(32);
    say(session, 6, 8);
    expect(JSON.stringify(other.render({ tokensMax: 3_000 }))).toBe(
      JSON.stringify(session.render({ tokensMax: 3_000 })),
    );
    expect(store.verify().problems).toEqual([]);
  });

  test("is refused for a message of another session, and forgets nothing then", () => {
    const store = temporaryStore();
    const { messageId } = store.session("a").append(user("mine"));
    const other = store.session("b").append(user("yours"));
    expect(() => store.forget("a", { messageIds: [messageId, other.messageId] })).toThrow(
      expect.objectContaining({ code: "MESSAGE_NOT_FOUND", details: { messageId: other.messageId } }),
    );
    expect(store.resume("a").messages()).toHaveLength(1);
  });

  test("does not hide a message that was lost", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const session = store.session("s");
    const ids = ["a", "b", "c"].map((text) => session.append(user(text)).messageId);
    store.forget("s", { messageIds: [ids[0]!] });
    expect(store.verify().ok).toBe(true);
    inDatabase(path, (database) => database.exec(`DELETE FROM messages WHERE id = ${ids[1]}`));
    expect(store.verify().problems).toEqual([
      { sessionId: "s", text: "no message is at seq 1, and none was forgotten", rebuildable: false },
    ]);
  });
});

describe("the full-text index", () => {
  const SECRETS = ["quixotarium", "zephyranthine", "src/obfuscatron.ts"];

  /** A store whose index has several parts, some of them with words that only one message has. */
  function indexed(path: string): Store {
    const store = openedStore(path);
    for (const [at, secret] of SECRETS.entries()) {
      store.session("kept").append(user(`the lock of ${at}`));
      store.session(`s${at}`).append(user(`the ${secret} and the lock`));
      store.verify({ rebuild: true });
    }
    return store;
  }

  test("loses every byte of the words that only a forgotten message had", () => {
    const path = temporaryPath();
    const store = indexed(path);
    const [first] = store.session("s0").messages();
    expect(bytesHold(path, "quixotarium")).toBe(true);
    expect(store.forget("s0", { messageIds: [first!.id] }).erased).toBe(true);
    expect(store.forget("s1").erased).toBe(true);
    // Words are kept without what they have in common with the one before: look for their ends, too.
    for (const text of ["quixotarium", "otarium", "zephyranthine", "yranthine"])
      expect(bytesHold(path, text)).toBe(false);
    expect(store.query("SELECT term FROM messages_fts_terms WHERE doc = 1").map(({ term }) => term)).toEqual([
      "obfuscatron",
      "obfuscatron.t",
      "src",
      "src/obfuscatron.t",
      "ts",
    ]);
    expect(store.verify()).toMatchObject({ ok: true, messageCount: 4 });
    expect(store.forget("s2").erased).toBe(true);
    expect(bytesHold(path, "fuscatron")).toBe(false);
    expect(searching(path)("lock")).toHaveLength(3);
  });

  test("scores what is left as if the rest had never been", () => {
    const [path, other] = [temporaryPath(), temporaryPath()];
    const store = openedStore(path);
    const kept = ["the lock of a region", "region deploy", "a lock"].map((text) => user(text));
    for (const one of [store, openedStore(other)]) one.session("kept").append(kept);
    store.session("gone").append(user(`lock ${"many other words here ".repeat(50)}`));
    const { messageId } = store.session("kept").append(user("region region region"));
    store.verify({ rebuild: true });
    openedStore(other).verify({ rebuild: true });
    store.forget("gone");
    store.forget("kept", { messageIds: [messageId] });
    expect(searching(path)("lock region")).toEqual(searching(other)("lock region"));
    expect(store.verify().problems).toEqual([]);
  });

  test("does not keep a message from being forgotten when it is damaged", () => {
    const path = temporaryPath();
    const store = indexed(path);
    inDatabase(path, (database) => {
      database.unsafeMode(true);
      database.exec("DELETE FROM messages_fts_data");
    });
    expect(store.forget("s0")).toMatchObject({ messageCount: 1, erased: true });
    expect(bytesHold(path, "quixotarium")).toBe(false);
    expect(store.verify({ rebuild: true }).ok).toBe(true);
    expect(searching(path)("lock")).toHaveLength(5);
  });
});

describe("forgetting a session", () => {
  test("takes all of it and leaves the others", async () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const session = store.session("secret", SMALL);
    session.append({ role: "user", content: `${CANARY}: a word to remember. `.repeat(40) });
    say(session, 8);
    await session.resolveDirty();
    const other = store.session("other", SMALL);
    say(other, 8);
    const before = other.messages();

    expect(store.forget("secret")).toMatchObject({ messageCount: 33, erased: true });

    expect(bytesHold(path, CANARY)).toBe(false);
    expect(store.sessions().map(({ id }) => id)).toEqual(["other"]);
    expect(other.messages()).toEqual(before);
    expect(() => session.append(user("still here?"))).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
    expect(store.verify().ok).toBe(true);
    expect(() => store.forget("secret")).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  });

  test("says so when another process keeps the bytes alive, and erases them later", () => {
    const path = temporaryPath();
    const store = openedStore(path, { busyTimeoutMs: 50 });
    store.session("secret").append(user(CANARY));
    const reader = new Database(path, { readonly: true });
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM messages").get();
    expect(store.forget("secret").erased).toBe(false);
    expect(store.sessions()).toEqual([]);
    reader.close();
    expect(store.forget([]).erased).toBe(true);
    expect(bytesHold(path, CANARY)).toBe(false);
  });
});
