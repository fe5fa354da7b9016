import { copyFileSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chunksOf } from "../../../src/importers/files.ts";
import type { ImportEvent, Importer } from "../../../src/importers/importer.ts";
import { openImport } from "../../../src/importers/registry.ts";
import { type ImportResult, importFiles } from "../../../src/imports/import-files.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import type { MessageInput, Store } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { samplesBut } from "../../contract/importer-samples.ts";
import { runs, seenInRuns } from "../../support/effort.ts";
import { inFolderAsync, openedStore, temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { assistant, user } from "../importers/claude-code/lines.ts";
import { bring, collect, fileOf, jsonLines, messagesIn, put, sessionsIn } from "../importers/read.ts";

const REAL = ["claude-code", "codex", "copilot-cli", "gemini-cli", "pi", "pi-hooks"];

interface Placed {
  branch: boolean;
  externalId: string;
  parts: unknown;
}

/** Every message of the store by session, those of branches too. */
function heldIn(store: Store): Map<string, Placed[]> {
  const held = new Map<string, Placed[]>();
  for (const { id, externalId } of store.sessions({ limit: 1_000 })) {
    const path = store.resume(id).messages();
    const superseded = store
      .query(`SELECT m.id FROM messages m JOIN sessions s ON s.id = m.session_id
              WHERE s.parent_session_id = '${id}' AND s.superseded_at_ms IS NOT NULL`)
      .map((row) => store.expand(row.id as number).members.find((message) => message.id === row.id)!);
    held.set(externalId!, [
      ...path.map(({ externalId, parts }) => ({ branch: false, externalId: externalId!, parts })),
      ...superseded.map(({ externalId, parts }) => ({ branch: true, externalId: externalId!, parts })),
    ]);
  }
  return held;
}

/** The ids on the path of each session, by walking back from the `head` event, or from the last message. */
function pathsIn(events: readonly ImportEvent[]): Map<string, string[]> {
  const said = new Map<string, string[]>();
  for (const event of events) {
    if (event.kind === "message") said.set(event.session, [...(said.get(event.session) ?? []), event.message.id]);
  }
  const sessions = new Map(sessionsIn(events).map((session) => [session.externalId, session]));
  const pathTo = (name: string, id: string | undefined): string[] => {
    const ids = said.get(name)!;
    const own = id === undefined ? [] : ids.slice(0, ids.indexOf(id) + 1);
    const { pathOf, parentExternalId, forkedAfter } = sessions.get(name)!;
    if (pathOf === undefined || forkedAfter === undefined) return own;
    return [...pathTo(parentExternalId!, forkedAfter), ...own];
  };
  const paths = new Map<string, string[]>();
  for (const { externalId, pathOf } of sessions.values()) {
    if (pathOf === undefined) paths.set(externalId, said.get(externalId)!);
  }
  for (const event of events) {
    if (event.kind !== "head") continue;
    const root = sessions.get(event.session)!.pathOf ?? event.session;
    paths.set(root, event.messageId === null ? [] : pathTo(event.session, event.messageId));
  }
  return paths;
}

/** Returns a copy of Markdown that nobody has written for long, since its last words wait for that; other files as they are. */
function quiet(path: string): string {
  if (!path.endsWith(".md")) return path;
  const copy = join(temporaryFolder(), basename(path));
  copyFileSync(path, copy);
  utimesSync(copy, 0, 0);
  return copy;
}

describe("every message of a file is in the store once, and the session is the path that the file has now", () => {
  const samples = [
    ...samplesBut("").map((url) => fileURLToPath(url)),
    ...REAL.map((name) => fileURLToPath(new URL(`../../fixtures/importers/real/${name}`, import.meta.url))),
  ];
  test.each(samples)("%s", async (sample) => {
    const store = temporaryStore();
    const path = quiet(sample);
    const { files } = await importFiles(store, [path], { summarize: false, keepSecrets: true });
    expect(files.length).toBeGreaterThan(0);
    for (const { path: file } of files) {
      const { events } = await openImport({ path: file, chunks: chunksOf(file), isFinished: true }, "auto");
      const all = await collect(events);
      const held = heldIn(store);
      const rootOf = new Map(sessionsIn(all).map((one) => [one.externalId, one.pathOf ?? one.externalId]));
      for (const [session, ids] of pathsIn(all)) {
        const ofSession = held.get(session)!;
        expect(ofSession.filter(({ branch }) => !branch).map(({ externalId }) => externalId)).toEqual(ids);
        const source = all.flatMap((event) =>
          event.kind === "message" && rootOf.get(event.session) === session ? [event.message] : [],
        );
        expect(ofSession.map(({ externalId }) => externalId).sort()).toEqual(source.map(({ id }) => id).sort());
        for (const { id, parts, content } of source) {
          const { parts: stored } = ofSession.find(({ externalId }) => externalId === id)!;
          expect(stored).toEqual(parts ?? [{ type: "text", text: content }]);
        }
      }
      expect(all.filter(({ kind }) => kind === "restored").length + messagesIn(all).length).toBeGreaterThan(2);
    }
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    expect(await importFiles(store, [path], { summarize: false })).toMatchObject({ newCount: 0, forgottenCount: 0 });
  });
});

type Said = [role: "user" | "assistant", uuid: string, parent: string | null];

/** Lines of Claude Code. */
function lines(...said: Said[]): string {
  return jsonLines(
    said.map(([role, uuid, parentUuid]) => {
      const [content, about] = [`words of ${uuid}`, { sessionId: "s", cwd: "/srv/tide", parentUuid }];
      return role === "user" ? user(uuid, content, about) : assistant(uuid, `msg-${uuid}`, content, about);
    }),
  );
}

const FIRST: Said[] = [
  ["user", "u1", null],
  ["assistant", "a1", "u1"],
  ["user", "u2", "a1"],
  ["assistant", "a2", "u2"],
];
const EDITED: Said[] = [...FIRST, ["user", "u3", "a1"], ["assistant", "a3", "u3"]];
const FORKED_AGAIN: Said[] = [...EDITED, ["user", "u4", "a3"], ["assistant", "a4", "u4"], ["user", "u5", "a3"]];

/** A store, and a transcript that is written with these lines and then imported. */
function transcript() {
  const [store, path] = [temporaryStore(), join(temporaryFolder(), "s.jsonl")];
  const write = (...said: Said[]) => put(path, lines(...said));
  return { store, path, write, grow: (...said: Said[]) => bring(store, write(...said)) };
}

/** Forgets the message that has this id in its file. */
function forget(store: Store, externalId: string): void {
  const [row] = store.query(`SELECT id FROM messages WHERE external_id = '${externalId}'`);
  store.forget("s", { messageIds: [row!.id as number] });
}

const idsOf = (store: Store, id = "s") => {
  const messages = store.resume(id).messages();
  return messages.map(({ externalId }) => externalId);
};

const branchesOf = (store: Store, id = "s") => {
  const branches = store.resume(id).branches();
  return branches.map(({ afterSeq, messageCount, isUndoable }) => ({ afterSeq, messageCount, isUndoable }));
};

describe("a prompt that was edited", () => {
  test("goes on on the path, and what it replaced is a branch that only `recall` with `superseded` finds", async () => {
    const { store, grow } = transcript();
    expect(await grow(...EDITED)).toMatchObject({ newCount: 6, sessionCount: 1 });
    expect(store.sessions().map(({ id }) => id)).toEqual(["s"]);
    expect(idsOf(store)).toEqual(["u1", "a1", "u3", "a3"]);
    expect(branchesOf(store)).toEqual([{ afterSeq: 1, messageCount: 2, isUndoable: false }]);
    const found = async (options: object) =>
      (await store.recall("words of u2", { limit: 20, ...options })).find(({ text }) => text === "words of u2");
    expect(await found({})).toBeUndefined();
    const hit = await found({ superseded: true });
    expect(hit).toMatchObject({ sessionId: "s", superseded: true });
    expect(store.expand(hit!.messageId).members.map(({ text }) => text)).toContain("words of u2");
  });

  test("changes a session that was imported before, and leaves alone what was appended here", async () => {
    const { store, grow } = transcript();
    await grow(...FIRST.slice(0, 2));
    store.resume("s").append({ role: "user", content: "A note of ours." });
    expect(await grow(...EDITED)).toMatchObject({ newCount: 4, knownCount: 2 });
    expect(idsOf(store)).toEqual(["u1", "a1", undefined, "u3", "a3"].filter((id) => id !== undefined));
    expect(branchesOf(store)).toEqual([{ afterSeq: 1, messageCount: 3, isUndoable: false }]);
    store.resume("s").append({ role: "user", content: "Another note." });
    expect(await grow(...EDITED)).toMatchObject({ newCount: 0, knownCount: 6 });
    await grow(...EDITED, ["user", "u4", "a3"]);
    expect(idsOf(store)).toEqual(["u1", "a1", "u3", "a3", undefined, "u4"]);
  });

  test("of an abandoned path brings that path back", async () => {
    const { store, grow } = transcript();
    await grow(...FORKED_AGAIN);
    expect(idsOf(store)).toEqual(["u1", "a1", "u3", "a3", "u5"]);
    await grow(...FORKED_AGAIN, ["assistant", "a5", "u5"], ["user", "u6", "a4"]);
    expect(idsOf(store)).toEqual(["u1", "a1", "u3", "a3", "u4", "a4", "u6"]);
    await grow(...FORKED_AGAIN, ["assistant", "a5", "u5"], ["user", "u6", "a4"], ["user", "u7", "a2"]);
    expect(idsOf(store)).toEqual(["u1", "a1", "u2", "a2", "u7"]);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("does not bring back what the user of the store has superseded, and ends the undo of what is no longer there", async () => {
    const { store, grow } = transcript();
    await grow(...FIRST);
    store.resume("s").rewind({ toSeq: 2 });
    await grow(...FIRST, ["user", "u3", "a2"], ["assistant", "a3", "u3"]);
    expect(idsOf(store)).toEqual(["u1", "a1", "u2", "u3", "a3"]);
    expect(branchesOf(store)).toMatchObject([{ isUndoable: true }]);
    await grow(...FIRST, ["user", "u3", "a2"], ["assistant", "a3", "u3"], ["user", "u4", "a1"]);
    expect(idsOf(store)).toEqual(["u1", "a1", "u4"]);
    expect(store.resume("s").undo()).toMatchObject({ restoredCount: 0 });
  });
});

test("a rewind after which nobody said anything takes the messages from the path, unless another import has more", async () => {
  const path = join(temporaryFolder(), "session-1.json");
  const record = (id: string) => ({ id, timestamp: "2026-03-05T09:00:00Z", type: "user", content: [{ text: id }] });
  const meta = { sessionId: "s", projectHash: "h", startTime: "2026-03-05T09:00:00Z", kind: "main" };
  const store = temporaryStore();
  const grow = (...more: object[]) => bring(store, put(path, jsonLines([meta, ...more])));
  const gone = [record("u1"), record("u2"), record("u3"), { $rewindTo: "u2" }];
  await grow(...gone);
  expect(idsOf(store)).toEqual(["u1"]);
  await grow(...gone, record("u4"));
  expect(idsOf(store)).toEqual(["u1", "u4"]);
  expect(await grow(...gone)).toMatchObject({ newCount: 0, knownCount: 3 });
  expect(idsOf(store)).toEqual(["u1", "u4"]);
  await grow(...gone, record("u4"), { $rewindTo: "u1" });
  expect(idsOf(store)).toEqual([]);
});

describe("a forgotten session", () => {
  test("stays forgotten with all its paths", async () => {
    const { store, grow } = transcript();
    await grow(...EDITED);
    store.forget("s");
    expect(await grow(...FORKED_AGAIN)).toMatchObject({ newCount: 0, forgottenCount: 9 });
    expect(store.sessions()).toEqual([]);
  });

  test("of a greeting is not taken for one that went back after the same greeting", async () => {
    const store = temporaryStore();
    const path = join(temporaryFolder(), "s.jsonl");
    await bring(store, put(path, treeOf([null])));
    store.forget("s");
    const other = treeOf([null, null, 1]).replace('"id":"s"', '"id":"t"');
    // The greeting of the same time stays out. The others come.
    expect(await bring(store, put(path, other))).toMatchObject({ newCount: 2, forgottenCount: 1 });
    expect(idsOf(store, "t")).toEqual(["m1", "m2"]);
  });

  test("message of an abandoned path stays forgotten", async () => {
    const { store, grow } = transcript();
    await grow(...EDITED);
    forget(store, "u2");
    expect(await grow(...EDITED)).toMatchObject({ newCount: 0, knownCount: 5, forgottenCount: 1 });
    await grow(...EDITED, ["user", "u6", "a2"]);
    expect(idsOf(store).at(-1)).toBe("u6");
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test.each<[what: string, parents: (number | null)[], forgotten: string, path: string[]]>([
    ["only message of a path", [null, 0, 1, 0, 2], "m3", ["m0", "m1", "m2", "m4"]],
    ["first message of a path", [null, 0, null, 2, 1], "m2", ["m0", "m1", "m4"]],
  ])("%s does not keep an earlier path away", async (_what, parents, forgotten, expected) => {
    const store = temporaryStore();
    const path = join(temporaryFolder(), "s.jsonl");
    await bring(store, put(path, treeOf(parents.slice(0, -1))));
    forget(store, forgotten);
    await bring(store, put(path, treeOf(parents)));
    expect(idsOf(store)).toEqual(expected);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });
});

describe("an abandoned path", () => {
  const says = (session: string, id: string, ...texts: string[]): ImportEvent => ({
    ...{ kind: "message", session, line: 1 },
    message: { id, role: "user", parts: texts.map((text) => ({ type: "text", text })) },
  });
  const path = (externalId: string, forkedAfter?: string): ImportEvent => ({
    kind: "session",
    session: {
      ...{ externalId, source: "paths" },
      ...(forkedAfter !== undefined && { pathOf: "s", parentExternalId: "s", forkedAfter }),
    },
  });
  const head = (session: string, messageId: string): ImportEvent => ({ kind: "head", session, messageId });

  /** Imports a file of these events. */
  async function bringEvents(store: Store, ...events: ImportEvent[]): Promise<ImportResult> {
    const importer: Importer = {
      name: "paths",
      detect: () => true,
      async *read({ chunks }) {
        for await (const _ of chunks);
        yield* events;
      },
    };
    return bring(store, put(join(temporaryFolder(), "s.paths"), "paths"), { importers: [importer] });
  }

  const OTHER_PATH = [path("s/2", "m1"), says("s/2", "n1", "another way"), head("s/2", "n1")];

  test("gets what a message of it has grown by, and keeps it when it comes back", async () => {
    const store = temporaryStore();
    const grown = (...texts: string[]) => [path("s"), says("s", "m1", "begin"), says("s", "m2", ...texts)];
    await bringEvents(store, ...grown("one"), says("s", "m3", "on"), ...OTHER_PATH);
    expect(idsOf(store)).toEqual(["m1", "n1"]);
    const texts = ["one", "two"];
    const result = await bringEvents(store, ...grown(...texts), says("s", "m3", "on"), ...OTHER_PATH);
    expect(result).toMatchObject({ newCount: 1, knownCount: 3, warningCount: 0 });
    expect(idsOf(store)).toEqual(["m1", "n1"]);
    expect(branchesOf(store)).toEqual([{ afterSeq: 0, messageCount: 3, isUndoable: false }]);
    texts.push("three");
    const more = [...grown(...texts), says("s", "m3", "on"), ...OTHER_PATH];
    expect(await bringEvents(store, ...more)).toMatchObject({ newCount: 1, warningCount: 0 });
    expect(await bringEvents(store, ...more)).toMatchObject({ newCount: 0, warningCount: 0 });
    const hits = await store.recall("three", { superseded: true });
    expect(hits[0]).toMatchObject({ text: "three", superseded: true });
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });

    await bringEvents(store, ...more, head("s", "m3"));
    expect(store.resume("s").messages()).toMatchObject(
      ["begin", "one", "on", "two", "three"].map((text, seq) => ({ seq, text })),
    );
    expect((await store.recall("three"))[0]).toMatchObject({ seq: 4, text: "three" });
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("does not come back if it answers a call that the session got later", () => {
    const store = temporaryStore();
    const session = store.session("s");
    const result: MessageInput = { role: "tool", parts: [{ type: "tool_result", toolCallId: "c", content: "a hole" }] };
    const call: MessageInput = {
      role: "assistant",
      parts: [{ type: "tool_call", toolCallId: "c", name: "zoom", args: {} }],
    };
    const follow = (...before: string[]) =>
      internalsOf(store).intake.endTranscript("s", {
        ...{ before, isElsewhere: (id: string) => !before.includes(id), isInTranscript: () => true, isEnd: false },
      });
    session.append([
      { role: "user", content: "Look.", id: "u1" },
      { role: "user", content: "Closer.", id: "u2" },
      { ...result, id: "t1" },
    ]);
    follow("u1");
    session.append({ ...call, id: "a1" });
    follow("u2", "u1");
    follow("t1", "a1", "u1");
    expect(idsOf(store)).toEqual(["u1", "a1"]);
    session.append({ ...result, id: "t2" });
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    expect(store.query("SELECT count(DISTINCT step_id) AS n FROM messages WHERE session_id = 's'")).toEqual([{ n: 2 }]);
  });

  test("does not get a message that changed in another way", async () => {
    const store = temporaryStore();
    const file = (text: string) => [path("s"), says("s", "m1", "begin"), says("s", "m2", text), ...OTHER_PATH];
    await bringEvents(store, ...file("one"));
    const { newCount, files } = await bringEvents(store, ...file("other"));
    expect(newCount).toBe(0);
    expect(files[0]!.warnings).toMatchObject([
      { reason: expect.stringContaining("already holds a different message") },
    ]);
  });

  test.each([
    ["is taken", true],
    ["is free", false],
  ])(
    "comes back although the message before it was forgotten on another path, and its seq %s",
    async (_what, isTaken) => {
      const store = temporaryStore();
      // m1 — m2 — m3: the session. m2 — n1: a second path. m1 — o1: a third one.
      const first = [path("s"), says("s", "m1", "begin"), says("s", "m2", "one"), says("s", "m3", "two")];
      const second = [path("s/2", "m2"), says("s/2", "n1", "another way")];
      const third = [path("s/3", "m1"), says("s/3", "o1", "a third way")];
      const file = [...first, ...second, ...third];
      await bringEvents(store, ...file, head("s/3", "o1"));
      expect(idsOf(store)).toEqual(["m1", "o1"]);
      forget(store, "m2");
      if (!isTaken) {
        await bringEvents(store, ...file, head("s", "m1"));
        expect(idsOf(store)).toEqual(["m1"]);
      }
      await bringEvents(store, ...file, head("s", "m3"));
      expect(store.resume("s").messages()).toMatchObject([
        { seq: 0, text: "begin" },
        { seq: 2, text: "two" },
      ]);
      expect(store.verify()).toMatchObject({ ok: true, problems: [] });
      await bringEvents(store, ...file, head("s/3", "o1"));
      expect(idsOf(store)).toEqual(["m1", "o1"]);
      await bringEvents(store, ...file, head("s/2", "n1"));
      expect(store.resume("s").messages()).toMatchObject([{ text: "begin" }, { seq: 2, text: "another way" }]);
      expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    },
  );
});

/** Lines of pi, whose user can go back to every line. Parents are indexes of earlier lines. */
function treeOf(parents: readonly (number | null)[]): string {
  const named = parents.map((parent, index) => ({
    ...{ type: "message", id: `m${index}`, parentId: parent === null ? null : `m${parent}` },
    timestamp: "2026-03-05T09:00:00Z",
    message: { role: index % 3 === 0 ? "user" : "assistant", content: [{ type: "text", text: `words ${index}` }] },
  }));
  const header = { type: "session", version: 3, id: "s", timestamp: "2026-03-05T09:00:00Z", cwd: "/srv/tide" };
  return jsonLines([header, ...named]);
}

/**
 * Goal: however a file with a tree grows, and whichever of two processes reads it, the session is the path to the newest line, and
 * every other message is superseded.
 * Method: draw a tree, import its first lines and then more of them by two stores of one file, in turn or at once; compare with a
 * walk from the newest line to the first.
 */
test("any tree, grown in any steps, read by two stores of one file", async () => {
  const counts = { branches: 0, returns: 0 };
  const parent = fc.oneof(
    { weight: 8, arbitrary: fc.constant("previous" as const) },
    { weight: 3, arbitrary: fc.nat() },
    { weight: 1, arbitrary: fc.constant(null) },
  );
  const step = fc.record({ size: fc.integer({ min: 1, max: 12 }), by: fc.nat(2) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(parent, { minLength: 2, maxLength: 40, size: "max" }),
      fc.array(step, { minLength: 1, maxLength: 6 }),
      async (drawn, steps) => {
        const parents = drawn.map((one, index) => {
          if (index === 0 || one === null) return null;
          return one === "previous" ? index - 1 : one % index;
        });
        await inFolderAsync(async (folder) => {
          const stores = [0, 1].map(() => openedStore(join(folder, "agent.db")));
          const read = (store: Store, count: number) => {
            const run = new ImportRun(store);
            return run.read({ ...fileOf(treeOf(parents.slice(0, count)), 65_536, "s.jsonl"), isUncertain: true });
          };
          let count = 0;
          for (const { size, by } of [...steps, { size: parents.length, by: 2 }]) {
            const before = count;
            count = Math.min(parents.length, count + size);
            if (by < 2) await read(stores[by]!, count);
            else await Promise.all([read(stores[0]!, count), read(stores[1]!, before), read(stores[1]!, count)]);
          }
          for (const store of stores) await read(store, count);
          const path: string[] = [];
          for (let at: number | null = parents.length - 1; at !== null; at = parents[at]!) path.unshift(`m${at}`);
          for (const store of stores) {
            expect(idsOf(store)).toEqual(path);
            expect(store.stats().messageCount).toBe(parents.length);
            expect(store.verify()).toMatchObject({ ok: true, problems: [] });
          }
          counts.branches += branchesOf(stores[0]!).length;
          counts.returns += Number(path.length < parents.length && parents.at(-1) !== parents.length - 2);
          for (const store of stores) store.close();
        });
      },
    ),
    { numRuns: runs(40) },
  );
  expect(counts.branches).toBeGreaterThan(seenInRuns(40));
  expect(counts.returns).toBeGreaterThan(0);
});
