import fc from "fast-check";
import { beforeAll, describe, expect } from "vitest";
import { burySession } from "../../src/hub/forgetting.ts";
import type { SessionKey } from "../../src/hub/places.ts";
import { recallOnHub } from "../../src/hub/recall.ts";
import { BUCKETS, KeptSegments } from "../../src/hub/word-index.ts";
import type { MessageInput, Store } from "../../src/index.ts";
import { sessionIds } from "../../src/session/aids/session-ids.ts";
import { runs, seenIn, slow } from "../support/effort.ts";
import {
  asRole,
  connected,
  grantedTo,
  hubDatabase,
  hubWithStores,
  openedConnection,
  openedHub,
  run,
  test,
} from "../support/hub.ts";
import { expectSameAnswers } from "../support/hub-answers.ts";
import { talk } from "../support/said.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const url = await hubDatabase();
const [WRITER, STRANGER] = ["recaller", "onlooker"].map((name) => `${name}_${process.pid}`) as [string, string];

beforeAll(async () => {
  for (const role of [WRITER, STRANGER]) {
    await run(url, `CREATE ROLE ${role} LOGIN`);
    await grantedTo(url, role, `team_of_${role}`, "write");
  }
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
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("forgetSession" as const), session }) },
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
  '"session lock" retry',
];
const query = fc.oneof(
  words,
  words.map((text) => `"${text}"`),
);

/**
 * Goal: a search of the hub gives what a search of the store gives, whatever was said, rewound, taken back, forgotten, pushed and
 * merged before.
 * Method: apply random steps to a store, push after each, and compare the hits of both.
 */
test("a search of the hub gives the order and the scores of the store", async () => {
  const hub = await openedHub(asRole(url, WRITER));
  let projectCount = 0;
  let [askedCount, hitCount, rewindCount, forgottenCount, forgottenSessionCount, mergedCount] = [0, 0, 0, 0, 0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14, size: "max" }), query, async (steps, drawn) => {
      const project = `p${projectCount++}`;
      const queries = [...QUERIES, drawn];
      const gone = new Set<string>(); // the hub takes no session with the id of one that was forgotten
      const store = temporaryStore();
      const elsewhere = store.session("elsewhere", { project: "another" });
      for (const done of steps) {
        elsewhere.append(ELSEWHERE.map((content) => ({ role: "user", content })));
        if (done.kind !== "keep" && gone.has(done.session)) continue;
        if (done.kind === "keep") mergedCount += (await hub.keep()).mergedCount;
        else if (done.kind === "say") {
          store.session(done.session, { project }).append(done.messages as MessageInput[]);
        } else if (changed(store, done)) {
          if (done.kind === "forgetMessage") forgottenCount += 1;
          else if (done.kind === "forgetSession") gone.add(done.session);
          else rewindCount += 1;
        } else continue;
        await hub.push(store, { projects: [project] });
        hitCount += await expectSameAnswers(hub, store, project, [queries[askedCount++ % queries.length]!]);
      }
      forgottenSessionCount += gone.size;
      hitCount += await expectSameAnswers(hub, store, project, queries);
      await hub.keep();
      hitCount += await expectSameAnswers(hub, store, project, queries);
    }),
    { numRuns: runs(10) },
  );
  expect(hitCount).toBeGreaterThan(seenIn(10));
  expect(rewindCount).toBeGreaterThan(seenIn(0));
  expect(forgottenCount).toBeGreaterThan(seenIn(0));
  expect(forgottenSessionCount).toBeGreaterThan(seenIn(0));
  expect(mergedCount).toBeGreaterThan(seenIn(0));
});

function changed(
  store: Store,
  done: { kind: "rewind" | "undo" | "forgetMessage" | "forgetSession"; session: string; seq?: number; count?: number },
): boolean {
  if (!sessionIds(store).includes(done.session)) return false;
  const opened = store.resume(done.session);
  try {
    if (done.kind === "rewind") {
      const ids = store.query(
        `SELECT id FROM messages WHERE session_id = '${done.session}' ORDER BY seq DESC LIMIT ${done.count! + 1}`,
      );
      opened.rewind({ toMessageId: ids.at(-1)!.id as number });
    } else if (done.kind === "undo") opened.undo();
    else if (done.kind === "forgetSession") store.forget(done.session);
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

slow(describe)("a large project", () => {
  const project = "large";

  test("is merged into buckets, and gives the same as before", async () => {
    const hub = await openedHub(asRole(url, WRITER));
    const store = temporaryStore();
    for (let round = 0; round < 33; round++) {
      const messages = Array.from({ length: 40 }, (_, index) => ({
        role: "user" as const,
        content: Array.from({ length: 40 }, (_, at) => `w${(round * 1_600 + index * 40 + at) % 9_000} common`).join(
          " ",
        ),
      }));
      store.session(`s${round}`, { project }).append(messages);
      await hub.push(store, { sessions: [`s${round}`] });
    }
    const queries = ["w17 w8999 common", "w300 w301"];
    const before = await expectSameAnswers(hub, store, project, queries);
    expect(await hub.keep()).toEqual({ expiredCount: 0, mergedCount: 32, madeCount: 1, damagedCount: 0 });
    expect(await expectSameAnswers(hub, store, project, queries)).toBe(before);
    store.forget("s3");
    const admin = await openedConnection(url);
    await admin.transaction(async (client) => {
      const { rows } = await client.query<SessionKey>(
        `SELECT place, team, session_no AS "sessionNo" FROM coppice.sessions WHERE session_id = 's3'`,
      );
      await burySession(client, rows[0]!);
    });
    queries.push("w4900");
    const left = await expectSameAnswers(hub, store, project, queries);
    expect((await hub.keep()).madeCount).toBe(1);
    expect(await expectSameAnswers(hub, store, project, queries)).toBe(left);
  });

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
    const hub = await openedHub(asRole(url, STRANGER));
    expect(await hub.recall("w17 common", { project })).toEqual([]);
    expect(await hub.keep()).toEqual({ expiredCount: 0, mergedCount: 0, madeCount: 0, damagedCount: 0 });
  });
});

describe("projects in memory", () => {
  const projects = ["web", "api"];

  async function pushedProjects() {
    const { url, hub, home } = await hubWithStores();
    for (const project of projects) home.session(`s of ${project}`, { project }).append(talk(10));
    await hub.push(home, { projects });
    return await openedConnection(url);
  }

  test("that fit into it together stay there", async () => {
    const connection = await pushedProjects();
    const kept = new KeptSegments(25);
    const loaded = (project: string) => connection.transaction((client) => kept.of(client, project, new Set()));
    const [web, api] = [await loaded("web"), await loaded("api")];
    for (let round = 0; round < 3; round++) {
      expect((await loaded("web"))[0]).toBe(web[0]);
      expect((await loaded("api"))[0]).toBe(api[0]);
    }
  });

  test("that do not fit into it together are read by searches at once", async () => {
    const connection = await pushedProjects();
    const kept = new KeptSegments(12);
    for (let round = 0; round < 5; round++) {
      const found = await Promise.all(
        [...projects, ...projects].map((project) => recallOnHub(connection, kept, "deploy pipeline", { project })),
      );
      expect(found.map((hits) => hits[0]?.sessionId)).toEqual([...projects, ...projects].map((one) => `s of ${one}`));
    }
  });
});
