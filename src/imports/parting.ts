import { isUniqueId } from "../core/remembered.ts";
import type { OpenedStore } from "../session/opened-store.ts";
import type { PendingMessage } from "./pending-message.ts";
import type { TranscriptPath } from "./transcript-path.ts";

/** The place at which a file goes on apart from its session. */
export interface Parting {
  /** The first message that only the file has. */
  first: PendingMessage;
  /** The last message that both have. */
  after: { id: string; seq: number };
  /** True if the session went on with messages of another file. */
  isApart: boolean;
}

/**
 * Compares a file with what the store has of its session. If a file was copied and both copies were continued, each has messages
 * that the other lacks. A prompt without an id of its own does not count: a queued prompt may be written again, with its id.
 *
 * @param pending  Messages of the file in order. All of them must be read, so that `path` knows which messages are in the file.
 * @returns undefined if the store has all of them. `after` is missing if the store has none before the first that it lacks.
 */
export function partingOf(
  { repositories }: OpenedStore,
  sessionId: string,
  pending: readonly PendingMessage[],
  path: TranscriptPath,
): Parting | { first: PendingMessage } | undefined {
  const { database, messages, sessions, tombstones } = repositories;
  return database.read(() => {
    const isKnown = (id: string): boolean =>
      messages.byExternalId(sessionId, id) !== undefined ||
      sessions.superseded(sessionId, id) !== undefined ||
      tombstones.recognizersIn(sessionId).hasName(id);
    const first = pending.find(({ message: { id } }) => id === undefined || !isKnown(id));
    const firstId = first?.message.id;
    if (first === undefined || firstId === undefined) return first && { first };
    for (const id of path.before(firstId)) {
      const known = messages.byExternalId(sessionId, id);
      if (known === undefined) continue;
      const later = messages.namesAfter(sessionId, known.seq);
      const isInFile = later.some(({ externalId }) => externalId !== null && path.isInTranscript(externalId));
      const isFirm = ({ externalId, role }: (typeof later)[number]): boolean =>
        externalId !== null && (role === "assistant" || isUniqueId(externalId));
      const isApart = !isInFile && later.some(isFirm);
      return { first, after: { id, seq: known.seq }, isApart };
    }
    return { first };
  });
}
