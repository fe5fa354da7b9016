import { expect, test } from "vitest";
import { once } from "../../../src/core/once.ts";
import { estimatingTokenCounter } from "../../../src/core/tokens.ts";
import { TITLES } from "../../../src/models/title.ts";
import { Coverage } from "../../../src/store/derived/coverage.ts";
import { openDatabase } from "../../../src/store/file/open.ts";
import { makeRepositories } from "../../../src/store/repositories.ts";

/**
 * Clusters 1, 2 and 3 start at positions 1, 2 and 3. Cluster 2 is absorbed by 1 at 5, cluster 3 by 1 at 8. Steps join 1 at
 * 4, 2 at 6 and 3 at 7.
 */
function coverageAfter(damage: string): Coverage {
  const database = openDatabase(":memory:", { readonly: false, durability: "process", busyTimeoutMs: 0 });
  database.client.exec(`
    INSERT INTO generations VALUES (1, 'e', 2, 0, 0, 0, -1);
    INSERT INTO sessions (id, settings, created_at_ms) VALUES ('s', '{}', 0);
    PRAGMA foreign_keys = OFF;
    INSERT INTO themes VALUES (1, 's', 3, 6, 6, x'', 6, 0, 5, 8, -1);
    INSERT INTO unions (id, session_id, generation, level, kind, node, root, checksum) VALUES
      (1, 's', 1, 'cluster', 'start', 1, 1, -1), (2, 's', 1, 'cluster', 'start', 2, 2, -1), (3, 's', 1, 'cluster', 'start', 3, 3, -1),
      (4, 's', 1, 'cluster', 'join', 4, 1, -1), (5, 's', 1, 'theme', 'unite', 2, 1, -1), (6, 's', 1, 'cluster', 'join', 6, 2, -1),
      (7, 's', 1, 'cluster', 'join', 7, 3, -1), (8, 's', 1, 'theme', 'unite', 3, 1, -1);
    ${damage}`);
  return new Coverage(makeRepositories(database, estimatingTokenCounter, TITLES).unions, "s");
}

const coverage = once(() => coverageAfter(""));

const of = (rootId: number, logPosition: number) => ({ level: "theme" as const, rootId, logPosition });

test.each([
  // A summary of 1 at 4 is of steps 1 and 4 alone.
  [of(1, 4), 1, 1, true],
  [of(1, 4), 1, 4, true],
  [of(1, 3), 1, 4, false], // the step came later
  [of(1, 4), 2, 2, false], // its cluster was absorbed later
  [of(1, 5), 2, 2, true],
  [of(1, 5), 2, 6, false], // absorbed by then, but the step came later
  [of(1, 6), 2, 6, true],
  [of(1, 7), 3, 7, false],
  [of(1, 8), 3, 7, true],
  [of(2, 8), 2, 6, true], // an absorbed root goes on covering what is under it
  [of(2, 8), 1, 1, false],
  [of(3, 8), 2, 2, false],
])("whether %j covers what entered under %i at %i: %s", (summary, root, position, expected) => {
  expect(coverage().covers(summary, root, position)).toBe(expected);
});

test("a summary is maximal that no other covers; of equal ones the newest", () => {
  const summaries = [of(2, 4), of(3, 7), of(1, 4), of(1, 7), of(1, 7)];
  // 1 at 7 holds 2 as it was at 4, but 3 only from 8 on.
  expect(coverage().maximalThemes(summaries)).toEqual([summaries[1], summaries[4]]);
  const reversed = summaries.toReversed();
  expect(coverage().maximalThemes(reversed)).toEqual([reversed[1], reversed[3]]);
  expect(coverage().maximalThemes([...summaries, of(1, 8)])).toEqual([of(1, 8)]);
  expect(coverage().maximalThemes([])).toEqual([]);
});

test("the theme that holds a root is at the end of its unites", () => {
  expect([1, 2, 3].map((root) => coverage().themeOf(root))).toEqual([1, 1, 1]);
});

test.each(["node = 1, root = 2", "node = 1, root = 1"])(
  "a circle of unites is damage, and no reader walks it forever: %s",
  (circle) => {
    const damaged = coverageAfter(`UPDATE unions SET ${circle}, checksum = -1 WHERE id = 8`);
    const found = expect.objectContaining({ name: "DamageError", message: expect.stringContaining("absorbed") });
    expect(() => damaged.themeOf(1)).toThrow(found);
    expect(() => damaged.covers(of(3, 99), 1, 1)).toThrow(found);
  },
);
