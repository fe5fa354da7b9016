import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { RenderOptions, Store } from "../../src/index.ts";
import { someOf } from "../support/effort.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

// Stores as older versions wrote them, whose session options all differ from the defaults, and the contexts that are rendered
// from them. scripts/fixture-store.ts made the stores. `npx vitest run test/upgrade -u` writes the contexts again, which only a
// change of what contexts contain needs.

const FIXTURES = fileURLToPath(new URL("../fixtures/stores/", import.meta.url));

interface RecordedContext {
  session: string;
  options: Omit<RenderOptions, "query">;
  query?: string;
}

const contextsFile = (format: number): string => `${FIXTURES}format-${format}.contexts.jsonl`;

function recordedContexts(format: number): RecordedContext[] {
  const lines = readFileSync(contextsFile(format), "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as RecordedContext);
}

function openFixture(format: number): Store {
  const path = temporaryPath();
  writeFileSync(path, gunzipSync(readFileSync(`${FIXTURES}format-${format}.db.gz`)));
  return openedStore(path);
}

const OLD = { sessionCount: 8, messageCount: 133, rebuiltCount: 7, contextCount: 42, split: [4, 20] };

const FORMATS = [
  ...[7, 8, 9].map((format) => ({ ...OLD, format })),
  ...[15, 16].map((format) => ({
    ...OLD,
    format,
    sessionCount: 9,
    messageCount: 195,
    rebuiltCount: 0,
    contextCount: 49,
  })),
  { ...OLD, format: 17, sessionCount: 10, messageCount: 211, rebuiltCount: 0, contextCount: 56 },
  ...[18, 19, 20, 21, 22].map((format) => {
    return { ...OLD, format, sessionCount: 11, messageCount: 211, rebuiltCount: 0, contextCount: 63 };
  }),
  // Tokens are counted when a message is appended, and count otherwise since this format.
  ...[26, 27].map((format) => ({
    format,
    sessionCount: 12,
    messageCount: 213,
    rebuiltCount: 0,
    contextCount: 63,
    split: [1, 21],
  })),
];

describe.each(someOf(FORMATS, 3))(
  "a store of format $format",
  ({ format, sessionCount, messageCount, rebuiltCount, contextCount, split }) => {
    test("it verifies clean, and a rebuild writes its rows as this version does", () => {
      const store = openFixture(format);
      const textsOf = () => store.query("SELECT id, text, parts, checksum = -1 AS is_unsealed FROM messages");
      const before = textsOf();
      expect(store.verify()).toMatchObject({ ok: true, sessionCount, messageCount });
      expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount });
      expect(textsOf()).toEqual(before.map((row) => ({ ...row, is_unsealed: 0 })));
      for (const table of [
        ...["shared_pasts", "undone_unions", "forgotten_messages", "frontier_moves", "discarded_costs"],
        ...["message_artifacts", "tombstones", "store_settings", "generations"],
      ]) {
        expect(store.query(`SELECT 1 FROM ${table} WHERE checksum = -1`), table).toEqual([]);
      }
      const old = "SELECT count(*) AS n FROM messages WHERE length(embedding) % 4 = 0";
      expect(store.query(old)).toEqual([{ n: 0 }]);
      expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
    });

    test("every session renders the bytes that are recorded", async () => {
      const store = openFixture(format);
      const contexts = recordedContexts(format);
      expect(contexts).toHaveLength(contextCount);
      const lines = contexts.map(({ session: id, options, query }) => {
        const session = store.resume(id);
        const { messages, tokenCount } = session.render({ ...options, ...(query !== undefined && { query }) });
        const { compactableTokens } = session.pressure(options);
        return JSON.stringify({ session: id, options, query, tokenCount, compactableTokens, messages });
      });
      await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(contextsFile(format));
    });

    test("a session is split as its stored options say", () => {
      const store = openFixture(format);
      expect(store.resume("split").compact()).toEqual({ compacted: true });
      expect(store.query("SELECT seq_first, seq_last FROM summaries WHERE status = 'due'")).toEqual([
        { seq_first: split[0], seq_last: split[1] },
      ]);
      expect(store.resume("whole").compact({ strategy: "sandwich" })).toEqual({
        compacted: false,
        reason: "middle_too_small",
      });
    });
  },
);

test("a session of format 15 that went back keeps its branches, entries and items, and goes back and forward", () => {
  const store = openFixture(15);
  const session = store.resume("turned");
  const openings = session.branches().map(({ afterSeq, messageCount, firstMessageId, isUndoable }) => {
    const [first] = store.expand(firstMessageId!, { level: "step" }).members;
    return [afterSeq, messageCount, first!.text.slice(0, 18), isUndoable];
  });
  expect(openings).toEqual([
    [17, 1, "Leave the sounding", false],
    [26, 17, "The file is empty.", true],
    [30, 5, "High water at the ", true],
  ]);
  expect(session.entries.list()).toMatchObject([{ id: "tide", value: { gate: 2, meters: [4.5, 5.1] } }]);
  expect(store.items.get(["harbor"], "seal")?.value).toEqual(new Uint8Array([0, 255, 7]));
  const undone = store.query("SELECT root, max(id) AS id FROM undone_unions WHERE kind = 'join' GROUP BY root");
  for (const { root, id } of undone) {
    expect(store.expand(`cluster:${root}@${id}`).memberCount, `cluster:${root}@${id}`).toBeGreaterThan(1);
  }
  expect(undone).toHaveLength(4);
  expect(session.undo()).toEqual({ restoredCount: 5, supersededCount: 8 });
  expect(session.rewind({ toSeq: 24 })).toMatchObject({ supersededCount: 11 });
  expect(session.undo()).toEqual({ restoredCount: 11, supersededCount: 0 });
  expect(session.undo()).toEqual({ restoredCount: 17, supersededCount: 9 });
  expect(session.entries.list()).toMatchObject([{ id: "tide" }, { value: null }]);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a store of format 26 keeps the names of projects, what was merged, and what models were paid for", () => {
  const store = openFixture(26);
  const ferry = { project: "/srv/harbor/ferry", name: "ferries", sessionCount: 1 };
  expect(store.projects()).toMatchObject([ferry, { project: "harbor", name: "harbor" }]);
  store.session("late", { project: "/mnt/old/ferry" });
  expect(store.resume("late").project).toBe(ferry.project);
  expect(store.query("SELECT project, model, input_tokens, output_tokens, cost_usd FROM usage")).toEqual([
    { project: ferry.project, model: "tide-2", input_tokens: 90, output_tokens: 11, cost_usd: 0.25 },
  ]);
});
