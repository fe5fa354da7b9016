import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BATCH_MESSAGES_MAX } from "../../../src/core/limits.ts";
import { importRows } from "../../../src/imports/import-rows.ts";
import type { Store } from "../../../src/index.ts";
import { type Said, sessionIdOf, uuidOf, writeTranscript } from "../../support/claude-lines.ts";
import { openedStore, temporaryFolder, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";
import { bring, countsOf, jsonLines, put, textsOf } from "../importers/read.ts";

const TALK: Said[] = [
  { number: 1, text: "The harbor gate opens with the word marzipan-71." },
  { number: 2, text: "Noted: marzipan-71 opens the harbor gate." },
  { number: 3, text: "yes" },
  { number: 4, text: "Then the gate is done." },
];

const PAINT: Said = { number: 50, text: "Now paint the gate blue, please." };

const [FIRST, COPY, OTHER] = [1, 2, 3].map(sessionIdOf) as [string, string, string];

function bytesHold(path: string, text: string): boolean {
  return ["", "-wal"].some((end) => existsSync(path + end) && readFileSync(path + end).includes(text));
}

/** A store with a conversation, a resumed copy of it that goes on, and another one in which "yes" was typed, too. */
async function resumed(path = temporaryPath()): Promise<{ store: Store; folder: string; copy: string }> {
  const [store, folder] = [openedStore(path), temporaryFolder()];
  [...store.export({ rows: true, ownIds: true })]; // other stores can take its rows
  const copy = join(folder, `${COPY}.jsonl`);
  writeTranscript(copy, COPY, [...TALK, PAINT]);
  writeTranscript(join(folder, `${OTHER}.jsonl`), OTHER, [
    { number: 80, text: "Which rope holds the buoy?" },
    { number: 81, text: "A nylon rope holds it." },
    { number: 82, text: "yes" },
  ]);
  await bring(store, [writeTranscript(join(folder, `${FIRST}.jsonl`), FIRST, TALK), folder]);
  return { store, folder, copy };
}

describe("a forgotten session", () => {
  test.each([
    ["the ids of the lines", {}],
    ["the times", { uuid: true, replyId: true }],
    ["the ids of the replies", { uuid: true, atMs: true }],
  ])("stays out of a copy under another id that kept %s", async (_, changed: Partial<Record<keyof Said, boolean>>) => {
    const [store, folder] = [temporaryStore(), temporaryFolder()];
    const talk = TALK.slice(0, 2);
    await bring(store, writeTranscript(join(folder, `${FIRST}.jsonl`), FIRST, talk));
    store.forget(FIRST);
    const others = talk.map((one) => ({
      ...one,
      ...(changed.uuid && { uuid: uuidOf(one.number + 700) }),
      ...(changed.atMs && { atMs: Date.UTC(2026, 5, 1) + one.number }),
      ...(changed.replyId && { replyId: `msg_other${one.number}` }),
    }));
    const said = [...others, PAINT];
    // A prompt has no id of a reply, so one whose line id and time changed is another prompt.
    const forgottenCount = changed.uuid && changed.atMs ? 1 : 2;
    const result = await bring(store, writeTranscript(join(folder, `${COPY}.jsonl`), COPY, said));
    expect(result).toMatchObject({ forgottenCount, newCount: 3 - forgottenCount });
    expect(textsOf(store, COPY)).not.toContain(TALK[1]!.text);
    expect(textsOf(store, COPY)).toContain(PAINT.text);
    store.restore(FIRST);
    expect(await bring(store, join(folder, `${COPY}.jsonl`))).toMatchObject({ forgottenCount: 0 });
    expect(textsOf(store, COPY)).toContain(TALK[1]!.text);
  });

  test("leaves the same short words in other sessions alone", async () => {
    const { store, folder } = await resumed();
    expect(store.forget(FIRST, { related: true })).toMatchObject({ messageCount: 8 });
    expect(textsOf(store, OTHER)).toContain("yes");
    store.forget(OTHER);
    store.restore(OTHER);
    expect(await bring(store, folder)).toMatchObject({ newCount: 3 });
    expect(textsOf(store, OTHER)).toContain("yes");
  });

  test.each([
    ["a short value", 1],
    ["a compressed one", 400],
  ])("is found in what a program keeps of it beside another session, in %s", async (_, count) => {
    const { store } = await resumed(temporaryPath());
    store.session("kept").entries.append([{ value: { said: `${TALK[1]!.text} `.repeat(count) } }]);
    const { stillIn } = store.forget(FIRST, { related: true });
    expect(stillIn).toEqual([{ sessionId: "kept", count: 1 }]);
    store.forget("kept");
    expect(store.forget(COPY).stillIn).toEqual([]);
  });

  test("is told with its copies, which stay or go, and the file is searched", async () => {
    const path = temporaryPath();
    const { store, folder } = await resumed(path);
    const copies = {
      sessionId: COPY,
      relation: "copy",
      messageCount: 4,
      messageIds: TALK.map(() => expect.any(Number)),
    };
    expect(store.forget(FIRST, { dryRun: true })).toMatchObject({ messageCount: 4, related: [copies], stillIn: null });
    expect(store.forget(FIRST)).toMatchObject({
      ...{ messageCount: 4, erased: true, related: [copies] },
      stillIn: [{ sessionId: COPY, count: expect.any(Number) }],
    });
    expect(bytesHold(path, "marzipan-71")).toBe(true);

    const again = temporaryPath();
    const { store: other } = await resumed(again);
    expect(other.forget(FIRST, { related: true })).toMatchObject({ messageCount: 8, erased: true, stillIn: [] });
    expect(bytesHold(again, "marzipan-71")).toBe(false);
    expect(textsOf(other, COPY)).toEqual([PAINT.text]);
    expect(await bring(other, folder)).toMatchObject({ newCount: 0, forgottenCount: 8 });
    expect(bytesHold(again, "marzipan-71")).toBe(false);
    expect(other.verify().problems).toEqual([]);
  });

  test("takes subagents, forks and their copies with it, if they are wanted", async () => {
    const { store, folder } = await resumed();
    const agent: Said[] = [
      { number: 90, text: "Look at the harbor gate.", agentId: "a1" },
      { number: 91, text: "The gate is closed.", agentId: "a1" },
    ];
    await bring(store, writeTranscript(join(folder, FIRST, "subagents", "agent-a1.jsonl"), FIRST, agent));
    store.resume(FIRST).fork({ id: "fork" }).append({ role: "user", content: "And the other gate?" });
    const related = [
      { sessionId: "fork", relation: "fork", messageCount: 1, messageIds: null },
      { sessionId: `${FIRST}/agent-a1`, relation: "started", messageCount: 2, messageIds: null },
      { sessionId: COPY, relation: "copy", messageCount: 4, messageIds: TALK.map(() => expect.any(Number)) },
    ];
    const preview = store.forget(FIRST, { dryRun: true });
    expect(preview).toMatchObject({ messageCount: 11, sessionCount: 3 });
    expect(preview.related).toEqual(expect.arrayContaining(related));
    expect(() => store.forget(FIRST)).toThrow(expect.objectContaining({ code: "SESSION_SHARED" }));
    expect(store.forget(FIRST, { related: true })).toMatchObject({ messageCount: 11, sessionCount: 3 });
    expect(new Set(store.sessions().map(({ id }) => id))).toEqual(new Set([COPY, OTHER]));
    expect(store.verify().problems).toEqual([]);
  });

  test("stays out of rows of another store that has a copy", async () => {
    const { store: from } = await resumed();
    const path = join(temporaryFolder(), "rows.jsonl");
    const write = (sessions: string[]) => writeFileSync(path, [...from.export({ rows: true, sessions })].join("\n"));
    const [store, folder] = [temporaryStore(), temporaryFolder()];
    await bring(store, writeTranscript(join(folder, "x.jsonl"), sessionIdOf(9), TALK));
    store.forget(sessionIdOf(9));
    write([COPY, FIRST]);
    const [copy, whole] = importRows(store, path).sort((left, right) => right.newCount - left.newCount);
    expect(copy).toMatchObject({ sessionId: COPY, outcome: "new", newCount: 1, forgottenCount: 4 });
    expect(whole).toMatchObject({ sessionId: FIRST, outcome: "refused", error: { code: "SESSION_FORGOTTEN" } });
    expect(textsOf(store, COPY)).toEqual([PAINT.text]);
    expect(bytesHold(store.path, "marzipan-71")).toBe(false);
    expect(store.verify().problems).toEqual([]);
    write([COPY]);
    expect(importRows(store, path)).toMatchObject([{ outcome: "known" }]);
  });

  test("stays out of another session to which a program appends its messages by their ids", async () => {
    const { store } = await resumed();
    store.forget(FIRST);
    const session = store.session("program");
    const again = { role: "user", content: TALK[0]!.text } as const;
    expect(session.append({ ...again, id: uuidOf(1) })).toEqual({ messageId: 0, seq: -1, appended: false });
    expect(session.append({ ...again, content: "Another word.", id: uuidOf(1) }).appended).toBe(true);
    for (const id of ["1", "turn-1"]) {
      store.session("old").append({ role: "user", content: "yes", id });
      store.forget("old");
      expect(session.append({ role: "user", content: "yes", id }).appended).toBe(true);
    }
  });
});

test("a rollout of Codex that was forked is a copy, although its lines have new times", async () => {
  const [store, folder] = [temporaryStore(), temporaryFolder()];
  const line = (second: number, type: string, payload: object) => {
    return { timestamp: new Date(Date.UTC(2026, 4, 4, 9, 0, second)).toISOString(), type, payload };
  };
  const said = (second: number, text: string) =>
    line(second, "response_item", { type: "message", role: "user", content: [{ type: "input_text", text }] });
  const meta = (id: string, about = {}) => line(0, "session_meta", { id, cwd: "/home/mo/mill", ...about });
  const write = (name: string, ...lines: object[]) => put(join(folder, name), jsonLines(lines));
  const key = "The mill key is under stone nine.";
  const parent = write("rollout-b.jsonl", meta("parent"), said(1, key), said(5, "thanks"));
  const metas = [meta("fork", { forked_from_id: "parent" }), meta("parent")];
  const fork = write("rollout-a.jsonl", ...metas, said(30, key), said(30, "thanks"), said(40, "Now the roof."));
  await bring(store, [parent, fork]);
  expect(store.forget("parent", { dryRun: true }).related).toEqual([
    { sessionId: "fork", relation: "copy", messageCount: 2, messageIds: [expect.any(Number), expect.any(Number)] },
  ]);
  expect(await store.recall("mill key stone")).toMatchObject([{ copies: [{}] }, {}, {}]);
  store.forget("parent", { related: true });
  expect(textsOf(store, "fork")).toEqual(["Now the roof."]);
});

test("several sessions and a time can be forgotten at once, or none of them", async () => {
  const { store } = await resumed();
  expect(() => store.forget([OTHER, "unknown"])).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  expect(store.sessions()).toHaveLength(3);
  const [, , yes] = store.resume(OTHER).messages();
  const sinceMs = yes!.createdAtMs;
  expect(store.forget([OTHER, FIRST], { sinceMs })).toMatchObject({ messageCount: 1, sessionCount: 0 });
  expect(store.forget([OTHER, FIRST], { untilMs: sinceMs - 1 })).toMatchObject({ messageCount: 6, sessionCount: 2 });
  expect(store.sessions().map(({ id }) => id)).toEqual([COPY]);
  expect(() => store.forget([COPY, FIRST], { messageIds: [1] })).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID" }),
  );
});

describe("copies that are found", () => {
  test("count once, whatever their length, and the same words of others do not", async () => {
    const { store, folder } = await resumed();
    for (const number of [4, 5, 6]) {
      const id = sessionIdOf(number);
      await bring(store, writeTranscript(join(folder, `${id}.jsonl`), id, TALK));
    }
    const hits = await store.recall("Then the gate is done", { limit: 10 });
    const texts = hits.map(({ text }) => text);
    expect(new Set(texts).size).toBe(texts.length);
    expect(hits.find(({ text }) => text === "Then the gate is done.")!.copies).toHaveLength(4);

    const sessions = await store.recall("harbor gate", { by: "session", limit: 10 });
    expect(sessions.filter(({ text }) => text.includes("marzipan"))).toHaveLength(1);
    expect(sessions[0]!.copies).toHaveLength(4);

    const sayings = await store.recall('"yes"');
    expect(sayings.map(({ copies }) => copies.length).sort()).toEqual([0, 4]);
  });

  test("count once in a recap", async () => {
    const { store } = await resumed();
    expect(store.recap({ sinceMs: 0 })).toMatchObject({ sessionCount: 3, messageCount: 8 });
    const { store: other, folder } = await resumed();
    await bring(other, writeTranscript(join(folder, "whole.jsonl"), sessionIdOf(7), TALK));
    expect(other.recap({ sinceMs: 0 })).toMatchObject({ sessionCount: 3, messageCount: 8 });
  });
});

describe("two files of one session that went on apart", () => {
  const later = (from: number, words: string): Said[] => [
    { number: from, text: `${words}?`, after: 4 },
    { number: from + 1, text: `${words}!` },
  ];

  test("are two sessions, with a warning, and each grows", async () => {
    const [store, folder] = [temporaryStore(), temporaryFolder()];
    const [left, right] = ["left", "right"].map((name) => join(folder, name, `${FIRST}.jsonl`)) as [string, string];
    writeTranscript(left, FIRST, [...TALK, ...later(10, "Gloss")]);
    writeTranscript(right, FIRST, [...TALK, ...later(20, "Matte")]);
    const forkId = `${FIRST}/fork-${uuidOf(20)}`;
    const first = await bring(store, [left, right]);
    expect(first).toMatchObject({ sessionCount: 2, warningCount: 1 });
    expect(first.files[1]!.warnings).toEqual([{ line: 5, reason: expect.stringContaining(forkId) }]);
    const shared = TALK.map(({ text }) => text);
    expect(textsOf(store, FIRST)).toEqual([...shared, "Gloss?", "Gloss!"]);
    expect(textsOf(store, forkId)).toEqual([...shared, "Matte?", "Matte!"]);
    expect(store.resume(forkId).info()).toMatchObject({ parentSessionId: FIRST, forkSeq: 3 });

    writeTranscript(left, FIRST, [...TALK, ...later(10, "Gloss"), { number: 12, text: "Left on." }]);
    writeTranscript(right, FIRST, [...TALK, ...later(20, "Matte"), { number: 22, text: "Right on." }]);
    expect(await bring(store, [right, left])).toMatchObject({ newCount: 2, warningCount: 0 });
    expect(textsOf(store, FIRST).at(-1)).toBe("Left on.");
    expect(textsOf(store, forkId).at(-1)).toBe("Right on.");
    expect(await bring(store, [left, right])).toMatchObject({ newCount: 0, warningCount: 0 });
    const gates = await store.recall("harbor gate word");
    expect(gates.filter(({ text }) => text === TALK[0]!.text)).toMatchObject([{ copies: [{}] }]);

    store.forget(forkId);
    expect(await bring(store, right)).toMatchObject({ newCount: 0 });
    expect(store.sessions().map(({ id }) => id)).toEqual([FIRST]);
    expect(store.verify().problems).toEqual([]);
  });

  test("are found in long files, and a moved, longer or rewritten file is not two", async () => {
    const [store, folder] = [temporaryStore(), temporaryFolder()];
    const long = (count: number): Said[] =>
      Array.from({ length: count }, (_, index) => ({ number: 1_000 + index, text: `Plank ${index}.` }));
    const shared = long(BATCH_MESSAGES_MAX + 2);
    const path = (name: string) => join(folder, name, `${FIRST}.jsonl`);
    const last = shared.at(-1)!.number;
    const end = (number: number): Said[] => [
      { number, text: `End ${number}?`, after: last },
      { number: number + 1, text: `End ${number}!` },
    ];
    writeTranscript(path("a"), FIRST, [...shared, ...end(10)]);
    writeTranscript(path("b"), FIRST, [...shared, ...end(20)]);
    expect(await bring(store, [path("a"), path("b")])).toMatchObject({ sessionCount: 2, warningCount: 1 });
    expect(textsOf(store, `${FIRST}/fork-${uuidOf(20)}`)).toHaveLength(shared.length + 2);
    expect(textsOf(store, FIRST).at(-1)).toBe("End 10!");

    const other = temporaryStore();
    await bring(other, writeTranscript(path("c"), FIRST, TALK));
    const longer = [...TALK, { number: 30, text: "More." }];
    const again = (name: string, said: readonly Said[]) => countsOf(other, writeTranscript(path(name), FIRST, said));
    expect(await again("d", longer)).toEqual([1, 4, 0]);
    expect(await again("e", TALK)).toEqual([0, 4, 0]);
    expect(other.sessions()).toHaveLength(1);
  });
});
