import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  CoppiceSessionStore,
  type SessionKey,
  type SessionStoreEntry,
  type SessionSummaryEntry,
} from "../../../src/frameworks/claude-agent-sdk.ts";
import { importFiles } from "../../../src/imports/index.ts";
import type { Store } from "../../../src/index.ts";
import { nastyJson } from "../../support/message-arbitraries.ts";
import { openedStore, temporaryFolder, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const SESSION_ID = "5d3f2a10-0000-4000-8000-000000000001";
const KEY: SessionKey = { projectKey: "-work-harbor", sessionId: SESSION_ID };

function line(uuid: string, parentUuid: string | null, role: "user" | "assistant", text: string): SessionStoreEntry {
  const message =
    role === "user"
      ? { role, content: text }
      : { role, id: `msg-${uuid}`, model: "claude", content: [{ type: "text", text }] };
  return {
    ...{
      type: role,
      uuid,
      parentUuid,
      sessionId: SESSION_ID,
      cwd: "/work/harbor",
      timestamp: "2026-03-01T09:00:00.000Z",
    },
    ...{ isSidechain: false, userType: "external", version: "2.1.330", message },
  };
}

const TALK: SessionStoreEntry[] = [
  { type: "queue-operation", operation: "enqueue", sessionId: SESSION_ID, timestamp: "2026-03-01T09:00:00.000Z" },
  line("u1", null, "user", "When is high water at the lock gate?"),
  line("a1", "u1", "assistant", "High water is at 04:12 with 5.3 meters."),
  { type: "last-prompt", lastPrompt: "When is high water", sessionId: SESSION_ID },
];

test("entries come back word for word, whatever is in them, in another process too", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.dictionary(fc.string(), nastyJson), { maxLength: 5 }), async (fields) => {
      const path = temporaryPath();
      const entries = fields.map((field) => ({ ...field, type: "odd", uuid: undefined as never }));
      for (const entry of entries) delete (entry as { uuid?: string }).uuid;
      await new CoppiceSessionStore(openedStore(path)).append(KEY, entries);
      const loaded = await new CoppiceSessionStore(openedStore(path)).load(KEY);
      expect(loaded).toEqual(entries.length === 0 ? null : entries);
    }),
    { numRuns: 10 },
  );
});

test("the same entries are messages: recall finds them, and an import of the file adds nothing", async () => {
  const store = temporaryStore();
  const sessions = new CoppiceSessionStore(store);
  await sessions.append(KEY, TALK.slice(0, 2));
  await sessions.append(KEY, TALK.slice(2));
  expect(await sessions.load(KEY)).toEqual(TALK);
  const [hit] = await store.recall("04:12 with 5.3 meters", { limit: 1 });
  expect(hit).toMatchObject({ sessionId: SESSION_ID, seq: 1 });
  expect(
    store
      .resume(SESSION_ID)
      .messages()
      .map(({ role, text }) => [role, text]),
  ).toEqual([
    ["user", "When is high water at the lock gate?"],
    ["assistant", "High water is at 04:12 with 5.3 meters."],
  ]);
  expect(store.sessions()).toMatchObject([{ id: SESSION_ID, project: "/work/harbor" }]);

  const file = join(temporaryFolder(), `${SESSION_ID}.jsonl`);
  writeFileSync(file, TALK.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  expect(await importFiles(store, [file])).toMatchObject({ newCount: 0, knownCount: 2 });
});

test("a thought and the words after it are one message, even if they come apart, as in an import of the file", async () => {
  const reply = (uuid: string, parentUuid: string, block: object): SessionStoreEntry => ({
    ...line(uuid, parentUuid, "assistant", ""),
    message: { role: "assistant", id: "msg-1", model: "claude", content: [block] },
  });
  const entries = [
    TALK[1]!,
    reply("t1", "u1", { type: "thinking", thinking: "The table has it.", signature: "c2ln" }),
    TALK[3]!,
    reply("a1", "t1", { type: "text", text: "At 04:12." }),
    reply("t2", "a1", { type: "thinking", thinking: "They may ask again.", signature: "c2ln" }),
    line("u2", "t2", "user", "Thanks."),
  ];
  const store = temporaryStore();
  for (const entry of entries) await new CoppiceSessionStore(store).append(KEY, [entry]);
  expect(await new CoppiceSessionStore(store).load(KEY)).toEqual(entries);
  const messages = store.resume(SESSION_ID).messages();
  expect(messages.map(({ parts }) => parts.map(({ type }) => type))).toEqual([
    ["text"],
    ["reasoning", "text"],
    ["reasoning"],
    ["text"],
  ]);
  const file = join(temporaryFolder(), `${SESSION_ID}.jsonl`);
  writeFileSync(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  expect(await importFiles(store, [file])).toMatchObject({ newCount: 0, knownCount: 4 });
});

test("a session gets its project from a later append, if the first has no message", async () => {
  const store = temporaryStore();
  const sessions = new CoppiceSessionStore(store);
  for (const entry of TALK) await sessions.append(KEY, [entry]);
  expect(store.sessions()).toMatchObject([{ id: SESSION_ID, project: "/work/harbor" }]);
});

test("appends that are not awaited keep their order, and what they were given", async () => {
  const sessions = new CoppiceSessionStore(temporaryStore());
  const entries = Array.from({ length: 61 }, (_, index) => line(`u${index}`, null, "user", `text ${index}`));
  const expected = structuredClone(entries);
  const appends = [entries.slice(0, 60), entries.slice(60)].map((batch) => sessions.append(KEY, batch));
  for (const entry of entries) entry.uuid = "changed";
  await Promise.all(appends);
  expect(await sessions.load(KEY)).toEqual(expected);
});

test("a transcript, entry by entry, gives the texts of an import of the file", async () => {
  const name = "3f6c1d2e-0a4b-4c1d-9e8f-5a6b7c8d9e0f";
  const file = fileURLToPath(new URL(`../../fixtures/importers/claude-code/${name}.jsonl`, import.meta.url));
  const entries = readFileSync(file, "utf8")
    .split("\n")
    .flatMap((text) => {
      try {
        return [JSON.parse(text) as SessionStoreEntry];
      } catch {
        return []; // the sample has damaged lines
      }
    });
  const [mirrored, imported] = [temporaryStore(), temporaryStore()];
  const sessions = new CoppiceSessionStore(mirrored);
  const key = { projectKey: "p", sessionId: name };
  for (const entry of entries) await sessions.append(key, [entry]);
  await importFiles(imported, [file], { keepSecrets: true });
  const textsOf = (store: Store) =>
    store.query("SELECT DISTINCT text FROM messages WHERE text <> '' ORDER BY text").map(({ text }) => text);
  expect(textsOf(mirrored)).toEqual(textsOf(imported));
});

test("an entry with a known uuid replaces the other in its place, and one without a uuid is added again", async () => {
  const store = temporaryStore();
  const sessions = new CoppiceSessionStore(store);
  await sessions.append(KEY, TALK);
  const changed = { ...TALK[1]!, edited: true };
  await sessions.append(KEY, [changed, TALK[3]!]);
  expect(await sessions.load(KEY)).toEqual([TALK[0], changed, TALK[2], TALK[3], TALK[3]]);
  expect(store.resume(SESSION_ID).messages()).toHaveLength(2);
});

test("summaries are folded in the transaction of the append, with one clock for all times", async () => {
  const path = temporaryPath();
  const calls: [SessionSummaryEntry | undefined, number][] = [];
  const foldSessionSummary = (
    previous: SessionSummaryEntry | undefined,
    key: SessionKey,
    entries: SessionStoreEntry[],
    { mtime }: { mtime: number },
  ): SessionSummaryEntry => {
    calls.push([previous, entries.length]);
    if (entries.some(({ type }) => type === "poison")) throw new Error("cannot fold");
    const count = Number(previous?.data.count ?? 0) + entries.length;
    return { sessionId: key.sessionId, mtime, data: { count } };
  };
  const store = openedStore(path);
  const sessions = new CoppiceSessionStore(store, { foldSessionSummary });
  await sessions.append(KEY, TALK.slice(0, 1));
  await sessions.append({ ...KEY, subpath: "subagents/agent-1" }, [{ type: "x" }]);
  await sessions.append(KEY, TALK.slice(1));
  expect(calls.map(([previous, count]) => [previous?.data.count, count])).toEqual([
    [undefined, 1],
    [1, 3],
  ]);
  await expect(sessions.append(KEY, [{ type: "poison" }])).rejects.toThrow("cannot fold");
  expect(await sessions.load(KEY)).toEqual(TALK);

  const again = new CoppiceSessionStore(openedStore(path), { foldSessionSummary });
  const [summary] = await again.listSessionSummaries!(KEY.projectKey);
  expect(summary).toEqual({ sessionId: SESSION_ID, mtime: expect.any(Number), data: { count: 4 } });
  expect(await again.listSessions(KEY.projectKey)).toEqual([{ sessionId: SESSION_ID, mtime: summary!.mtime }]);
  expect(Number.isInteger(summary!.mtime) && Math.abs(Date.now() - summary!.mtime) < 60_000).toBe(true);
  expect(await again.listSessionSummaries!("other")).toEqual([]);
  expect(new CoppiceSessionStore(store).listSessionSummaries).toBeUndefined();
});

test("a subagent has a session of its own below its parent's, and goes with it", async () => {
  const store = temporaryStore();
  const sessions = new CoppiceSessionStore(store);
  await sessions.append(KEY, TALK);
  const agent = { ...KEY, subpath: "subagents/agent-7f" };
  const said = { ...line("s1", null, "user", "Look up the soundings."), isSidechain: true, agentId: "7f" };
  await sessions.append(agent, [said]);
  expect(await sessions.listSubkeys(KEY)).toEqual(["subagents/agent-7f"]);
  expect(store.query("SELECT id, parent_session_id FROM sessions ORDER BY id")).toEqual([
    { id: SESSION_ID, parent_session_id: null },
    { id: `${SESSION_ID}/agent-7f`, parent_session_id: SESSION_ID },
  ]);
  await sessions.delete(KEY);
  expect(await sessions.load(agent)).toBeNull();
  expect(store.query("SELECT count(*) AS n FROM messages")).toEqual([{ n: 0 }]);
  expect(store.query("SELECT count(*) AS n FROM items")).toEqual([{ n: 0 }]);
});

test("a deleted session can be written again", async () => {
  const sessions = new CoppiceSessionStore(temporaryStore());
  await sessions.append(KEY, TALK);
  await sessions.delete(KEY);
  await sessions.append(KEY, TALK.slice(0, 2));
  expect(await sessions.load(KEY)).toEqual(TALK.slice(0, 2));
});

test("keys of any kind are kept apart", async () => {
  const sessions = new CoppiceSessionStore(temporaryStore());
  const keys = [
    ...["__proto__", "", "a/b", "é\n", "x".repeat(600)].map((sessionId) => ({ projectKey: "p", sessionId })),
    ...["q", "", "__proto__"].map((projectKey) => ({ projectKey, sessionId: "a/b" })),
    { projectKey: "p", sessionId: "a", subpath: "subagents/b" },
    { projectKey: "p", sessionId: "a", subpath: "b" },
  ];
  for (const [index, key] of keys.entries()) await sessions.append(key, [{ type: "n", index }]);
  for (const [index, key] of keys.entries()) expect(await sessions.load(key)).toEqual([{ type: "n", index }]);
  expect((await sessions.listSessions("p")).map(({ sessionId }) => sessionId).sort()).toEqual(
    ["__proto__", "", "a/b", "é\n", "x".repeat(600)].sort(),
  );
});

test("a session that was imported before is continued", async () => {
  const store = temporaryStore();
  const file = join(temporaryFolder(), `${SESSION_ID}.jsonl`);
  writeFileSync(file, TALK.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  await importFiles(store, [file], { project: "mine" });
  const sessions = new CoppiceSessionStore(store);
  await sessions.append(KEY, [...TALK, line("u2", "a1", "user", "And tomorrow?")]);
  expect(store.sessions()).toMatchObject([{ id: SESSION_ID, project: "mine", messageCount: 3 }]);
});
