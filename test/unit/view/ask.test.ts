import { existsSync, readFileSync, rmSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Store } from "../../../src/index.ts";
import { FakeAgent } from "../../support/fake-agent.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { ServedView } from "../../support/served-view.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const KEY = "sk-ant-api03-4f9d";
const AGENT = {
  name: "claude",
  title: "Claude Code",
  redact: (text: string): string => text.replaceAll(KEY, "***"),
  isLeftOut: (sessionId: string): boolean => sessionId === "secret",
} as const;

function storeWithLock(): Store {
  const store = temporaryStore();
  store.session("lock", { project: "web", title: "The lock" }).append([
    { role: "user", content: "Why do we still use flock for the session lock?" },
    { role: "assistant", content: `We dropped flock, because NFS mounts ignore it. The key is ${KEY}.` },
  ]);
  store.session("secret", { project: "client" }).append({ role: "user", content: "The client dropped flock too." });
  return store;
}

function agentThat(act: string, reply = ""): FakeAgent {
  const agent = new FakeAgent(scratchFolder());
  for (const [name, value] of Object.entries(agent.env(act, reply))) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  return agent;
}

const post = (view: ServedView, q: string) =>
  view.ask("/api/ask", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ q }),
  });

test("a person sees what an agent would get before anything is sent, and then its answer with true citations", async () => {
  const store = storeWithLock();
  const [, dropped] = store.resume("lock").messages();
  const agent = agentThat("answer", `NFS ignores it. [message:${dropped!.id}, message:999999]`);
  const view = await ServedView.entered(store, { agent: AGENT });
  expect(await view.get("/api/about", {})).toMatchObject({ agent: "Claude Code" });
  const evidence = await view.get("/api/evidence", { q: "why did we drop flock" });
  expect(evidence).toMatchObject({ messageCount: 2, sessionCount: 1 });
  expect(existsSync(agent.seenPath)).toBe(false);
  const { status, body } = await post(view, "why did we drop flock");
  expect(status).toBe(200);
  expect(JSON.parse(body)).toMatchObject({
    answer: `NFS ignores it. [message:${dropped!.id}]`,
    sources: [{ messageId: dropped!.id, sessionId: "lock", seq: 1, project: "web", title: "The lock" }],
    struckOut: [999_999],
  });
  const { prompt } = agent.seen();
  expect(prompt).toContain("We dropped flock");
  expect(prompt).not.toContain(KEY);
  expect(prompt).not.toContain("The client");
});

test("nothing is sent for what the store does not know", async () => {
  const agent = agentThat("answer", "Yes.");
  const view = await ServedView.entered(storeWithLock(), { agent: AGENT });
  const q = "quarterly marmalade export";
  expect(await view.get("/api/evidence", { q })).toMatchObject({ messageCount: 0, tokenCount: 0 });
  const { status, body } = await post(view, q);
  expect([status, JSON.parse(body).error.code]).toEqual([400, "NOTHING_FOUND"]);
  expect(existsSync(agent.seenPath)).toBe(false);
});

test("without a chosen agent nobody can ask, and no program is started", async () => {
  const view = await ServedView.entered(storeWithLock());
  expect((await view.get("/api/about", {})).agent).toBeNull();
  expect((await view.ask("/api/evidence?q=flock")).status).toBe(403);
  expect((await post(view, "flock")).status).toBe(403);
});

test("an agent that is not logged in is named with what to do", async () => {
  agentThat("loggedOut");
  const view = await ServedView.entered(storeWithLock(), { agent: AGENT });
  const { status, body } = await post(view, "why did we drop flock");
  expect(status).toBe(400);
  expect(JSON.parse(body).error).toMatchObject({ code: "MODEL_REFUSED", message: expect.stringMatching(/log in/i) });
});

test("a reader who leaves ends the agent, and a second question waits for the first", async () => {
  const agent = agentThat("hang");
  const pids = `${agent.seenPath}.pids`;
  rmSync(pids, { force: true });
  const view = await ServedView.entered(storeWithLock(), { agent: AGENT });
  const leaving = new AbortController();
  const first = fetch(`http://127.0.0.1:${view.port}/api/ask`, {
    method: "POST",
    headers: { "content-type": "application/json", "coppice-key": view.key! },
    body: JSON.stringify({ q: "why did we drop flock" }),
    signal: leaving.signal,
  });
  first.catch(() => {});
  await vi.waitFor(() => expect(existsSync(pids)).toBe(true), { timeout: 30_000 });
  expect((await post(view, "flock")).status).toBe(429);
  leaving.abort();
  const ids = readFileSync(pids, "utf8").split(" ").map(Number);
  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await vi.waitFor(() => expect(ids.filter(isAlive)).toEqual([]), { timeout: 30_000 });
}, 90_000);
