import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { OpenOptions, Session } from "../../../src/index.ts";
import { openStore } from "../../../src/index.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryPath } from "../../support/temporary-store.ts";

/** Every hash of 40 digits is about 23 tokens of any tokenizer, and a line's end one. */
const HASH_TOKENS_MIN = 22;

function hashesIn(text: string): number {
  return text.match(/\b[0-9a-f]{40}\b/g)?.length ?? 0;
}

function listCommits(session: Session): void {
  for (let turn = 0; turn < 60; turn++) {
    const hashes = Array.from({ length: 20 }, (_, line) => createHash("sha1").update(`${turn} ${line}`).digest("hex"));
    session.append(user(`List the commits of week ${turn}.`));
    session.append(assistant(hashes.join("\n")));
  }
}

/** The old count was the number of words. Its name is stored with each count. */
const words: OpenOptions = { tokenCounter: { name: "words-1", count: (text) => text.split(/\s+/).length } };

test.each<[string, OpenOptions]>([
  ["this version", {}],
  ["an older version, which counted less", words],
])("a context of hashes keeps its budget in a store of %s", (_, options) => {
  const path = temporaryPath();
  const older = openStore(path, options);
  listCommits(older.session("s"));
  older.close();

  const store = openStore(path);
  for (const tokensMax of [2_000, 8_000, 20_000]) {
    const context = store.session("s").render({ tokensMax });
    expect(context.tokenCount).toBeLessThanOrEqual(tokensMax);
    const hashes = hashesIn(JSON.stringify(context.messages).replaceAll("\\n", " "));
    expect(hashes).toBeGreaterThan(tokensMax / 100);
    expect(hashes * HASH_TOKENS_MIN).toBeLessThanOrEqual(tokensMax);
  }
  store.close();
});
