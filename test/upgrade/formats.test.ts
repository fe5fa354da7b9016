import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { RenderOptions, Store } from "../../src/index.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

// Stores as older versions wrote them, whose session options all differ from the defaults, and the contexts that those versions
// rendered from them. scripts/fixture-store.ts made the files.

const FIXTURES = fileURLToPath(new URL("../fixtures/stores/", import.meta.url));

interface RecordedContext {
  session: string;
  options: Omit<RenderOptions, "query">;
  query?: string;
  tokenCount: number;
  compactableTokens: number;
  messages: unknown[];
}

function recordedContexts(format: number): RecordedContext[] {
  const lines = readFileSync(`${FIXTURES}format-${format}.contexts.jsonl`, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as RecordedContext);
}

function openFixture(format: number): Store {
  const path = temporaryPath();
  writeFileSync(path, gunzipSync(readFileSync(`${FIXTURES}format-${format}.db.gz`)));
  return openedStore(path);
}

describe.each([7, 8])("a store of format %i", (format) => {
  test("it verifies clean, and rebuilding its derived rows changes none", () => {
    const store = openFixture(format);
    expect(store.verify()).toMatchObject({ ok: true, sessionCount: 8, messageCount: 133 });
    expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
  });

  test("every session renders the bytes that it rendered before the upgrade", () => {
    const store = openFixture(format);
    const contexts = recordedContexts(format);
    expect(contexts).toHaveLength(42);
    for (const { session: id, options, query, ...before } of contexts) {
      const session = store.resume(id);
      const { messages, tokenCount } = session.render({ ...options, ...(query !== undefined && { query }) });
      const { compactableTokens } = session.pressure(options);
      const after = { tokenCount, compactableTokens, messages };
      expect(JSON.stringify(after, null, 1), `${id} ${JSON.stringify(options)}`).toBe(JSON.stringify(before, null, 1));
    }
  });

  test("a session is split as its stored options say", () => {
    const store = openFixture(format);
    expect(store.resume("split").compact()).toEqual({ compacted: true });
    expect(store.query("SELECT seq_first, seq_last FROM span_summaries WHERE status = 'due'")).toEqual([
      { seq_first: 4, seq_last: 20 },
    ]);
    expect(store.resume("whole").compact({ strategy: "sandwich" })).toEqual({
      compacted: false,
      reason: "middle_too_small",
    });
  });
});
