import { expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { projectMeant, projectNamer } from "../../../src/session/aids/project-meant.ts";
import { sessionIds } from "../../../src/session/aids/session-ids.ts";
import { visibleSession, writableSession } from "../../../src/session/aids/visible-session.ts";
import { WRITE_TERMS } from "../../../src/session/moving/moved-rows.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { sessionRows } from "../../../src/store/moves/read-rows.ts";
import { writeSession } from "../../../src/store/moves/write-rows.ts";
import { columns } from "../../../src/store/sql/statement.ts";
import { TABLES } from "../../../src/store/sql/tables.ts";
import { talk, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const [WORK, CLIENT] = ["/work/shop", "/client/shop"];
const SETTINGS = { hotSize: 3, overlap: 1, evictBatch: 4, maxThemes: 3, openClustersMax: 2 };

function shops(): Store {
  const store = temporaryStore();
  store.session("work", { project: WORK }).append(user("Which payment gateway do we use?"));
  store.session("client", { project: CLIENT }).append(user("The client's payment gateway has a margin of 31 percent."));
  return store;
}

test("a project is listed with a name that no other has", () => {
  const store = shops();
  expect(store.projects()).toEqual([
    { project: CLIENT, name: "shop (client)", sessionCount: 1 },
    { project: WORK, name: "shop (work)", sessionCount: 1 },
  ]);
  store.session("notes", { project: "shop" });
  expect(store.projects().map(({ name }) => name)).toEqual(["shop", "shop (client)", "shop (work)"]);
  expect(["/work/shop", "/none", null].map(projectNamer(store))).toEqual(["shop (work)", "/none", ""]);
});

test("what a person types is a project, its name, a path, or a folder's name if only one has it", () => {
  const store = shops();
  store.session("api", { project: "/work/api" });
  store.renameProject("/work/api", "service");
  const meant = (typed: string): string => projectMeant(store, typed);
  expect([WORK, "shop (work)", "/work/shop/", "service", "api", "web", "/none/.worktrees/x"].map(meant)).toEqual([
    ...[WORK, WORK, WORK, "/work/api", "/work/api", "web", "/none"],
  ]);
  expect(() => meant("shop")).toThrow(
    'Expected project to be one of "shop (client)", "shop (work)", because 2 projects are called so, got "shop".',
  );
  store.session("notes", { project: "shop" });
  expect(meant("shop")).toBe("shop"); // a name that a program gave is a project of its own
});

test("nothing is found in a project by another's name", async () => {
  const store = shops();
  const found = async (project: string) =>
    (await store.recall("payment gateway", { project })).map((hit) => hit.sessionId);
  expect(await Promise.all([WORK, CLIENT, "shop"].map(found))).toEqual([["work"], ["client"], []]);
  expect(store.recap({ project: WORK, sinceMs: 0 }).topics.flatMap(({ sessionIds }) => sessionIds)).toEqual(["work"]);
  const rendered = store.resume("work").render({ query: "payment gateway margin", scope: "project" });
  expect(JSON.stringify(rendered.messages)).not.toContain("31 percent");
});

test("a renamed project keeps its sessions, and no two have one name", () => {
  const store = shops();
  store.renameProject(WORK, "store");
  expect(store.projects().map(({ name }) => name)).toEqual(["shop", "store"]);
  expect(store.sessions({ project: WORK })).toHaveLength(1);
  store.renameProject(WORK, "store"); // again
  for (const [project, name] of [
    [CLIENT, "store"],
    [WORK, "shop"],
    [WORK, "/tmp/shop"],
    [WORK, ""],
    ["web", "site"],
  ]) {
    expect(() => store.renameProject(project!, name!), `${project} ${name}`).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  }
  expect(store.projects().map(({ name }) => name)).toEqual(["shop", "store"]);
});

test("a name that is taken leads to a merge, which takes the name, too", () => {
  const store = shops();
  store.renameProject(WORK, "store");
  for (const taken of ["store", WORK]) {
    expect(() => store.renameProject(CLIENT, taken), taken).toThrow(
      expect.objectContaining({ hint: expect.stringContaining("{ merge: true }") }),
    );
  }
  store.renameProject(CLIENT, "store", { merge: true });
  expect(store.projects()).toMatchObject([{ project: WORK, sessionCount: 2 }]);
});

test("of two merged projects, all sessions are in one, also later ones, and options may name either", () => {
  const store = shops();
  store.session("older", { project: "/old/shop" });
  store.renameProject("/old/shop", CLIENT, { merge: true });
  store.renameProject(CLIENT, WORK, { merge: true });
  expect(store.projects()).toEqual([{ project: WORK, name: "shop", sessionCount: 3 }]);
  for (const project of [CLIENT, WORK, "/old/shop"]) {
    expect(store.sessions({ project }), project).toHaveLength(3);
    expect(sessionIds(store, { project }), project).toHaveLength(3);
    expect(visibleSession(store, "work", project).id).toBe("work");
    expect(writableSession(store, "older", {}, project).project).toBe(WORK);
    expect(store.session("client", { project }).project).toBe(WORK); // a program goes on as before
    expect(store.session(`new of ${project}`, { project }).project).toBe(WORK);
    store.forget(`new of ${project}`);
  }
  for (const [from, into] of [
    [CLIENT, WORK],
    [WORK, "/old/shop"],
    ["web", "web"],
    ["mistyped", WORK],
    [WORK, "mistyped"],
  ]) {
    expect(() => store.renameProject(from!, into!, { merge: true })).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  }
  expect(store.sessions({ project: WORK })).toHaveLength(3);
});

test("names like those of objects are names", () => {
  const store = temporaryStore();
  for (const project of ["constructor", "__proto__", "toString"]) {
    expect(store.session(project, { project }).project).toBe(project);
    expect(store.sessions({ project })).toHaveLength(1);
  }
});

test("subjects, branches and forks follow a merged project", async () => {
  let now = 1_700_000_000_000;
  const store = temporaryStore({ clock: () => now });
  for (const [id, project] of [
    ["a", WORK],
    ["b", WORK],
    ["c", CLIENT],
    ["d", CLIENT],
  ]) {
    store.session(id, { ...SETTINGS, project: project! }).append(talk(14));
  }
  store.resume("a").rewind({ toSeq: 10 });
  store.resume("a").fork({ id: "a-fork" });
  now += 3 * 86_400_000;
  await store.upkeep();
  const sessionCountMax = () => Math.max(...store.subjects({ limit: 100 }).map(({ sessionCount }) => sessionCount));
  const before = sessionCountMax();
  store.renameProject(CLIENT, WORK, { merge: true });
  expect(store.query("SELECT DISTINCT project FROM sessions")).toEqual([{ project: WORK }]);
  await store.upkeep();
  expect(sessionCountMax()).toBeGreaterThan(before);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
});

test("a merged project is shared with a team only if the one that stays is", () => {
  const store = shops();
  const { settings, database } = internalsOf(store).repositories;
  database.write("test", () => settings.set("remote", { url: "postgres://hub/a", projects: [CLIENT], team: null }));
  store.renameProject(CLIENT, WORK, { merge: true });
  expect(settings.get("remote")).toEqual({ url: "postgres://hub/a", projects: [], team: null });
});

test("what moves to another store has the name of its project, and brings no folder", () => {
  const [store, other] = [shops(), temporaryStore()];
  expect([...store.export({ rows: true, sessions: ["work"] })].join("\n")).not.toContain(WORK);
  expect([...store.export({ sessions: ["work"] })][0]).toMatchObject({ project: "shop" });
  const { repositories } = internalsOf(store);
  const facts = repositories.database.read(() => [...sessionRows(repositories, "work", null)]);
  const write = (into: Store, rows = facts) => writeSession(internalsOf(into).repositories, rows, WRITE_TERMS);
  expect(write(other)).toMatchObject({ outcome: "new" });
  expect(other.resume("work").project).toBe("shop");
  expect(write(other)).toMatchObject({ outcome: "known" });
  expect(write(store)).toMatchObject({ outcome: "known" }); // where its project is a folder
  expect(store.resume("work").project).toBe(WORK);
  store.resume("work").append(user("And the client's?"));
  const longer = repositories.database.read(() => [...sessionRows(repositories, "work", null)]);
  other.renameProject("shop", "/here/shop", { merge: true });
  expect(write(other, longer)).toMatchObject({ outcome: "continued", newCount: 1 });
  expect(other.resume("work").project).toBe("/here/shop");
  // Rows of somebody else may name a folder. It is not one of this machine.
  for (const fact of facts) {
    if (fact.table === "sessions")
      columns(TABLES.sessions).change(fact.row as Record<string, unknown>, { project: WORK });
  }
  const hostile = temporaryStore();
  expect(write(hostile)).toMatchObject({ outcome: "new" });
  expect(hostile.resume("work").project).toBe("shop");
});
