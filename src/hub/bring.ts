import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { baseNameOf, isPath } from "../core/project.ts";
import type { SessionHead } from "../session/moving/copies.ts";
import { endOf, idHere, noteOnHub, projectOnHub, type Repositories } from "../store/index.ts";
import { commonPlace } from "./compare.ts";
import type { Link } from "./link.ts";
import { headDigestIn, headOf, readable } from "./log.ts";
import { HEAD_DIGEST, logFrom, pathOnHub, type SessionRow } from "./rows.ts";
import { headIn, headNote } from "./unsent.ts";

/** Brings single sessions of the hub into a store: the next events of a copy, or what others have added to a session of the store. */
export class Bringer {
  readonly #link: Link;
  readonly #repositories: Repositories;

  constructor(link: Link) {
    this.#link = link;
    this.#repositories = link.repositories;
  }

  /** Makes a copy, or brings it up to date. @returns its id; undefined if another process has taken it, or deleted it. */
  async bring(row: SessionRow, onMessages: (count: number) => void): Promise<string | undefined> {
    const { sessionNo } = row;
    this.#assertNoLess(row);
    const { bytes, digest } = await this.#headOf(row);
    const head = headOf(bytes);
    const id = this.#link.store.copies.putHead(head, {
      ...{ hub: this.#link.hub, origin: row.origin, name: row.name, sessionNo, digest, author: row.pushedBy },
      ...{ project: this.#projectOf(row), parentId: this.#parentOf(row, head) },
    });
    if (id === undefined) return undefined;
    for (let isDone = false; !isDone; ) {
      const noted = this.#link.notes(id);
      if (!this.#link.isCopy(id) || noted.sessionNo !== sessionNo) return undefined;
      isDone = await this.#bringFrom(id, row, noted.length ?? 0, onMessages);
    }
    this.#link.store.resume(id).release(); // the next session needs the memory sooner than this one
    return id;
  }

  /**
   * A copy of another hub is made again, and this may be the last one that is whole. Times tell, because lengths of logs do not: a
   * session that was rewound, or that lost messages, is shorter on a hub that got it later.
   *
   * @throws {StoreError} `HUB_REFUSED` if the hub lacks messages at its end.
   */
  #assertNoLess(row: SessionRow): void {
    const { database, messages } = this.#repositories;
    database.read(() => {
      const id = idHere(this.#repositories, row);
      if (id === undefined || !this.#link.isCopy(id) || this.#link.notes(id).length !== undefined) return;
      const { lastId } = endOf(this.#repositories, id);
      if ((messages.byId(lastId)?.createdAtMs ?? 0) <= (row.lastAtMs ?? 0)) return;
      const reason = `its session "${id}" ends earlier than the copy here, which came from another hub`;
      const solution = `The copy stays until the store that has the session pushes it. To go on beside it: \`coppice fork ${id}\`.`;
      throw new StoreError("HUB_REFUSED", { hub: this.#link.hub.name, reason, solution });
    });
  }

  /** Adds to a copy what follows on a place of the log. @returns false if another process has added to it, too. */
  async #bringFrom(id: string, row: SessionRow, from: number, onMessages: (count: number) => void): Promise<boolean> {
    for await (const { events, length: end } of logFrom(this.#link, row, from)) {
      for (let at = 0; at < events.length; at += BATCH_MESSAGES_MAX) {
        const batch = events.slice(at, at + BATCH_MESSAGES_MAX);
        const place = end - events.length + at;
        const added = this.#link.store.copies.add(id, batch, { length: place + batch.length }, () => {
          const { sessionNo, length } = this.#link.notes(id);
          return this.#link.isCopy(id) && sessionNo === row.sessionNo && length === place;
        });
        if (added === undefined) return false;
        onMessages(added.messageCount);
      }
    }
    return true;
  }

  /** @throws {StoreError} `SESSION_NOT_FOUND` if the session was forgotten meanwhile. */
  async #headOf({ sessionNo, name }: SessionRow): Promise<{ bytes: Buffer | null; digest: string }> {
    const rows = await this.#link.transaction(async (client) => {
      const sql = `SELECT ${readable("head")} AS bytes, ${HEAD_DIGEST} AS digest FROM ${this.#link.schema}.sessions WHERE session_no = $1`;
      return (await client.query<{ bytes: Buffer | null; digest: string }>(sql, [sessionNo])).rows;
    });
    if (rows[0] === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: name });
    return rows[0];
  }

  /**
   * Brings a session up to date that began here or is taken.
   *
   * @param isRefused  Tells of a session that is ahead of the hub whether nothing else of it is brought.
   * @returns how it then is to what the hub has.
   */
  async bringUp(
    id: string,
    row: SessionRow,
    onMessages: (count: number) => void,
    isRefused = false,
  ): Promise<"same" | "ahead" | "diverged"> {
    const found = await this.#bringMessages(id, row, onMessages);
    if (found === "same" || (found === "ahead" && !isRefused)) await this.bringHead(id, row);
    return found;
  }

  /**
   * Brings the title, the settings and the items of a session of this store, if another has changed them. What the holder has changed
   * is newer than what the hub has of it.
   */
  async bringHead(id: string, row: SessionRow): Promise<void> {
    const { head: noted } = this.#link.notes(id);
    const { bytes } = await this.#headOf(row);
    const digest = headDigestIn(bytes);
    const known = noted?.split(" ")[0];
    if (digest === known) return;
    this.#link.write("pull", () => {
      // Another process may have pushed it.
      if (this.#link.isCopy(id) || this.#link.notes(id).head !== noted) return;
      const isNewer = row.holder === this.#link.storeId && headIn(this.#repositories, id).digest !== known;
      if (!isNewer) this.#link.store.copies.merge(id, headOf(bytes));
      noteOnHub(this.#repositories, id, { head: headNote(digest, row.project) });
    });
  }

  async #bringMessages(
    id: string,
    row: SessionRow,
    onMessages: (count: number) => void,
  ): Promise<"same" | "ahead" | "diverged"> {
    const { sessionNo, length, holder } = row;
    const path = await pathOnHub(this.#link, row);
    let end = this.#endOf(id);
    const { count, entryCount, hasMore, notes } = commonPlace(this.#repositories, id, row, path);
    const events = path.from(count, entryCount);
    if (hasMore && events.length > 0) return "diverged";
    const isCopy = holder === this.#link.storeId ? undefined : (true as const);
    if (events.length === 0) this.#link.note(id, { ...notes, sessionNo, length, isCopy });
    for (let from = 0; from < events.length; from += BATCH_MESSAGES_MAX) {
      const batch = events.slice(from, from + BATCH_MESSAGES_MAX);
      const known = JSON.stringify(end);
      const isLast = from + batch.length === events.length;
      const added = this.#link.store.copies.add(
        id,
        batch,
        isLast ? { sessionNo, length, isCopy } : {},
        () => !this.#link.isCopy(id) && JSON.stringify(this.#endOf(id)) === known,
      );
      if (added === undefined) return this.#bringMessages(id, row, onMessages); // something was appended meanwhile
      onMessages(added.messageCount);
      end = added.end;
    }
    return hasMore ? "ahead" : "same";
  }

  #endOf(id: string): ReturnType<typeof endOf> {
    return this.#link.read(() => endOf(this.#repositories, id)); // with the end, its place on the hub is noted
  }

  #parentOf({ origin }: SessionRow, { parent }: SessionHead): string | undefined {
    return parent === null ? undefined : this.#link.idOf({ origin, name: parent });
  }

  /** The project of a session here. Only the user's own folders are projects here. */
  #projectOf({ project }: SessionRow): string | null {
    const here = this.#repositories.database.read(() => projectOnHub(this.#repositories, project));
    const name = here === project ? baseNameOf(project) : here;
    return name === "" || (here === project && isPath(name)) ? null : name;
  }
}
