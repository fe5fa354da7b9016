import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { coordinateEmbedder } from "../../../scripts/bench/index-fuzz/store.ts";
import type { Finding, Session, Store } from "../../../src/index.ts";
import { inDatabase } from "../../support/rows.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryFolder } from "../../support/temporary-store.ts";

const OPTIONS = { embedder: coordinateEmbedder(2) };
/** Nothing is worth a summary, and every message is a settled cluster soon. */
const SETTINGS = { hotSize: 1, overlap: 0, openClustersMax: 1, maxThemes: 1, resolveTokensMin: 10_000_000 };

/** 1,102 messages that point all around: 1,100 settled clusters, an open one and a hot message. */
function filledSession(store: Store): Session {
  const session = store.session("s", SETTINGS);
  const messages = Array.from({ length: 1_102 }, (_, index) => {
    const angle = 2.4 * index;
    return user(`${Math.cos(angle).toFixed(6)} ${Math.sin(angle).toFixed(6)}`);
  });
  for (let from = 0; from < messages.length; from += 100) session.appendAll(messages.slice(from, from + 100));
  session.compact();
  return session;
}

function about(check: Finding["check"], store: Store): Finding {
  return store.doctor().find((finding) => finding.check === check)!;
}

describe("a store beside another", () => {
  test("keeps its messages, whatever the other writes and forgets", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "mary-ann");
    const other = openedStore(path, OPTIONS);
    other.session("o").append(user("my only copy"));
    other.close();
    const before = readFileSync(path);
    const mary = openedStore(join(folder, "mary"), OPTIONS);
    await mary.session("first").resolveDirty();
    await filledSession(mary).resolveDirty();
    expect(mary.forget("s").erased).toBe(true);
    mary.erase();
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(openedStore(path, OPTIONS).stats().messageCount).toBe(1);
  });
});

describe("a store that is opened by a link", () => {
  test("has its index where it is itself, so that forgetting by another path leaves nothing", async () => {
    const folder = temporaryFolder();
    for (const name of ["real", "link"]) mkdirSync(join(folder, name));
    const path = join(folder, "real", "b.db");
    const link = join(folder, "link", "b.db");
    openedStore(path, OPTIONS).close();
    symlinkSync(path, link);
    const linked = openedStore(link, OPTIONS);
    await filledSession(linked).resolveDirty();
    expect(readdirSync(join(folder, "link"))).toEqual(["b.db"]);
    expect(existsSync(`${path}-coppice-ann.hnsw`)).toBe(true);

    chmodSync(`${path}-coppice-ann.hnsw`, 0o644);
    expect(about("permissions", linked).text).toContain(`${path}-coppice-ann.hnsw may be used by others`);
    linked.close();
    const store = openedStore(path, OPTIONS);
    expect(store.forget("s").erased).toBe(true);
    expect(readdirSync(join(folder, "real")).filter((file) => file.includes("ann"))).toEqual([]);
  });
});

describe("with a damaged centroid", () => {
  test("other sessions go on, and the doctor says that, and all else", async () => {
    const store = openedStore(join(temporaryFolder(), "agent.db"), OPTIONS);
    filledSession(store);
    inDatabase(store.path, (database) =>
      database.exec("UPDATE clusters SET centroid_sum = 'no vector', checksum = -1 WHERE root_id = 5"),
    );
    const other = store.session("other");
    other.append(user("1 0"));
    await expect(other.resolveDirty()).resolves.toBeDefined();
    expect(about("integrity", store)).toMatchObject({ level: "ok" });
    expect(about("full-text", store)).toBeDefined();
    expect(about("index", store)).toMatchObject({
      level: "problem",
      text: expect.stringContaining("the centroid of cluster 5 is not a row of 2 4-byte numbers"),
      fix: expect.stringContaining("verify --rebuild"),
    });
  });
});
