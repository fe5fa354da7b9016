import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { coordinateEmbedder } from "../../../scripts/bench/index-fuzz/store.ts";
import { type Finding, openStore, type Session, type Store } from "../../../src/index.ts";
import { inDatabase, inSealed } from "../../support/rows.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryFolder, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const OPTIONS = { embedder: coordinateEmbedder(2) };
/** Nothing is worth a summary, and every message is a settled cluster soon. */
const SETTINGS = { hotSize: 1, overlap: 0, openClustersMax: 1, maxThemes: 1, resolveTokensMin: 10_000_000 };

/** Messages that point all around, so that each is a cluster of its own; the last is hot, the one before it open. */
function say(session: Session, count: number): void {
  const messages = Array.from({ length: count }, (_, index) => {
    const angle = 2.4 * index; // about the golden angle: no two are alike
    return user(`${Math.cos(angle).toFixed(6)} ${Math.sin(angle).toFixed(6)}`);
  });
  for (let from = 0; from < count; from += 100) session.append(messages.slice(from, from + 100));
  session.compact();
}

let grown: string;

/** A store with 1,100 settled clusters of one session, one of them about (1, 0), and a few of another. */
beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), "coppice-test-"));
  grown = join(folder, "agent.db");
  const store = openStore(grown, OPTIONS);
  say(store.session("s", SETTINGS), 1_102);
  say(store.session("other", SETTINGS), 12);
  store.close();
  return () => rmSync(folder, { recursive: true });
});

/** Such a store, and the two files of its index. */
function filled(path = temporaryPath()): { store: Store; session: Session; parts: string[] } {
  copyFileSync(grown, path);
  const store = openedStore(path, OPTIONS);
  return { store, session: store.resume("s"), parts: [`${path}-coppice-ann.hnsw`, `${path}-coppice-ann.json`] };
}

function about(check: Finding["check"], store: Store): Finding {
  return store.doctor().find((finding) => finding.check === check)!;
}

const indexFinding = (store: Store): Finding => about("index", store);

describe("after its summaries, resolveDirty", () => {
  test("writes the index, from which another process answers as the store does", async () => {
    const { store, session, parts } = filled();
    const before = store.nearestRoots([1, 0]);
    await session.resolveDirty();
    for (const part of parts) expect(statSync(part).mode & 0o777).toBe(0o600);
    expect(store.nearestRoots([1, 0])).toEqual(before);
    const reader = openedStore(store.path, { ...OPTIONS, readonly: true });
    expect(reader.nearestRoots([1, 0])).toEqual(before);
    expect(indexFinding(reader).text).toBe("The index holds 1,110 clusters; 2 clusters are compared one by one.");
  });

  test("stops when it is aborted, or the store closes", async () => {
    const { store, session } = filled();
    const controller = new AbortController();
    const resolving = session.resolveDirty({ signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(resolving).rejects.toThrow("enough");
    const closed = session.resolveDirty();
    store.close();
    await expect(closed).rejects.toMatchObject({ code: "STORE_CLOSED" });
    expect(existsSync(`${store.path}-coppice-ann.hnsw`)).toBe(false);
  });
});

describe("with an index", () => {
  test("forgetting a session leaves no vector of it beside the store", async () => {
    const { store, session, parts } = filled();
    await session.resolveDirty();
    expect(new Set(store.nearestRoots([1, 0], { k: 50 }).map(({ sessionId }) => sessionId))).toContain("s");
    expect(store.forget("s")).toMatchObject({ messageCount: 1_102, erased: true });
    for (const part of parts) expect(existsSync(part)).toBe(false);
    expect(new Set(store.nearestRoots([1, 0], { k: 50 }).map(({ sessionId }) => sessionId))).toEqual(
      new Set(["other"]),
    );
  });

  test("forgetting a message leaves the others, and the index is written anew without it", async () => {
    const { store, session, parts } = filled();
    await session.resolveDirty();
    const [first, second] = store.nearestRoots([1, 0], { k: 2, exact: true });
    const messageIds = store.expand(first!.root).members.map(({ id }) => id);
    expect(store.forget("s", { messageIds }).erased).toBe(true);
    for (const part of parts) expect(existsSync(part)).toBe(false);
    expect(store.nearestRoots([1, 0], { k: 1 })).toEqual([second]);
    await session.resolveDirty();
    for (const part of parts) expect(existsSync(part)).toBe(true);
    expect(openedStore(store.path, OPTIONS).nearestRoots([1, 0], { k: 1 })).toEqual([second]);
  });

  test("a rebuild of the store makes it stale, and changes no answer", async () => {
    const { store, session } = filled();
    await session.resolveDirty();
    const before = store.nearestRoots([0, 1]);
    inDatabase(store.path, (database) => database.exec("DELETE FROM clusters WHERE session_id = 'other'"));
    store.verify({ rebuild: true });
    expect(store.nearestRoots([0, 1])).toEqual(before);
    expect(indexFinding(store)).toMatchObject({
      level: "advice",
      text: expect.stringContaining("clusters were forgotten or rebuilt since"),
      fix: expect.stringContaining("resolveDirty"),
    });
    await session.resolveDirty();
    expect(indexFinding(store).level).toBe("ok");
    expect(store.nearestRoots([0, 1])).toEqual(before);
  });
});

describe("the doctor says of the index", () => {
  test("that there are too few clusters for one", () => {
    const store = temporaryStore(OPTIONS);
    expect(indexFinding(store)).toMatchObject({ level: "ok", text: "No cluster is there yet: too few for an index." });
    say(store.session("s", SETTINGS), 2);
    expect(indexFinding(store).text).toBe("1 cluster is compared one by one: too few for an index.");
  });

  test("that there is none yet", () => {
    const { store } = filled();
    const text = "There is no index file yet, so 1,112 clusters are compared one by one.";
    expect(indexFinding(store)).toMatchObject({ level: "advice", text });
  });

  test("that it is damaged", async () => {
    const { store, session, parts } = filled();
    await session.resolveDirty();
    truncateSync(parts[0]!, 50_000);
    const reader = openedStore(store.path, { ...OPTIONS, readonly: true });
    expect(indexFinding(reader).level).toBe("advice");
    expect(indexFinding(reader).text).toMatch(/^The index file is not used: it is damaged: its checksum is wrong\./);
    expect(reader.nearestRoots([1, 0])).toEqual(store.nearestRoots([1, 0], { exact: true }));
  });
});

describe("upkeep", () => {
  test("does the rest of what there is to do where a part fails, and resolveDirty gives its result all the same", async () => {
    const { store } = filled();
    const clock = new Error("no time");
    let isBroken = false;
    const failing = openedStore(store.path, {
      ...OPTIONS,
      clock: () => {
        if (isBroken) throw clock;
        return 0;
      },
    });
    isBroken = true;
    await expect(failing.upkeep()).rejects.toBe(clock);
    expect(
      store.query("SELECT count(*) AS n FROM clusters WHERE settled_at IS NOT NULL AND subject_parent_id IS NULL"),
    ).toEqual([{ n: 0 }]);
    expect(await failing.session("s").resolveDirty({ strategy: "full" })).toMatchObject({ failed: 0 });
  });

  test("runs once at a time in a store", async () => {
    const { store } = filled();
    const order: string[] = [];
    const first = store.upkeep().then(() => order.push("first"));
    const second = store.upkeep().then(() => order.push("second"));
    await Promise.all([second, first]);
    expect(order).toEqual(["first", "second"]);
  });
});

test("a store keeps its messages, whatever one beside it writes and forgets", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "mary-ann");
  const other = openedStore(path, OPTIONS);
  other.session("o").append(user("my only copy"));
  other.close();
  const before = readFileSync(path);
  const { store: mary, session } = filled(join(folder, "mary"));
  await session.resolveDirty();
  expect(mary.forget("s").erased).toBe(true);
  mary.forget([]);
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(openedStore(path, OPTIONS).stats().messageCount).toBe(1);
});

test("a store that is opened by a link has its index where it is itself, so that forgetting by another path leaves nothing", async () => {
  const folder = temporaryFolder();
  for (const name of ["real", "link"]) mkdirSync(join(folder, name));
  const path = join(folder, "real", "b.db");
  const { store, parts } = filled(path);
  store.close();
  symlinkSync(path, join(folder, "link", "b.db"));
  const linked = openedStore(join(folder, "link", "b.db"), OPTIONS);
  await linked.resume("s").resolveDirty();
  expect(readdirSync(join(folder, "link"))).toEqual(["b.db"]);
  expect(existsSync(parts[0]!)).toBe(true);
  chmodSync(parts[0]!, 0o644);
  expect(about("permissions", linked).text).toContain(`${parts[0]} may be used by others`);
  linked.close();
  expect(openedStore(path, OPTIONS).forget("s").erased).toBe(true);
  expect(readdirSync(dirname(path)).filter((file) => file.includes("ann"))).toEqual([]);
});

test("with a damaged centroid other sessions go on, and the doctor says that, and all else", async () => {
  const { store } = filled();
  inSealed(store.path, (database) =>
    database.exec("UPDATE clusters SET centroid_sum = 'no vector', checksum = -1 WHERE root_id = 5"),
  );
  const other = store.session("new");
  other.append(user("1 0"));
  await expect(other.resolveDirty()).resolves.toBeDefined();
  expect(about("integrity", store)).toMatchObject({ level: "ok" });
  expect(about("full-text", store)).toBeDefined();
  expect(indexFinding(store)).toMatchObject({
    level: "problem",
    text: expect.stringContaining("the centroid of cluster 5 is not a row of 2 4-byte numbers"),
    fix: expect.stringContaining("verify --rebuild"),
  });
});
