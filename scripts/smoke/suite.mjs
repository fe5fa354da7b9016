// Runs in a project into which the packed tarball was installed: `node --test suite.mjs`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openStore, StoreError } from "coppice";
import { toOpenai } from "coppice/adapters/openai";
import { importFiles } from "coppice/import";

const folder = mkdtempSync(join(tmpdir(), "coppice-suite-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function coppice(...args) {
  const bin = join("node_modules", "coppice", "dist", "coppice.cjs");
  return execFileSync(process.execPath, [bin, "--db", join(folder, "cli.db"), ...args], { encoding: "utf8" });
}

test("messages survive a close, fit a budget and convert", () => {
  const path = join(folder, "store.db");
  const store = openStore(path);
  const session = store.session("s");
  for (let index = 0; index < 200; index++) {
    session.append({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `The lamp ${index} of the lighthouse is lit.`,
    });
  }
  const { messages, tokenCount } = session.render({ tokensMax: 1_000 });
  assert.ok(tokenCount <= 1_000);
  assert.ok(toOpenai(messages).length > 0);
  store.close();
  const again = openStore(path, { readonly: true });
  assert.equal(again.resume("s").messages().length, 200);
  assert.deepEqual(again.verify().problems, []);
  again.close();
});

test("recall finds what was said", async () => {
  const store = openStore(join(folder, "recall.db"));
  store.session("s").append({ role: "user", content: "We deploy to Oslo, for the latency." });
  const hits = await store.recall("where do we deploy?");
  assert.match(JSON.stringify(hits), /Oslo/);
  store.close();
});

test("require returns the classes that import returns", () => {
  const required = createRequire(import.meta.url)("coppice");
  assert.equal(required.StoreError, StoreError);
  assert.throws(() => required.openStore(join(folder, "none", "agent.db")), StoreError);
});

test("a large file is imported, read in a thread", async () => {
  const path = join(folder, "large.jsonl");
  const line = (index) =>
    JSON.stringify({ session: "l", id: `m${index}`, role: "user", content: "The oven burns. ".repeat(100) });
  writeFileSync(path, Array.from({ length: 1_000 }, (_, index) => `${line(index)}\n`).join(""));
  let threadCount = 0;
  process.on("worker", () => threadCount++);
  const store = openStore(join(folder, "import.db"));
  await importFiles(store, [path]);
  assert.equal(store.resume("l").messages().length, 1_000);
  assert.equal(threadCount, 1);
  store.close();
});

test("the command imports transcripts, finds and verifies", () => {
  coppice("import", "transcripts");
  assert.match(coppice("recall", "which lock replaces flock?"), /lock/);
  coppice("verify");
});
