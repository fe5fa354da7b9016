import { expect } from "vitest";
import type { Hub } from "../../src/hub/index.ts";
import type { RecallOptions, Store } from "../../src/index.ts";
import { sessionIds } from "../../src/session/aids/session-ids.ts";

/** Fails unless a search of the hub gives what a search of the store gives. Returns how many hits there are. */
export async function expectSameAnswer(
  { hub, store }: { hub: Hub; store: Store },
  query: string,
  options: RecallOptions,
  asker: { store?: Store } = {},
): Promise<number> {
  const asked = { limit: 30, explain: true, ...options };
  const local = await store.recall(query, asked);
  const found = await hub.recall(query, { ...asked, ...asker });
  expect(found.map(comparable)).toEqual(local.map(comparable));
  return local.length;
}

/** The same for several queries, each without and with a filter, after the store has brought its index up to date. */
export async function expectSameAnswers(
  hub: Hub,
  store: Store,
  project: string,
  queries: readonly string[],
): Promise<number> {
  store.verify({ rebuild: true });
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
  let count = 0;
  for (const [index, query] of queries.entries()) {
    for (const filter of [{}, filters[index % filters.length]!]) {
      count += await expectSameAnswer({ hub, store }, query, { project, ...filter });
    }
  }
  return count;
}

/** Changes a session, unless there is nothing of it to change. Returns whether it did. */
export function changed(
  store: Store,
  done: { kind: "rewind" | "undo" | "forgetMessage" | "forgetSession"; session: string; seq?: number; count?: number },
): boolean {
  if (!sessionIds(store).includes(done.session)) return false;
  const opened = store.resume(done.session);
  if (done.kind === "undo") return opened.undo().restoredCount > 0;
  if (done.kind === "forgetSession") return store.forget(done.session).sessionCount > 0;
  const isMeant = done.kind === "rewind" ? `true ORDER BY seq DESC LIMIT ${done.count! + 1}` : `seq = ${done.seq}`;
  const id = store.query(`SELECT id FROM messages WHERE session_id = '${done.session}' AND ${isMeant}`).at(-1)?.id;
  if (id === undefined) return false;
  if (done.kind === "rewind") return opened.rewind({ toMessageId: id as number }).supersededCount > 0;
  return store.forget(done.session, { messageIds: [id as number] }).messageCount > 0;
}

function comparable(hit: Awaited<ReturnType<Store["recall"]>>[number]) {
  const { messageId, sessionId, seq, role, text, score, parts, snippet, neighbors, copies } = hit;
  return {
    ...{ messageId, sessionId, seq, role, text, score, parts, snippet, neighbors },
    copies: copies.map(({ messageId, sessionId, seq }) => ({ messageId, sessionId, seq })),
  };
}
