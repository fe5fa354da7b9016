import fc from "fast-check";
import { beforeAll, expect } from "vitest";
import { grantTeam, initHub, upgradeHub } from "../../src/hub/administration.ts";
import type { Hub } from "../../src/hub/index.ts";
import type { Embedder, MessageInput, Store } from "../../src/index.ts";
import { encodeVector } from "../../src/vector/codec.ts";
import { runs, seenIn } from "../support/effort.ts";
import {
  asRole,
  emptyDatabase,
  grantedTo,
  hubDatabase,
  openedConnection,
  openedHub,
  run,
  testOfVectors,
} from "../support/hub.ts";
import { changed, expectSameAnswer } from "../support/hub-answers.ts";
import { letterEmbedder, remoteLetters, renamedEmbedder } from "../support/other-embedders.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const url = await hubDatabase();
const WRITER = `thinker_${process.pid}`;

beforeAll(async () => {
  await run(url, `CREATE ROLE ${WRITER} LOGIN`);
  await grantedTo(url, WRITER, `meaning_${process.pid}`, "write");
});

const WORDS =
  "lock locked unlock locker region regional deploy deployed tower towers glass glassy session sessions".split(" ");
const QUERIES = ["unlocking", "the region of the towers", "redeployment", "glass session"];
const said = fc.record({
  role: fc.constantFrom("user" as const, "assistant" as const),
  content: fc.array(fc.constantFrom(...WORDS), { minLength: 2, maxLength: 8 }).map((some) => some.join(" ")),
});
const session = fc.constantFrom("a", "b");
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("say" as const),
      session,
      messages: fc.array(said, { minLength: 10, maxLength: 60, size: "max" }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("rewind" as const), session, count: fc.integer({ min: 1, max: 30 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("forgetMessage" as const), session, seq: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("forgetSession" as const), session: fc.constant("b") }) },
);

/**
 * Goal: a search by meaning gives on the hub what it gives in the store, whatever was said, rewound, forgotten and embedded anew.
 * Method: apply random steps to a store, push after each, and compare the hits of both. Each message of the path must be
 * in one cluster or turn on the hub.
 */
testOfVectors("a search of the hub gives the order and the scores of the store", async () => {
  const hub = await openedHub(asRole(url, WRITER));
  let [projectCount, hitCount] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8, size: "max" }), async (steps) => {
      const project = `p${projectCount++}`;
      const store = temporaryStore({ embedder: letterEmbedder });
      store.session("a", { project }).append({ role: "user", content: "lock" });
      for (const done of steps) {
        if (done.kind === "say") store.session(done.session, { project }).append(done.messages as MessageInput[]);
        else changed(store, done);
        await hub.push(store, { projects: [project] });
        expect(await clustered(project)).toEqual(onPath(store));
        hitCount += await compare(store, hub, project, [QUERIES[hitCount % QUERIES.length]!]);
      }
      await store.reembed({ embedder: store.stats().embedderId === "letters-96" ? semanticHashing : letterEmbedder });
      await hub.push(store, { projects: [project] });
      await hub.keep();
      expect(await clustered(project)).toEqual(onPath(store));
      hitCount += await compare(store, hub, project);
    }),
    { numRuns: runs(3) },
  );
  expect(hitCount).toBeGreaterThan(seenIn(50));
});

testOfVectors(
  "vectors of different embedders stand beside each other, and each asker compares those of its own",
  async () => {
    const hub = await openedHub(asRole(url, WRITER));
    const remote = remoteLetters();
    const project = "mixed";
    const stores = [letterEmbedder, semanticHashing, { ...letterEmbedder, id: "letters-2" }, remote].map(
      (embedder, number) => {
        const store = temporaryStore({ embedder });
        store.session(`own-${number}`, { project }).append([
          { role: "user", content: "unlocked gates of the garden" },
          { role: "assistant", content: "the kettle has boiled" },
        ]);
        return store;
      },
    );
    await stores[3]!.upkeep({ only: "vectors" });
    for (const store of stores) await hub.push(store, { projects: [project] });
    const embedders = await run<{ embedder_id: string; dimension: number }>(
      url,
      "SELECT DISTINCT embedder_id, dimension FROM coppice.clusters c JOIN coppice.places p USING (place) WHERE project = 'mixed' ORDER BY 1",
    );
    expect(embedders).toEqual([
      { embedder_id: "letters-2", dimension: 96 },
      { embedder_id: "letters-96", dimension: 96 },
      { embedder_id: "remote-letters-96", dimension: 96 },
      { embedder_id: "renamed-384", dimension: 384 },
    ]);
    const before = remote.requests.length;
    for (const [number, store] of stores.entries()) {
      // No message has this word.
      const hits = await hub.recall("locker", { project, store });
      expect(new Set(hits.map(({ sessionId }) => sessionId))).toEqual(new Set([`own-${number}`]));
    }
    expect(remote.requests.slice(before).map(({ texts, task }) => [texts, task])).toEqual([[["locker"], "query"]]);
  },
);

testOfVectors("a pulled session has its vectors, and what the hub keeps no longer leaves no clusters", async () => {
  const hub = await openedHub(asRole(url, WRITER));
  const remote = remoteLetters();
  const store = temporaryStore({ embedder: remote });
  const project = "moved";
  store.session("moved", { project }).append([
    { role: "user", content: "unlocked" },
    { role: "assistant", content: "towers" },
  ]);
  await store.upkeep({ only: "vectors" });
  await hub.push(store, { projects: [project] });
  const other = temporaryStore({ embedder: remoteLetters(() => expect.unreachable()) });
  await hub.pull(other, "moved");
  const vectors = "SELECT id, embedding FROM messages ORDER BY id";
  expect(other.query(vectors)).toEqual(store.query(vectors));
  expect(await clusterCount(project)).toBeGreaterThan(0);
  await run(url, "UPDATE coppice.places SET retention_days = 1 WHERE project = 'moved'");
  await run(url, "UPDATE coppice.sessions SET pushed_at = now() - interval '2 days' WHERE session_id = 'moved'");
  expect((await hub.keep()).expiredCount).toBe(1);
  expect(await clusterCount(project)).toBe(0);
});

testOfVectors("a vector that is longer than those of stores counts for nothing", async () => {
  const project = "long";
  const hub = await openedHub(asRole(url, WRITER));
  const store = temporaryStore({ embedder: letterEmbedder });
  store.session("s", { project }).append([
    { role: "user", content: "unlocked" },
    { role: "assistant", content: "something else" },
  ]);
  await hub.push(store, { projects: [project] });
  const found = async () => (await hub.recall("locker", { project, store })).map(({ text }) => text);
  expect((await found())[0]).toBe("unlocked");
  for (const value of [1e18, 50, Number.NaN, Number.POSITIVE_INFINITY]) {
    const embedding = encodeVector(new Float32Array(letterEmbedder.dimension).fill(value));
    await run(
      url,
      `UPDATE coppice.messages m SET embedding = $1 FROM coppice.places p
       WHERE p.place = m.place AND p.project = $2 AND m.seq = 1`,
      [embedding, project],
    );
    expect((await found())[0], String(value)).toBe("unlocked");
  }
});

testOfVectors(
  "vectors with more dimensions than the server can compare go to the hub, and searches go by words",
  async () => {
    const dimension = 16_001;
    const embed = (text: string): Float32Array | undefined => {
      const short = letterEmbedder.embed(text);
      return short && new Float32Array(dimension).map((_, index) => short[index] ?? 0);
    };
    const project = "wide";
    const hub = await openedHub(asRole(url, WRITER));
    const store = temporaryStore({
      embedder: { ...letterEmbedder, id: "wide", dimension, embed },
    });
    store.session("s", { project }).append({ role: "user", content: "the harbor is open" });
    expect(await hub.push(store, { projects: [project] })).toMatchObject({ sessionCount: 1, messageCount: 1 });
    expect(await hub.recall("harbor", { project, store })).toHaveLength(1);
  },
);

testOfVectors("members compare by meaning wherever pgvector is", async () => {
  const other = await emptyDatabase();
  const user = new URL(other).username;
  await run(other, `CREATE SCHEMA "${user}"`); // the first place for the extensions of this user
  const connection = await openedConnection(other);
  expect(await initHub(connection)).toMatchObject({ hasPgvector: true });
  await grantTeam(connection, WRITER, `meaning_${process.pid}`, "write");
  const hub = await openedHub(asRole(other, WRITER));
  const store = temporaryStore({ embedder: letterEmbedder });
  store.session("s", { project: "web" }).append({ role: "user", content: "unlocked" });
  await hub.push(store, { projects: ["web"] });
  expect(await hub.recall("locker", { store })).toHaveLength(1);
});

testOfVectors(
  "a hub without pgvector goes on by words, and one that gets it compares by meaning after an upgrade",
  async () => {
    const late = await emptyDatabase();
    const connection = await openedConnection(late);
    await initHub(connection);
    await grantTeam(connection, new URL(late).username, "test", "write");
    await run(late, "DROP EXTENSION vector CASCADE");
    const hub = await openedHub(late);
    const store = temporaryStore({ embedder: letterEmbedder });
    const project = "late";
    store.session("s", { project }).append([
      { role: "user", content: "unlocked" },
      { role: "assistant", content: "deployed" },
    ]);
    await hub.push(store, { projects: [project] });
    const byWords = async () => (await hub.recall("locker", { project, store })).map(({ text }) => text);
    expect(await byWords()).toEqual([]);
    expect(await upgradeHub(connection)).toMatchObject({ hasPgvector: true });
    expect(await byWords()).toEqual([]); // nothing was pushed since
    expect((await hub.push(store, { projects: [project] })).sessionCount).toBe(1);
    expect(await compare(store, hub, project)).toBeGreaterThan(0);
    expect((await byWords())[0]).toBe("unlocked");
    expect((await hub.push(store, { projects: [project] })).sessionCount).toBe(0);
  },
);

async function clustered(project: string): Promise<number[]> {
  const rows = await run<{ id: string }>(
    url,
    `SELECT unnest(c.members) AS id FROM coppice.clusters c JOIN coppice.places p USING (place)
     WHERE p.project = $1 ORDER BY 1`,
    [project],
  );
  return rows.map(({ id }) => Number(id));
}

function onPath(store: Store): number[] {
  return store
    .query("SELECT id FROM messages WHERE session_id IN ('a', 'b') AND embedding IS NOT NULL ORDER BY id")
    .map(({ id }) => id as number);
}

async function clusterCount(project: string): Promise<number> {
  const [row] = await run<{ count: string }>(
    url,
    "SELECT count(*) FROM coppice.clusters c JOIN coppice.places p USING (place) WHERE p.project = $1",
    [project],
  );
  return Number(row!.count);
}

const semanticHashing: Embedder = { ...renamedEmbedder, isLexical: false };

async function compare(store: Store, hub: Hub, project: string, queries = QUERIES): Promise<number> {
  await store.upkeep();
  let count = 0;
  for (const query of queries) count += await expectSameAnswer({ hub, store }, query, { project }, { store });
  return count;
}
