import type { Session, Store } from "../../src/index.ts";
import { calls, results, talk, user } from "./said.ts";

export const RICH = {
  ...{ project: "web", hotSize: 6, overlap: 2, evictBatch: 6, maxThemes: 3, openClustersMax: 4 },
  resolveTokensMin: 50,
} as const;

/** A session with rows of every kind: calls, a long string, summaries, a branch, a forgotten message, entries and items. */
export async function richSession(store: Store, id: string): Promise<Session> {
  const session = store.session(id, RICH);
  session.append(user("Remember the harbor rule.", { pinned: true }));
  session.append(talk(30));
  session.append([calls(["c"]), results(["c"], "a long output is kept apart ".repeat(1_000))]);
  await session.resolveDirty();
  session.append(talk(20));
  session.rewind({ toSeq: 44 });
  session.entries.append([{ id: "e1", value: { step: 1 } }]);
  store.items.put([id], "note", { open: true }, { session: id });
  store.forget(id, { messageIds: [session.messages({ seqFrom: 12, limit: 1 })[0]!.id] });
  session.append(talk(25));
  await session.resolveDirty();
  return session;
}
