import type { RenderResult, Session, Store } from "../../src/index.ts";

/**
 * Lets every entry of a render claim, in order, the messages that its id, handle or range leads to and that nobody has
 * claimed before it, by expanding it in the store.
 *
 * @returns one line for each entry whose count is not that of its claim, and one for messages that nobody claims.
 */
export function claimFaults(store: Store, session: Session, { sources, omitted }: RenderResult): string[] {
  const messages = session.messages();
  const unclaimed = new Set(messages.map(({ id }) => id));
  const faults: string[] = [];
  for (const entry of [...sources, ...omitted]) {
    const named =
      "messageId" in entry
        ? [entry.messageId]
        : "handle" in entry
          ? idsOf(store, entry.handle)
          : messages.filter(({ seq }) => seq >= entry.seqFirst && seq <= entry.seqLast).map(({ id }) => id);
    let count = 0;
    for (const id of named) if (unclaimed.delete(id)) count += 1;
    if (count !== entry.messageCount) faults.push(`${JSON.stringify(entry)} claims ${count}`);
  }
  if (unclaimed.size > 0) faults.push(`unclaimed: ${[...unclaimed].join(", ")}`);
  return faults;
}

/** Ids of everything behind a handle, page by page. */
export function idsOf(store: Store, handle: string): number[] {
  const ids: number[] = [];
  for (;;) {
    const { members, memberCount } = store.expand(handle, { limit: 7, offset: ids.length });
    ids.push(...members.map(({ id }) => id));
    if (ids.length >= memberCount || members.length === 0) return ids;
  }
}
