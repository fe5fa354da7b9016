import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { estimateTokens } from "../src/core/token-estimate.ts";
import { tokenTexts } from "../test/support/token-texts.ts";

/**
 * `tsx scripts/token-counts.ts DIR` records the tokens of every text of `test/support/token-texts.ts`, counted by two tokenizers of
 * OpenAI, and prints how the estimate compares. `DIR` is a folder in which `npm install js-tiktoken` was run.
 */
const RECORD = fileURLToPath(new URL("../test/fixtures/token-counts.json", import.meta.url));

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("Usage: tsx scripts/token-counts.ts DIR");
  process.exit(2);
}
const load = createRequire(join(resolve(folder), "package.json"));
const { Tiktoken } = load("js-tiktoken/lite");
const countWith = (name: string): ((text: string) => number) => {
  const tokenizer = new Tiktoken(load(`js-tiktoken/ranks/${name}`));
  return (text) => tokenizer.encode(text, [], []).length;
};
const o200k = countWith("o200k_base");
const cl100k = countWith("cl100k_base");

const record: Record<string, { sha256: string; o200k: number; cl100k: number }> = {};
for (const [kind, { text }] of tokenTexts()) {
  const counts = { o200k: o200k(text), cl100k: cl100k(text) };
  record[kind] = { sha256: createHash("sha256").update(text).digest("hex"), ...counts };
  const shares = Object.values(counts).map((count) => (estimateTokens(text) / count).toFixed(2).padStart(6));
  console.log(kind.padEnd(24), ...shares);
}
writeFileSync(RECORD, `${JSON.stringify(record, null, 2)}\n`);
