import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { CliFolder, MAIN } from "../support/cli.ts";

const README = readFileSync(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");
const [, SECTION = ""] = /^## In an agent, by MCP\n([\s\S]*?)^## /m.exec(README) ?? [];

interface Started {
  command: string;
  args: string[];
}

function blocks(language: string): string[] {
  return [...SECTION.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, code]) => code!);
}

/** The words after `--`, as `claude mcp add` takes them. */
function fromShell(code: string): Started {
  const [, words] = /^claude mcp add --scope user coppice -- (.+)\n$/.exec(code)!;
  const [command, ...args] = words!.split(" ");
  return { command: command!, args };
}

function fromJson(code: string, key: string): Started {
  return JSON.parse(code)[key].coppice;
}

/** Enough of TOML: a table, and values that are JSON as well. */
function fromToml(code: string): Started {
  const [header, ...lines] = code.trimEnd().split("\n");
  expect(header).toBe("[mcp_servers.coppice]");
  return Object.fromEntries(lines.map((line) => line.split(" = ")).map(([key, value]) => [key, JSON.parse(value!)]));
}

const [shell, ...shells] = blocks("sh");
const [mcpServers, servers, ...jsons] = blocks("json");
const [toml, ...tomls] = blocks("toml");

const folder = new CliFolder();

test("there is one for each agent", () => {
  expect([shells, jsons, tomls]).toEqual([[], [], []]);
  expect(JSON.parse(servers!).servers.coppice.type).toBe("stdio"); // which VS Code insists on
});

test.each([
  ["Claude Code", () => fromShell(shell!)],
  ["Gemini CLI", () => fromJson(mcpServers!, "mcpServers")],
  ["Codex", () => fromToml(toml!)],
  ["VS Code", () => fromJson(servers!, "servers")],
])("what %s is told to start is the server", async (_, parse) => {
  const { command, args } = parse();
  expect(command).toBe("coppice");
  const client = new Client({ name: "docs", version: "1" });
  const env = { HOME: folder.path, PATH: process.env.PATH! };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, ...args], env }));
  try {
    expect(client.getServerVersion()?.name).toBe("coppice");
    const { isError, content } = await client.callTool({ name: "list_sessions" });
    expect(isError).toBe(true);
    expect(JSON.stringify(content)).toContain("coppice import <path>"); // nothing has been stored in this home
  } finally {
    await client.close();
  }
});
