import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Worker } from "node:worker_threads";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { chunksOf, newestFirst, walkFiles } from "../../src/importers/files.ts";
import type { ImportFile } from "../../src/importers/importer.ts";
import { importFiles } from "../../src/imports/import-files.ts";
import { ImportRun } from "../../src/imports/import-run.ts";
import { WatchRun } from "../../src/imports/watch/watch-run.ts";
import { openStore, type Store } from "../../src/index.ts";
import { sampleOf, samplesByFormat } from "../contract/importer-samples.ts";

const folder = mkdtempSync(join(tmpdir(), "coppice-thread-"));
const threads: Worker[] = [];
const note = (thread: Worker): void => void threads.push(thread);
process.on("worker", note);
beforeEach(() => void threads.splice(0));
afterAll(() => {
  process.off("worker", note);
  rmSync(folder, { recursive: true, force: true });
});

/** Messages without a time get the time of their import. */
const STARTED_MS = Date.now();

let storeCount = 0;

/** Imports a file into a new store. Returns the reports, and a digest of each table. */
async function imported(path: string, inThread: boolean, onProgress: () => void = () => {}) {
  const store = openStore(join(folder, `${storeCount++}.db`));
  const run = new ImportRun(store, { format: "auto", onProgress });
  const reports = [];
  for await (const { byteLength, ...file } of walkFiles([path])) {
    reports.push(await run.read(inThread && byteLength !== undefined ? { ...file, byteLength } : file));
  }
  const branches = store.query("SELECT id FROM sessions WHERE superseded_at_ms IS NOT NULL ORDER BY rowid");
  const branchIds = branches.map(({ id }) => id);
  const tables = ["sessions", "messages", "artifacts", "message_artifacts", "unions", "clusters", "themes"];
  const digests = tables.map((table) => {
    const rows = store.query(`SELECT * FROM ${table} ORDER BY rowid`);
    const json = JSON.stringify(rows, (key, value) => {
      if (key === "checksum") return undefined; // it covers the times
      if (branchIds.includes(value)) return `branch ${branchIds.indexOf(value)}`;
      return typeof value === "number" && value >= STARTED_MS ? "now" : value;
    });
    const digest = createHash("sha256").update(json).digest("hex");
    return { table, count: rows.length, digest };
  });
  const { problems } = store.verify();
  store.close();
  return { reports, digests, problems };
}

/** Writes more than a megabyte of a session, with everything that might be damaged on its way between threads. */
function writeSession(name: string): string {
  const path = join(folder, name);
  const lines = Array.from({ length: 900 }, (_, index) => {
    const common = { session: "s", id: `m${index}`, createdAt: 1_700_000_000_000 + index, project: "p" };
    const toolCallId = `c${index - (index % 3)}`;
    if (index % 3 === 0) {
      const args = `{"path":"src/file${index}.ts","__proto__":{"a":${index}},"n":-0.5}`;
      const parts = `[{"type":"text","text":"Łook 日本 ${index}"},{"type":"tool_call","toolCallId":"${toolCallId}","name":"read","args":${args}}]`;
      return `${JSON.stringify({ ...common, role: "assistant", metadata: { tokens: index } }).slice(0, -1)},"parts":${parts}}`;
    }
    if (index % 3 === 1) {
      const content = `${index % 30 === 1 ? "long ".repeat(4_000) : "line of output\n".repeat(40)}\ud800 half ${index}`;
      return JSON.stringify({ ...common, role: "tool", parts: [{ type: "tool_result", toolCallId, content }] });
    }
    if (index % 100 === 2) return '{"session":"s","role":"user","content":'; // damaged
    return JSON.stringify({ ...common, role: "user", content: `And now number ${index}? ${"word ".repeat(index)}` });
  });
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

describe("a large file", () => {
  test("is read in a thread, and gives the same rows as without a thread", async () => {
    const path = writeSession("large.jsonl");
    const there = await imported(path, true);
    expect(threads).toHaveLength(1);
    const here = await imported(path, false);
    expect(threads).toHaveLength(1);
    expect(there).toEqual(here);
    expect(there.problems).toEqual([]);
    expect(there.reports).toMatchObject([{ newCount: 897, format: "jsonl", error: null }]);
    expect(there.reports[0]!.warnings).toHaveLength(3);
    expect(there.digests).toMatchObject([
      { count: 1 },
      { count: 897 },
      { table: "artifacts", count: 30 },
      {},
      {},
      {},
      {},
    ]);
  });

  // A line, a document, a text, a tree of branches, calls with results, subagents: a thread does the same for every format.
  test.each(
    ["claude-code", "codex", "gemini-cli", "chatgpt", "cline", "aider"].flatMap((format) => samplesByFormat[format]!),
  )("such as %s gives the same rows", async (name) => {
    const sample = sampleOf(name);
    const path = join(folder, basename(name));
    // White space at the end makes the file large.
    const content = Buffer.concat([readFileSync(sample), Buffer.alloc(1024 * 1024, " ")]);
    writeFileSync(path, content);
    utimesSync(path, 0, 0); // nothing will be written to it any more
    const there = await imported(path, true);
    expect(threads).toHaveLength(1);
    expect(there).toEqual(await imported(path, false));
    expect(there.reports[0]).toMatchObject({ warnings: [], error: null, knownCount: 0 });
  });

  test("is imported completely even if its thread dies", async () => {
    const path = writeSession("interrupted.jsonl");
    let progressCount = 0;
    const broken = await imported(path, true, () => {
      if (++progressCount === 2) void threads[0]!.terminate();
    });
    expect(threads).toHaveLength(1);
    expect(broken).toEqual({ ...(await imported(path, false)), reports: broken.reports });
    const [{ newCount, knownCount, warnings } = { newCount: 0, knownCount: 0, warnings: [] }] = broken.reports;
    expect({ newCount, knownCount, warningCount: warnings.length }).toEqual({
      newCount: 897,
      knownCount: 0,
      warningCount: 3,
    });
  });

  test("that cannot be read is reported like without a thread", async () => {
    const path = join(folder, "binary.jsonl");
    writeFileSync(path, Buffer.alloc(2 * 1024 * 1024, 7));
    const there = await imported(path, true);
    expect(threads).toHaveLength(1);
    expect(there.reports).toEqual((await imported(path, false)).reports);
    expect(there.reports[0]!.error?.code).toBe("IMPORT_UNREADABLE");
  });
});

describe("small files that are large together", () => {
  const nameOf = (session: number): string => `${String(session).padStart(8, "0")}-1111-4111-8111-111111111111.jsonl`;

  /** Writes sessions of 200 kB, and returns their folder. */
  function writeSessions(name: string): string {
    const place = join(folder, name);
    mkdirSync(place);
    for (let session = 0; session < 12; session++) {
      const lines = Array.from({ length: 200 }, (_, index) => {
        const said = { session: `s${session}`, id: `m${index}`, createdAt: 1_700_000_000_000 + index };
        return JSON.stringify({
          ...said,
          role: "user",
          content: `Number ${index} of ${session}? ${"word ".repeat(180)}`,
        });
      });
      const path = join(place, nameOf(session));
      writeFileSync(path, `${lines.join("\n")}\n`);
      utimesSync(path, session, session);
    }
    return place;
  }

  const rowsOf = (store: Store) =>
    store.query("SELECT id, session_id, seq, parts, parent_id FROM messages ORDER BY id");

  test("are read in one thread, by an import and by a watch", async () => {
    const place = writeSessions("together");
    const stores = ["apart", "imported", "watched"].map((name) => openStore(join(folder, `${name}.db`)));
    const [apart, importing, watching] = stores as [Store, Store, Store];
    const run = new ImportRun(apart);
    for (let session = 11; session >= 0; session--) {
      const path = join(place, nameOf(session));
      await run.read({ path, chunks: chunksOf(path), isFinished: true });
    }
    expect(threads).toHaveLength(0);
    const { newCount } = await importFiles(importing, place, { summarize: false });
    expect([threads.length, newCount]).toEqual([1, 2_400]);
    await new WatchRun(watching, { paths: [place] }).once();
    expect(threads).toHaveLength(2);
    expect(rowsOf(importing)).toEqual(rowsOf(apart));
    const sorted = (store: Store) => store.query("SELECT session_id, seq, parts FROM messages ORDER BY 1, 2");
    expect(sorted(watching)).toEqual(sorted(apart));
    for (const store of stores) store.close();
  });

  test("are all imported if some are left out, have changed, or the thread dies", async () => {
    const place = writeSessions("otherwise");
    const store = openStore(join(folder, "otherwise.db"));
    let readCount = 0;
    const run = new ImportRun(store, {
      onProgress: () => {
        if (++readCount === 12) void threads[0]!.terminate();
      },
    });
    const found: ImportFile[] = [];
    for await (const file of walkFiles([place])) found.push(file);
    const files = newestFirst(found);
    run.expect(files);
    for (const [index, file] of files.entries()) {
      if (index === 2) continue;
      const now = { ...file };
      if (index === 4) {
        appendFileSync(file.path, `${JSON.stringify({ session: "s7", id: "last", role: "user", content: "More." })}\n`);
        now.byteLength = statSync(file.path).size;
      }
      expect(await run.read(now)).toMatchObject({ newCount: index === 4 ? 201 : 200, warnings: [], error: null });
    }
    expect(threads).toHaveLength(1);
    expect(store.verify().problems).toEqual([]);
    store.close();
  });
});

test("a small file starts no thread", async () => {
  const path = join(folder, "small.jsonl");
  writeFileSync(path, '{"session":"s","role":"user","content":"hello"}\n');
  expect((await imported(path, true)).reports).toMatchObject([{ newCount: 1 }]);
  expect(threads).toHaveLength(0);
});
