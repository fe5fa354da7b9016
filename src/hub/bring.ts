import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { baseNameOf, isPath } from "../core/project.ts";
import type { SessionHead } from "../session/moving/copies.ts";
import { endOf, idHere, noteOnHub, projectOnHub } from "../store/index.ts";
import type { Link } from "./link.ts";
import { headDigestIn, headOf, readable } from "./log.ts";
import { HEAD_DIGEST, logFrom, pathOnHub, type SessionRow } from "./rows.ts";
import { commonPlace, headIn, headNote } from "./unsent.ts";

/** Makes a copy, or brings it up to date. @returns its id; undefined if another process has taken it, or deleted it. */
export async function bring(
  link: Link,
  row: SessionRow,
  onMessages: (count: number) => void,
): Promise<string | undefined> {
  const { sessionNo } = row;
  assertNoLess(link, row);
  const { bytes, digest } = await headBytes(link, row);
  const head = headOf(bytes);
  const id = link.store.copies.putHead(head, {
    ...{ hub: link.hub, origin: row.origin, name: row.name, sessionNo, digest, author: row.pushedBy },
    ...{ project: projectOf(link, row), parentId: parentOf(link, row, head) },
  });
  if (id === undefined) return undefined;
  for (let isDone = false; !isDone; ) {
    const noted = link.notes(id);
    if (!link.isCopy(id) || noted.sessionNo !== sessionNo) return undefined;
    isDone = await bringFrom(link, id, row, noted.length ?? 0, onMessages);
  }
  link.store.resume(id).release(); // the next session needs the memory sooner than this one
  return id;
}

/**
 * A copy of another hub is made again, and this may be the last one that is whole. Times tell, and not lengths of logs, which shrink
 * when a session is rewound or loses messages. @throws {StoreError} `HUB_REFUSED` if the hub lacks messages at its end.
 */
function assertNoLess(link: Link, row: SessionRow): void {
  const { database, messages } = link.repositories;
  database.read(() => {
    const id = idHere(link.repositories, row);
    if (id === undefined || !link.isCopy(id) || link.notes(id).length !== undefined) return;
    const { lastId } = endOf(link.repositories, id);
    if ((messages.byId(lastId)?.createdAtMs ?? 0) <= (row.lastAtMs ?? 0)) return;
    const reason = `its session "${id}" ends earlier than the copy here, which came from another hub`;
    const solution = `The copy stays until the store that has the session pushes it. To go on beside it: \`coppice fork ${id}\`.`;
    throw new StoreError("HUB_REFUSED", { hub: link.hub.name, reason, solution });
  });
}

/** Adds to a copy what follows on a place of the log. @returns false if another process has added to it, too. */
async function bringFrom(
  link: Link,
  id: string,
  row: SessionRow,
  from: number,
  onMessages: (count: number) => void,
): Promise<boolean> {
  for await (const { events, length: end } of logFrom(link, row, from)) {
    for (let at = 0; at < events.length; at += BATCH_MESSAGES_MAX) {
      const batch = events.slice(at, at + BATCH_MESSAGES_MAX);
      const place = end - events.length + at;
      const added = link.store.copies.add(id, batch, { length: place + batch.length }, () => {
        const { sessionNo, length } = link.notes(id);
        return link.isCopy(id) && sessionNo === row.sessionNo && length === place;
      });
      if (added === undefined) return false;
      onMessages(added.messageCount);
    }
  }
  return true;
}

/** @throws {StoreError} `SESSION_NOT_FOUND` if the session was forgotten meanwhile. */
async function headBytes(
  link: Link,
  { sessionNo, name }: SessionRow,
): Promise<{ bytes: Buffer | null; digest: string }> {
  const rows = await link.transaction(async (client) => {
    const sql = `SELECT ${readable("head")} AS bytes, ${HEAD_DIGEST} AS digest FROM ${link.schema}.sessions WHERE session_no = $1`;
    return (await client.query<{ bytes: Buffer | null; digest: string }>(sql, [sessionNo])).rows;
  });
  if (rows[0] === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: name });
  return rows[0];
}

/** Brings a session up to date that began here or is taken. @param isRefused  True to bring nothing else of one that is ahead of the hub. */
export async function bringUp(
  link: Link,
  id: string,
  row: SessionRow,
  onMessages: (count: number) => void,
  isRefused = false,
): Promise<"same" | "ahead" | "diverged"> {
  const found = await bringMessages(link, id, row, onMessages);
  if (found === "same" || (found === "ahead" && !isRefused)) await bringHead(link, id, row);
  return found;
}

/** Brings title, settings and items of a session of this store that another has changed. What the holder has changed is newer. */
export async function bringHead(link: Link, id: string, row: SessionRow): Promise<void> {
  const { head: noted } = link.notes(id);
  const { bytes } = await headBytes(link, row);
  const digest = headDigestIn(bytes);
  const known = noted?.split(" ")[0];
  if (digest === known) return;
  link.write("pull", () => {
    // Another process may have pushed it.
    if (link.isCopy(id) || link.notes(id).head !== noted) return;
    const isNewer = row.holder === link.storeId && headIn(link.repositories, id).digest !== known;
    if (!isNewer) link.store.copies.merge(id, headOf(bytes));
    noteOnHub(link.repositories, id, { head: headNote(digest, row.project) });
  });
}

async function bringMessages(
  link: Link,
  id: string,
  row: SessionRow,
  onMessages: (count: number) => void,
): Promise<"same" | "ahead" | "diverged"> {
  const { sessionNo, length, holder } = row;
  const path = await pathOnHub(link, row);
  let end = endHere(link, id);
  const { count, entryCount, hasMore, notes } = commonPlace(link.repositories, id, row, path);
  const events = path.from(count, entryCount);
  if (hasMore && events.length > 0) return "diverged";
  const isCopy = holder === link.storeId ? undefined : (true as const);
  if (events.length === 0) link.note(id, { ...notes, sessionNo, length, isCopy });
  for (let from = 0; from < events.length; from += BATCH_MESSAGES_MAX) {
    const batch = events.slice(from, from + BATCH_MESSAGES_MAX);
    const known = JSON.stringify(end);
    const isLast = from + batch.length === events.length;
    const added = link.store.copies.add(
      id,
      batch,
      isLast ? { sessionNo, length, isCopy } : {},
      () => !link.isCopy(id) && JSON.stringify(endHere(link, id)) === known,
    );
    if (added === undefined) return bringMessages(link, id, row, onMessages); // something was appended meanwhile
    onMessages(added.messageCount);
    end = added.end;
  }
  return hasMore ? "ahead" : "same";
}

function endHere(link: Link, id: string): ReturnType<typeof endOf> {
  return link.read(() => endOf(link.repositories, id)); // with the end, its place on the hub is noted
}

function parentOf(link: Link, { origin }: SessionRow, { parent }: SessionHead): string | undefined {
  return parent === null ? undefined : link.idOf({ origin, name: parent });
}

/** The project of a session here. Only the user's own folders are projects here. */
function projectOf(link: Link, { project }: SessionRow): string | null {
  const here = link.repositories.database.read(() => projectOnHub(link.repositories, project));
  const name = here === project ? baseNameOf(project) : here;
  return name === "" || (here === project && isPath(name)) ? null : name;
}
