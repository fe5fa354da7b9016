import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { digestOf } from "../../../src/core/digest.ts";
import { BATCH_MESSAGES_MAX } from "../../../src/core/limits.ts";
import { parseMessage } from "../../../src/core/message.ts";
import type { Importer } from "../../../src/importers/importer.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import type { Store } from "../../../src/index.ts";
import { sessionIds } from "../../../src/session/aids/session-ids.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { bring, fileOf, jsonLines, put } from "../importers/read.ts";

type Said = { role: string; content: string };

const CHAT: Said[] = [
  { role: "system", content: "You help." },
  { role: "user", content: "Which lamp?" },
  { role: "assistant", content: "The left one." },
  { role: "user", content: "ok" },
];

/** A file without ids: the session is named after the path, and messages after their place. */
function chat(folder: string, name: string, said: readonly Said[]): string {
  return put(join(folder, `${name}.json`), { messages: said });
}

function textsIn(store: Store): unknown[] {
  return store.query("SELECT text FROM messages ORDER BY id").map(({ text }) => text);
}

/** A store that has this conversation in a session, and the folder of its file. */
async function stored(name: string, said: readonly Said[]) {
  const [store, folder] = [temporaryStore(), temporaryFolder()];
  const file = chat(folder, name, said);
  await bring(store, file);
  return { store, folder, file, id: store.sessions()[0]!.id };
}

test("superseded messages stay out of an import of the same export, with and without ids, and others with their seqs do not", async () => {
  const [from, store] = [temporaryStore(), temporaryStore()];
  const said = CHAT.slice(1) as { role: "user"; content: string }[];
  from.session("plain").append(said);
  from.session("named").append(said.map((message, index) => ({ ...message, id: `m${index}` })));
  const path = join(temporaryFolder(), "export.jsonl");
  const write = () => put(path, jsonLines([...from.export()] as object[]));
  write();
  await bring(store, path);
  for (const id of ["plain", "named"]) store.resume(id).rewind({ toSeq: 0 });
  expect(await bring(store, path)).toMatchObject({ newCount: 0, knownCount: 6, forgottenCount: 0 });
  for (const id of ["plain", "named"]) expect(store.resume(id).messages()).toHaveLength(1);

  from.resume("plain").rewind({ toSeq: 0 });
  from.resume("plain").append({ role: "assistant", content: "The right one." });
  write();
  expect(await bring(store, path)).toMatchObject({ newCount: 1 });
  expect(store.resume("plain").messages({ last: 1 })[0]).toMatchObject({ seq: 1, text: "The right one." });
});

describe("what was forgotten", () => {
  test("stays out of an import of the same file, a longer one, and a copy, until it is restored", async () => {
    const { store, folder, file, id: session } = await stored("chat", CHAT);
    const [, , answer] = store.query("SELECT id FROM messages ORDER BY id");
    store.forget(session, { messageIds: [Number(answer!.id)] });

    expect(await bring(store, file)).toMatchObject({ newCount: 0, knownCount: 3, forgottenCount: 1 });
    const longer = [...CHAT, { role: "assistant", content: "Done." }];
    expect(await bring(store, chat(folder, "chat", longer))).toMatchObject({ newCount: 1, forgottenCount: 1 });
    expect(await bring(store, chat(folder, "copy", longer))).toMatchObject({ newCount: 4, forgottenCount: 1 });
    expect(textsIn(store)).not.toContain("The left one.");

    expect(store.restore(session, { messageIds: [999] })).toBe(false);
    expect(store.restore(session)).toBe(true);
    expect(store.restore(session)).toBe(false);
    expect(await bring(store, file)).toMatchObject({ newCount: 1, forgottenCount: 0 });
    expect(textsIn(store)).toContain("The left one.");
  });

  test("stays out as a whole session, with what was written to it since, and leaves no trace of its name", async () => {
    const { store, folder, id } = await stored("chat", CHAT);
    store.forget(id);
    const longer = [...CHAT, { role: "assistant", content: "Done." }];
    expect(await bring(store, chat(folder, "chat", longer))).toMatchObject({ sessionCount: 0, forgottenCount: 5 });
    expect(await bring(store, chat(folder, "copy", longer))).toMatchObject({ sessionCount: 0, forgottenCount: 5 });
    expect(store.sessions()).toEqual([]);
    store.restore(id);
    expect(await bring(store, chat(folder, "chat", longer))).toMatchObject({ sessionCount: 1, newCount: 5 });
  });

  test("says nothing of the same words in other conversations", async () => {
    const { store, folder, id } = await stored("chat", CHAT);
    store.forget(id);
    const other = [CHAT[0]!, CHAT[1]!, { role: "assistant", content: "Neither." }, { role: "user", content: "ok" }];
    expect(await bring(store, chat(folder, "other", other))).toMatchObject({ newCount: 4, forgottenCount: 0 });
  });

  test.each([2, 4, 8])("says nothing of a conversation with the same first two texts, of %i texts", async (length) => {
    const store = temporaryStore();
    const folder = temporaryFolder();
    const greeting = [
      { role: "user", content: "hi" },
      { role: "assistant", content: "Hello! How can I help?" },
    ];
    const about = (subject: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({ role: "user", content: `The ${subject} ${index}.` }));
    const ok = { role: "user", content: "ok" };
    await bring(store, chat(folder, "lamp", [...greeting, ...about("lamp", length - 2)]));
    await bring(store, chat(folder, "desk", [...greeting, ...about("desk", 4), ok]));
    const [desk, lamp] = ["desk", "lamp"].map((name) =>
      String(store.query(`SELECT session_id FROM messages WHERE text = 'The ${name} 0.'`)[0]?.session_id),
    );
    const okId = Number(store.query("SELECT id FROM messages WHERE text = 'ok'")[0]!.id);
    store.forget(desk!, { messageIds: [okId] });
    store.forget(length === 2 ? store.sessions().find(({ id }) => id !== desk)!.id : lamp!);
    const other = [...greeting, ...about("chair", 3), ok];
    expect(await bring(store, chat(folder, "chair", other))).toMatchObject({ newCount: 6, forgottenCount: 0 });
    const whole = [...greeting, ...about("lamp", length - 2)];
    expect(await bring(store, chat(folder, "copy", whole))).toMatchObject({ newCount: 0, forgottenCount: length });
  });

  test("stays out of a copy from before the session grew, and of one that lost messages first", async () => {
    const said = Array.from({ length: 9 }, (_, index) => ({ role: "user", content: `The lamp ${index}.` }));
    const { store, folder, id: first } = await stored("chat", said);
    store.forget(first);
    expect(await bring(store, chat(folder, "early", said.slice(0, 4)))).toMatchObject({ forgottenCount: 4 });
    const other = said.map(({ content }) => ({ role: "user", content: content.replace("lamp", "desk") }));
    await bring(store, chat(folder, "other", other));
    const { id } = store.sessions()[0]!;
    const [, second] = store.query("SELECT id FROM messages ORDER BY seq");
    store.forget(id, { messageIds: [Number(second!.id)] });
    store.forget(id);
    expect(await bring(store, chat(folder, "again", other))).toMatchObject({ newCount: 0, forgottenCount: 9 });
  });

  test("says nothing of other conversations that begin with the same injected texts", async () => {
    const store = temporaryStore();
    const injected = (id: string) => ({
      role: "user",
      id,
      parts: [{ type: "text", text: `The ${id}.`, injected: true }],
    });
    const session = (name: string) => {
      const lines = [injected("rules"), injected("folder"), { role: "user", id: "said", content: name }];
      return jsonLines(lines.map((line) => ({ session: name, ...line })));
    };
    const path = join(temporaryFolder(), "s.jsonl");
    await bring(store, put(path, session("a")));
    store.forget("a");
    expect(await bring(store, put(path, session("a") + session("b")))).toMatchObject({
      newCount: 3,
      forgottenCount: 3,
    });
    expect(sessionIds(store)).toEqual(["b"]);
  });

  test("stays out of a copy whose second message comes in another batch", async () => {
    const store = temporaryStore();
    const lines = (session: string, count: number, what = "Lamp") => {
      const said = (index: number) => ({ session, role: "user", id: `m${index}`, content: `${what} ${index}.` });
      return jsonLines(Array.from({ length: count }, (_, index) => said(index)));
    };
    const path = join(temporaryFolder(), "s.jsonl");
    await bring(store, put(path, lines("a", 4)));
    store.forget("a");
    const other = lines("other", BATCH_MESSAGES_MAX - 1, "Chair");
    expect(await bring(store, put(path, other + lines("copy", 4)))).toMatchObject({
      newCount: BATCH_MESSAGES_MAX - 1,
      forgottenCount: 4,
    });
    expect(sessionIds(store)).toEqual(["other"]);
  });

  test("stays out of an import that was reading the session meanwhile", async () => {
    const store = temporaryStore();
    const message = { role: "user", content: "one" } as const;
    let afterFirst = (): unknown => undefined;
    const importer: Importer = {
      name: "own",
      detect: () => true,
      async *read() {
        yield { kind: "session", session: { externalId: "s", source: "own" } };
        yield { kind: "message", session: "s", line: 1, message: { ...message, id: "a" } };
        if (afterFirst()) yield { kind: "message", session: "s", line: 2, message: { ...message, id: "b" } };
      },
    };
    const read = () => new ImportRun(store, { importers: [importer] }).read(fileOf("one", 9, "s.txt"));
    expect(await read()).toMatchObject({ newCount: 1 });
    afterFirst = () => store.forget("s");
    expect(await read()).toMatchObject({ newCount: 0, forgottenCount: 2 });
    expect(store.sessions()).toEqual([]);
  });

  test("stays out with its new forks and subagents, while those in the store go on", async () => {
    const store = temporaryStore();
    const path = join(temporaryFolder(), "s.jsonl");
    const child = (session: string) => [
      { session, parent: "s" },
      { session, role: "user", id: "a", content: session },
    ];
    const read = (...lines: object[]) => bring(store, put(path, jsonLines(lines)));
    const said = [{ session: "s", role: "user", id: "a", content: "one" }, ...child("known")];
    await read(...said);
    store.forget("s");
    const grown = [...said, { session: "known", role: "user", id: "b", content: "two" }, ...child("new")];
    expect(await read(...grown)).toMatchObject({ newCount: 1, knownCount: 1, forgottenCount: 2 });
    expect(sessionIds(store)).toEqual(["known"]);
  });

  test("stays out of an import of an older export, which brings it to the end after it was restored", async () => {
    const store = temporaryStore();
    const session = store.session("s");
    for (const content of ["one", "two", "three"]) session.append({ role: "user", content });
    const path = put(join(temporaryFolder(), "export.jsonl"), jsonLines([...store.export()] as object[]));
    store.forget("s", { messageIds: [2] });
    expect(await bring(store, path)).toMatchObject({ newCount: 0, knownCount: 2, forgottenCount: 1, warningCount: 0 });
    store.restore("s");
    const back = await bring(store, path);
    expect(back).toMatchObject({ newCount: 1, knownCount: 2, warningCount: 1 });
    expect(back.files[0]!.warnings[0]!.reason).toContain("are stored after messages that they precede in the file");
    expect(await bring(store, path)).toMatchObject({ newCount: 0, knownCount: 3, warningCount: 0 });
    expect(textsIn(store)).toEqual(["one", "three", "two"]);
    store.forget("s");
    expect(await bring(store, path)).toMatchObject({ newCount: 0, sessionCount: 0, forgottenCount: 3 });
  });

  test("is compared in a transaction whose failure leaves no trace in memory", () => {
    const store = temporaryStore();
    const session = store.session("s");
    session.append({ role: "user", content: "one" });
    store.forget("s", { messageIds: [1] });
    session.append({ role: "user", content: "two", id: "b" });
    const [added, conflicting] = ["a", "b"].map((id) => {
      const message = { role: "user" as const, content: "three", id };
      const recognized = { name: id, role: message.role, digest: () => digestOf(parseMessage(message)), origins: [] };
      return { ...recognized, message, prepared: undefined, seq: undefined };
    });
    const take = () => internalsOf(store).intake.take("s", [added!, conflicting!], { opening: [] });
    expect(take).toThrow(expect.objectContaining({ code: "MESSAGE_CONFLICT" }));
    expect(session.append({ role: "user", content: "four" }).seq).toBe(2);
    expect(store.verify().ok).toBe(true);
  });

  test("can be appended by a program all the same", () => {
    const store = temporaryStore();
    store.session("s").append({ role: "user", content: "one", id: "a" });
    store.forget("s");
    expect(store.session("s").append({ role: "user", content: "one", id: "a" }).appended).toBe(true);
  });
});

test("a dry run counts exactly what would go, and changes nothing", async () => {
  const filled = () => {
    const store = temporaryStore();
    const session = store.session("s", { hotSize: 4, overlap: 2, evictBatch: 4 });
    for (let index = 0; index < 40; index++) session.append({ role: "user", content: `The lamp ${index} is lit.` });
    return store;
  };
  const store = filled();
  const rows = () =>
    store.query("SELECT (SELECT count(*) FROM messages), (SELECT max(id) FROM unions), count(*) FROM clusters");
  const before = rows();
  for (const options of [{ messageIds: [3, 4] }, {}]) {
    const { erased: _, ...planned } = store.forget("s", { ...options, dryRun: true });
    expect(rows()).toEqual(before);
    expect(store.query("SELECT * FROM tombstones")).toEqual([]);
    const { erased, ...done } = filled().forget("s", options);
    expect([{ ...planned, stillIn: [] }, erased]).toEqual([done, true]);
    expect(planned.clusterCount).toBeGreaterThan(0);
    expect(planned.tokenCount).toBeGreaterThan(5);
  }
  expect(store.verify().ok).toBe(true);
});
