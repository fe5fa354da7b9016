import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeAll, expect, test } from "vitest";
import { writeTranscript } from "../support/claude-lines.ts";
import { CliFolder, FIXTURES } from "../support/cli.ts";
import { PROGRAM, PROGRAM_ENV } from "../support/program.ts";
import { hasTerminals, onTerminal } from "../support/real-terminal.ts";

/** The way of a first-time user, typed line by line as the README has it. */
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const README = readFileSync(join(ROOT, "README.md"), "utf8");
const [, SECTION = ""] = /^## Start\n([\s\S]*?)^## /m.exec(README) ?? [];
const LINES = [...SECTION.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, code]) => code!.trim().split("\n"));
const [install, bringIn, recall, wire, follow, ...others] = LINES;

const { path: home } = new CliFolder();
const projects = join(home, ".claude", "projects", "web");
const env = {
  ...PROGRAM_ENV,
  HOME: home,
  PATH: `${join(home, "bin")}:${process.env.PATH}`,
  SHELL: "/bin/sh",
  TZ: "UTC",
  TERM: "xterm",
  PAGER: "cat",
};
/** What to type next, as recall says it. */
const NEXT = /Next: (coppice .+), for the messages around the first hit\r\n/;
const WAIT = { timeout: 20_000 };

/** What a line shows on a terminal, without its line breaks. */
async function read(line: string): Promise<string> {
  return (await typed(line)).replaceAll(/\s+/g, " ");
}

/** A line on a terminal, to its end. */
async function typed(line: string): Promise<string> {
  const { shown, ended } = onTerminal(line, { cwd: home, env });
  expect(await ended, shown()).toBe(0);
  return shown();
}

/** The same where nobody watches. */
async function unwatched(line: string): Promise<void> {
  const [command = "", ...args] = line.split(" ");
  await promisify(execFile)(join(home, "bin", command), args, { cwd: home, env });
}

/** Writes a file of Claude Code's: what the user and the agent say in turn, from a number on. */
function converse(name: string, first: number, texts: readonly string[], atMs: number): void {
  const said = texts.map((text, index) => ({ number: first + index, text, atMs }));
  writeTranscript(join(projects, `${name}.jsonl`), name, said);
}

/** A home in which two agents have been used; `npm install -g` has put the command on the path. */
beforeAll(() => {
  const said = [
    "Which region did we pick for the bucket of the backups?",
    "For the bucket of the backups we picked the region eu-west, as the customers are in Europe.",
    "And the region of the bucket of the logs, did we pick that?",
    "Not yet.",
  ];
  converse("first", 0, said, Date.UTC(2026, 2, 1, 10));
  cpSync(join(FIXTURES, "codex"), join(home, ".codex", "sessions"), { recursive: true });
  mkdirSync(join(home, "bin"));
  const command = `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`;
  writeFileSync(join(home, "bin", "coppice"), command, { mode: 0o755 });
});

test("the section has these lines", () => {
  expect(others).toEqual([]);
  expect(LINES.every((line) => !line.includes("#"))).toBe(true); // a comment for bash is an argument for zsh
});

test("the installation names the package, and how to build it from a clone", () => {
  const { name } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect(install).toBe(`npm install -g ${name}`);
  expect(SECTION).toContain("npm install && npm run build && npm link");
});

test.skipIf(!hasTerminals)("they bring in what is there, find it, read on, and go on with what comes", async () => {
  const asked = onTerminal(bringIn!, { cwd: home, env });
  await expect
    .poll(asked.shown, WAIT)
    .toMatch(/Claude Code .*\.claude\/projects.*Codex .*\.codex\/sessions.*\[y\/N\] /s);
  asked.type("y\r");
  expect(await asked.ended, asked.shown()).toBe(0);
  expect(asked.shown()).toContain("Next: coppice sessions");

  const found = await typed(recall!);
  expect(found.replaceAll(/\s+/g, " ")).toContain("as the customers are in Europe");
  const [, next = ""] = NEXT.exec(found) ?? [];
  expect(next).toMatch(/^coppice (?:expand|show) \S+/);
  expect(SECTION).toMatch(/`Next: coppice expand \S+, /);
  expect(await read(next)).toContain("picked the region eu-west, as the customers");
  expect(await typed("coppice sessions")).toMatch(/0199c3a0 .*keep03 The foghorn.*Which region/s);

  const following = onTerminal(follow!, { cwd: home, env });
  await expect.poll(following.shown, WAIT).toContain("Up to date.");
  expect(following.shown()).not.toContain("[y/N]"); // it was agreed to before
  converse("second", 10, ["Which region has the copy?", "us-east."], Date.now());
  await expect.poll(following.shown, WAIT).toMatch(/second\.jsonl: \d new messages?/);
  following.type("\x03");
  expect(await following.ended, following.shown()).toBe(0);

  const [, again = ""] = NEXT.exec(await typed("coppice recall which region has the copy")) ?? [];
  expect(await typed(again)).toContain("us-east.");
});

test("what Claude Code is told to start finds it, too", async () => {
  const [, words = ""] = /^claude mcp add --scope user coppice -- (.+)$/.exec(wire!) ?? [];
  const [command = "", ...args] = words.split(" ");
  const client = new Client({ name: "start", version: "1" });
  await unwatched("coppice watch --once --yes"); // where there is no terminal, nothing has been brought in before
  await client.connect(new StdioClientTransport({ command: join(home, "bin", command), args, env }));
  try {
    const { content } = await client.callTool({ name: "recall", arguments: { query: "which region did we pick" } });
    expect(JSON.stringify(content)).toContain("as the customers are in Europe");
  } finally {
    await client.close();
  }
});
