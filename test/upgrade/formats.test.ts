import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { RenderOptions, Store } from "../../src/index.ts";
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

describe.each([7, 8, 9])("a store of format %i", (format) => {
  test("it verifies clean, and a rebuild writes its rows as this version does", () => {
    const store = openFixture(format);
    const textsOf = () => store.query("SELECT id, text, parts, checksum IS NULL AS is_unsealed FROM messages");
    const before = textsOf();
    expect(store.verify()).toMatchObject({ ok: true, sessionCount: 8, messageCount: 133 });
    expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 7 });
    expect(textsOf()).toEqual(before.map((row) => ({ ...row, is_unsealed: 0 })));
    const old = "SELECT count(*) AS n FROM messages WHERE length(embedding) % 4 = 0";
    expect(store.query(old)).toEqual([{ n: 0 }]);
    expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
  });

  test("every session renders the bytes that are recorded", async () => {
    const store = openFixture(format);
    const contexts = recordedContexts(format);
    expect(contexts).toHaveLength(42);
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
      { seq_first: 4, seq_last: 20 },
    ]);
    expect(store.resume("whole").compact({ strategy: "sandwich" })).toEqual({
      compacted: false,
      reason: "middle_too_small",
    });
  });
});
