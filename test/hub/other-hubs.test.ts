import { expect, onTestFinished } from "vitest";
import { grantTeam, initHub } from "../../src/hub/administration.ts";
import { follow, unfollow } from "../../src/hub/index.ts";
import { addRemote } from "../../src/hub/remote.ts";
import {
  asRole,
  emptyDatabase,
  hubWithStores,
  openedConnection,
  openedHub,
  readyDatabase,
  run,
  saidIn,
  talkOf,
  test,
} from "../support/hub.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };

test("each hub has numbers of its own: what one has forgotten, and lacks, is nothing to another", async () => {
  const { hub: first, home, away } = await hubWithStores();
  const second = await openedHub(await readyDatabase());
  const bob = temporaryStore();
  bob.session("of bob", { project: "web" }).append(talkOf(3, "bob"));
  await second.push(bob, WEB);

  for (const id of ["one", "two", "six"]) home.session(id, { project: "web" }).append(talkOf(4, id));
  await first.push(home, WEB);
  follow(away, "web");
  await first.sync(away);
  await first.pull(away, "two", { take: true });
  away.resume("two").append(talkOf(1, "unsent"));
  home.forget("one"); // number 1 there, as Bob's is here

  expect(await second.push(home, WEB)).toMatchObject({ messageCount: 8, forgottenCount: 0, kept: [], gone: [] });
  expect(await second.push(away, WEB)).toMatchObject({ gone: [], kept: [] });
  const synced = await second.sync(away);
  expect(synced).toMatchObject({ forgotten: [], refused: [] });
  const ids = away.sessions().map(({ id }) => id);
  expect(ids.sort()).toEqual(["of bob", "one", "six", "two"]);
  expect(away.resume("two").messages()).toHaveLength(5);
  expect((await second.sessions()).map(({ sessionId }) => sessionId)).toContain("of bob");

  home.forget("six", { messageIds: [home.resume("six").messages()[1]!.id] });
  // What was forgotten meanwhile is forgotten on the first hub, too, once it is the hub again.
  expect(await first.push(home, WEB)).toMatchObject({ forgottenCount: 1, kept: [], diverged: [] });
  const fresh = temporaryStore();
  await first.pull(fresh, "six");
  expect(saidIn(fresh, "six")).toEqual(saidIn(home, "six"));
  expect((await first.sync(away)).forgotten).toEqual(["one"]);
});

test("a session that lost a message before a hub got it is pushed there without an error, whoever has it", async () => {
  const { url, hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(6));
  home.forget("one", { messageIds: [home.resume("one").messages()[3]!.id] });
  await hub.push(home, WEB);
  await hub.pull(away, "one", { take: true });
  await run(url, "UPDATE coppice_test.hub SET id = gen_random_uuid()");
  for (let count = 0; count < 2; count += 1) {
    expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 0, moved: [], diverged: [] });
  }
});

test("tables that were made anew are another hub", async () => {
  const { url, hub, home, away } = await hubWithStores();
  for (const id of ["one", "two"]) home.session(id, { project: "web" }).append(talkOf(4, id));
  await hub.push(home, WEB);
  follow(away, "web");
  await hub.sync(away);
  await run(
    url,
    "TRUNCATE coppice_test.sessions RESTART IDENTITY CASCADE; UPDATE coppice_test.hub SET id = gen_random_uuid()",
  );
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 8, kept: [] });
  expect(await hub.sync(away)).toMatchObject({ forgotten: [], refused: [] });
  expect(saidIn(away, "two")).toEqual(saidIn(home, "two"));
});

test("projects that are shared with a team go to no other team", () => {
  const store = temporaryStore();
  const url = "postgres://hub.example/agents";
  addRemote(store, { url, projects: ["web"], team: "web" });
  expect(addRemote(store, { url, projects: ["site"], team: null })).toMatchObject({
    projects: ["site", "web"],
    team: "web",
  });
  expect(addRemote(store, { url, projects: ["ops"], team: "ops" })).toMatchObject({ projects: ["ops"], team: "ops" });
});

test("while all projects are followed, one alone cannot be unfollowed", () => {
  const store = temporaryStore();
  follow(store, "web");
  follow(store, null);
  expect(() => unfollow(store, "web")).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
});

test("a team of another database with the same name has members of its own", async () => {
  const [one, other] = [await emptyDatabase(), await emptyDatabase()];
  const team = `twin_${process.pid}`;
  const role = `of_${team}`;
  await run(one, `CREATE ROLE ${role} LOGIN`);
  onTestFinished(() => run(one, `DROP ROLE ${role}`).then(() => {}));
  for (const url of [one, other]) await initHub(await openedConnection(url), team);
  await grantTeam(await openedConnection(one), role, team, "write");
  await expect((await openedConnection(asRole(one, role))).transaction(async () => "in")).resolves.toBe("in");
  const outside = await openedConnection(asRole(other, role));
  await expect(outside.transaction(async () => "in")).rejects.toMatchObject({ code: "HUB_REFUSED" });
});
