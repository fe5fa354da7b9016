import { beforeEach, describe, expect, test } from "vitest";
import type { Session, Store } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { idsOf } from "../../support/claims.ts";
import { talk, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 4, maxThemes: 3, openClustersMax: 3, resolveTokensMin: 50 };

let store: Store;
let session: Session;
beforeEach(() => {
  store = temporaryStore({ summarizer: scriptedSummarizer("good") });
  session = store.session("s", SETTINGS);
  session.append({ role: "system", content: "Be brief." });
  session.append(talk(60));
});

const column = (query: string): unknown[] => store.query(query).map((row) => Object.values(row)[0]);
const rootOf = (handle: string): number => Number(/:(\d+)/.exec(handle)![1]);

describe("the views agree with the library", () => {
  test("cluster_members with expand", () => {
    for (const { root } of session.roots({ level: "cluster" })) {
      expect(column(`SELECT message_id FROM cluster_members WHERE cluster_id = ${rootOf(root)} ORDER BY seq`)).toEqual(
        idsOf(store, root),
      );
    }
  });

  test("theme_members with expand, and with the recursive walk over parents", () => {
    const themes = session.roots();
    expect(themes).toHaveLength(3);
    for (const { root } of themes) {
      const members = idsOf(store, root);
      expect(column(`SELECT message_id FROM theme_members WHERE theme_id = ${rootOf(root)} ORDER BY seq`)).toEqual(
        members,
      );
      const walked = column(
        `WITH RECURSIVE down(id) AS (
           SELECT ${rootOf(root)} UNION SELECT m.id FROM messages m JOIN down ON m.parent_id = down.id
         ) SELECT id FROM down ORDER BY id`,
      );
      expect(walked).toEqual(members);
    }
  });

  test("theme_members at the log's positions: every message is in a cluster since one", () => {
    expect(column("SELECT count(*) FROM theme_members WHERE log_position NOT IN (SELECT id FROM unions)")).toEqual([0]);
    expect(column("SELECT count(*) - count(DISTINCT message_id) FROM theme_members")).toEqual([0]);
  });

  test("uncovered has a theme that came under a summary's root only after the summary was written", async () => {
    const half = temporaryStore({ summarizer: { ...scriptedSummarizer("good", "fail"), isLocal: true } });
    const settings = { hotSize: 1, overlap: 0, evictBatch: 1, resolveTokensMin: 10 };
    const speaking = half.session("s", { ...settings, maxThemes: 2 });
    const lock = user("the session lock is stale and the writer waits");
    const color = user("purple buttons look better beside yellow headings");
    speaking.append([lock, color, color, lock, lock, lock, lock]);
    speaking.compact();
    expect(await speaking.resolveDirty()).toMatchObject({ resolved: 1, failed: 1 });
    expect(half.query("SELECT count(*) AS n FROM uncovered")).toEqual([{ n: 2 }]);
    half.session("s", { maxThemes: 1 }).append(lock);
    speaking.compact();
    expect(speaking.roots()).toMatchObject([{ messageCount: 7, uncoveredCount: 3 }]);
    expect(half.query("SELECT seq FROM uncovered ORDER BY seq")).toEqual([{ seq: 1 }, { seq: 2 }, { seq: 6 }]);
  });

  test("session_stats with info", () => {
    const info = session.info();
    expect(store.query("SELECT * FROM session_stats")).toMatchObject([
      {
        session_id: "s",
        message_count: info.messageCount,
        token_count: info.tokenCount,
        theme_count: info.themeCount,
        cluster_count: info.clusterCount,
        created_at_ms: info.createdAtMs,
        updated_at_ms: info.updatedAtMs,
      },
    ]);
    expect(info).toMatchObject({ messageCount: 61, themeCount: 3 });
  });

  test("session_stats with the messages themselves, after some were pinned and some forgotten", () => {
    store.session("empty");
    session.append({ ...user("Never force-push."), pinned: true });
    session.append(talk(20));
    const forgotten = session.messages().filter(({ seq }) => [0, 8, 9, 70, 81].includes(seq));
    store.forget("s", { messageIds: forgotten.map(({ id }) => id) });
    expect(store.query("SELECT * FROM session_stats ORDER BY session_id")).toMatchObject(
      store.query(
        `SELECT s.id AS session_id, count(m.id) AS message_count, coalesce(sum(m.token_count), 0) AS token_count,
           coalesce(sum(m.pinned), 0) AS pinned_count, coalesce(sum(is_hot), 0) AS hot_count,
           coalesce(sum(is_cold), 0) AS cold_count, coalesce(sum(zone = 'overlap'), 0) AS overlap_count
         FROM sessions s LEFT JOIN messages m ON m.session_id = s.id LEFT JOIN message_zones z ON z.message_id = m.id
         GROUP BY s.id ORDER BY s.id`,
      ),
    );
  });
});

describe("a query for one message, cluster or session reads no other", () => {
  test.each([
    ["children", "SELECT id FROM messages WHERE parent_id = 5"],
    ["cluster_members of a message", "SELECT * FROM cluster_members WHERE message_id = 5"],
    ["cluster_members of a cluster", "SELECT * FROM cluster_members WHERE cluster_id = 5"],
    ["cluster_members of a session", "SELECT * FROM cluster_members WHERE session_id = 's'"],
    ["theme_members of a message", "SELECT * FROM theme_members WHERE message_id = 5"],
    ["theme_members of a cluster", "SELECT * FROM theme_members WHERE cluster_id = 5"],
    ["theme_members of a theme", "SELECT * FROM theme_members WHERE theme_id = 5"],
    ["theme_members of a session", "SELECT * FROM theme_members WHERE session_id = 's'"],
    ["session_stats of a session", "SELECT * FROM session_stats WHERE session_id = 's'"],
  ])("%s", (_, query) => {
    const plan = store.query(`EXPLAIN QUERY PLAN ${query}`).map(({ detail }) => String(detail));
    // `up` is a walk from one cluster to its theme.
    expect(plan.filter((step) => /^SCAN (?!up$|CONSTANT ROW$)|AUTOMATIC/.test(step))).toEqual([]);
  });

  test("session_stats reads no message of the forest", () => {
    const plan = store.query("EXPLAIN QUERY PLAN SELECT * FROM session_stats").map(({ detail }) => String(detail));
    const reads = plan.filter((step) => /messages_(by_seq|pinned)/.test(step) && !/seq[<>]/.test(step));
    expect(reads.filter((step) => !step.includes("COVERING"))).toEqual([
      "SEARCH m USING INDEX messages_by_seq (session_id=?)", // of a fork
      "SEARCH m USING INDEX messages_by_seq (session_id=?)", // the newest message
    ]);
  });
});

test("session_agents tells subagents from forks, and leaves out branches", () => {
  const { intake } = internalsOf(store);
  intake.session({ source: "codex", externalId: "main" });
  intake.session({ source: "codex", externalId: "sub", parentExternalId: "main" });
  session.rewind({ toSeq: 40 });
  session.fork({ id: "fork", toSeq: 20 });
  const [main, sub] = ["main", "sub"].map((id) => store.sessions().find(({ externalId }) => externalId === id)!.id);
  expect(store.query("SELECT * FROM session_agents ORDER BY agent, session_id")).toEqual([
    { session_id: "fork", project: null, agent: null, started_by: null, forked_from: "s" },
    { session_id: "s", project: null, agent: null, started_by: null, forked_from: null },
    ...[main, sub].sort().map((id) => {
      return { session_id: id, project: null, agent: "codex", started_by: id === sub ? main : null, forked_from: null };
    }),
  ]);
});

test("replaced_messages has what was taken back, with what stands there now", () => {
  const before = session.messages({ last: 2 });
  session.rewind({ toSeq: before[0]!.seq - 1 });
  const { messageId } = session.append(user("Another way."));
  const replaced = "SELECT message_id, session_id, seq, replaced_by FROM replaced_messages ORDER BY seq";
  expect(store.query(replaced)).toEqual([
    { message_id: before[0]!.id, session_id: "s", seq: before[0]!.seq, replaced_by: messageId },
    { message_id: before[1]!.id, session_id: "s", seq: before[1]!.seq, replaced_by: null },
  ]);
});

test("uncovered has the messages of the forest that no summary covers, and whole sessions that were forgotten can be counted", async () => {
  const store = temporaryStore({ summarizer: scriptedSummarizer("good") });
  const settings = { hotSize: 2, overlap: 0, evictBatch: 2, resolveTokensMin: 1 };
  const [told, untold] = [store.session("told", settings), store.session("untold", settings)];
  for (const session of [told, untold]) session.append(talk(20));
  const inForest = "SELECT session_id, count(*) AS n FROM message_zones WHERE is_cold GROUP BY session_id ORDER BY 1";
  const uncovered = "SELECT session_id, count(*) AS n FROM uncovered GROUP BY session_id ORDER BY 1";
  expect(store.query(uncovered)).toEqual(store.query(inForest));
  expect(store.query(uncovered)).toHaveLength(2);
  await told.resolveDirty();
  for (const session of [told, untold]) {
    const count = session.roots().reduce((sum, { uncoveredCount }) => sum + uncoveredCount, 0);
    const sql = "SELECT count(*) AS n FROM uncovered WHERE session_id = ?";
    expect(store.query(sql, [session.id]), session.id).toEqual([{ n: count }]);
  }
  expect(store.query(uncovered).map(({ session_id }) => session_id)).toContain("untold");
  const forgotten = "SELECT count(*) AS n FROM tombstones WHERE digest = session_digest";
  expect(store.query(forgotten)).toEqual([{ n: 0 }]);
  store.forget("untold", { messageIds: [untold.messages()[0]!.id] });
  expect(store.query(forgotten)).toEqual([{ n: 0 }]);
  store.forget(["untold", "told"]);
  expect(store.query(forgotten)).toEqual([{ n: 2 }]);
});
