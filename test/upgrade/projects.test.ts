import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { expect, test, vi } from "vitest";
import { type MessageInput, openStore, type Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { slow } from "../support/effort.ts";
import { allRows, inDatabase } from "../support/rows.ts";
import { talk } from "../support/said.ts";
import { watchingStatements } from "../support/statements.ts";
import { openedStore, temporaryFolder } from "../support/temporary-store.ts";

// Up to format 22, a project was the name of a folder.

const SETTINGS = { hotSize: 3, overlap: 1, evictBatch: 4, openClustersMax: 2, maxThemes: 3 };
const NOW = 1_700_000_000_000;
const CHILD = fileURLToPath(new URL("../support/opening-and-dying-child.ts", import.meta.url));

/** A folder with repositories, and a store of format 22 with sessions of agents that worked in them. */
async function oldStore(): Promise<{ path: string; home: string }> {
  const home = realpathSync(temporaryFolder());
  vi.stubEnv("HOME", home);
  for (const name of ["work/shop", "client/shop"]) {
    for (const part of ["objects", "../.worktrees/fox", "../api"])
      mkdirSync(join(home, name, ".git", part), { recursive: true });
    writeFileSync(join(home, name, ".git", "HEAD"), "ref: refs/heads/main\n");
  }
  const path = join(home, "agent.db");
  const store = openStore(path, { clock: () => NOW });
  const said = (): MessageInput[] => talk(14).map((message) => ({ ...message, createdAt: NOW - 2 * 86_400_000 }));
  const imported = (id: string, folder: string, project: string): void => {
    const origin = {
      source: "claude-code",
      externalId: id,
      createdAtMs: NOW - 3 * 86_400_000,
      metadata: { cwd: folder },
    };
    internalsOf(store)
      .intake.session(origin, { ...SETTINGS, project })
      .append(said());
  };
  imported("work", join(home, "work", "shop"), "shop");
  imported("client", join(home, "client", "shop"), "shop");
  imported("fox", join(home, "work", "shop", ".worktrees", "fox"), "fox");
  imported("api", join(home, "work", "shop", "api"), "api");
  imported("gone", "/gone/lamp", "lamp");
  imported("gone-too", "/gone/lamp", "lamp");
  imported("windows", "C:\\Work\\Lamp", "Lamp");
  imported("given", join(home, "work", "shop"), "chosen by the user");
  for (const id of ["program", "other-program"]) store.session(id, { ...SETTINGS, project: "shop" }).append(said());
  store.session("none", SETTINGS).append({ role: "user", content: "Hello." });
  internalsOf(store).repositories.database.write("test", () =>
    internalsOf(store).repositories.settings.set("remote", {
      url: "postgres://hub/a",
      projects: ["lamp", "shop"],
      team: null,
    }),
  );
  store.session("work").rewind({ toSeq: 10 });
  store.session("lamp-2", { project: "lamp" });
  store.forget("lamp-2");
  await store.upkeep();
  store.close();
  inDatabase(path, (database) => {
    database.exec(
      "DROP TRIGGER messages_wake; DROP TRIGGER sessions_wake; DROP VIEW work; DROP TABLE actions; DROP TABLE awake_sessions; DROP INDEX clusters_unassigned; " +
        "DROP VIEW usage; DELETE FROM __drizzle_migrations WHERE id > 22",
    );
    database.pragma("user_version = 22");
  });
  return { path, home };
}

const projectsOf = (store: Store) =>
  Object.fromEntries(
    store.query("SELECT id, project FROM sessions ORDER BY id").map(({ id, project }) => [id, project]),
  );

test("sessions get the projects of their folders, and keep what is not told by one", async () => {
  const { path, home } = await oldStore();
  const store = openedStore(path);
  const [shop, client] = [join(home, "work", "shop"), join(home, "client", "shop")];
  const { work, client: ofClient, program, ...others } = projectsOf(store);
  expect([work, ofClient, program]).toEqual([shop, client, "shop"]);
  const branch = Object.keys(others).filter((id) => id.length > 20);
  expect(branch).toHaveLength(1);
  expect(others).toEqual({
    [branch[0]!]: shop,
    fox: shop,
    api: shop,
    gone: "/gone/lamp",
    "gone-too": "/gone/lamp",
    windows: "c:\\work\\lamp",
    given: "chosen by the user",
    "other-program": "shop",
    none: null,
  });
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
});

test("handles lead to the same messages, and no subject joins two projects", async () => {
  const { path } = await oldStore();
  const expanded = (store: Store, handle: string) => store.expand(handle).members.map(({ id }) => id);
  const handles = inDatabase(path, (database) => {
    const position = database.prepare("SELECT max(id) FROM unions").pluck().get();
    return database
      .prepare<[], [string, number]>(
        `SELECT 'cluster', root_id FROM clusters UNION SELECT 'theme', root_id FROM themes
         UNION SELECT 'subject', subject_parent_id FROM clusters WHERE subject_parent_id IS NOT NULL`,
      )
      .raw()
      .all()
      .map(([level, root]) => `${level}:${root}@${position}`);
  });
  const mixed = `SELECT count(DISTINCT s.project) AS projects FROM clusters c JOIN sessions s ON s.id = c.session_id
    WHERE c.subject_parent_id IS NOT NULL GROUP BY c.subject_parent_id HAVING projects > 1`;
  expect(handles.filter((handle) => handle.startsWith("subject")).length).toBeGreaterThan(0);
  const store = openedStore(path, { clock: () => NOW });
  const after = handles.map((handle) => expanded(store, handle));
  expect(after.every((members) => members.length > 0)).toBe(true);
  await store.upkeep();
  expect(store.query(mixed)).toEqual([]);
  expect(handles.map((handle) => expanded(store, handle))).toEqual(after);
  for (const { project } of store.projects()) {
    for (const { sessions } of store.subjects({ project })) {
      for (const { sessionId } of sessions) expect(store.resume(sessionId).project).toBe(project);
    }
  }
  expect(store.subjects({ project: "/gone/lamp" }).length).toBeGreaterThan(0); // a name that was one project's keeps its subjects
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("what was shared with a team by a name stays shared if the name was one folder's, and nothing else is", async () => {
  const { path } = await oldStore();
  const { settings } = internalsOf(openedStore(path)).repositories;
  expect(settings.get("remote")).toMatchObject({ projects: ["/gone/lamp", "shop"] });
  expect(settings.get("projects")).toMatchObject({ onHub: [["/gone/lamp", "lamp"]] });
});

/**
 * Goal: a process that is killed while it gives sessions their projects leaves all of them as they were, and the next one does it.
 * Method: kill it before some statements; compare the projects with those before, and all rows after the next opening with those of an opening
 * that nobody killed.
 */
slow(test)("a kill at any statement leaves nothing half done, and the next opening completes it", async () => {
  const { path, home } = await oldStore();
  const copy = (name: string): string => {
    const target = join(home, name);
    copyFileSync(path, target);
    return target;
  };
  const whole = copy("whole.db");
  const projectsIn = (file: string): unknown[] =>
    inDatabase(file, (database) =>
      database.prepare("SELECT project FROM sessions WHERE id IN ('work', 'fox', 'gone') ORDER BY id").pluck().all(),
    );
  const before = projectsIn(whole);
  expect(before).toEqual(["fox", "lamp", "shop"]);
  let commit = 0; // the last statement before which another process sees the names
  await watchingStatements(
    (number) => {
      if (isDeepStrictEqual(projectsIn(whole), before)) commit = number;
    },
    () => openStore(whole, { clock: () => NOW }).close(),
  );
  const after = allRows(whole);
  expect(commit).toBeGreaterThan(20);
  for (const number of [2, 3, Math.ceil(commit / 3), Math.ceil(commit / 2), commit]) {
    const file = copy(`${number}.db`);
    const { signal } = spawnSync(process.execPath, ["--import", "tsx", CHILD, file, String(number)], {
      stdio: "ignore",
    });
    expect(signal).toBe("SIGKILL");
    expect(projectsIn(file)).toEqual(before);
    openStore(file, { clock: () => NOW }).close();
    expect(allRows(file)).toEqual(after);
  }
});
