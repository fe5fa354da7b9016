import { appendFileSync, renameSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  defineImporter,
  type FileReport,
  findAgentLocations,
  type ImportEvent,
  type ImportFile,
  type ImportProgress,
  importFiles,
  surveyLocations,
  type WatchEvent,
  watchFiles,
} from "../../../src/imports/index.ts";
import type { Store } from "../../../src/index.ts";
import { openedStore, temporaryFolder } from "../../support/temporary-store.ts";
import { jsonLines, put, textsOf } from "../importers/read.ts";

/** A store, and a folder for transcripts. */
function scene(): { store: Store; folder: string; write: (name: string, content: string) => string } {
  const folder = join(temporaryFolder(), "transcripts");
  const store = openedStore(join(folder, "..", "agent.db"));
  return { store, folder, write: (name, content) => put(join(folder, name), content) };
}

const say = (session: string, id: string, content: string): string =>
  jsonLines([{ session, id, role: "user", content }]);

/** Reads lines such as `ada> hello`. */
const irc = defineImporter({
  name: "irc",
  detect: (head) => /^\w+> /.test(head),
  isFollowable: true,
  async *read({ chunks }) {
    yield { kind: "session", session: { externalId: "harbor", source: "irc" } };
    let text = "";
    let line = 0;
    for await (const chunk of chunks) {
      if (chunk.byteLength === 0) {
        yield { kind: "paused" };
        continue;
      }
      const lines = (text + Buffer.from(chunk).toString("utf8")).split("\n");
      text = lines.pop()!;
      for (const said of lines) {
        line += 1;
        const [, name, content] = /^(\w+)> (.*)$/.exec(said) ?? [];
        const message = { id: `${line}`, role: "user", name: name!, content: content! } as const;
        if (content === undefined) yield { kind: "warning", line, reason: "this is no line of a chat" };
        else yield { kind: "message", session: "harbor", line, message };
      }
    }
  },
});

describe("importFiles", () => {
  test("imports a folder, counts what is new, and the second time adds nothing", async () => {
    const { store, folder, write } = scene();
    write("a.jsonl", say("a", "1", "one") + say("b", "1", "two"));
    write("settings.json", '{"theme":"dark"}');
    const first = await importFiles(store, folder);
    expect(first).toMatchObject({
      sessionCount: 2,
      newCount: 2,
      knownCount: 0,
      passedOver: { ".json": 1 },
      warningCount: 0,
    });
    expect(first.files).toMatchObject([{ format: "jsonl", sessionIds: ["a", "b"], newCount: 2, error: null }]);
    expect(await importFiles(store, [folder])).toMatchObject({ newCount: 0, knownCount: 2 });
  });

  test("reads the newest files of a folder first, after those that are named, and a child gets its parent from a later file", async () => {
    const { store, folder, write } = scene();
    const told = { id: "1", role: "user", content: "hello" };
    const at = (digit: number, day: number, ...lines: object[]): string => {
      const name = `rollout-${String(digit).repeat(8)}-1111-4111-8111-111111111111.jsonl`;
      const path = write(name, jsonLines(lines));
      utimesSync(path, day, day);
      return path;
    };
    const old = at(1, 1, { ...told, session: "a" });
    const named = at(2, 2, { ...told, session: "b" });
    const child = at(3, 4, { session: "child", parent: "parent" }, { ...told, session: "child" });
    const parent = at(4, 3, { ...told, session: "parent" });
    const { files } = await importFiles(store, [named, folder]);
    expect(files.map(({ path }) => path)).toEqual([named, child, parent, old]);
    expect(store.resume("child").info().parentSessionId).toBe("parent");
    expect(store.verify().problems).toEqual([]);
  });

  test("reports a file that is missing and a damaged line, and imports everything else", async () => {
    const { store, folder, write } = scene();
    const path = write("a.jsonl", `${say("a", "1", "one")}{"session":\n${say("a", "2", "two")}`);
    const reports: FileReport[] = [];
    const result = await importFiles(store, [join(folder, "gone.jsonl"), path], {
      onFile: (file) => reports.push(file),
    });
    expect(result).toMatchObject({ newCount: 2, warningCount: 2 });
    expect(reports).toEqual(result.files);
    expect(reports).toMatchObject([{ error: { code: "FILE_NOT_FOUND" } }, { warnings: [{ line: 2 }] }]);
  });

  test("calls back with its progress, and leaves summaries out if told so", async () => {
    const { store, write } = scene();
    const path = write("a.jsonl", say("a", "1", "one"));
    const seen: ImportProgress[] = [];
    const onProgress = (progress: ImportProgress): void => void seen.push(progress);
    await importFiles(store, path, { onProgress, summarize: false });
    const totals = { totalCount: 1, totalBytes: say("a", "1", "one").length };
    expect(seen).toEqual([{ phase: "read", path, messageCount: 1, doneCount: 0, doneBytes: 0, ...totals }]);
    await importFiles(store, path, { onProgress, project: "web" });
    expect(seen.at(-1)).toEqual({ phase: "summarize", doneCount: 0, totalCount: 1 });
    expect(store.resume("a").info().project).toBe("web");
  });

  test("ends with the signal's reason and keeps what was written by then", async () => {
    const { store, write } = scene();
    const paths = [write("a.jsonl", say("a", "1", "one")), write("b.jsonl", say("b", "1", "two"))];
    const stopping = new AbortController();
    const importing = importFiles(store, paths, {
      signal: stopping.signal,
      onFile: () => stopping.abort(new Error("enough")),
    });
    await expect(importing).rejects.toThrow("enough");
    expect(store.sessions().map(({ id }) => id)).toEqual(["a"]);
  });

  test.each([
    [{ formt: "auto" }, "an option of importFiles"],
    [{ format: "word-perfect" }, "format"],
    [{ project: "" }, "project"],
    [{ importers: [{}] }, "importers.0"],
    [{ onFile: true }, "onFile"],
  ])("refuses %j", async (options, option) => {
    const { store, write } = scene();
    const path = write("a.jsonl", say("a", "1", "one"));
    await expect(importFiles(store, path, options as object)).rejects.toMatchObject({
      code: "OPTION_INVALID",
      details: { option },
    });
    await expect(importFiles(store, [])).rejects.toMatchObject({ details: { option: "paths" } });
    await expect(importFiles({} as Store, path)).rejects.toMatchObject({ details: { option: "store" } });
  });
});

describe("an importer of one's own", () => {
  test("is asked before the built-in ones, by content and by name", async () => {
    const { store, folder, write } = scene();
    const path = write("chat.log", "ada> hello\nbob> hi\n???\n");
    write("other.jsonl", say("a", "1", "one"));
    const result = await importFiles(store, [path, folder], { importers: [irc] });
    expect(result.files.map(({ format, newCount }) => [format, newCount])).toEqual([
      ["irc", 2],
      ["jsonl", 1],
    ]);
    expect(result.files[0]!.warnings).toEqual([{ line: 3, reason: "this is no line of a chat" }]);
    expect(textsOf(store, "harbor")).toEqual(["hello", "hi"]);
    const again = await importFiles(store, path, { importers: [irc], format: "irc" });
    expect(again).toMatchObject({ newCount: 0, knownCount: 2 });
    await expect(importFiles(store, path, { format: "irc" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  test("reads a file that is too large for one chunk", async () => {
    const { store, write } = scene();
    const lines = Array.from({ length: 50 }, (_, index) => `ada> message ${index} ${"and so on ".repeat(600)}\n`);
    const path = write("chat.log", lines.join(""));
    expect(await importFiles(store, path, { importers: [irc], summarize: false })).toMatchObject({ newCount: 50 });
  });

  test.each([
    [{ name: "auto" }, "name"],
    [{ name: "codex" }, "name"],
    [{ name: "My Format" }, "name"],
    [{ detect: undefined }, "detect"],
    [{ read: undefined }, "read"],
  ])("is refused with %j", (change, option) => {
    const broken = { ...irc, ...change } as unknown as typeof irc;
    expect(() => defineImporter(broken)).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", details: expect.objectContaining({ option }) }),
    );
  });

  test("may read lines with Node's readline", async () => {
    const { store, write } = scene();
    const plain = defineImporter({
      name: "plain",
      detect: (head) => head.startsWith("plain\n"),
      async *read({ chunks }: ImportFile): AsyncGenerator<ImportEvent> {
        yield { kind: "session", session: { externalId: "p", source: "plain" } };
        let line = 0;
        for await (const content of createInterface({ input: Readable.from(chunks) })) {
          line += 1;
          yield { kind: "message", session: "p", line, message: { id: `${line}`, role: "user", content } };
        }
      },
    });
    const path = write("notes.txt", "plain\nnotes\n");
    expect(await importFiles(store, path, { importers: [plain] })).toMatchObject({ newCount: 2 });
  });
});

describe("watchFiles", () => {
  test("imports what exists and what is written later, with importers of one's own, until the signal", async () => {
    const { store, folder, write } = scene();
    const path = write("chat.jsonl", "ada> hello\n");
    const stopping = new AbortController();
    const events: WatchEvent[] = [];
    const watching = watchFiles(store, folder, {
      importers: [irc],
      signal: stopping.signal,
      onEvent: (event) => events.push(event),
    });
    await expect.poll(() => events.map(({ event }) => event)).toEqual(["imported", "caught_up"]);
    appendFileSync(path, "bob> hi\n");
    await expect.poll(() => textsOf(store, "harbor")).toEqual(["hello", "hi"]);
    await wait(50);
    stopping.abort();
    expect(await watching).toEqual({ newCount: 2 });
    expect(events.at(-1)).toMatchObject({ event: "imported", path, format: "irc", newCount: 1 });
  });

  test("with once, imports what exists and ends", async () => {
    const { store, folder, write } = scene();
    write("a.jsonl", say("a", "1", "one"));
    expect(await watchFiles(store, [join(folder, "not there"), folder], { once: true })).toEqual({ newCount: 1 });
    expect(await watchFiles(store, [folder], { once: true })).toEqual({ newCount: 0 });
  });

  test("reads a file again if an importer was added that recognizes it", async () => {
    const { store, write } = scene();
    const path = write("chat.json", "ada> hello\n");
    expect(await watchFiles(store, [join(path, "..")], { once: true })).toEqual({ newCount: 0 });
    expect(await watchFiles(store, [join(path, "..")], { once: true, importers: [irc] })).toEqual({ newCount: 1 });
  });
});

test("the locations of agents can be surveyed without reading them", async () => {
  const { folder, write } = scene();
  const path = write("a.jsonl", say("a", "1", "one"));
  expect(findAgentLocations().map(({ agent }) => agent)).toContain("Claude Code");
  expect(await surveyLocations([folder, `${path}.gone`])).toEqual([
    { agent: null, path: folder, fileCount: 1, byteLength: 55 },
    { agent: null, path: `${path}.gone`, fileCount: null, byteLength: 0 },
  ]);
});

describe("a file that has not changed since it was imported", () => {
  /** A file that was written just now may change once more at the same time. */
  const untilLater = () => wait(100);
  const line = (content: string) => jsonLines([{ session: "s", role: "user", content }]);

  test("is not read again, and its report tells what it has", async () => {
    const { store, folder, write } = scene();
    write("a.jsonl", line("one"));
    await untilLater();
    const first = await importFiles(store, folder);
    expect(first.files).toMatchObject([{ newCount: 1, isUnchanged: false }]);
    const { sessionIds } = first.files[0]!;
    const second = await importFiles(store, folder);
    expect(second.files).toMatchObject([
      { format: "jsonl", sessionIds, newCount: 0, knownCount: 1, isUnchanged: true },
    ]);
    expect(second).toMatchObject({ sessionCount: 1, knownCount: 1 });
    expect((await importFiles(store, folder, { again: true })).files).toMatchObject([
      { knownCount: 1, isUnchanged: false },
    ]);
  });

  test("is noted once if it holds no session, which nothing is left to do for", async () => {
    const { store, folder, write } = scene();
    write("settings.json", '{"theme": "dark"}');
    await untilLater();
    await importFiles(store, folder);
    const [{ found }] = store.query("SELECT found FROM imported_files") as [{ found: string }];
    expect(JSON.parse(found)).toMatchObject({ format: null, sessionIds: [], isSummarized: true });
  });

  test("is read if it has grown, was rewritten with the same length and time, or is under another name", async () => {
    const { store, folder, write } = scene();
    const path = write("a.jsonl", line("one"));
    await untilLater();
    await importFiles(store, folder);
    appendFileSync(path, line("two"));
    await untilLater();
    expect((await importFiles(store, folder)).files).toMatchObject([
      { newCount: 1, knownCount: 1, isUnchanged: false },
    ]);
    const { atime, mtime } = statSync(path);
    write("a.jsonl", line("one") + line("six"));
    utimesSync(path, atime, mtime);
    expect((await importFiles(store, folder)).files).toMatchObject([{ newCount: 1, isUnchanged: false }]);
    renameSync(path, join(folder, "b.jsonl"));
    expect((await importFiles(store, folder)).files).toMatchObject([{ newCount: 0, isUnchanged: false }]);
  });

  test("is read again after something was forgotten, or if other files or projects are wanted", async () => {
    const { store, folder, write } = scene();
    write("a.jsonl", line("one"));
    await untilLater();
    const { files } = await importFiles(store, folder);
    store.forget(files[0]!.sessionIds[0]!);
    const later = await importFiles(store, folder);
    expect(later.files).toMatchObject([{ forgottenCount: 1, isUnchanged: false }]);
    expect((await importFiles(store, folder)).files).toMatchObject([{ forgottenCount: 1, isUnchanged: true }]);
    expect((await importFiles(store, folder, { project: "other" })).files).toMatchObject([{ isUnchanged: false }]);
  });

  test("is read again while it holds a message that may still grow", async () => {
    const { store, write } = scene();
    const about = { sessionId: "s", parentUuid: null, timestamp: "2026-01-01T00:00:00Z", type: "assistant" };
    const thought = {
      ...about,
      uuid: "a",
      message: { id: "m", role: "assistant", content: [{ type: "thinking", thinking: "Hm." }] },
    };
    const prompt = { ...about, type: "user", uuid: "p", message: { role: "user", content: "Read it." } };
    const path = write("a.jsonl", jsonLines([prompt, { ...thought, parentUuid: "p" }]));
    const held = { warnings: [{ reason: expect.stringContaining("may still grow") }], isUnchanged: false };
    expect((await importFiles(store, path)).files).toMatchObject([held]);
    expect((await importFiles(store, path)).files).toMatchObject([held]);
    const hourAgo = new Date(Date.now() - 3_600_000);
    utimesSync(path, hourAgo, hourAgo);
    expect((await importFiles(store, path)).files).toMatchObject([{ newCount: 1, warnings: [] }]);
  });

  test("is read again if it was written just before it was read, because another write may give it the same size and times", async () => {
    const { store, folder, write } = scene();
    const inAMinute = new Date(Date.now() + 60_000);
    utimesSync(write("a.jsonl", line("one")), inAMinute, inAMinute);
    await importFiles(store, folder);
    expect((await importFiles(store, folder)).files).toMatchObject([{ knownCount: 1, isUnchanged: false }]);
  });

  test("is read again while the parent of its session has not come", async () => {
    const { store, folder, write } = scene();
    const child = { session: "child", parent: "parent" };
    write("child.jsonl", jsonLines([child, { session: "child", role: "user", content: "Look." }]));
    await untilLater();
    await importFiles(store, folder);
    write("parent.jsonl", jsonLines([{ session: "parent", role: "user", content: "Go." }]));
    await untilLater();
    await importFiles(store, folder);
    expect(store.resume("child").info()).toMatchObject({ parentSessionId: "parent" });
    const { files } = await importFiles(store, folder);
    expect(files).toMatchObject([{ isUnchanged: true }, { isUnchanged: true }]);
  });

  test("that a watch has ended with gives no warning that it may still grow", async () => {
    const { store, folder, write } = scene();
    const about = { sessionId: "s", timestamp: "2026-01-01T00:00:00Z" };
    const prompt = {
      ...about,
      parentUuid: null,
      type: "user",
      uuid: "p",
      message: { role: "user", content: "Read it." },
    };
    const content = [{ type: "thinking", thinking: "Hm." }];
    const thought = {
      ...about,
      parentUuid: "p",
      type: "assistant",
      uuid: "a",
      message: { id: "m", role: "assistant", content },
    };
    const path = write("a.jsonl", jsonLines([prompt, thought]));
    const ago = new Date(Date.now() - 22 * 60_000);
    utimesSync(path, ago, ago);
    const events: WatchEvent[] = [];
    expect(await watchFiles(store, folder, { once: true, onEvent: (event) => events.push(event) })).toEqual({
      newCount: 2,
    });
    expect(events.filter(({ event }) => event === "warning")).toEqual([]);
  });
});
