import { expect } from "vitest";
import { initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { hubWithStores, run, test } from "../support/hub.ts";

const WEB = { projects: ["web", "api"] };

test("what the team has pushed is found by the words of the server, once the administrator wants it", async () => {
  const { url, hub, home } = await hubWithStores();
  const say = (id: string, project: string, ...texts: string[]): unknown =>
    home.session(id, { project, title: id }).append(texts.map((content) => ({ role: "user" as const, content })));
  say("lamps", "web", "The lighthouse lamp is green.", "The ferry leaves at noon.");
  await hub.push(home, WEB);
  await expect(hub.everywhere("lighthouse")).rejects.toMatchObject({ code: "HUB_NOT_READY" });
  const admin = await HubConnection.to(url, "test");
  expect(await initHub(admin, "test", true)).toEqual({ tables: false, words: true });
  expect(await initHub(admin, "test", true)).toEqual({ tables: false, words: false });
  await admin.close();

  say("doors", "api", "The lighthouse has a door.", "it's '\\ \0 \ud800 odd");
  home.resume("lamps").append({ role: "assistant", content: "A red lamp for the lighthouses, then." });
  await hub.push(home, WEB);
  const found = async (query: string, options = {}): Promise<string[]> =>
    (await hub.everywhere(query, options)).map(({ sessionId, text }) => `${sessionId}: ${text}`);
  expect(await found("which lamp has the lighthouse?")).toEqual([
    "lamps: The lighthouse lamp is green.",
    "lamps: A red lamp for the lighthouses, then.",
  ]);
  expect(await found("lighthouse door", { project: "web" })).toHaveLength(2);
  expect(await found("lighthouse", { limit: 1 })).toHaveLength(1);
  expect(await found("'odd \\")).toHaveLength(1);
  expect(await found("nothing of this")).toEqual([]);
  await expect(hub.everywhere("the of")).rejects.toMatchObject({ code: "QUERY_EMPTY" });
  const [hit] = await hub.everywhere("ferry noon");
  expect(hit).toMatchObject({
    sessionId: "lamps",
    project: "web",
    title: "lamps",
    role: "user",
    score: expect.any(Number),
  });

  home.forget("lamps");
  await hub.push(home, WEB);
  expect(await found("lighthouse lamp")).toEqual(["doors: The lighthouse has a door."]);
  expect(await run(url, "SELECT FROM coppice_test.words")).toHaveLength(2);
});
