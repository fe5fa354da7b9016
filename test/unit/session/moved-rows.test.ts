import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Session, Store } from "../../../src/index.ts";
import { talk } from "../../support/said.ts";
import { openedStore, temporaryFolder } from "../../support/temporary-store.ts";

const SMALL = { hotSize: 6, overlap: 2, evictBatch: 6, maxThemes: 3, openClustersMax: 4 } as const;

function exported(store: Store, folder: string, ...sessions: string[]): string {
  const path = join(folder, "moved.rows");
  writeFileSync(
    path,
    [...store.exportRows(sessions.length > 0 ? { sessions } : {})].map((line) => `${line}\n`).join(""),
  );
  return path;
}

/** Everything that a reader can see of a session. */
function seen(store: Store, session: Session): unknown {
  return {
    messages: session.messages(),
    contexts: [800, 2_000, 8_000].map((tokensMax) => session.render({ tokensMax })),
    queried: session.render({ tokensMax: 2_000, query: "lock file of the region" }),
    flat: session.render({ tokensMax: 3_000, strategy: "flat" }),
    roots: session.roots(),
    clusters: session.roots({ level: "cluster" }),
    expanded: session.roots().map(({ root }) => store.expand(root)),
    branches: session.branches(),
    entries: session.entries.list(),
  };
}

test("a session moves into a fresh store and into one that has sessions, and goes on there", () => {
  const folder = temporaryFolder();
  const home = openedStore(join(folder, "home.db"));
  const session = home.session("moving", SMALL);
  for (const message of talk(60)) session.append(message);
  const fresh = openedStore(join(folder, "fresh.db"));
  expect(fresh.importRows(exported(home, folder))).toMatchObject([
    { sessionId: "moving", outcome: "new", newCount: 60 },
  ]);
  expect(seen(fresh, fresh.resume("moving"))).toEqual(seen(home, session));
  expect(fresh.verify()).toMatchObject({ ok: true, problems: [] });

  fresh.resume("moving").appendAll(talk(50));
  fresh.session("other").appendAll(talk(20));
  expect(home.importRows(exported(fresh, folder, "moving"))).toMatchObject([{ outcome: "continued", newCount: 50 }]);
  expect(seen(home, session)).toEqual(seen(fresh, fresh.resume("moving")));
  session.appendAll(talk(10));
  expect(home.verify()).toMatchObject({ ok: true, problems: [] });
});
