import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CALLED_AGENTS } from "../../../src/models/agent/agents.ts";
import { callAgent } from "../../../src/models/agent/call-agent.ts";
import { agentFailure } from "../../../src/models/agent/failure.ts";
import { agentSummarizer } from "../../../src/models/agent/summarizer.ts";
import { requestOf, sourcesOf } from "../../contract/summarizer.contract.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "coppice-agents-"));
  for (const name of ["HOME", "XDG_DATA_HOME", "CODEX_HOME"]) vi.stubEnv(name, folder);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test("no server and no notifying program of the person starts when Codex is called, however its settings are written", () => {
  const config = `mcp_servers.dotted.command = "x"
mcp_servers = { inline = { command = "x", env = { A = "b" } }, "second" = { command = "y" } }
[mcp_servers."quoted"]
command = "x"
["mcp_servers".table]
[ mcp_servers . 'single' . env ]
A = "b"
[mcp_servers]
key = { command = "x" }
own.command = "x"
[other]
foreign = 1`;
  writeFileSync(join(folder, "config.toml"), config);
  const args = CALLED_AGENTS.codex.args({ system: "", systemFile: "/s" });
  const off = args.flatMap((arg) => /^mcp_servers\.(.*)\.enabled=false$/.exec(arg)?.[1] ?? []);
  expect(off.sort()).toEqual(["dotted", "inline", "key", "own", "quoted", "second", "single", "table"]);
  expect(args).toContain("notify=[]");
});

test.each([
  ["qwen", { type: "result", result: {} }],
  ["codex", { type: "item.completed", item: { type: "agent_message" } }],
  ["opencode", { type: "text", part: {} }],
] as const)("an event of %s without its text is no answer, and ends no watch", async (name, event) => {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\ncat > /dev/null\necho '${JSON.stringify(event)}'\n`);
  chmodSync(path, 0o755);
  vi.stubEnv("PATH", `${folder}:/usr/bin:/bin`);
  const call = callAgent(name, { system: "s", prompt: "p", signal: new AbortController().signal });
  await expect(call).rejects.toMatchObject({ code: "MODEL_ANSWER_INVALID" });
});

test("a person who is logged in is not told to log in", () => {
  const failure = (said: string) => agentFailure("gemini", { said, isTold: false, code: 1 }).code;
  expect(failure("Loaded cached credentials.")).toBe("MODEL_UNAVAILABLE");
  expect(failure("There are no credentials.")).toBe("MODEL_REFUSED");
});

test("a summary that is paid for is kept if its tokens cannot be noted", async () => {
  const reply = { summary: [{ text: "The lamp needs a lens", seqs: [0], importance: 2 }], title: "The lamp" };
  const answer = { ...reply, decisions: [], openQuestions: [], identifiers: [], files: [] };
  const event = { type: "result", result: JSON.stringify(answer), usage: { input_tokens: 7, output_tokens: 3 } };
  const path = join(folder, "claude");
  writeFileSync(
    path,
    `#!/bin/sh\ncat > /dev/null\nrm used-claude.json\nmkdir used-claude.json\necho '${JSON.stringify(event)}'\n`,
  );
  chmodSync(path, 0o755);
  vi.stubEnv("PATH", `${folder}:/usr/bin:/bin`);
  const request = requestOf(sourcesOf(["user", "The lamp needs a lens, and the harbor is dark."]));
  const { text } = await agentSummarizer({ agent: "claude" }).summarize(request);
  expect(text).toContain("The lamp needs a lens");
});
