import { copyFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { setTimeout } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, test, vi } from "vitest";
import { openStore } from "../../../src/index.ts";
import type { StoreAccess } from "../../../src/mcp/live-store.ts";
import { serve } from "../../../src/mcp/server.ts";
import { accessTo, RawClient, served } from "../../support/mcp.ts";
import { inDatabase } from "../../support/rows.ts";
import { talk } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

/** Write a closed store with one session of one message. */
function writeStore(path: string, sessionId: string): void {
  const store = openedStore(path);
  store.session(sessionId).append({ role: "user", content: `The lamp of ${sessionId}.` });
  store.close();
}

/** A server that has no store before `load` is called. */
function servedLater() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const client = new RawClient(input, output);
  let load!: (access: StoreAccess) => void;
  const loadAccess = vi.fn(() => new Promise<StoreAccess>((resolve) => (load = resolve)));
  const ended = serve({
    loadAccess,
    project: undefined,
    allowAppend: true,
    redact: async (text) => text,
    input,
    output,
  });
  return { client, ended, load: (access: StoreAccess) => load(access), loadAccess };
}

test("what asks for no store does not wait for it; what does is answered, though the client has said all", async () => {
  const { client, ended, load, loadAccess } = servedLater();
  expect((await client.request("ping")).result).toEqual({});
  expect(loadAccess).not.toHaveBeenCalled();
  await client.initialize();
  expect((await client.request("tools/list")).result.tools).toHaveLength(10);
  expect(loadAccess).toHaveBeenCalledTimes(1);
  const asked = client.call("list_sessions");
  client.end(); // as what is piped into it ends
  const path = temporaryPath();
  writeStore(path, "a");
  await setTimeout(20);
  load(accessTo(path));
  expect((await asked).structuredContent.sessionCount).toBe(1);
  await ended;
});

test("a cancelled call is not run, however many calls wait before it and its cancellation", async () => {
  const { client, load } = servedLater();
  await client.initialize();
  const append = (content: string) => ({ name: "append", arguments: { sessionId: "s", role: "user", content } });
  void client.requestAs("early", "tools/call", append("never mind"));
  const kept = Array.from({ length: 200 }, () => client.request("tools/call", append("kept")));
  void client.requestAs("late", "tools/call", append("never mind"));
  for (const requestId of ["early", "late"]) client.notify("notifications/cancelled", { requestId });
  await client.request("ping"); // takes no turn, so all before it has been read
  const path = temporaryPath();
  load(accessTo(path));
  await Promise.all(kept);
  client.end();
  const texts = openedStore(path)
    .resume("s")
    .messages()
    .map(({ text }) => text);
  expect(texts).toEqual(Array(200).fill("kept"));
});

async function sessionsSeen(client: RawClient): Promise<string[] | string> {
  const { isError, content, structuredContent } = await client.call("list_sessions");
  if (isError) return content[0].text;
  return structuredContent.sessions.map(({ sessionId }: { sessionId: string }) => sessionId);
}

test("a store that does not exist yet is found when it does", async () => {
  const path = temporaryPath();
  const client = await served(path);
  const answer = await sessionsSeen(client);
  expect(answer).toContain("FILE_NOT_FOUND: There is no file");
  expect(answer).toContain("coppice import");
  expect((await client.request("resources/list")).result).toEqual({ resources: [] });
  writeStore(path, "a");
  expect(await sessionsSeen(client)).toEqual(["a"]);
});

test("what another process appends is seen at once", async () => {
  const store = temporaryStore();
  const client = await served(store.path);
  store.session("a").append({ role: "user", content: "one" });
  expect(await sessionsSeen(client)).toEqual(["a"]);
  store.session("b").append({ role: "user", content: "the zebra" });
  expect(await sessionsSeen(client)).toEqual(["b", "a"]);
  const { hits } = (await client.call("recall", { query: "zebra" })).structuredContent;
  expect(hits).toHaveLength(1);
});

test("a store that is moved away, and one that takes its place, are noticed", async () => {
  const path = temporaryPath();
  writeStore(path, "a");
  writeStore(`${path}.b`, "b");
  const client = await served(path);
  expect(await sessionsSeen(client)).toEqual(["a"]);
  renameSync(path, `${path}.away`);
  expect(await sessionsSeen(client)).toContain("FILE_NOT_FOUND");
  renameSync(`${path}.b`, path);
  expect(await sessionsSeen(client)).toEqual(["b"]);
});

test("a damaged store is an answer, and a mended one is read again", async () => {
  const path = temporaryPath();
  writeStore(path, "a");
  copyFileSync(path, `${path}.backup`);
  const client = await served(path);
  expect(await sessionsSeen(client)).toEqual(["a"]);
  rmSync(path);
  writeFileSync(path, "nothing of the kind ".repeat(100));
  expect(await sessionsSeen(client)).toContain("NOT_A_STORE: ");
  rmSync(path);
  copyFileSync(`${path}.backup`, path);
  expect(await sessionsSeen(client)).toEqual(["a"]);
});

test("a store of another format is an answer that says how to import again", async () => {
  const path = temporaryPath();
  openStore(path).close();
  inDatabase(path, (database) => database.exec("UPDATE __drizzle_migrations SET hash = 'another' WHERE id = 1"));
  const client = await served(path);
  const answer = await sessionsSeen(client);
  expect(answer).toContain("FORMAT_UNSUPPORTED: ");
  expect(answer).toContain("import the transcripts again");
});

test("a store that another process holds locked refuses a write, and takes it later", async () => {
  const store = temporaryStore();
  store.session("a").append({ role: "user", content: "one" });
  const client = await served(store.path, { allowAppend: true, busyTimeoutMs: 20 });
  const note = { sessionId: "a", role: "user", content: "two" };
  expect((await client.call("append", note)).isError).toBeUndefined();
  const other = new Database(store.path);
  other.exec("BEGIN IMMEDIATE");
  expect((await client.call("append", note)).content[0].text).toContain("STORE_BUSY: ");
  expect(await sessionsSeen(client)).toEqual(["a"]); // readers wait for nobody
  other.exec("ROLLBACK");
  other.close();
  expect((await client.call("append", note)).structuredContent).toMatchObject({ seq: 2 });
});

test("calls wait for a client that reads slowly, and their answers do not pile up", async () => {
  const path = temporaryPath();
  const store = openedStore(path);
  store.session("s").append(talk(200));
  store.close();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const reads = vi.spyOn(output, "write");
  const loadAccess = async () => accessTo(path);
  const ended = serve({
    loadAccess,
    project: undefined,
    allowAppend: false,
    redact: async (text) => text,
    input,
    output,
  });
  const lines = Array.from({ length: 3_000 }, (_, id) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "get_context", arguments: { sessionId: "s" } },
    }),
  );
  input.write(`${lines.join("\n")}\n`);
  await vi.waitFor(() => expect(output.writableNeedDrain).toBe(true), { timeout: 60_000 });
  await setTimeout(500);
  expect(reads.mock.calls.length).toBeLessThan(20);
  // The others are answered when they can be.
  let answerCount = 0;
  output.setEncoding("utf8").on("data", (text: string) => {
    answerCount += text.split("\n").length - 1;
  });
  await vi.waitFor(() => expect(answerCount).toBeGreaterThan(30), { timeout: 60_000 });
  output.destroy(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
  await ended;
  expect(answerCount).toBeLessThan(3_000);
});
