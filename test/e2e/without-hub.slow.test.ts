import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeAll, expect, inject, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder, longSession } from "../support/cli.ts";
import { PROGRAM } from "../support/program.ts";

const folder = new CliFolder();
const dist = join(inject("packageFolder"), "dist");
/** The built files with code of the hub. */
const hubFiles = readdirSync(dist).filter(
  (name) => name.endsWith(".js") && readFileSync(join(dist, name), "utf8").includes("pg_catalog.pg_namespace"),
);

/** Notes the URL of each module that a process loads, one in a line. */
const NOTING = `import { appendFileSync } from "node:fs";
export async function load(url, context, next) {
  appendFileSync(process.env.LOADED, url + "\\n");
  return next(url, context);
}`;

let runCount = 0;
beforeAll(() => {
  mkdirSync(join(folder.path, "loaded"));
  writeFileSync(join(folder.path, "noting.mjs"), NOTING);
  const register = `import { register } from "node:module"; register("./noting.mjs", import.meta.url);`;
  writeFileSync(join(folder.path, "register.mjs"), register);
  const store = openStore(folder.db);
  store.session("one", { project: "web" }).append({ role: "user", content: "The lighthouse lamp is green." });
  store.close();
});

/** The environment of a process that notes what it loads, and a function that returns the notes. */
function noting(): { env: Record<string, string>; loaded: () => string[] } {
  runCount += 1;
  const path = join(folder.path, "loaded", String(runCount));
  writeFileSync(path, "");
  const env = { NODE_OPTIONS: `--import ${pathToFileURL(join(folder.path, "register.mjs"))}`, LOADED: path };
  return { env, loaded: () => readFileSync(path, "utf8").trim().split("\n") };
}

function hubIn(loaded: readonly string[]): string[] {
  return loaded.filter((url) => /\/node_modules\/pg\//.test(url) || hubFiles.some((name) => url.endsWith(`/${name}`)));
}

test("the code of the hub is in files of its own, and they are noted where they are loaded", async () => {
  expect(hubFiles.length).toBeGreaterThan(0);
  const { env, loaded } = noting();
  const url = "postgres://nobody@127.0.0.1:1/none";
  await folder.run(["hub", "init", "--team", "web", "--url", url], { env });
  expect(hubIn(loaded()).some((url) => url.includes("/node_modules/pg/"))).toBe(true);
  expect(hubIn(loaded()).some((url) => url.includes("/dist/"))).toBe(true);
});

test.each([
  ["import", () => [folder.jsonl("two.jsonl", longSession("two", 10))]],
  ["watch", () => ["--once", folder.jsonl("three.jsonl", longSession("three", 10))]],
  ...["sessions", "doctor", "verify"].map((name): [string, () => string[]] => [name, () => []]),
  ["recall", () => ["lamp"]],
  ["expand", () => ["message:1"]],
  ["resume", () => ["one"]],
  ["show", () => ["one"]],
  ["export", () => ["one", "--rows"]],
  ["forget", () => ["one", "--yes"]],
])("%s loads neither the hub nor its driver", async (name, args) => {
  const { env, loaded } = noting();
  const { exitCode, stderr } = await folder.run([name, ...args()], { env });
  expect(exitCode, stderr).toBe(0);
  expect(loaded().some((url) => url.includes("/dist/"))).toBe(true);
  expect(hubIn(loaded())).toEqual([]);
});

test("the MCP server loads neither the hub nor its driver", async () => {
  const { env, loaded } = noting();
  const client = new Client({ name: "test", version: "1" });
  const words = [PROGRAM, "mcp"];
  await client.connect(new StdioClientTransport({ command: process.execPath, args: words, env: folder.env(env) }));
  try {
    const { isError } = await client.callTool({ name: "recall", arguments: { query: "lamp" } });
    expect(isError).toBeFalsy();
  } finally {
    await client.close();
  }
  expect(loaded().some((url) => url.includes("/dist/"))).toBe(true);
  expect(hubIn(loaded())).toEqual([]);
});
