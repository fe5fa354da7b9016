import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentSummarizer } from "../../src/index.ts";
import { CliFolder, longSession } from "../support/cli.ts";
import { FakeAgent } from "../support/fake-agent.ts";

const folder = new CliFolder({ isHere: true });
const agent = new FakeAgent(folder.path);
const REPLY = JSON.stringify({
  summary: [{ text: "The lighthouse lamp needs a new lens", seqs: [0], importance: 2 }],
  ...{ decisions: [], openQuestions: [], identifiers: [], files: [], title: "The lighthouse lamp" },
});

/** Follows a new session. Returns what came out. */
async function watch(name: string, env: Record<string, string>) {
  rmSync(agent.seenPath, { force: true });
  const lines = longSession(name, 200).map((line) => ({ ...line, id: `${name} ${line.id}` }));
  const path = folder.jsonl(`${name}.jsonl`, lines);
  return folder.run(["watch", path, "--once", "--yes", "--quiet"], { env });
}

async function summaries(): Promise<string[]> {
  const rows = await folder.json("sql", "SELECT summarizer_id AS id FROM summaries");
  return rows.map(({ id }: { id: string }) => id);
}

test("no agent writes summaries before somebody agreed, and setup says what is sent to whom", async () => {
  const env = agent.env("answer", REPLY);
  await watch("before", env);
  expect(existsSync(agent.seenPath)).toBe(false);
  const unasked = await folder.run(["setup", "--summaries", "claude"], { env });
  expect(unasked).toMatchObject({ exitCode: 2, stdout: "" });
  expect(unasked.stderr).toContain("sent to its model");
  await watch("unasked", env);
  expect(existsSync(agent.seenPath)).toBe(false);
});

test("watch has the agent write summaries, and stops when the calls of the day are used", async () => {
  const env = agent.env("answer", `Here it is:\n\`\`\`json\n${REPLY}\n\`\`\``);
  await folder.run(["setup", "--summaries", "claude", "--yes", "--calls-per-day", "2"], { env });
  expect(await watch("first", env)).toMatchObject({ exitCode: 0, stderr: "" });
  const { prompt, args } = agent.seen();
  expect(prompt).toContain("<message seq=");
  expect(args.join(" ")).toContain('"openQuestions"');
  expect(args.join(" ")).not.toContain("lens grinder");
  const written = (await summaries()).filter((id) => id === "agent-claude").length;
  expect(written).toBeGreaterThan(0);
  await watch("second", env);
  await watch("third", env);
  expect(existsSync(agent.seenPath)).toBe(false);
  const { stdout } = await folder.run(["doctor"], { env });
  expect(stdout).toContain("claude writes summaries, and has used 2 of 2 calls and 1,460 of 200,000 tokens today.");
});

test("setup turns the summaries off", async () => {
  await folder.run(["setup", "--summaries", "off"]);
  await watch("off", agent.env("answer", REPLY));
  expect(existsSync(agent.seenPath)).toBe(false);
});

test("an agent at its limit is not called again before the limit ends, and the import goes on", async () => {
  rmSync(join(folder.path, ".local"), { recursive: true, force: true });
  const env = { ...agent.env("atLimit"), COPPICE_DB: join(folder.path, "limited.db") };
  await folder.run(["setup", "--summaries", "claude", "--yes"], { env });
  expect(await watch("limited", env)).toMatchObject({ exitCode: 0 });
  expect(existsSync(agent.seenPath)).toBe(true);
  await watch("waiting", env);
  expect(existsSync(agent.seenPath)).toBe(false);
  const found = await folder.run(["recall", "lens", "--limit", "1", "--json"], { env });
  expect(JSON.parse(found.stdout)).toHaveLength(1);
});

test("an unknown agent and a limit out of range are refused", () => {
  expect(() => agentSummarizer({ agent: "emacs" as "claude" })).toThrow("one of claude, codex");
  expect(() => agentSummarizer({ agent: "claude", callsPerDay: 0 })).toThrow("callsPerDay");
});
