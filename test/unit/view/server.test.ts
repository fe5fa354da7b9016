import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { KEY_HEADER } from "../../../src/view/questions.ts";
import type { Routes } from "../../../src/view/routes.ts";
import { ViewServer } from "../../../src/view/server.ts";

const SILENT_MS = 200;

async function served(
  get: Record<string, () => Promise<unknown>>,
  silentMs = SILENT_MS,
): Promise<{ origin: string; key: string }> {
  const server = new ViewServer({ get, close: async () => {} } as unknown as Routes, new Map(), silentMs);
  onTestFinished(() => server.close());
  const { origin, hash } = new URL(await server.listen(0));
  const body = JSON.stringify({ token: hash.slice("#t=".length) });
  const headers = { "content-type": "application/json" };
  const entered = await fetch(`${origin}/api/enter`, { method: "POST", headers, body });
  return { origin, key: (await entered.json()).key };
}

test("an answer that takes long to make arrives, and a socket on which nothing is asked is closed", async () => {
  const { origin, key } = await served({
    "/api/verify": async () => {
      await sleep(8 * SILENT_MS);
      return { ok: true };
    },
  });
  const idle = connect(Number(new URL(origin).port), "127.0.0.1");
  const closed = new Promise((resolve) => idle.once("close", resolve));
  const answer = await fetch(`${origin}/api/verify`, { headers: { [KEY_HEADER]: key } });
  expect(await answer.json()).toEqual({ ok: true });
  await closed;
});

test("a failure after a long time is told, too", async () => {
  const { origin, key } = await served({
    "/api/verify": async () => {
      await sleep(8 * SILENT_MS);
      throw new Error("broken");
    },
  });
  expect((await fetch(`${origin}/api/verify`, { headers: { [KEY_HEADER]: key } })).status).toBe(500);
});

test("of requests that are sent without waiting for answers, few are begun, and others are answered", async () => {
  let begun = 0;
  const about = async (): Promise<unknown> => {
    begun += 1;
    return { ok: true };
  };
  const { origin, key } = await served({ "/api/about": about }, 60_000);
  const { port } = new URL(origin);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(`GET /api/about HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${KEY_HEADER}: ${key}\r\n\r\n`.repeat(5_000));
  await closed;
  expect(begun).toBeGreaterThan(0);
  expect(begun).toBeLessThanOrEqual(16);
  const agent = { headers: { [KEY_HEADER]: key } };
  for (let count = 0; count < 40; count++) expect((await fetch(`${origin}/api/about`, agent)).status).toBe(200);
});
