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
    "doors: The lighthouse has a door.",
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

  const deploy = (index: number): string => `deploy ${index} of the region ${index % 3 === 0 ? "failed" : "ended"}`;
  say("deploys", "web", ...Array.from({ length: 900 }, (_, index) => deploy(index)), "The ferry has a deploy, too.");
  await hub.push(home, WEB);
  expect(await found("why has the deploy of the region failed?", { limit: 50 })).toEqual(
    Array.from({ length: 50 }, () => expect.stringMatching(/deploys: deploy .* failed/)),
  );
  expect(await found("deploy ferry", { limit: 2 })).toEqual([
    "deploys: The ferry has a deploy, too.",
    "lamps: The ferry leaves at noon.",
  ]);
  expect(await found("deploy region absent", { limit: 3 })).toHaveLength(3);

  home.forget("lamps");
  home.forget("deploys");
  await hub.push(home, WEB);
  expect(await found("lighthouse lamp")).toEqual(["doors: The lighthouse has a door."]);
  expect(await run(url, "SELECT FROM coppice_test.words")).toHaveLength(2);
});
