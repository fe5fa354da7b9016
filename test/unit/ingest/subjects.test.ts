import { expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { inSealed } from "../../support/rows.ts";
import { user } from "../../support/said.ts";
import { timedStore } from "../../support/timed-store.ts";

const DAY_MS = 86_400_000;

/** Sessions of a project whose messages each speak of something else, and each of them in every session. */
function sayOften(store: Store, sessionCount: number, messageCount: number): void {
  for (let session = 0; session < sessionCount; session++) {
    const texts = Array.from({ length: messageCount }, (_, number) => {
      const word = (letter: string): string =>
        `${letter}${"abcdefghij"[number % 10]}${"klmnopqrst"[Math.floor(number / 10)]}x`;
      return ["q", "w", "z", "v"].map(word).join(" ");
    });
    store.session(`s${session}`, { project: "p" }).append(texts.map((text) => user(text)));
  }
}

const countOf = (store: Store, sql: string): unknown => store.query(`SELECT count(*) AS n FROM ${sql}`)[0]!.n;

test("an upkeep that is aborted has placed some clusters, and the next places the rest", async () => {
  const { store, pass } = timedStore();
  sayOften(store, 3, 90);
  pass(2 * DAY_MS);
  const controller = new AbortController();
  const watch = setInterval(() => {
    if (countOf(store, "clusters WHERE subject_parent_id IS NOT NULL") !== 0) controller.abort(new Error("enough"));
  }, 0);
  await expect(store.upkeep({ signal: controller.signal })).rejects.toThrow("enough");
  clearInterval(watch);
  const placedCount = countOf(store, "clusters WHERE subject_parent_id IS NOT NULL") as number;
  const clusterCount = countOf(store, "clusters") as number;
  expect(placedCount).toBeGreaterThan(0);
  expect(placedCount).toBeLessThan(clusterCount);
  expect(store.verify()).toMatchObject({ ok: true });
  await store.upkeep();
  expect(countOf(store, "clusters WHERE subject_parent_id IS NOT NULL")).toBe(clusterCount);
});

test("a project with a damaged cluster is left alone, and the others are placed", async () => {
  const { store, pass } = timedStore();
  for (const project of ["api", "web"]) {
    store.session(project, { project }).append([user("the session lock is stale"), user("Thanks!")]);
  }
  pass(2 * DAY_MS);
  const controller = new AbortController();
  const resting = store.upkeep({ signal: controller.signal });
  controller.abort(new Error("one session rests"));
  await expect(resting).rejects.toThrow("one session rests");
  inSealed(store.path, (database) => database.exec("UPDATE clusters SET centroid_sum = 'no vector', checksum = -1"));
  await store.upkeep();
  expect(store.query("SELECT session_id, subject_parent_id IS NULL AS waits FROM clusters ORDER BY 1")).toEqual([
    { session_id: "api", waits: 1 },
    { session_id: "web", waits: 0 },
  ]);
});

test("subjects stay in their project, and sessions without one share theirs", async () => {
  const { store, pass } = timedStore();
  const lock = "the session lock is stale and the writer waits for its file";
  const projects = { a: { project: "web" }, b: { project: "api" }, c: {}, d: { project: "web" }, e: {} };
  for (const [id, options] of Object.entries(projects)) {
    store.session(id, options).append([user(lock), user("Thank you for the help!")]);
  }
  pass(2 * DAY_MS);
  await store.upkeep();
  const sessions = store
    .subjects()
    .map((subject) => [subject.project, subject.sessions.map(({ sessionId }) => sessionId)]);
  expect(sessions).toEqual([
    ["web", ["a", "d"]],
    [null, ["c", "e"]],
  ]);
});

test("a session that was rewound out of its subjects can be forgotten", async () => {
  const { store, pass } = timedStore();
  sayOften(store, 2, 20);
  pass(5 * DAY_MS);
  await store.upkeep();
  expect(countOf(store, "clusters WHERE subject_parent_id <> root_id AND session_id = 's1'")).toBeGreaterThan(0);
  store.resume("s0").rewind({ toSeq: 0 });
  store.forget("s0");
  expect(store.verify()).toMatchObject({ ok: true, sessionCount: 1, problems: [] });
  await store.upkeep();
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("forgetting a fork leaves what it shared in its subjects", async () => {
  const { store, pass } = timedStore();
  sayOften(store, 2, 90);
  const rest = async (): Promise<void> => {
    pass(5 * DAY_MS);
    await store.upkeep();
  };
  await rest();
  const assigned = "clusters WHERE session_id = 's0' AND subject_parent_id IS NOT NULL";
  const assignedCount = countOf(store, assigned);
  store.resume("s0").fork({ id: "f", toSeq: 60 }).append(user("One more.")); // then its clusters had not settled
  await rest();
  expect(countOf(store, "clusters WHERE session_id = 'f' AND settled_at IS NOT NULL")).toBeGreaterThan(30);
  store.forget("f");
  expect(countOf(store, assigned)).toBe(assignedCount);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});
