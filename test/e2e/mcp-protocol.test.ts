import { spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { beforeAll, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { LineTransport, MESSAGE_BYTES_MAX } from "../../src/mcp/line-transport.ts";
import { LiveStore } from "../../src/mcp/live-store.ts";
import { Turns } from "../../src/mcp/turns.ts";
import { CliFolder } from "../support/cli.ts";
import { slow } from "../support/effort.ts";
import { RawClient, served } from "../support/mcp.ts";
import { PROGRAM } from "../support/program.ts";
import { talk } from "../support/said.ts";

const folder = new CliFolder();

beforeAll(() => {
  const store = openStore(folder.db);
  store.session("s").append(talk(60));
  store.close();
});

/** Starts the server as a process of its own. */
function start() {
  const { child, stderr, ended } = folder.start(["mcp"]);
  return { child, client: new RawClient(child.stdin, child.stdout), stderr, ended };
}

test("what is no request does no harm, and stdout carries answers alone", async () => {
  const client = await served(folder.db);
  client.send('no json\n{\n[]\n[1,2]\nnull\n42\n"text"\n\n\r\n{}\n');
  client.send(Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xc3, 0x28, 0x0a]));
  client.send('{"jsonrpc":"1.0","id":91,"method":"ping"}\n{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}\n');
  client.send('{"jsonrpc":"2.0","id":92}\n{"jsonrpc":"2.0","id":93,"result":{}}\n{"jsonrpc":"2.0","method":"x/y"}\n');
  client.send(`{"jsonrpc":"2.0","id":94,"method":"ping","params":${"[".repeat(5_000)}${"]".repeat(5_000)}}\n`);
  expect((await client.request("ping")).result).toEqual({});
  expect((await client.request("no/such")).error?.code).toBe(-32601);
  for (const params of [
    { name: "no_such_tool" },
    {},
    { name: "__proto__" },
    { name: 7 },
    { name: "recall", arguments: 7 },
  ]) {
    expect((await client.request("tools/call", params)).error?.code, JSON.stringify(params)).toBe(-32602);
  }
  expect((await client.call("expand", JSON.parse('{"__proto__":{"target":"1"}}'))).isError).toBe(true);
  expect((await client.call("recall", { query: "lamp \ud800 \0" })).isError).toBeUndefined();
  expect(client.strays).toEqual([]);
});

test.each([1, 7, 100_000])(
  "requests in pieces of %s bytes are read, also a last one without a line end, and one that is too long is refused",
  async (size) => {
    const output = new PassThrough();
    const input = new PassThrough();
    const turns = new Turns(output);
    const live = new LiveStore(() => Promise.reject(new Error("no store")), turns);
    const transport = new LineTransport(input, output, turns, live);
    const ids: unknown[] = [];
    transport.onmessage = (message) => void ids.push("id" in message ? message.id : undefined);
    await transport.start();
    const request = (id: string) => Buffer.from(`{"jsonrpc":"2.0","id":"${id}","method":"ping"}\r\n`);
    const give = (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += size) input.write(bytes.subarray(at, at + size));
    };
    give(request("ü🪵"));
    input.write(Buffer.alloc(MESSAGE_BYTES_MAX, "x"));
    give(Buffer.from("\n"));
    give(Buffer.concat([request("b"), request("c")]));
    give(request("d").subarray(0, -2)); // without a line end
    input.end();
    await transport.closed;
    expect(ids).toEqual(["ü🪵", "b", "c", "d"]);
    expect(JSON.parse(output.read().toString())).toMatchObject({ id: null, error: { code: -32600 } });
  },
);

test("a client that leaves in the middle of a call takes the server with it", async () => {
  const { client, ended, stderr } = start();
  await client.initialize();
  for (let index = 0; index < 20; index++) void client.request("tools/call", { name: "list_sessions" });
  client.end();
  expect(await ended).toBe(0);
  expect(stderr()).toBe("");
});

test("3,000 calls of a client that stops reading are given up", async () => {
  const { child, client, ended, stderr } = start();
  await client.initialize();
  await client.call("list_sessions");
  for (let index = 0; index < 3_000; index++) {
    void client.request("tools/call", { name: "get_context", arguments: { sessionId: "s", tokensMax: 8_000 } });
  }
  const sinceMs = performance.now();
  child.stdout.destroy();
  expect(await ended).toBe(0);
  expect(stderr()).toBe("");
  expect(performance.now() - sinceMs).toBeLessThan(10_000);
});

test("calls of a client that ends its input are answered, however many they are", async () => {
  const { client, ended } = start();
  await client.initialize();
  const calls = Array.from({ length: 300 }, () => client.call("get_context", { sessionId: "s", tokensMax: 8_000 }));
  client.end();
  expect(await Promise.all(calls)).toHaveLength(300);
  expect(await ended).toBe(0);
});

slow(test)("it ends with a parent that is killed", async () => {
  // A shell that waits for it, with its stdin: when that is killed, nobody holds the other end.
  const script = `
    const { spawn } = require("node:child_process");
    const child = spawn(process.execPath, ${JSON.stringify([PROGRAM, "mcp"])}, { stdio: ["pipe", "pipe", "ignore"] });
    child.stdout.once("data", () => console.log(child.pid));
    child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) + "\\n");
  `;
  const parent = spawn(process.execPath, ["-e", script], { env: folder.env(), stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(parent.stdout!, "data")) as [Buffer];
  const pid = Number(line.toString());
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  const deadlineMs = performance.now() + 15_000;
  while (isAlive(pid) && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isAlive(pid)).toBe(false);
});

test("a client of the newest revision needs no handshake", async () => {
  const { client } = start();
  const { result, error } = await client.request("server/discover", {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  });
  expect(error).toBeUndefined();
  expect(result.supportedVersions).toContain("2026-07-28");
});

test("what is piped into it is answered, though it ends before the store is opened", async () => {
  const { client, ended } = start();
  const clientInfo = { name: "raw", version: "1" };
  const greeted = client.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  const listed = client.call("list_sessions");
  client.end();
  expect((await greeted).result.serverInfo.name).toBe("coppice");
  expect((await listed).structuredContent.sessionCount).toBe(1);
  expect(await ended).toBe(0);
});

test("stdout has no room for another value", async () => {
  const { error } = JSON.parse(await folder.refusal(2, "mcp", "--json"));
  expect(error).toMatchObject({ code: "USAGE_INVALID", message: "mcp does not take --json." });
});

test("a project without a name is refused, not served as one with nothing in it", async () => {
  expect(await folder.refusal(2, "mcp", "--project", "")).toBe("coppice: `--project` needs a name.\n");
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
