import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished } from "vitest";
import { HUB } from "../../src/cli/hub-words.ts";
import { addRemote } from "../../src/hub/remote.ts";
import { slow } from "../support/effort.ts";
import { openedHub, readyDatabase, run, test } from "../support/hub.ts";
import { type RawClient, served } from "../support/mcp.ts";
import { calls, results, talk } from "../support/said.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const LONG = `${"a very long line of the log\n".repeat(2_000)}the end`;

/** A hub with the sessions of a colleague, and a store of one's own that names the hub. */
async function withColleague(): Promise<{ url: string; path: string }> {
  const url = await readyDatabase();
  const colleague = openedStore(temporaryPath());
  const session = colleague.session("lamps", { project: "web" });
  session.append([...talk(30), { role: "user", content: "The lighthouse lamp is <green>." }]);
  session.append([calls(["a"]), results(["a"], LONG), ...talk(3)]);
  colleague.session("other", { project: "api" }).append({ role: "user", content: "The lighthouse has a door." });
  await (await openedHub(url)).push(colleague, { projects: ["web", "api"] });
  const path = temporaryPath();
  const store = openedStore(path);
  store.session("mine").append({ role: "user", content: "My lighthouse lamp is red." });
  addRemote(store, { url, projects: [], team: null });
  return { url, path };
}

const asked = { query: "lighthouse lamp", scope: "hub" };

test("recall searches the hub where a call asks for it, and expand reads around its hits", async () => {
  const { path } = await withColleague();
  const client = await served(path, { hub: HUB });
  const here = await client.call("recall", { query: "lighthouse lamp" });
  expect(here.structuredContent.hits).toMatchObject([{ sessionId: "mine", messageId: 1 }]);

  const { structuredContent, content } = await client.call("recall", asked);
  const [hit, ...others] = structuredContent.hits;
  expect(hit).toMatchObject({ sessionId: "lamps", seq: 30, text: "The lighthouse lamp is <green>.", whole: true });
  expect(hit.root).toMatch(/^hub:\d+@31$/);
  expect(hit.messageId).toBeUndefined(); // it would name another message here
  expect(others).toContainEqual(expect.objectContaining({ sessionId: "other", seq: 0 }));
  expect(content[0].text).toContain(`handle="${hit.root}"`);
  expect(content[0].text).toContain("expand(handle)");
  expect(content[0].text).not.toMatch(/<hit [^>]*\bid=/);
  expect(content[0].text).toContain("lamp is &lt;green&gt;");

  const around = await client.call("expand", { target: hit.root, limit: 4 });
  expect(around.structuredContent).toMatchObject({ root: hit.root, memberCount: 36, before: 28 });
  expect(around.structuredContent.members.map(({ seq }: { seq: number }) => seq)).toEqual([28, 29, 30, 31]);
  expect(around.content[0].text).toContain(`id="${hit.root}"`);
  const next = await client.call("expand", { target: hit.root, offset: 34 });
  expect(next.structuredContent.members).toHaveLength(2);
  expect(next.structuredContent.left).toBe(0);
  const past = await client.call("expand", { target: hit.root, offset: 36 });
  expect(past.content[0].text).toContain("none from offset 36");
});

test("a long message of the hub is read whole, piece by piece", async () => {
  const { path } = await withColleague();
  const client = await served(path, { hub: HUB });
  const { structuredContent } = await client.call("recall", { query: "long line of the log", scope: "hub" });
  let text = "";
  for (let from: number | undefined = 0; from !== undefined; ) {
    const { root } = structuredContent.hits[0];
    const answer = await client.call("expand", { target: root, from, tokensMax: 20_000 });
    const [piece] = answer.structuredContent.members;
    if (piece.nextFrom !== undefined)
      expect(answer.content[0].text).toContain(`expand(${root}, from ${piece.nextFrom})`);
    text += piece.text;
    from = piece.nextFrom;
  }
  expect(text).toBe(`[result] ${LONG}`);
});

test("a project that limits the server limits the hub, and what it does not have is not found", async () => {
  const { path } = await withColleague();
  const all = await served(path, { hub: HUB });
  const { hits } = (await all.call("recall", { ...asked, project: "web" })).structuredContent;
  const only = await served(path, { hub: HUB, project: "api" });
  expect((await only.call("recall", asked)).structuredContent.hits).toMatchObject([{ sessionId: "other" }]);
  expect(codeOf(await only.call("expand", { target: hits[0].root }))).toBe("MESSAGE_NOT_FOUND");
  expect(codeOf(await all.call("expand", { target: "hub:99@1" }))).toBe("MESSAGE_NOT_FOUND");
  expect(codeOf(await all.call("expand", { target: hits[0].root.replace(/@.*/, "@99999") }))).toBe("MESSAGE_NOT_FOUND");
  expect(codeOf(await all.call("recall", { ...asked, sessionIds: ["mine"] }))).toBe("OPTION_INVALID");
});

test("without --hub, no call can ask the hub", async () => {
  const { path } = await withColleague();
  const client = await served(path);
  const { tools } = (await client.request("tools/list")).result;
  expect(JSON.stringify(tools)).not.toMatch(/\bhub\b/);
  expect(codeOf(await client.call("recall", asked))).toBe("OPTION_INVALID");
  expect(codeOf(await client.call("expand", { target: "hub:1@31" }))).toBe("HANDLE_INVALID");
});

slow(test)("a hub that does not answer, refuses or is not there leaves the store's answer, which says so", async () => {
  const { url, path } = await withColleague();
  const client = await served(path, { hub: HUB });
  expect((await client.call("recall", asked)).structuredContent.hits[0].sessionId).toBe("lamps");
  const store = openedStore(path);
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  for (const [other, reason] of [
    [url.replace(/coppice_test_\w+/, "no_such_database"), /refused/],
    [`postgres://nobody@127.0.0.1:${port}/agents`, /has not answered within/],
  ] as const) {
    addRemote(store, { url: other, projects: [], team: null });
    const { structuredContent, content, isError } = await client.call("recall", asked);
    expect(isError).toBeUndefined();
    expect(structuredContent.hits).toMatchObject([{ sessionId: "mine" }]);
    expect(structuredContent.note).toMatch(reason);
    expect(content[0].text).toContain("of this machine only");
  }
  expect(codeOf(await client.call("expand", { target: "hub:1@31" }))).toBe("HUB_UNREACHABLE");

  addRemote(store, { url, projects: [], team: null });
  expect((await client.call("recall", asked)).structuredContent.hits[0].sessionId).toBe("lamps");
  await run(url, "UPDATE coppice.messages SET body = '\\x01ff'");
  const damaged = await client.call("recall", asked);
  expect(damaged.structuredContent.note).toContain("of this machine only");
});

test("a store without a hub answers itself, and says so", async () => {
  const path = temporaryPath();
  openedStore(path).session("mine").append({ role: "user", content: "My lighthouse lamp is red." });
  const client = await served(path, { hub: HUB });
  const { structuredContent } = await client.call("recall", asked);
  expect(structuredContent.hits).toMatchObject([{ sessionId: "mine" }]);
  expect(structuredContent.note).toContain("coppice hub add");
});

function codeOf(answer: Awaited<ReturnType<RawClient["call"]>>): string | undefined {
  return answer._meta?.["coppice/error"].code;
}
