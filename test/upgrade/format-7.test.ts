import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { RenderOptions, Store } from "../../src/index.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

// A store with seven migrations, whose session options all differ from the defaults, and the contexts that the program
// rendered from it when it wrote it. scripts/fixture-store.ts made both files.

const FIXTURE = fileURLToPath(new URL("../fixtures/stores/format-7", import.meta.url));

interface RecordedContext {
  session: string;
  options: Omit<RenderOptions, "query">;
  query?: string;
  tokenCount: number;
  compactableTokens: number;
  messages: unknown[];
}

const contexts = readFileSync(`${FIXTURE}.contexts.jsonl`, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as RecordedContext);

function openFixture(): Store {
  const path = temporaryPath();
  writeFileSync(path, gunzipSync(readFileSync(`${FIXTURE}.db.gz`)));
  return openedStore(path);
}

test("it verifies clean, and rebuilding its derived rows changes none", () => {
  const store = openFixture();
  expect(store.verify()).toMatchObject({ ok: true, sessionCount: 8, messageCount: 133 });
  expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
});

test("every session renders the bytes that it rendered before the upgrade", () => {
  const store = openFixture();
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
  const store = openFixture();
  expect(store.resume("split").compact()).toEqual({ compacted: true });
  expect(store.query("SELECT seq_first, seq_last FROM span_summaries WHERE status = 'due'")).toEqual([
    { seq_first: 4, seq_last: 20 },
  ]);
  expect(store.resume("whole").compact({ strategy: "sandwich" })).toEqual({
    compacted: false,
    reason: "middle_too_small",
  });
});
