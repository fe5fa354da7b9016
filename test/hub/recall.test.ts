import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { grantTeam, initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { burySession } from "../../src/hub/forgetting.ts";
import { type Hub, openHub } from "../../src/hub/index.ts";
import type { SessionKey } from "../../src/hub/places.ts";
import { recallOnHub } from "../../src/hub/recall.ts";
import { BUCKETS, WordIndexReader } from "../../src/hub/word-index.ts";
import { type MessageInput, openStore, type Store } from "../../src/index.ts";
import { runs, seenIn } from "../support/effort.ts";
import { asRole, connected, openedHub, readyDatabase, run, testDatabase } from "../support/hub.ts";
import { openedHubOf } from "../support/hub-stores.ts";
import { talk } from "../support/said.ts";
import { inFolderAsync, temporaryStore } from "../support/temporary-store.ts";

const url = await testDatabase();
const [WRITER, STRANGER] = ["recaller", "onlooker"].map((name) => `${name}_${process.pid}`) as [string, string];

beforeAll(async () => {
  const hub = await HubConnection.to(url);
  await initHub(hub);
  for (const role of [WRITER, STRANGER]) await run(url, `CREATE ROLE ${role} LOGIN`);
  await grantTeam(hub, WRITER, `recall_${process.pid}`, "write");
  await grantTeam(hub, STRANGER, `nobody_${process.pid}`, "write");
  await hub.close();
});

const WORDS = "lock locks region deploy café src/fooBar.ts retry session セッション 404 tower lens glass the it".split(
  " ",
);
const SESSIONS = ["a", "b", "c"];
const words = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 8 }).map((some) => some.join(" "));
const said = fc.record(
  {
    role: fc.constantFrom("user" as const, "assistant" as const, "system" as const),
    content: words,
    name: fc.constantFrom("Ann", "Bo"),
  },
  { requiredKeys: ["role", "content"] },
);
const session = fc.constantFrom(...SESSIONS);

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("say" as const),
      session,
      messages: fc.array(said, { minLength: 1, maxLength: 12, size: "max" }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("rewind" as const), session, count: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("undo" as const), session }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("forgetMessage" as const), session, seq: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("keep" as const) }) },
);

/** What is said in another project of the store: it makes words common, known and long that are not so in the searched one. */
const ELSEWHERE = ["regoin regoin lock", "tower ".repeat(40), "deploi the session", "404 404 lens", "Ann"];

const QUERIES = [
  "lock region",
  '"the tower"',
  "regoin deploi",
  "when did Ann deploy the session?",
  "src/fooBar.ts 404 セッション",
];

/**
 * Goal: a search of the hub gives what a search of the store gives, whatever was said, rewound, taken back, forgotten, pushed and
 * merged before.
 * Method: apply random steps to a store, push after each, and compare the hits of both.
 */
test("a search of the hub gives the order and the scores of the store", async () => {
  const hub = await openHub(asRole(url, WRITER));
  let projectCount = 0;
  let [askedCount, hitCount, rewindCount, forgottenCount, mergedCount] = [0, 0, 0, 0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14, size: "max" }), async (steps) => {
      const project = `p${projectCount++}`;
      await inFolderAsync(async (folder) => {
        const store = openStore(join(folder, "local.db"));
        const elsewhere = store.session("elsewhere", { project: "another" });
        for (const done of steps) {
          elsewhere.appendAll(ELSEWHERE.map((content) => ({ role: "user", content })));
          if (done.kind === "keep") mergedCount += (await hub.keep()).mergedCount;
          else if (done.kind === "say") {
            store.session(done.session, { project }).appendAll(done.messages as MessageInput[]);
          } else if (changed(store, done)) {
            if (done.kind === "forgetMessage") forgottenCount += 1;
            else rewindCount += 1;
          } else continue;
          await hub.push(store, { projects: [project] });
          hitCount += await compare(store, hub, project, [QUERIES[askedCount++ % QUERIES.length]!]);
        }
        hitCount += await compare(store, hub, project, QUERIES);
        await hub.keep();
        hitCount += await compare(store, hub, project, QUERIES);
        store.close();
      });
    }),
    { numRuns: runs(8) },
  );
  await hub.close();
  expect(hitCount).toBeGreaterThan(seenIn(20));
  expect(rewindCount).toBeGreaterThan(seenIn(0));
  expect(forgottenCount).toBeGreaterThan(seenIn(0));
  expect(mergedCount).toBeGreaterThan(seenIn(0));
});

function changed(
  store: Store,
  done: { kind: "rewind" | "undo" | "forgetMessage"; session: string; seq?: number; count?: number },
): boolean {
  if (!store.sessionIds({ prefix: "" }).includes(done.session)) return false;
  const opened = store.resume(done.session);
  try {
    if (done.kind === "rewind") {
      const ids = store.query(
        `SELECT id FROM messages WHERE session_id = '${done.session}' ORDER BY seq DESC LIMIT ${done.count! + 1}`,
      );
      opened.rewind({ toMessageId: ids.at(-1)!.id as number });
    } else if (done.kind === "undo") opened.undo();
    else {
      const [row] = store.query(`SELECT id FROM messages WHERE session_id = '${done.session}' AND seq = ${done.seq}`);
      if (row === undefined) return false;
      store.forget(done.session, { messageIds: [row.id as number] });
    }
    return true;
  } catch {
    return false; // there is nothing to rewind or to undo
  }
}

async function compare(store: Store, hub: Hub, project: string, queries: readonly string[]): Promise<number> {
  store.verify({ rebuild: true });
  let count = 0;
  const [{ from, to }] = store.query(
    `SELECT coalesce(min(m.created_at_ms), 0) AS "from", coalesce(max(m.created_at_ms), 0) AS "to"
     FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.project = '${project}'`,
  ) as [{ from: number; to: number }];
  const middle = Math.floor((from + to) / 2);
  const filters = [
    { roles: ["assistant" as const] },
    { sinceMs: middle },
    { roles: ["user" as const, "system" as const], untilMs: middle },
    { by: "session" as const, near: { fromMs: from, toMs: middle } },
  ];
  for (const [index, query] of queries.entries()) {
    for (const filter of [{}, filters[index % filters.length]!]) {
      const asked = { project, limit: 30, explain: true, ...filter };
      const local = await store.recall(query, asked);
      const found = await hub.recall(query, asked);
      expect(found.map(comparable)).toEqual(local.map(comparable));
      count += local.length;
    }
  }
  return count;
}

function comparable(hit: Awaited<ReturnType<Store["recall"]>>[number]) {
  const { messageId, sessionId, seq, role, text, score, parts, snippet, neighbors, copies } = hit;
  return {
    ...{ messageId, sessionId, seq, role, text, score, parts, snippet, neighbors },
    copies: copies.map(({ messageId, sessionId, seq }) => ({ messageId, sessionId, seq })),
  };
}

describe("a large project", () => {
  const project = "large";

  test("is merged into buckets, and gives the same as before", async () => {
    await inFolderAsync(async (folder) => {
      const hub = await openHub(asRole(url, WRITER));
      const store = openStore(join(folder, "local.db"));
      for (let round = 0; round < 33; round++) {
        const messages = Array.from({ length: 40 }, (_, index) => ({
          role: "user" as const,
          content: Array.from(
            { length: 40 },
            (_, word) => `w${(round * 1_600 + index * 40 + word) % 9_000} common`,
          ).join(" "),
        }));
        store.session(`s${round}`, { project }).appendAll(messages);
        await hub.push(store, { sessions: [`s${round}`] });
      }
      const before = await compare(store, hub, project, ["w17 w8999 common", "w300 w301"]);
      expect(await hub.keep()).toEqual({ expiredCount: 0, mergedCount: 32, madeCount: 1, damagedCount: 0 });
      expect(await compare(store, hub, project, ["w17 w8999 common", "w300 w301"])).toBe(before);
      store.forget("s3");
      const admin = await openedHub(url);
      await admin.transaction(async (client) => {
        const { rows } = await client.query<SessionKey>(
          `SELECT place, team, session_no AS "sessionNo" FROM coppice.sessions WHERE session_id = 's3'`,
        );
        await burySession(client, rows[0]!);
      });
      const left = await compare(store, hub, project, ["w17 w8999 common", "w300 w301", "w4900"]);
      expect((await hub.keep()).madeCount).toBe(1);
      expect(await compare(store, hub, project, ["w17 w8999 common", "w300 w301", "w4900"])).toBe(left);
      store.close();
      await hub.close();
    });
  });

  test("of more than 5,000 messages is searched as in the store, whatever other projects of the store say", async () => {
    await inFolderAsync(async (folder) => {
      const hub = await openHub(asRole(url, WRITER));
      const store = openStore(join(folder, "local.db"));
      const project = "larger";
      const saying = (session: string, at: number, count: number): MessageInput[] =>
        Array.from({ length: count }, (_, index) => {
          const number = 7 * at + index;
          const content = `${WORDS[number % WORDS.length]} w${number % 900} ${"common ".repeat(number % 5)}of ${session}`;
          return { role: index % 2 === 0 ? "user" : "assistant", content };
        });
      for (let round = 0; round < 11; round++) {
        for (const session of ["even", "odd", `s${round}`]) {
          store.session(session, { project }).appendAll(saying(session, round, 160));
        }
        store
          .session("elsewhere", { project: "another" })
          .appendAll([
            ...saying("elsewhere", round, 300),
            ...ELSEWHERE.map((content) => ({ role: "user" as const, content })),
          ]);
      }
      await hub.push(store, { projects: [project] });
      const queries = ["lock w17 common", "deploi regoin w8", '"of s3" tower', "who said lens in even?"];
      expect(await compare(store, hub, project, queries)).toBeGreaterThan(150);
      for (const session of ["even", "s3"]) {
        const rows = store.query(
          `SELECT id FROM messages WHERE session_id = '${session}' AND seq IN (0, 5, 40, 41, 42, 100, 159)`,
        );
        store.forget(session, { messageIds: rows.map(({ id }) => id as number) });
      }
      store.forget("s5");
      await hub.push(store, { projects: [project] });
      expect(await compare(store, hub, project, queries)).toBeGreaterThan(150);
      await hub.keep();
      expect(await compare(store, hub, project, queries)).toBeGreaterThan(150);
      store.close();
      await hub.close();
    });
  }, 240_000);

  test("has its words in buckets, which are read by index conditions under row-level security", async () => {
    await run(url, "ANALYZE coppice.buckets");
    const client = await connected(asRole(url, WRITER));
    const { rows } = await client.query<{ place: number; segment: number }>(
      "SELECT DISTINCT place, segment FROM coppice.buckets",
    );
    const [{ place, segment }] = rows as [{ place: number; segment: number }];
    const buckets = Array.from({ length: 8 }, (_, index) => index);
    // So small a table would be read whole. Row-level security would keep an index from being used at all if a condition leaked.
    await client.query("SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off");
    const plan = await client.query<{ "QUERY PLAN": string }>(`EXPLAIN ${BUCKETS}`, [
      buckets.map(() => place),
      buckets.map(() => segment),
      buckets,
    ]);
    const text = plan.rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(text).toMatch(/Index Scan using buckets_pkey/);
    expect(text).toMatch(/Index Cond: .*place.*segment.*bucket/);
    expect(text).not.toMatch(/Seq Scan on buckets/);
  });

  test("is not there for strangers", async () => {
    const hub = await openHub(asRole(url, STRANGER));
    expect(await hub.recall("w17 common", { project })).toEqual([]);
    expect(await hub.keep()).toEqual({ expiredCount: 0, mergedCount: 0, madeCount: 0, damagedCount: 0 });
    await hub.close();
  });
});

test("projects that fit into memory together stay there", async () => {
  const url = await readyDatabase();
  const [connection, store, hub] = [await openedHub(url), temporaryStore(), await openedHubOf(url)];
  const projects = ["web", "api"];
  for (const project of projects) store.session(`s of ${project}`, { project }).appendAll(talk(10));
  await hub.push(store, { projects });
  const index = new WordIndexReader(connection, 25);
  const loaded = (project: string) => index.reading(({ segments }) => segments(project, new Set()));
  const [web, api] = [await loaded("web"), await loaded("api")];
  for (let round = 0; round < 3; round++) {
    expect((await loaded("web"))[0]).toBe(web[0]);
    expect((await loaded("api"))[0]).toBe(api[0]);
  }
});

test("searches at once read projects that do not fit into memory together", async () => {
  const url = await readyDatabase();
  const [connection, store] = [await openedHub(url), temporaryStore()];
  const hub = await openedHubOf(url);
  const projects = ["web", "api"];
  for (const project of projects) store.session(`s of ${project}`, { project }).appendAll(talk(10));
  await hub.push(store, { projects });
  const index = new WordIndexReader(connection, 12);
  for (let round = 0; round < 20; round++) {
    const found = await Promise.all(
      [...projects, ...projects].map((project) => recallOnHub(index, "deploy pipeline", { project })),
    );
    expect(found.map((hits) => hits[0]?.sessionId)).toEqual([...projects, ...projects].map((one) => `s of ${one}`));
  }
});
