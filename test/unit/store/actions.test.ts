import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importRows } from "../../../src/imports/import-rows.ts";
import type { PartInput, Session, Store } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { acts, edits, fails, runs } from "../../support/acts.ts";
import { processorMsSince } from "../../support/processor-time.ts";
import { inDatabase, inSealed } from "../../support/rows.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryFolder, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const WORK = "SELECT session_id, kind, target, outcome, error FROM work ORDER BY message_id";

function worked(session: Session): void {
  session.append([
    user("Please mend the lease."),
    ...edits("/srv/web/src/lease.ts", "The lease never ends, so I bound it."),
    ...fails("npm test", "AssertionError: the lease has not ended"),
    ...runs("npm test", "12 passed"),
  ]);
}

function move(from: Store, to: Store): void {
  const path = join(temporaryFolder(), "moved.rows");
  writeFileSync(path, [...from.export({ rows: true, ownIds: true })].map((line) => `${line}\n`).join(""));
  importRows(to, path);
}

/** A closed store whose session has worked, all of it noted. */
async function notedStore(): Promise<string> {
  const path = temporaryPath();
  const store = openedStore(path);
  worked(store.session("s", { project: "/srv/web" }));
  await store.upkeep();
  store.close();
  return path;
}

const ROWS = [
  { kind: "edit", target: "src/lease.ts", outcome: "ok", error: null },
  { kind: "run", target: "npm test", outcome: "failed", error: "AssertionError: the lease has not ended" },
  { kind: "run", target: "npm test", outcome: "ok", error: null },
];

async function workOf(store: Store): Promise<unknown[]> {
  await store.upkeep();
  return store.query(WORK).map(({ session_id: _, ...row }) => row);
}

test("upkeep notes what tool calls did, with paths within the project", async () => {
  const store = temporaryStore();
  worked(store.session("s", { project: "/srv/web" }));
  expect(await workOf(store)).toEqual(ROWS);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a result that comes later completes its action", async () => {
  const store = temporaryStore();
  const [call, result] = runs("make", "all made");
  store.session("s").append(call!);
  expect(await workOf(store)).toMatchObject([{ target: "make", outcome: "unknown" }]);
  store.session("s").append(result!);
  expect(await workOf(store)).toMatchObject([{ target: "make", outcome: "ok" }]);
});

test("what is forgotten or taken back did nothing, and a fork does not repeat what it shares", async () => {
  const store = temporaryStore();
  const session = store.session("s", { project: "/srv/web" });
  worked(session);
  await store.upkeep();
  const fork = session.fork({ id: "f" });
  fork.append(runs("npm run lint"));
  expect(await workOf(store)).toHaveLength(4);
  store.forget("f");
  expect(await workOf(store)).toEqual(ROWS);

  session.rewind({ toSeq: 2 });
  expect(await workOf(store)).toEqual(ROWS.slice(0, 1));
  session.undo();
  expect(await workOf(store)).toEqual(ROWS);

  const failed = session.messages().find(({ text }) => text.includes("AssertionError"))!;
  store.forget("s", { messageIds: [failed.id] });
  expect(await workOf(store)).toEqual([ROWS[0], ROWS[2]]);
  expect(store.query("SELECT * FROM actions WHERE error IS NOT NULL")).toEqual([]);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("sessions that come from another store are noted, also with ids below those that were read", async () => {
  const home = temporaryStore();
  worked(home.session("s", { project: "/srv/web" }));
  const other = temporaryStore();
  move(home, other);
  worked(other.session("own", { project: "/srv/web" }));
  await other.upkeep();
  home.session("s").append(runs("npm run lint"));
  move(home, other);
  const targets = (await workOf(other)).map((row) => (row as { target: string }).target);
  expect(targets.filter((target) => target === "npm run lint")).toHaveLength(1);
  expect(targets).toHaveLength(7);
  expect(other.verify()).toMatchObject({ ok: true, problems: [] });
});

test("verify finds wrong and missing rows, and makes them again", async () => {
  const path = await notedStore();
  for (const damage of [
    "UPDATE actions SET target = 'rm -rf /' WHERE ordinal = 0",
    "DELETE FROM actions WHERE outcome = 'failed'",
    "INSERT INTO actions (message_id, ordinal, part, kind, name, target, outcome, checksum) SELECT min(id), 0, 0, 'run', 'x', 'x', 'ok', -1 FROM messages",
  ]) {
    inDatabase(path, (database) => database.exec(damage));
    const damaged = openedStore(path);
    expect(damaged.verify().problems, damage).toMatchObject([{ sessionId: "s", rebuildable: true }]);
    expect(damaged.verify({ rebuild: true }), damage).toMatchObject({ ok: true });
    expect(await workOf(damaged), damage).toEqual(ROWS);
    damaged.close();
  }
});

test("a store of before is read by upkeep, and answers meanwhile come from its newest messages", async () => {
  const path = await notedStore();
  inDatabase(path, (database) => {
    database.exec("DELETE FROM actions; DELETE FROM store_settings WHERE name = 'noted_to'");
  });
  const reader = openedStore(path, { readonly: true });
  expect(reader.query(WORK)).toEqual([]);
  expect(reader.work.file("lease.ts")).toMatchObject([{ sessionId: "s", changeCount: 1 }]);
  expect(reader.work.ways("npm test")).toMatchObject([{ command: "npm test", okCount: 1, failedCount: 1 }]);
  reader.close();
  const again = openedStore(path);
  expect(await workOf(again)).toEqual(ROWS);
});

test("rows that were made by older rules are made again", async () => {
  const path = await notedStore();
  inSealed(path, (database) => {
    database.exec("UPDATE actions SET outcome = 'unknown', error = NULL, checksum = -1");
    database.exec(
      "UPDATE store_settings SET value = json_set(value, '$.rules', -1), checksum = -1 WHERE name = 'noted_to'",
    );
  });
  const later = openedStore(path);
  expect(later.verify()).toMatchObject({ ok: true });
  expect(await workOf(later)).toEqual(ROWS);
  expect(later.verify()).toMatchObject({ ok: true });
});

test("nothing is left to read after the newest message was forgotten", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append([user("Make it."), ...runs("make", "made"), user("Forget this.")]);
  await store.upkeep();
  session.append(user("And this."));
  store.forget("s", { messageIds: [session.messages({ last: 1 })[0]!.id] });
  await store.upkeep();
  const { actions } = internalsOf(store).repositories;
  expect(actions.isBehind()).toBe(false);
});

test("a step of many calls is read once", async () => {
  const store = temporaryStore();
  const calls = Array.from({ length: 1_500 }, (_, index) => runs(`make ${index}`, "made"));
  const parts = calls.flatMap(([call]) => call!.parts as PartInput[]);
  const from = process.cpuUsage();
  store.session("s").append([{ role: "assistant", parts }, ...calls.map(([, result]) => result!)]);
  await store.upkeep();
  expect(store.query("SELECT count(*) AS count FROM actions WHERE outcome = 'ok'")).toEqual([{ count: 1_500 }]);
  expect(processorMsSince(from)).toBeLessThan(8_000);
});

test("a call of an invented tool and a part without arguments are no harm", async () => {
  const store = temporaryStore();
  store
    .session("s")
    .append([...acts("frobnicate", {}), ...acts("Bash", { command: "" }), ...acts("Edit", { file_path: 7 })]);
  expect(await workOf(store)).toMatchObject([{ kind: "run" }, { kind: "run" }, { kind: "run" }]);
  expect(store.verify()).toMatchObject({ ok: true });
});
