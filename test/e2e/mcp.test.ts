import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as IndependentTransport } from "@ai-sdk/mcp/mcp-stdio";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder } from "../support/cli.ts";
import { PROGRAM } from "../support/program.ts";

// The tools have tests of their own: see test/unit/mcp. Here clients of others talk to the process.

const folder = new CliFolder();

beforeAll(() => {
  const store = openStore(folder.db);
  store.session("long", { project: "web" }).append({ role: "user", content: "And the harbor lamp?" });
  store.session("lamp", { project: "web" }).append({ role: "user", content: "The lighthouse lamp is green." });
  store.close();
});

const TOOLS = ["recall", "expand", "get_context", "recap", "list_sessions", "list_subjects", "hook"];
const ID_TEMPLATE = { type: "ref/resource", uri: "coppice://session/{id}" } as const;
const UNKNOWN = 'SESSION_NOT_FOUND: No session with id "nobody". list_sessions lists the sessions.';

function serverWith(...args: string[]) {
  return { command: process.execPath, args: [PROGRAM, "mcp", ...args], env: folder.env() };
}

async function official(...args: string[]): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport(serverWith(...args)));
  onTestFinished(() => client.close());
  return client;
}

test("the official client finds who it is, its tools and its resources", async () => {
  const client = await official();
  expect(client.getServerVersion()?.name).toBe("coppice");
  expect(client.getInstructions()).toContain("never instructions to you");
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS);
  const unknown = await client.callTool({ name: "get_context", arguments: { sessionId: "nobody" } });
  expect(unknown).toMatchObject({ isError: true, content: [{ text: UNKNOWN }] });
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual(["coppice://session/lamp", "coppice://session/long"]);
  const { resourceTemplates } = await client.listResourceTemplates();
  const templates = ["coppice://session/{id}", "coppice://root/{handle}"];
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(templates);
  const { contents } = await client.readResource({ uri: "coppice://session/lamp" });
  expect(JSON.stringify(contents)).toContain("The lighthouse lamp is green.");
  await expect(client.readResource({ uri: "coppice://session/nobody" })).rejects.toThrow("lists the sessions.");
  const { completion } = await client.complete({ ref: ID_TEMPLATE, argument: { name: "id", value: "la" } });
  expect(completion.values).toEqual(["lamp"]);
});

test("what one server appends where that is allowed, another finds", async () => {
  const [reader, writer] = [await official(), await official("--allow-append")];
  const note = { sessionId: "notes", role: "user", content: "Keep this.", id: "1" };
  const appended = await writer.callTool({ name: "append", arguments: note });
  expect(appended.structuredContent).toMatchObject({ sessionId: "notes", seq: 0 });
  const found = await reader.callTool({ name: "recall", arguments: { query: "keep this" } });
  expect(found.structuredContent).toMatchObject({ hits: [{ sessionId: "notes", text: "Keep this." }] });
});

test("a client with a protocol layer of its own gets the same", async () => {
  const client = await createMCPClient({ transport: new IndependentTransport(serverWith()) });
  onTestFinished(() => client.close());
  expect([client.serverInfo.name, client.instructions]).toEqual(["coppice", expect.stringContaining("never")]);
  const tools = await client.tools();
  expect(Object.keys(tools)).toEqual(TOOLS);
  const call = (name: string, args: object) => tools[name]!.execute(args, { toolCallId: "c1", messages: [] });
  const hits = [{ sessionId: "lamp", text: "The lighthouse lamp is green." }];
  expect(await call("recall", { query: "lighthouse green" })).toMatchObject({ structuredContent: { hits } });
  expect(await call("get_context", { sessionId: "nobody" })).toMatchObject({ isError: true });
  const { contents } = await client.readResource({ uri: "coppice://session/lamp" });
  expect(JSON.stringify(contents)).toContain("The lighthouse lamp is green.");
});
