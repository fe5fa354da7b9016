import { expect, test } from "vitest";
import { served } from "../../support/mcp.ts";
import { talk } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

test("sessions are listed in pages, the newest first", async () => {
  const store = temporaryStore();
  for (let index = 0; index < 120; index++) store.session(`s${index}`).append({ role: "user", content: "x" });
  const client = await served(store.path);
  const uris: string[] = [];
  const sizes: number[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const { result } = await client.request("resources/list", cursor === undefined ? {} : { cursor });
    sizes.push(result.resources.length);
    uris.push(...result.resources.map(({ uri }: { uri: string }) => uri));
    cursor = result.nextCursor;
  }
  expect(sizes).toEqual([50, 50, 20]);
  expect(uris).toEqual(Array.from({ length: 120 }, (_, index) => `coppice://session/s${119 - index}`));
  for (const [method, params] of [
    ["resources/list", { cursor: "x" }],
    ["resources/read", { uri: 7 }],
  ] as const) {
    expect((await client.request(method, params)).error?.code).toBe(-32602);
  }
});

test("a session is read as a context, whatever its id", async () => {
  const store = temporaryStore();
  const id = "a/b c?d#e%f&ü";
  store.session(id, { title: "One\u202e" }).append({ role: "user", content: "The lamp is green." });
  const client = await served(store.path);
  const [resource] = (await client.request("resources/list")).result.resources;
  expect(resource).toMatchObject({ name: id, title: "One[U+202E]", description: "1 message", mimeType: "text/xml" });
  const { contents } = (await client.request("resources/read", { uri: resource.uri })).result;
  expect(contents).toHaveLength(1);
  expect(contents[0]).toMatchObject({ uri: resource.uri, mimeType: "text/xml" });
  expect(contents[0].text).toContain('<message role="user">The lamp is green.</message>');
});

test("roots are read by their handles, and completed as far as they are subjects", async () => {
  const store = temporaryStore();
  store.session("s").append(talk(100));
  const { root } = store.resume("s").roots()[0]!;
  const client = await served(store.path);
  const { resourceTemplates } = (await client.request("resources/templates/list")).result;
  expect(resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate)).toEqual([
    "coppice://session/{id}",
    "coppice://root/{handle}",
  ]);
  for (const handle of [root, encodeURIComponent(root)]) {
    const { contents } = (await client.request("resources/read", { uri: `coppice://root/${handle}` })).result;
    expect(contents[0].text).toContain(`<messages handle="${root}" level="theme"`);
  }
  const complete = async (uri: string, name: string, value: string) => {
    const ref = { type: "ref/resource", uri };
    return (await client.request("completion/complete", { ref, argument: { name, value } })).result.completion.values;
  };
  expect(await complete("coppice://session/{id}", "id", "s")).toEqual(["s"]);
  expect(await complete("coppice://session/{id}", "id", "t")).toEqual([]);
  expect(await complete("coppice://root/{handle}", "handle", "")).toEqual([]);
});

test.each([
  ["coppice://session/nobody", 'No session with id "nobody". list_sessions lists the sessions.'],
  ["coppice://root/theme:99@1", 'There was never a root at "theme:99@1".'],
  ["coppice://root/oak", '"oak" is not a handle'],
  ["coppice://session/%E0%A4", "is not a valid part of a URI"],
  ["coppice://tree/1", "not found"],
  ["no address", "invalid"],
])("%s is refused with the reason", async (uri, message) => {
  const path = temporaryPath();
  openedStore(path).session("s").append({ role: "user", content: "x" });
  const client = await served(path);
  expect((await client.request("resources/read", { uri })).error?.message).toContain(message);
});
