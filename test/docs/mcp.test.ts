import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const PAGE = readFileSync(fileURLToPath(new URL("../../src/mcp/README.md", import.meta.url)), "utf8");

interface Started {
  command: string;
  args: string[];
}

function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, code]) => code!);
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

test("every agent is told to start the server, whose command test/e2e/start.slow.test.ts runs", () => {
  expect([shells, jsons, tomls]).toEqual([[], [], []]);
  const told = [fromShell(shell!), fromJson(mcpServers!, "mcpServers"), fromToml(toml!), fromJson(servers!, "servers")];
  for (const { command, args } of told) expect({ command, args }).toEqual({ command: "coppice", args: ["mcp"] });
  expect(JSON.parse(servers!).servers.coppice.type).toBe("stdio"); // which VS Code insists on
});
