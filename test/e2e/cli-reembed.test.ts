import { expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder, longSession } from "../support/cli.ts";
import { letterEmbedder } from "../support/other-embedders.ts";

const folder = new CliFolder({ isHere: true });

const EMBEDDER = "SELECT embedder_id FROM generations ORDER BY id DESC LIMIT 1";

/** A store whose embedder the command line does not know. */
async function storeOfLetters(): Promise<void> {
  await folder.run(["import", folder.jsonl("s.jsonl", longSession("s", 80))]);
  const store = openStore(folder.db);
  await store.reembed({ embedder: letterEmbedder });
  store.close();
}

test("a store with an unknown embedder is searched by words, refuses writes, and is repaired by reembed", async () => {
  await storeOfLetters();
  expect((await folder.json("show", "s")).messages.length).toBeGreaterThan(40);
  expect((await folder.json("verify")).ok).toBe(true);
  const file = folder.jsonl("t.jsonl", longSession("t", 3));
  expect(await folder.json("import", file, "--dry-run")).toMatchObject({ newCount: 3, isDryRun: true });
  const refused = await folder.run(["import", file]);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain('"letters-96"');

  const { estimate, result: none } = await folder.json("reembed", "--embedder", "hashing", "--dry-run");
  expect(estimate).toMatchObject({
    from: "letters-96",
    to: "hashing-v1-384",
    messageCount: 80,
    toEmbedCount: 80,
    costUsd: 0,
  });
  expect(none).toBeNull();
  expect(await folder.json("sql", EMBEDDER)).toEqual([{ embedder_id: "letters-96" }]);

  const { result } = await folder.json("reembed", "--embedder", "hashing");
  expect(result).toMatchObject({ reembedded: true, from: "letters-96", to: "hashing-v1-384", embeddedCount: 80 });
  expect(await folder.json("sql", EMBEDDER)).toEqual([{ embedder_id: "hashing-v1-384" }]);
  expect((await folder.json("verify")).ok).toBe(true);
  expect((await folder.run(["import", folder.jsonl("u.jsonl", longSession("u", 3))])).exitCode).toBe(0);

  const again = await folder.run(["reembed"]);
  expect([again.exitCode, again.stdout]).toEqual([
    0,
    "Nothing to do: the forest is grown with hashing-v1-384, and every message in it has a vector.\n",
  ]);
});

test("a run that costs money needs a key and --yes, and a dry run needs neither", async () => {
  const env = { GEMINI_API_KEY: "", GOOGLE_API_KEY: "" };
  await folder.run(["import", folder.jsonl("m.jsonl", longSession("m", 4))]);
  const dry = await folder.run(["reembed", "--embedder", "gemini", "--dimension", "256", "--dry-run"], { env });
  expect([dry.exitCode, dry.stderr]).toEqual([0, ""]);
  expect(dry.stdout).toContain(" to gemini-embedding-2-256.\n");
  const keyless = await folder.run(["reembed", "--embedder", "gemini"], { env });
  expect([keyless.exitCode, keyless.stderr.includes("GEMINI_API_KEY")]).toEqual([1, true]);
  const unasked = await folder.run(["reembed", "--embedder", "gemini"], { env: { GEMINI_API_KEY: "k" } });
  expect([unasked.exitCode, unasked.stdout]).toEqual([2, ""]);
  expect(unasked.stderr).toContain("--yes");
  expect((await folder.run(["reembed", "--embedder", "word2vec"])).exitCode).toBe(2);
  expect((await folder.run(["reembed", "--dimension", "9"])).exitCode).toBe(2);
});
