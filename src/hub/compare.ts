import { forgottenOnHubIn, type HubNotes, hubNotesOf, type Repositories } from "../store/index.ts";
import type { HubMessage, HubPath } from "./log.ts";
import type { SessionRow } from "./rows.ts";
import { type Place, pathOf } from "./unsent.ts";

/** How far a session and its path on the hub are the same. */
export interface CommonPlace {
  /** How many messages of the path. */
  count: number;
  place: Place;
  notes: Pick<HubNotes, "lastId" | "entryId">;
  /** True if the store has messages after them. */
  hasMore: boolean;
  /** How many entries. */
  entryCount: number;
  /** True for a message of the path that was forgotten here. */
  isForgotten(message: HubMessage): boolean;
}

/** Compares a session with its path on the hub. Messages of the hub that were forgotten here, or that the store has had, are passed over. */
export function commonPlace(
  repositories: Repositories,
  sessionId: string,
  row: Pick<SessionRow, "sessionNo">,
  path: HubPath,
): CommonPlace {
  const { database, entries } = repositories;
  const { isStale, sessionNo, length = 0 } = database.read(() => hubNotesOf(repositories, sessionId));
  const isForgottenHere = database.read(() => forgottenOnHubIn(repositories, sessionId));
  const wasHad = ({ at }: { at: number }): boolean => isStale === true && sessionNo === row.sessionNo && at < length;
  const isForgotten = ({ event, digest }: HubMessage): boolean => {
    const said = { createdAtMs: event.message.createdAtMs, digest: Buffer.from(digest, "hex") };
    return isStale === true && database.read(() => isForgottenHere(said));
  };
  let [count, seq, lastId] = [0, 0, 0];
  let hasMore = false;
  for (const own of pathOf(repositories, sessionId)) {
    let next = count;
    for (let one = path.messages[next]; one !== undefined && one.digest !== own.digest; one = path.messages[next]) {
      if (!wasHad(one) && !isForgotten(one)) break;
      next += 1;
    }
    hasMore = path.messages[next]?.digest !== own.digest;
    if (hasMore) break;
    count = next + 1;
    [seq, lastId] = [own.seq + 1, own.id];
  }
  count = Math.max(count, path.messages.filter(wasHad).length);
  let entryCount = 0;
  let entryId = 0;
  const there = path.entries.filter(({ after }) => after <= count).length;
  for (let isLast = false; !isLast; ) {
    const page = database.read(() => entries.after(sessionId, entryId, 100));
    for (const { position, beforeSeq } of page) {
      isLast = beforeSeq > seq || entryCount === there;
      if (isLast) break;
      entryCount += 1;
      entryId = position;
    }
    isLast ||= page.length < 100;
  }
  entryCount = Math.max(entryCount, path.entries.filter(wasHad).length);
  return { count, place: { seq, lastId, entryId }, notes: { lastId, entryId }, hasMore, entryCount, isForgotten };
}
