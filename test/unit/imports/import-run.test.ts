import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type FileReport, ImportRun } from "../../../src/imports/import-run.ts";
import { summarizeSessions } from "../../../src/imports/summarize-sessions.ts";
import { OpenedSession } from "../../../src/session/opened-session.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import type { Store } from "../../../src/session/store.ts";
import { Upkeep } from "../../../src/session/upkeep.ts";
import { refused, scriptedEmbedder } from "../../support/scripted-embedder.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { temporaryStore } from "../../support/temporary-store.ts";
import { fileOf, jsonLines, textsOf } from "../importers/read.ts";

let store: Store;

beforeEach(() => {
  store = temporaryStore();
});

afterEach(() => void vi.restoreAllMocks());

/** Imports lines of the neutral format. */
function read(lines: readonly object[], options: { project?: string; run?: ImportRun } = {}): Promise<FileReport> {
  const { run = newRun(options.project) } = options;
  return run.read({ path: "notes.jsonl", chunks: fileOf(jsonLines(lines), 10_000_000).chunks });
}

function newRun(project?: string): ImportRun {
  return new ImportRun(store, { format: "auto", onProgress: () => {}, ...(project === undefined ? {} : { project }) });
}

const say = (session: string, id: string, content: string): object => ({ session, id, role: "user", content });

describe("ImportRun into a store with a remote embedder", () => {
  const embedder = scriptedEmbedder({ textsMax: 50 });
  beforeEach(() => {
    embedder.requests.length = 0;
    embedder.before = () => {};
    store = temporaryStore({ embedder });
  });
  const lines = Array.from({ length: 350 }, (_, index) => say("s", `m${index}`, `message ${index}`));

  test("waits for the vectors of each batch, so that every message enters the forest with one", async () => {
    const seen: unknown[] = [];
    const onEmbedding = (progress: unknown): void => void seen.push(progress);
    const run = new ImportRun(store, { format: "auto", onProgress: () => {}, onEmbedding });
    await read(lines, { run });
    expect(store.stats()).toMatchObject({ messageCount: 350, pendingVectorCount: 0, withoutVectorCount: 0 });
    expect(seen).toHaveLength(7);
    expect(store.query("SELECT sum(message_count - vector_count) AS bare FROM clusters")).toEqual([{ bare: 0 }]);
  });

  test("ends when the embedder refuses, keeps what was read, and can be continued", async () => {
    embedder.before = () => {
      throw refused(403);
    };
    await expect(read(lines)).rejects.toMatchObject({ code: "MODEL_REFUSED" });
    expect(store.stats()).toMatchObject({ messageCount: 100, pendingVectorCount: 100, withoutVectorCount: 0 });
    embedder.before = () => {};
    expect(await read(lines)).toMatchObject({ newCount: 250, knownCount: 100 });
    expect(store.stats()).toMatchObject({ messageCount: 350, pendingVectorCount: 0, withoutVectorCount: 0 });
  });
});

describe("ImportRun", () => {
  test("appends 100 messages at once, also from interleaved sessions", async () => {
    const append = vi.spyOn(OpenedSession.prototype, "appendPrepared");
    const lines = Array.from({ length: 250 }, (_, index) => say(`s${index % 3}`, `m${index}`, `message ${index}`));
    expect(await read(lines)).toMatchObject({ newCount: 250, sessionIds: ["s0", "s1", "s2"] });
    // A third of each hundred belongs to the first session, in any number of transactions.
    const firsts = append.mock.calls.map(([rows]) => Number(rows[0]!.externalId!.slice(1)));
    expect(firsts.filter((first) => first < 100).length).toBe(firsts.findIndex((first) => first >= 100));
    expect(firsts.filter((first) => first < 200).length).toBe(firsts.findIndex((first) => first >= 200));
    const expected = Array.from({ length: 83 }, (_, index) => `message ${index * 3 + 1}`);
    expect(textsOf(store, "s1")).toEqual(expected);
  });

  test("leaves out only the messages that the store refuses", async () => {
    await read([say("s", "a", "one"), say("s", "b", "two")]);
    const report = await read([say("s", "b", "CHANGED"), say("s", "c", "three")]);
    expect(report).toMatchObject({ newCount: 1, knownCount: 0 });
    expect(report.warnings).toHaveLength(1);
    expect(textsOf(store, "s")).toEqual(["one", "two", "three"]);
  });

  test("warns about a file with new messages before known ones", async () => {
    const said = (ids: string) => [...ids].map((id) => say("s", id, `message ${id}`));
    await read(said("ac"));
    const report = await read(said("abcd"));
    expect(report).toMatchObject({ newCount: 2, knownCount: 2 });
    expect(report.warnings).toEqual([{ line: 2, reason: expect.stringMatching(/^the file was rewritten: .* "s"/) }]);
    expect((await read(said("ade"))).warnings).toEqual([]);
  });

  test("does not warn about messages that another import of the same file has just added", async () => {
    const messages = Array.from({ length: 150 }, (_, index) => ({ id: `m${index}`, content: `message ${index}` }));
    const lines = messages.map(({ id, content }) => say("s", id, content));
    const rest = messages.slice(100).map((message) => ({ role: "user" as const, ...message }));
    const run = new ImportRun(store, { format: "auto", onProgress: () => void store.resume("s").append(rest) });
    expect(await read(lines, { run })).toMatchObject({ newCount: 100, knownCount: 50, warnings: [] });
  });

  test("leaves out a session whose name the store refuses, with one warning", async () => {
    const report = await read([say("bad\nname", "a", "one"), say("good", "b", "two"), say("bad\nname", "c", "three")]);
    expect(report).toMatchObject({ newCount: 1, sessionIds: ["good"] });
    expect(report.warnings.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^session "bad\\nname" is left out: /),
    ]);
  });

  test("throws if the caller's project is one that the store refuses", async () => {
    await expect(read([say("s", "a", "one")], { project: "" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  test("imported sessions are summarized and indexed, and a second time nothing is due", async () => {
    const text =
      "The lighthouse lamp needs a new lens, and the lens grinder in the harbor has quoted a price for the glass.";
    const lines = Array.from({ length: 120 }, (_, index) => say("s", `m${index}`, `${text.repeat(3)} ${index}`));
    store = temporaryStore({ summarizer: scriptedSummarizer() });
    const run = newRun();
    await read(lines, { run });
    const { resolved } = await summarizeSessions(internalsOf(store), run.sessionIds, {});
    expect(resolved).toBeGreaterThan(0);
    expect(store.stats().unindexedCount).toBe(0);
    const roots = store.resume("s").roots();
    expect(roots.some(({ uncoveredCount }) => uncoveredCount === 0)).toBe(true);
    expect(roots.flatMap(({ summaries }) => summaries ?? []).every(({ shown }) => shown)).toBe(true);
    expect(await summarizeSessions(internalsOf(store), run.sessionIds, {})).toMatchObject({ resolved: 0, failed: 0 });
  });

  test("summarizing many sessions does the store's upkeep once", async () => {
    const run = newRun();
    const lines = Array.from({ length: 5 }, (_, index) => say(`s${index}`, "m", "hello"));
    await read(lines, { run });
    const upkeep = vi.spyOn(Upkeep.prototype, "run");
    await summarizeSessions(internalsOf(store), run.sessionIds, {});
    expect(upkeep).toHaveBeenCalledTimes(1);
  });

  test("finds the parent of a subagent in an earlier import", async () => {
    const line = { sessionId: "p", uuid: "u1", parentUuid: null, timestamp: "2026-03-01T00:00:00Z" };
    const message = { role: "user", content: "Look around." };
    await read([{ ...line, type: "user", message }]);
    await read([{ ...line, type: "user", isSidechain: true, agentId: "x", message }]);
    expect(store.resume("p/agent-x").info().parentSessionId).toBe("p");
  });

  test("a recap counts what a subagent did later to the session that started it", async () => {
    const of = (uuid: string, minute: number, content: string, more: object = {}) => ({
      ...{ sessionId: "p", uuid, parentUuid: null, timestamp: `2026-03-01T00:0${minute}:00Z` },
      ...{ type: "user", message: { role: "user", content }, ...more },
    });
    await read([of("u1", 0, "Paint the fence of the harbor.")]);
    await read([of("u2", 1, "Look for the brush.", { isSidechain: true, agentId: "x" })]);
    expect(store.recap({ sinceMs: 0 })).toMatchObject({
      ...{ sessionCount: 1, messageCount: 2, topicCount: 1 },
      topics: [{ sessionIds: ["p"], told: [{ text: "Paint the fence of the harbor." }] }],
    });
  });
});

test("characters that the name of a project may not have are removed from the name of a folder", async () => {
  for (const [project, name] of [
    ["a\tb", "a b"],
    ["a\ud800", "a\ufffd"],
    ["x".repeat(600), "x".repeat(512)],
    ["\u0007", null],
  ] as const) {
    const session = `in ${name}`.slice(0, 20);
    const { newCount, warnings } = await read([{ ...say(session, "m", "hello"), project }]);
    expect({ newCount, warnings }).toEqual({ newCount: 1, warnings: [] });
    expect(store.resume(session).info().project).toBe(name);
  }
});
