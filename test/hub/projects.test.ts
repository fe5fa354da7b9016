import { expect } from "vitest";
import { headOf } from "../../src/hub/log.ts";
import { addRemote, namesOnHub, remoteOf } from "../../src/hub/remote.ts";
import type { Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { projectOnHub } from "../../src/store/changes/projects.ts";
import { hubWithStores, run, test } from "../support/hub.ts";
import { temporaryStore } from "../support/temporary-store.ts";

function storeOf(sessions: Readonly<Record<string, string>>): Store {
  const store = temporaryStore();
  for (const [id, project] of Object.entries(sessions)) {
    store.session(id, { project }).append({ role: "user", content: `said in ${id}` });
  }
  return store;
}

const placesOf = async (url: string) => {
  const sql = "SELECT session_id, project FROM coppice_test.sessions ORDER BY 1";
  return Object.fromEntries((await run(url, sql)).map(({ session_id, project }) => [session_id, project]));
};

test("the hub gets the names of projects and no folder, and two folders of one name are two places", async () => {
  const { url, hub } = await hubWithStores();
  const store = storeOf({ work: "/work/shop", client: "/client/shop", notes: "notes" });
  await hub.push(store, { projects: ["/work/shop", "/client/shop", "notes"] });
  expect(await placesOf(url)).toEqual({ work: "shop (work)", client: "shop (client)", notes: "notes" });
  const heads = await run(url, "SELECT head FROM coppice_test.sessions");
  expect(JSON.stringify(heads.map(({ head }) => headOf(head as Buffer)))).not.toMatch(/\/(work|client)/);
  // A name on the hub stays, whatever people call the project.
  store.renameProject("/work/shop", "store");
  const nothing = { sessionCount: 0, messageCount: 0, diverged: [], behind: [] };
  expect(await hub.push(store, { projects: ["/work/shop", "/client/shop"] })).toMatchObject(nothing);
  store.forget("work");
  await hub.push(store, { projects: ["/work/shop"] });
  expect((await hub.sessions()).map(({ sessionId }) => sessionId).sort()).toEqual(["client", "notes"]);
});

test("what was pushed by a name is not sent again when its project is a folder", async () => {
  const { hub } = await hubWithStores();
  const store = storeOf({ work: "shop" });
  expect(await hub.push(store, { projects: ["shop"] })).toMatchObject({ messageCount: 1 });
  store.renameProject("shop", "/work/shop", { merge: true });
  expect(await hub.push(store, { projects: ["/work/shop"] })).toMatchObject({ sessionCount: 0, messageCount: 0 });
  expect(await hub.sessions()).toHaveLength(1);
});

test("a pulled session is of the project that is shared under its name, else of one that is only the name", async () => {
  const { url, hub, home: stranger, away: colleague } = await hubWithStores();
  await hub.push(storeOf({ work: "/home/ada/work/shop" }), { projects: ["/home/ada/work/shop"] });
  await hub.pull(stranger, "work");
  expect(stranger.resume("work").project).toBe("shop");
  addRemote(colleague, { url, projects: ["/here/shop"], team: null });
  expect(namesOnHub(colleague).get("/here/shop")).toBe("shop");
  await hub.pull(colleague, "work");
  expect(colleague.resume("work").project).toBe("/here/shop");
  // Who shares it no more gets nothing more into it.
  colleague.renameProject("/here/shop", "/there/shop", { merge: true });
  expect(remoteOf(colleague)?.projects).toEqual([]);
  expect(projectOnHub(internalsOf(colleague).repositories, "shop")).toBe("shop");
  expect(await hub.pull(colleague, "work")).toMatchObject({ outcome: "known" });
  expect(colleague.resume("work").project).toBe("/there/shop");
});

test("folders in the metadata of a session stay here", async () => {
  const { url, hub, home } = await hubWithStores();
  const metadata = { cwd: "/home/ada/shop", more: { folders: ["C:\\work", "beside"] }, version: "1" };
  const session = internalsOf(home).intake.session(
    { source: "droid", externalId: "one", metadata },
    { project: "web" },
  );
  session.append({ role: "user", content: "said there" });
  await hub.push(home, { projects: ["web"] });
  const [row] = await run<{ head: Buffer }>(url, "SELECT head FROM coppice_test.sessions");
  expect(headOf(row!.head).metadata).toEqual({ more: { folders: ["beside"] }, version: "1" });
});
