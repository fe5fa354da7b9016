import { expect, test } from "vitest";
import { once } from "../../../src/core/once.ts";
import { estimatingTokenCounter } from "../../../src/core/tokens.ts";
import { TITLES } from "../../../src/models/title.ts";
import { ThemeRoots } from "../../../src/store/derived/past-forests.ts";
import { openDatabase } from "../../../src/store/file/open.ts";
import { makeRepositories } from "../../../src/store/repositories.ts";
import { sealRows } from "../../support/rows.ts";

/**
 * Clusters 1, 2 and 3 start at positions 1, 2 and 3. Cluster 2 is absorbed by 1 at 5, cluster 3 by 1 at 8. Steps join 1 at
 * 4, 2 at 6 and 3 at 7.
 */
function rootsAfter(damage: string): ThemeRoots {
  const database = openDatabase(":memory:", { readonly: false, durability: "process", busyTimeoutMs: 0 });
  database.client.exec(`
    INSERT INTO generations VALUES (1, 'e', 2, 0, 0, 0, -1);
    INSERT INTO sessions (id, settings, created_at_ms, checksum) VALUES ('s', '{}', 0, -1);
    PRAGMA foreign_keys = OFF;
    INSERT INTO themes VALUES (1, 's', 3, 6, 6, x'', 6, 0, 5, 8, -1);
    INSERT INTO unions (id, session_id, generation, level, kind, node, root, checksum) VALUES
      (1, 's', 1, 'cluster', 'start', 1, 1, -1), (2, 's', 1, 'cluster', 'start', 2, 2, -1), (3, 's', 1, 'cluster', 'start', 3, 3, -1),
      (4, 's', 1, 'cluster', 'join', 4, 1, -1), (5, 's', 1, 'theme', 'unite', 2, 1, -1), (6, 's', 1, 'cluster', 'join', 6, 2, -1),
      (7, 's', 1, 'cluster', 'join', 7, 3, -1), (8, 's', 1, 'theme', 'unite', 3, 1, -1);
    ${damage}`);
  sealRows(database.client);
  return new ThemeRoots(makeRepositories(database, estimatingTokenCounter, TITLES).unions, "s");
}

const roots = once(() => rootsAfter(""));

test("the theme that holds a root is at the end of its unites", () => {
  expect([1, 2, 3].map((root) => roots().themeOf(root))).toEqual([1, 1, 1]);
});

test.each(["node = 1, root = 2", "node = 1, root = 1"])(
  "a circle of unites is damage, and no reader walks it forever: %s",
  (circle) => {
    const damaged = rootsAfter(`UPDATE unions SET ${circle}, checksum = -1 WHERE id = 8`);
    const found = expect.objectContaining({ name: "DamageError", message: expect.stringContaining("absorbed") });
    expect(() => damaged.themeOf(1)).toThrow(found);
  },
);
