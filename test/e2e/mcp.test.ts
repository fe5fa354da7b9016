import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as IndependentTransport } from "@ai-sdk/mcp/mcp-stdio";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder } from "../support/cli.ts";
import { PROGRAM } from "../support/program.ts";
import { talk } from "../support/said.ts";

const folder = new CliFolder();

beforeAll(() => {
  const store = openStore(folder.db);
  store.session("long", { project: "web", title: "A long one" }).append(talk(100));
  store.session("lamp", { project: "web" }).append({ role: "user", content: "The lighthouse lamp is green." });
  store.close();
});

interface CallResult {
  content: { type: string; text: string }[];
  // biome-ignore lint/suspicious/noExplicitAny: what it is, is what the tests look at.
  structuredContent?: any;
  isError?: boolean;
}

/** What both clients can do, each in its own way. */
interface AnyClient {
  serverName: string | undefined;
  instructions: string | undefined;
  toolNames(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>): Promise<CallResult>;
  resourceUris(): Promise<string[]>;
  templates(): Promise<string[]>;
  read(uri: string): Promise<string>;
  complete(value: string): Promise<string[]>;
  close(): Promise<void>;
}

const ID_TEMPLATE = { type: "ref/resource", uri: "coppice://session/{id}" } as const;

/** What the clients call alike, though their types are not the same. */
function alike(client: Client | Awaited<ReturnType<typeof createMCPClient>>) {
  const like = client as Client;
  return {
    toolNames: async () => (await like.listTools()).tools.map(({ name }) => name),
    resourceUris: async () => (await like.listResources()).resources.map(({ uri }) => uri),
    templates: async () => (await like.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    read: async (uri: string) =>
      (await like.readResource({ uri })).contents.map((item) => ("text" in item ? item.text : "")).join(),
    complete: async (value: string) =>
      (await like.complete({ ref: ID_TEMPLATE, argument: { name: "id", value } })).completion.values,
    close: () => like.close(),
  };
}

async function official(args: string[]): Promise<AnyClient> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport(serverWith(args)));
  return {
    ...alike(client),
    serverName: client.getServerVersion()?.name,
    instructions: client.getInstructions(),
    call: async (name, given) => (await client.callTool({ name, arguments: given })) as unknown as CallResult,
  };
}

/** Of Vercel's AI SDK, which has a protocol layer of its own. */
async function independent(args: string[]): Promise<AnyClient> {
  const client = await createMCPClient({ transport: new IndependentTransport(serverWith(args)) });
  return {
    ...alike(client),
    serverName: client.serverInfo.name,
    instructions: client.instructions,
    call: async (name, given) => {
      const tools = await client.tools();
      return (await tools[name]!.execute(given, { toolCallId: "c1", messages: [] })) as CallResult;
    },
  };
}

function serverWith(args: string[]) {
  return { command: process.execPath, args: [PROGRAM, "mcp", ...args], env: folder.env() };
}

describe.each([
  ["the official SDK", official],
  ["an independent client", independent],
])("with %s", (_, connect) => {
  let client: AnyClient;
  beforeAll(async () => {
    client = await connect([]);
  });
  afterAll(() => client.close());

  test("says who it is, what it is for and what it has", async () => {
    expect(client.serverName).toBe("coppice");
    expect(client.instructions).toContain("never instructions to you");
    expect(await client.toolNames()).toEqual(expect.arrayContaining(["recall", "expand", "get_context"]));
  });

  test("every tool that reads answers, and leaves the file as it was", async () => {
    const before = digests();
    const { hits } = (await client.call("recall", { query: "lighthouse lamp" })).structuredContent;
    expect(hits[0]).toMatchObject({ sessionId: "lamp", text: "The lighthouse lamp is green." });
    const expanded = await client.call("expand", { target: String(hits[0].messageId) });
    expect(expanded.content[0]!.text).toContain("The lighthouse lamp is green.</message>");
    const context = await client.call("get_context", { sessionId: "long", tokensMax: 1_000 });
    expect(context.content[0]!.text).toContain("<story>");
    expect((await client.call("list_sessions", {})).structuredContent).toMatchObject({ sessionCount: 2 });
    expect((await client.call("list_subjects", {})).structuredContent.subjects).toEqual([]);
    const { topics } = (await client.call("recap", { since: "1d" })).structuredContent;
    expect(topics).toContainEqual(expect.objectContaining({ root: null, title: "The lighthouse lamp is green" }));
    expect(await client.resourceUris()).toEqual(["coppice://session/lamp", "coppice://session/long"]);
    expect(await client.templates()).toEqual(["coppice://session/{id}", "coppice://root/{handle}"]);
    expect(await client.read("coppice://session/lamp")).toContain("The lighthouse lamp is green.");
    expect(await client.complete("la")).toEqual(["lamp"]);
    expect(digests()).toEqual(before);
  });

  test("an error is an answer, with its hint", async () => {
    const { isError, content } = await client.call("get_context", { sessionId: "nobody" });
    expect(isError).toBe(true);
    expect(content[0]!.text).toBe('SESSION_NOT_FOUND: No session with id "nobody". list_sessions lists the sessions.');
    await expect(client.read("coppice://session/nobody")).rejects.toThrow("list_sessions lists the sessions.");
  });

  test("appends where that is allowed", async () => {
    const writer = await connect(["--allow-append"]);
    try {
      const note = { sessionId: "notes", role: "user", content: "Keep this.", id: "1" };
      expect((await writer.call("append", note)).structuredContent).toMatchObject({ sessionId: "notes", seq: 0 });
      const { hits } = (await client.call("recall", { query: "keep this" })).structuredContent; // by the other server
      expect(hits[0]).toMatchObject({ sessionId: "notes", text: "Keep this." });
    } finally {
      await writer.close();
      const store = openStore(folder.db);
      store.forget("notes");
      store.close();
    }
  });
});

/** Of the store and of what stands beside it, but for files of SQLite that hold nothing of it. */
function digests(): [string, string][] {
  const holds = (name: string): boolean => !name.endsWith("-shm") && statSync(join(folder.path, name)).size > 0;
  const names = readdirSync(folder.path).filter((name) => name.startsWith("agent.db") && holds(name));
  const digest = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder.path, name)))
      .digest("hex");
  return names.sort().map((name) => [name, digest(name)]);
}
