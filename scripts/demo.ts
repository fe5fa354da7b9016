import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openStore } from "../src/index.ts";

/**
 * `npm run demo` shows what Coppice does, on five sessions of an invented project, in under half a minute.
 *
 * Lines after a `$` are the output of that command; all others come from the library. Nothing is mocked. The store stays at
 * the path that the last line names, for any SQLite tool.
 */
const TRANSCRIPTS = fileURLToPath(new URL("./demo/transcripts", import.meta.url));
const APPENDER = fileURLToPath(new URL("./demo/appender.ts", import.meta.url));
const CLI = fileURLToPath(new URL("../dist/coppice.cjs", import.meta.url));
const FILE = join(mkdtempSync(join(tmpdir(), "coppice-demo-")), "agent.db");

const startedAt = performance.now();
section("Five sessions of a coding agent, from the files it left behind");
coppice(["import", TRANSCRIPTS]);
coppice(["sessions"]);

const longest = openStore(FILE, { readonly: true })
  .sessions()
  .reduce((left, right) => (right.messageCount > left.messageCount ? right : left));

section("The longest one as a tree: themes, their clusters, and what is still hot");
coppice(["forest", longest.id], 40);

section("The context that a model would get now, in at most 6,000 tokens");
coppice(["resume", longest.id, "--tokens-max", "6000"], 48);

section("kill -9 in the middle of an append, and the resume after it");
await killAndResume();

section("A theme of the context leads to its exact messages");
const theme = openStore(FILE, { readonly: true })
  .resume(longest.id)
  .roots()
  .reduce((left, right) => (right.messageCount > left.messageCount ? right : left));
console.log(`"${theme.label}", ${theme.messageCount} messages with ${theme.tokenCount} tokens:`);
coppice(["expand", theme.root, "--limit", "4"], 30);

section("A question to all sessions: the decision, a week apart from the one that it replaces");
coppice(["recall", "which lock replaces flock?", "--limit", "3", "--neighbors", "0"]);

section("Three questions in plain SQL");
ask(
  "How much of each session is in the forest, and how much is still word for word?",
  `SELECT title, message_count, cold_count, overlap_count, hot_count, theme_count FROM session_stats ORDER BY message_count DESC`,
);
ask(
  "Which tools failed most?",
  `SELECT call.value ->> 'name' AS tool, count(*) AS failures
   FROM messages r, json_each(r.parts) result, messages c, json_each(c.parts) call
   WHERE result.value ->> 'isError' AND c.id = r.step_id AND call.value ->> 'toolCallId' = result.value ->> 'toolCallId'
   GROUP BY tool ORDER BY failures DESC LIMIT 5`,
);
ask(
  "Where was the lock decided about, and in which theme did that end up?",
  `SELECT s.title, m.seq, t.theme_id, substr(replace(m.text, char(10), ' '), instr(m.text, 'session lock is a'), 90) AS words
   FROM messages m JOIN sessions s ON s.id = m.session_id LEFT JOIN theme_members t ON t.message_id = m.id
   WHERE m.role = 'assistant' AND m.text LIKE '%session lock is a%' ORDER BY m.created_at_ms LIMIT 6`,
);

section("Is everything what the log says it is?");
coppice(["verify"]);
console.log(`\n${((performance.now() - startedAt) / 1000).toFixed(1)} s. The store is ${FILE}; look around:`);
console.log(`  node ${CLI} --db ${FILE} forest ${longest.id}`);
console.log("\nTo do this with the conversations of your own agents (`npm link` puts `coppice` on your path):");
console.log("  coppice watch --once     lists their locations, asks, and imports them");
console.log("  coppice recall …         finds what was said");
console.log("  coppice mcp              lets agents find it: the README says how to connect each");

/** Appends in another process, kills that process, and checks that every acknowledged message is in the store. */
async function killAndResume(): Promise<void> {
  const child = spawn(process.execPath, ["--import", "tsx", APPENDER, FILE, longest.id], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const acknowledged = await killWhileAppending(child);
  const openedAt = performance.now();
  const store = openStore(FILE);
  const resumedAt = performance.now();
  const session = store.resume(longest.id);
  const context = session.render({ tokensMax: 3_000 });
  const renderedAt = performance.now();
  const kept = session.messages({ seqFrom: acknowledged[0]! });
  const lost = acknowledged.filter((seq) => !kept.some((message) => message.seq === seq));
  console.log(`The process had been told that ${acknowledged.length} messages were stored when it was killed.`);
  const times = [resumedAt - openedAt, renderedAt - resumedAt].map((milliseconds) => `${milliseconds.toFixed(1)} ms`);
  console.log(`Opened again in ${times[0]}, resumed and rendered in ${times[1]}: ${context.tokenCount} tokens.`);
  console.log(`Of these messages, lost: ${lost.length}.`);
  if (lost.length > 0) throw new Error(`Acknowledged and lost: ${lost.join(", ")}.`);
  store.close();
}

async function killWhileAppending(child: ChildProcess): Promise<number[]> {
  let output = "";
  child.stdout!.on("data", (chunk) => {
    output += String(chunk);
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  while (output.split("\n").length < 40) await sleep(5);
  child.kill("SIGKILL");
  await ended;
  return output.split("\n").slice(0, -1).map(Number);
}

function ask(question: string, query: string): void {
  console.log(`\n${question}`);
  coppice(["sql", query.replace(/\s*\n\s*/g, " ")]);
}

function coppice(args: readonly string[], linesMax = 60): void {
  const shown = args.map((arg) =>
    arg === TRANSCRIPTS ? "scripts/demo/transcripts" : /[\s*]/.test(arg) ? `"${arg}"` : arg,
  );
  console.log(`\n$ coppice ${shown.join(" ")}\n`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, "--db", FILE, ...args], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, COLUMNS: "120" },
  });
  console.log(indent(stdout.trimEnd(), linesMax));
  if (stderr !== "") console.log(indent(stderr.trimEnd(), linesMax)); // the hint follows the results
  if (status !== 0) throw new Error(`coppice ${args[0]} ended with ${status}.`);
}

function indent(text: string, linesMax: number): string {
  const lines = text.split("\n");
  const shown = lines.slice(0, linesMax).map((line) => `  ${line.length > 160 ? `${line.slice(0, 159)}…` : line}`);
  if (lines.length > linesMax) shown.push(`  … ${lines.length - linesMax} more lines`);
  return shown.join("\n");
}

function section(title: string): void {
  console.log(`\n\n== ${title} ${"=".repeat(Math.max(0, 96 - title.length))}`);
}
