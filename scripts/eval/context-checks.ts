import type { ContextMessage, RenderResult, Session, Store } from "../../src/index.ts";

/** The most members on a page of `expand`. */
const PAGE = 10_000;

/**
 * Returns the part of a context that a prompt cache keeps: the share of the bytes of `before` that `after` begins with, in
 * [0, 1], and the number of whole messages in it. Compares what a model is sent: role, name and parts.
 */
export function sharedPrefix(
  before: readonly ContextMessage[],
  after: readonly ContextMessage[],
): { share: number; messageCount: number } {
  const [left, right] = [before.map(bytesOf), after.map(bytesOf)];
  const different = left.findIndex((bytes, index) => right[index]?.equals(bytes) !== true);
  const messageCount = different === -1 ? left.length : different;
  let shared = left.slice(0, messageCount).reduce((sum, bytes) => sum + bytes.length, 0);
  const [leftNext, rightNext] = [left[messageCount], right[messageCount]];
  if (leftNext !== undefined && rightNext !== undefined) {
    const length = leftNext.findIndex((byte, index) => byte !== rightNext[index]);
    shared += length === -1 ? leftNext.length : length;
  }
  const total = left.reduce((sum, bytes) => sum + bytes.length, 0);
  return { share: total === 0 ? 1 : shared / total, messageCount };
}

/** Most contexts are compared twice: with the one before and with the next. */
const knownBytes = new WeakMap<ContextMessage, Buffer>();

function bytesOf(message: ContextMessage): Buffer {
  const { role, name, parts } = message;
  const bytes = knownBytes.get(message) ?? Buffer.from(JSON.stringify({ role, name, parts }));
  knownBytes.set(message, bytes);
  return bytes;
}

/**
 * Counts the messages of a session that a render does not explain: those that no entry names, and those that an entry counts
 * but does not contain. In order, each entry claims the messages of its handle or range that no earlier entry has claimed.
 *
 * @param ids  The result of `idsOf`, if several contexts are checked.
 */
export function unaccountedCount(
  store: Store,
  session: Session,
  { sources, omitted }: RenderResult,
  ids: readonly number[] = idsOf(session),
): number {
  const unclaimed = new Set(ids);
  let wrong = 0;
  for (const entry of [...sources, ...omitted]) {
    const named =
      "messageId" in entry
        ? [entry.messageId]
        : "handle" in entry
          ? store.expand(entry.handle, { limit: PAGE }).members.map(({ id }) => id)
          : ids.slice(entry.seqFirst, entry.seqLast + 1);
    const claimed = named.filter((id) => unclaimed.delete(id)).length;
    wrong += Math.abs(claimed - entry.messageCount);
  }
  return wrong + unclaimed.size;
}

/** Returns the ids of a session's messages, in order. */
export function idsOf(session: Session): number[] {
  return session.messages().map(({ id }) => id);
}
