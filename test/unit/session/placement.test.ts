import { expect, test } from "vitest";
import type { Session } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const DAY_MS = 86_400_000;

/** What the weights of structure add with the default embedder, whose `similarityMin` is 0.35. */
const ADJACENT = 0.65 * 0.4;
const SAME_TURN = 0.65 * 0.15;

function talk(session: Session): void {
  for (let round = 0; round < 12; round++) {
    session.append(user(`catalog lock power cut ${round}`));
    session.append({ role: "assistant", content: `catalog lock file ${round}` });
    session.append(user(`sourdough rye wheat loaf ${round}`));
    session.append({ role: "assistant", content: `sourdough rye oven ${round}` });
  }
}

test("a join is explained by the similarity of its words, its neighbor and its turn, which make up its score", () => {
  const store = temporaryStore();
  const session = store.session("s", { hotSize: 2, overlap: 0, evictBatch: 1 });
  talk(session);
  const rows = store.query(
    "SELECT id, kind, score FROM unions WHERE level = 'cluster' AND kind IN ('start', 'join') ORDER BY id",
  );
  const placements = rows.map(({ id }) => internalsOf(store).resume("s").placement(Number(id)));
  expect(placements.map(({ kind, score }) => ({ kind, score }))).toEqual(
    rows.map(({ kind, score }) => ({ kind, score })),
  );
  expect(placements.map(({ seqFirst }) => seqFirst)).toEqual(placements.map((_, index) => index));
  const joins = placements.filter(({ kind }) => kind === "join");
  expect(joins.length).toBeGreaterThan(10);
  expect(joins.some(({ isAdjacent }) => isAdjacent)).toBe(true);
  expect(joins.some(({ isAdjacent }) => !isAdjacent)).toBe(true);
  for (const { score, similarity, isAdjacent, isSameTurn } of joins) {
    const structure = (isAdjacent ? ADJACENT : 0) + (isSameTurn ? SAME_TURN : 0);
    expect(similarity! + structure).toBeCloseTo(score!, 5);
  }
  expect(placements[0]).toMatchObject({ kind: "start", score: null, similarity: null, isAdjacent: null });
});

test("a join without a score is compared with the newest step alone, however large the cluster is", () => {
  const store = temporaryStore();
  const session = store.session("s", { hotSize: 2, overlap: 0, evictBatch: 2 });
  session.append(user("Release the stale lock of a session"));
  for (let call = 0; call < 40; call++) session.append([calls([`c${call}`]), results([`c${call}`], "done")]);
  session.compact();
  const position = Number(store.query("SELECT max(id) AS id FROM unions WHERE kind = 'join'")[0]!.id);
  const byStructure = { kind: "join", score: null, similarity: null, isAdjacent: true, isSameTurn: true };
  expect(internalsOf(store).resume("s").placement(position)).toMatchObject(byStructure);
});

test("a position at which no step of the session entered the forest is refused", () => {
  const store = temporaryStore();
  const [session, other] = ["a", "b"].map((id) => store.session(id, { hotSize: 2, overlap: 0, evictBatch: 1 }));
  talk(session!);
  const start = store.query("SELECT min(id) AS id FROM unions")[0]!.id;
  for (const [asked, position] of [
    [session!, 9_999_999],
    [other!, start],
    [session!, 0],
  ] as const) {
    expect(() => internalsOf(store).resume(asked.id).placement(Number(position))).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  }
});

test("a session can get another title, and nothing else changes", () => {
  const store = temporaryStore();
  const session = store.session("s", { title: "First", project: "p" });
  session.append(user("hello"));
  session.update({ title: "Second" });
  expect(store.sessions()).toMatchObject([{ id: "s", title: "Second", project: "p", messageCount: 1 }]);
  expect(store.verify()).toMatchObject({ ok: true });
  for (const title of ["", "a\nb", "x".repeat(513), 7 as unknown as string]) {
    expect(() => session.update({ title })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  }
  expect(session.info().title).toBe("Second");
});

test("requests that are put again have titles that are told apart, each of at most 80 characters", async () => {
  let now = Date.UTC(2026, 0, 1);
  const store = openedStore(temporaryPath(), { clock: () => now });
  const session = store.session("s");
  const asked = "Paint the great wooden gate of the old harbour between the mill and the old pump";
  for (let day = 0; day < 3; day++) {
    session.append([user(asked), assistant(`Painted it, coat ${day}.`), user("Thanks!")]);
    now += 90 * DAY_MS;
    await store.upkeep();
  }
  const labels = session.roots({ level: "cluster" }).map(({ label }) => label);
  expect(labels.filter((label) => label.startsWith("Paint")).slice(0, 3)).toEqual([
    asked,
    "Paint the great wooden gate of the old harbour between the mill and the old (2)",
    "Paint the great wooden gate of the old harbour between the mill and the old (3)",
  ]);
  expect(session.roots().map(({ label }) => label)).toContain(asked);
});
