import { describe, expect, test } from "vitest";
import { ProjectSubjects, type SubjectRow, subjectRoots } from "../../../src/forest/subjects.ts";

const DIMENSION = 8;

/** A cluster of a session towards one axis, or between several. */
function cluster(root: number, sessionId: string, ...axes: number[]) {
  const direction = new Float32Array(DIMENSION);
  for (const axis of axes) direction[axis] = 1 / Math.sqrt(axes.length);
  return { root, sessionId, lastAtMs: 0, direction };
}

/** Where each of the clusters goes, one after another. */
function rootsOf(clusters: readonly ReturnType<typeof cluster>[]): number[] {
  const subjects = new ProjectSubjects();
  return clusters.map((one) => subjects.assign(one).root);
}

describe("place", () => {
  test("puts a cluster with those of other sessions that go the same way", () => {
    const clusters = [
      cluster(1, "a", 0),
      cluster(2, "a", 1),
      cluster(3, "b", 0),
      cluster(4, "b", 2),
      cluster(5, "c", 1),
    ];
    expect(rootsOf(clusters)).toEqual([1, 2, 1, 4, 2]);
  });

  test("says how near it is, from the centre", () => {
    const subjects = new ProjectSubjects();
    subjects.assign(cluster(1, "a", 0));
    subjects.assign(cluster(2, "a", 1));
    expect(subjects.assign(cluster(3, "b", 0))).toEqual({ root: 1, similarity: expect.closeTo(1, 6) });
    // The centre is (2 + ½√2, 1 + ½√2) / (4 + 16) = (0.1354, 0.0854). From there (½√2, ½√2) goes (0.5717, 0.6217), the two
    // along the first axis (0.8646, -0.0854) and that along the second (-0.1354, 0.9146): cosines of 0.6013 and 0.6291.
    expect(subjects.assign(cluster(4, "c", 0, 1))).toEqual({ root: 2, similarity: expect.closeTo(0.6291, 4) });
  });

  test("does not put clusters of one session together, nor those that go another way", () => {
    expect(rootsOf([cluster(1, "a", 0), cluster(2, "a", 0), cluster(3, "b", 1)])).toEqual([1, 2, 3]);
  });

  test("puts a cluster with one of its own session where another session is near both", () => {
    expect(rootsOf([cluster(1, "a", 0), cluster(2, "b", 0), cluster(3, "a", 0)])).toEqual([1, 1, 1]);
  });

  test("looks at what clusters share past what all of the project share", () => {
    // All go the way of axis 7, with a cosine of 0.81 between any two; beside that, each goes one of six ways.
    const alike = (root: number, sessionId: string) => {
      const own = cluster(root, sessionId, root % 6).direction;
      const direction = own.map((value, axis) => (axis === 7 ? 0.9 : value * Math.sqrt(1 - 0.81)));
      return { ...cluster(root, sessionId), direction };
    };
    const subjects = new ProjectSubjects();
    for (let root = 1; root <= 30; root++) subjects.assign(alike(root, "first"));
    const ways = [31, 32, 33, 34, 35, 36].map((root) => subjects.assign(alike(root, "second")).root % 6);
    expect(ways).toEqual([1, 2, 3, 4, 5, 0]);
  });

  test("asks for nearness to all of a subject, not to one of its clusters", () => {
    // 3 has a cosine of 0.63 with 2 and of -0.20 with 1: 0.22 with their subject. So it goes with every second one.
    const chain = [cluster(1, "a", 0), cluster(2, "b", 0, 1), cluster(3, "c", 1), cluster(4, "d", 1, 2)];
    expect(rootsOf([...chain, cluster(5, "e", 2)])).toEqual([1, 1, 3, 3, 5]);
  });

  /** Tells whether two clusters join, in a project whose others have cosines of about ±`spread` with one another. */
  function joins(spread: number, cosine: number, days: number): boolean {
    const dimension = 128;
    const subjects = new ProjectSubjects();
    for (let root = 1; root <= 100; root++) {
      const varied = Float32Array.from({ length: dimension }, (_, axis) => Math.sin(root * 37.7 * (axis + 1) ** 1.5));
      const length = Math.hypot(...varied);
      const direction = varied.map((value) => (value / length) * Math.sqrt(1 - spread));
      direction[0]! += (root % 2 === 0 ? 1 : -1) * Math.sqrt(spread);
      subjects.assign({ ...cluster(root, `s${root}`), direction });
    }
    const [first, second] = [new Float32Array(dimension), new Float32Array(dimension)];
    first[1] = 1;
    second.set([cosine, Math.sqrt(1 - cosine ** 2)], 1);
    expect(subjects.assign({ ...cluster(101, "a"), direction: first }).root).toBe(101);
    return subjects.assign({ ...cluster(102, "b"), direction: second, lastAtMs: days * 86_400_000 }).root === 101;
  }

  test("asks for more nearness where the cosines of a project lie far apart", () => {
    expect([0, 0.25].map((spread) => joins(spread, 0.45, 0))).toEqual([true, false]);
    expect([0, 0.25].map((spread) => joins(spread, 0.7, 0))).toEqual([true, true]);
  });

  test("asks for more nearness to a subject that has rested", () => {
    expect([0, 1, 30].map((days) => joins(0.25, 0.7, days))).toEqual([true, false, false]);
    expect([0, 1, 30].map((days) => joins(0.25, 0.99, days))).toEqual([true, true, true]);
  });

  test("asks for the same when sessions settle in turns", () => {
    const turns = [2, 4, 8, 16, 37].map((sessionCount) => {
      const subjects = new ProjectSubjects();
      for (let root = 1; root <= 240; root++)
        subjects.assign(cluster(root, `s${root % sessionCount}`, (root * root) % 5));
      const second = cluster(242, "b");
      second.direction.set([0.5, Math.sqrt(0.75)], 6);
      subjects.assign(cluster(241, "a", 6));
      return subjects.assign(second).root;
    });
    expect(turns).toEqual([242, 242, 242, 242, 242]);
  });

  test("lets no subject hold more than four clusters or a fifth of the project", () => {
    const same = Array.from({ length: 10 }, (_, index) => cluster(index + 1, `s${index}`, 0));
    expect(rootsOf(same)).toEqual([1, 1, 1, 1, 5, 5, 5, 5, 9, 9]);
    const others = Array.from({ length: 24 }, (_, index) => cluster(index + 100, "others", 1 + (index % 6)));
    const subjects = new ProjectSubjects();
    const roots = [...others, ...same].map((one) => subjects.assign(one).root);
    // The fifth is the 29th of the project: a fifth of it is 5. The sixth would need 30.
    expect(roots.slice(24)).toEqual([1, 1, 1, 1, 1, 1, 7, 7, 7, 7]);
    expect(subjects.clusterCount).toBe(34);
  });

  test("starts a subject for a cluster without words, and puts nothing with it", () => {
    const subjects = new ProjectSubjects();
    const silent = (root: number, sessionId: string) => ({
      ...cluster(root, sessionId),
      direction: undefined,
    });
    expect(subjects.assign(silent(1, "a"))).toEqual({ root: 1, similarity: undefined });
    expect(subjects.assign(silent(2, "b"))).toEqual({ root: 2, similarity: undefined });
    expect(subjects.assign(cluster(3, "c", 0)).root).toBe(3);
    expect(subjects.clusterCount).toBe(3);
  });

  test("goes between equals to the one that started first", () => {
    expect(rootsOf([cluster(9, "a", 0), cluster(2, "a", 0), cluster(3, "b", 0)])).toEqual([9, 2, 9]);
  });

  test("goes on the same from what was placed before", () => {
    const clusters = Array.from({ length: 40 }, (_, index) =>
      cluster(index + 1, `s${index % 7}`, index % 3, (index * index) % 5),
    );
    const whole = new ProjectSubjects();
    const assignments = clusters.map((one) => whole.assign(one));
    for (const from of [1, 13, 39]) {
      const resumed = new ProjectSubjects();
      clusters.slice(0, from).forEach((one, index) => {
        resumed.restore(one, assignments[index]!.root);
      });
      expect(clusters.slice(from).map((one) => resumed.assign(one))).toEqual(assignments.slice(from));
    }
    expect(new Set(assignments.map(({ root }) => root)).size).toBeGreaterThan(3);
  });
});

describe("subjectRoots", () => {
  const row = (id: number, kind: SubjectRow["kind"], node: number, root = node): SubjectRow => ({
    id,
    kind,
    node,
    root,
  });

  test("applies the log: what was dissolved has no subject until it is placed again", () => {
    const rows = [row(1, "start", 5), row(2, "start", 6), row(3, "unite", 6, 5), row(4, "start", 7)];
    expect(subjectRoots(rows).roots).toEqual(new Map([[5, 5], [6, 5], [7, 7]])); // biome-ignore format: pairs
    const dissolved = [...rows, row(5, "dissolve", 6), row(6, "dissolve", 7)];
    expect(subjectRoots(dissolved).roots).toEqual(new Map([[5, 5]]));
    expect(subjectRoots([...dissolved, row(7, "start", 7), row(8, "unite", 7, 5)]).roots).toEqual(
      new Map([[5, 5], [7, 5]]), // biome-ignore format: pairs
    );
  });

  test.each([
    [[row(1, "start", 5), row(2, "start", 5)], "the cluster is in a subject already"],
    [[row(1, "unite", 5, 4)], "the cluster is in no subject"],
    [[row(1, "dissolve", 5)], "the cluster is in no subject"],
    [[row(1, "start", 5, 4)], "a start names two clusters"],
    [[row(1, "start", 5), row(2, "unite", 5)], "a subject cannot absorb itself"],
    [[row(1, "start", 5), row(2, "unite", 5, 4), row(3, "unite", 5, 3)], "the cluster is in another subject already"],
  ])("refuses what cannot have happened: %j", (rows, reason) => {
    expect(subjectRoots(rows).refused).toEqual({ row: rows.at(-1), reason });
  });
});
