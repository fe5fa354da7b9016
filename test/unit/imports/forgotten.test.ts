import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { importFiles } from "../../../src/imports/import-files.ts";
import type { Store } from "../../../src/index.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";

type Said = { role: string; content: string };

const CHAT: Said[] = [
  { role: "system", content: "You help." },
  { role: "user", content: "Which lamp?" },
  { role: "assistant", content: "The left one." },
  { role: "user", content: "ok" },
];

/** A file without ids: the session is named after the path, and messages after their place. */
function chat(folder: string, name: string, said: readonly Said[]): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify({ messages: said }));
  return path;
}

function textsIn(store: Store): unknown[] {
  return store.query("SELECT text FROM messages ORDER BY id").map(({ text }) => text);
}

const bring = (store: Store, path: string) => importFiles(store, [path], { summarize: false });

describe("what was forgotten", () => {
  test("stays out of an import of the same file, a longer one, and a copy, until it is restored", async () => {
    const store = temporaryStore();
    const folder = temporaryFolder();
    const file = chat(folder, "chat", CHAT);
    await bring(store, file);
    const { id: session } = store.sessions()[0]!;
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
    const store = temporaryStore();
    const folder = temporaryFolder();
    await bring(store, chat(folder, "chat", CHAT));
    const { id } = store.sessions()[0]!;
    store.forget(id);
    const longer = [...CHAT, { role: "assistant", content: "Done." }];
    expect(await bring(store, chat(folder, "chat", longer))).toMatchObject({ sessionCount: 0, forgottenCount: 5 });
    expect(await bring(store, chat(folder, "copy", longer))).toMatchObject({ sessionCount: 0, forgottenCount: 5 });
    expect(store.sessions()).toEqual([]);
    store.restore(id);
    expect(await bring(store, chat(folder, "chat", longer))).toMatchObject({ sessionCount: 1, newCount: 5 });
  });

  test("says nothing of the same words in other conversations", async () => {
    const store = temporaryStore();
    const folder = temporaryFolder();
    await bring(store, chat(folder, "chat", CHAT));
    store.forget(store.sessions()[0]!.id);
    const other = [CHAT[0]!, CHAT[1]!, { role: "assistant", content: "Neither." }, { role: "user", content: "ok" }];
    expect(await bring(store, chat(folder, "other", other))).toMatchObject({ newCount: 4, forgottenCount: 0 });
  });

  test("stays out of an import of an older export, which brings it to the end after it was restored", async () => {
    const store = temporaryStore();
    const session = store.session("s");
    for (const content of ["one", "two", "three"]) session.append({ role: "user", content });
    const path = join(temporaryFolder(), "export.jsonl");
    writeFileSync(path, [...store.export()].map((line) => `${JSON.stringify(line)}\n`).join(""));
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

  test("can be appended by a program all the same", () => {
    const store = temporaryStore();
    store.session("s").append({ role: "user", content: "one", id: "a" });
    store.forget("s");
    expect(store.session("s").append({ role: "user", content: "one", id: "a" }).appended).toBe(true);
  });
});

test("a dry run counts exactly what would go, and changes nothing", async () => {
  const store = temporaryStore();
  const session = store.session("s", { hotSize: 4, overlap: 2, evictBatch: 4 });
  for (let index = 0; index < 40; index++) session.append({ role: "user", content: `The lamp ${index} is lit.` });
  const rows = () =>
    store.query("SELECT (SELECT count(*) FROM messages), (SELECT max(id) FROM unions), count(*) FROM clusters");
  const before = rows();
  for (const options of [{ messageIds: [3, 4] }, {}]) {
    const { erased: _, ...planned } = store.forget("s", { ...options, dryRun: true });
    expect(rows()).toEqual(before);
    expect(store.query("SELECT * FROM tombstones")).toEqual([]);
    const copy = temporaryStore();
    const other = copy.session("s", { hotSize: 4, overlap: 2, evictBatch: 4 });
    for (let index = 0; index < 40; index++) other.append({ role: "user", content: `The lamp ${index} is lit.` });
    const { erased, ...done } = copy.forget("s", options);
    expect([planned, erased]).toEqual([done, true]);
    expect(planned.clusterCount).toBeGreaterThan(0);
    expect(planned.tokenCount).toBeGreaterThan(5);
  }
  expect(store.verify().ok).toBe(true);
});
