import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

/** Longer texts are cut. They are the program's own: prompts, listings, copies of requests. */
const TEXT_CHARS_MAX = 400;
const LIST_ITEMS_MAX = 3;
/** Fields that are left out, such as schemas of tools. */
const LEFT_OUT = new Set(["input_schema", "inputSchema", "parameters", "output_schema", "base_instructions"]);
const SECRET_KEY = /^(?:account|device|installation|machine|user)_?(?:uu)?id$/i;

const TRANSCRIPTS: Readonly<Record<string, string>> = {
  "claude-code": ".claude/projects",
  codex: ".codex/sessions",
  "gemini-cli": ".gemini/tmp",
  pi: ".pi/agent/sessions",
};

/**
 * `tsx scripts/agents/fixtures.ts DIR OUT` writes, for each agent of the bench in DIR, its longest transcript to OUT: without paths of
 * this machine and ids of accounts, and with long texts of the program cut.
 */
const [bench = "", out = ""] = parseArgs({ allowPositionals: true }).positionals;
for (const [agent, folder] of Object.entries(TRANSCRIPTS)) {
  const run = join(bench, "runs", agent);
  const transcripts = readdirSync(join(run, "home", folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".jsonl"))
    .map((entry) => ({ name: entry.name, text: readFileSync(join(entry.parentPath, entry.name), "utf8") }))
    .sort((left, right) => right.text.length - left.text.length);
  const { name, text } = transcripts[0]!;
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.stringify(scrubbed(JSON.parse(line), run)));
  mkdirSync(join(out, agent), { recursive: true });
  writeFileSync(join(out, agent, name), `${lines.join("\n")}\n`);
}

function scrubbed(value: unknown, run: string, key = ""): unknown {
  if (typeof value === "string") {
    const dashed = run.replaceAll(/[^A-Za-z0-9]/g, "-");
    const text = value
      .replaceAll(join(run, "home"), "/home/ada")
      .replaceAll(run, "/home/ada")
      .replaceAll(dashed, "-home-ada")
      .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8080");
    if (SECRET_KEY.test(key)) return text.replaceAll(/[A-Za-z0-9]/g, "0");
    if (text.length <= TEXT_CHARS_MAX || text.includes("<coppice-memory>")) return text;
    return `${text.slice(0, 150)} […] ${text.slice(-150)}`;
  }
  if (Array.isArray(value)) {
    return value.slice(0, LIST_ITEMS_MAX).map((item) => scrubbed(item, run));
  }
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !LEFT_OUT.has(name));
  return Object.fromEntries(kept.map(([name, item]) => [name, scrubbed(item, run, name)]));
}
