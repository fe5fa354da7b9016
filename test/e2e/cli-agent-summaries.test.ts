import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { chosenSummarizer } from "../../src/cli/stores/agent-choice.ts";
import { agentSummarizer, openStore, type Store } from "../../src/index.ts";
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

test("a session that waits for its summary is not sent after its project was excluded, or summaries were turned off", async () => {
  for (const [name, value] of Object.entries({ ...agent.env("answer", REPLY), HOME: folder.path }))
    vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const [db, left] = [join(folder.path, "left.db"), join(folder.path, "left")];
  await folder.run(["setup", "--summaries", "claude", "--yes", "--db", db]);
  const lines = ["named", "worked", "stays"].flatMap((name) => [
    {
      session: name,
      ...(name === "named" && { project: left }),
      metadata: { workspaceDirs: [name === "worked" ? left : "/"] },
    },
    ...longSession(name, 200).map((line) => ({ ...line, id: `${name} ${line.id}` })),
  ]);
  await folder.json("import", folder.jsonl("left.jsonl", lines), "--db", db);
  const store: Store = openStore(db, { summarizer: (await chosenSummarizer(db, () => store))! });
  onTestFinished(() => store.close());
  store.exclude({ paths: [left] });
  rmSync(agent.seenPath, { force: true });
  const [named, worked, stays] = ["named", "worked", "stays"].map((name) => {
    return store.resume(store.sessions().find(({ externalId }) => externalId === name)!.id);
  });
  for (const session of [named, worked]) expect(await session!.resolveDirty()).toMatchObject({ resolved: 0 });
  expect(existsSync(agent.seenPath)).toBe(false);
  expect((await stays!.resolveDirty()).resolved).toBeGreaterThan(0);
  expect(agent.seen().prompt).toContain("lighthouse");

  const later = store.session("later", { project: "c" });
  later.append(longSession("s", 200).map(({ content }) => ({ role: "user", content: String(content) })));
  await folder.run(["setup", "--summaries", "off", "--db", db]);
  rmSync(agent.seenPath);
  expect(await later.resolveDirty()).toMatchObject({ resolved: 0 });
  expect(existsSync(agent.seenPath)).toBe(false);
});

test("setup turns the summaries off", async () => {
  await folder.run(["setup", "--summaries", "off"]);
  await watch("off", agent.env("answer", REPLY));
  expect(existsSync(agent.seenPath)).toBe(false);
});

test("an agent that is not installed is not set up, and doctor says so of one that went", async () => {
  const env = { PATH: "/usr/bin:/bin" };
  const refused = await folder.run(["setup", "--summaries", "qwen", "--yes"], { env });
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("qwen is not on the path")]);
  writeFileSync(`${folder.db}.agents.json`, JSON.stringify({ summaries: { agent: "qwen" } }));
  expect((await folder.run(["doctor"], { env })).stdout).toContain(
    "qwen shall write summaries, and is not on the path",
  );
  rmSync(`${folder.db}.agents.json`);
});

test("a choice that cannot be kept is an error that names the file", async () => {
  const env = agent.env("answer");
  mkdirSync(`${folder.db}.agents.json`);
  const { stderr } = await folder.run(["setup", "--summaries", "claude", "--yes"], { env });
  rmSync(`${folder.db}.agents.json`, { recursive: true });
  expect(stderr).toContain("Cannot use");
  expect(stderr).toContain("it cannot be written");
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
