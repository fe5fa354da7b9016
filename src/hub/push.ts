import { StoreError } from "../core/errors.ts";
import { HUB_BODY_BYTES_MAX } from "../core/limits.ts";
import { digestOfItem } from "../session/moving/copies.ts";
import {
  forgottenEverywhere,
  forgottenNumbers,
  type HubNotes,
  isForgottenCopy,
  type NameOnHub,
  notePushed,
  type OnDamaged,
  type Repositories,
  unlessDamagedIn,
} from "../store/index.ts";
import { indexWords } from "./everywhere.ts";
import type { Link } from "./link.ts";
import { encodeBody } from "./log.ts";
import { goneBack, lengthsThere, pathOnHub, rowOf } from "./rows.ts";
import { bodyOfHead, commonPlace, headIn, headNote, type Place, placeSent, type Unsent, unsentFrom } from "./unsent.ts";

/**
 * What became of a session. `gone`: the hub has forgotten it, or messages of it. `moved`: another store has taken it, and this one has
 * gone on. `behind`: the hub has something newer. `diverged`: both have gone on.
 */
export type PushOutcome = "pushed" | "unchanged" | "gone" | "moved" | "behind" | "diverged";

export interface PushedSession {
  outcome: PushOutcome;
  messageCount: number;
}

export class Pusher {
  readonly #link: Link;
  readonly #repositories: Repositories;

  constructor(link: Link) {
    this.#link = link;
    this.#repositories = link.repositories;
  }

  /**
   * Sends what the hub lacks of a session, in as many transactions as it takes. What was sent is noted after each, and a push that was
   * cut off is continued by any other.
   *
   * @param project  What its project is called on the hub.
   */
  async push(sessionId: string, project: string): Promise<PushedSession> {
    let sent = 0;
    let outcome: PushOutcome | undefined;
    for (let attempt = 0; outcome === undefined; ) {
      if (!this.#isHere(sessionId)) return { outcome: "unchanged", messageCount: sent };
      const { sessionNo, isStale } = this.#link.notes(sessionId);
      const isBegun = (sessionNo !== undefined && !isStale) || (await this.#begin(sessionId, project));
      // At once, because another process may push it, too: events after one place at the length of another would be there twice.
      const { place, notes } = this.#repositories.database.read(() => {
        return { place: placeSent(this.#repositories, sessionId), notes: this.#link.notes(sessionId) };
      });
      const step = !isBegun || place === undefined ? "other" : await this.#sendFrom(sessionId, project, place, notes);
      if (typeof step === "object") {
        sent += step.messageCount;
        if (step.isLast) outcome = step.hasChanged || sent > 0 ? "pushed" : "unchanged";
        continue;
      }
      attempt += 1;
      if (attempt > ATTEMPTS_MAX)
        throw new StoreError("HUB_UNREACHABLE", { hub: this.#link.hub.name, reason: "others push it" });
      const found = await this.#reconcile(sessionId, project);
      if (typeof found === "string") outcome = found;
      else sent += found;
    }
    return { outcome, messageCount: sent };
  }

  /** True if the session has anything that the hub lacks, as far as the store knows. It asks nobody. */
  hasUnsent(sessionId: string, project: string): boolean {
    const { head, sessionNo, isStale, isCopy } = this.#link.notes(sessionId);
    if (sessionNo === undefined || isStale) return true;
    const place = placeSent(this.#repositories, sessionId);
    if (place === undefined) return true;
    // The title and the items of a session that another store has taken are that store's.
    if (!isCopy && head !== headNote(headIn(this.#repositories, sessionId).digest, project)) return true;
    return unsentFrom(this.#repositories, sessionId, place).events.length > 0;
  }

  /**
   * Deletes on the hub what was forgotten in the store.
   *
   * @returns how many sessions it had, and how many it still has, because another role began them.
   */
  async forget(): Promise<{ forgottenCount: number; refusedCount: number }> {
    const { database } = this.#repositories;
    const numbers = this.#link.read(() => forgottenNumbers(this.#repositories));
    if (numbers?.length === 0) return { forgottenCount: 0, refusedCount: 0 };
    const { forgottenCount, left } = await this.#link.transaction(async (client) => {
      const { schema } = this.#link;
      // A restored hub may have given a number to another session, and it may have what was forgotten since.
      const terms = numbers === undefined ? "holder = $1 AND began_by = session_user" : "session_no = ANY ($1)";
      const sql = `SELECT session_no AS "sessionNo", origin, session_id AS name FROM ${schema}.sessions WHERE ${terms}`;
      const { rows } = await client.query<NameOnHub & { sessionNo: number }>(sql, [numbers ?? this.#link.storeId]);
      const isForgotten = (row: NameOnHub): boolean => database.read(() => isForgottenCopy(this.#repositories, row));
      const found = rows.filter(isForgotten).map(({ sessionNo }) => sessionNo);
      const { rowCount } = await client.query(`DELETE FROM ${schema}.sessions WHERE session_no = ANY ($1)`, [found]);
      return { forgottenCount: rowCount ?? 0, left: await lengthsThere(client, schema, found) };
    });
    this.#link.write("push", () => {
      const done = (numbers ?? []).filter((one) => !left.has(one));
      forgottenEverywhere(this.#repositories, done);
    });
    return { forgottenCount, refusedCount: left.size };
  }

  /** Returns those of the sessions that the hub has no longer, and errors about those of which it has less than it had. */
  async missing(
    sessionIds: readonly string[],
    onDamaged: OnDamaged,
  ): Promise<{ missing: string[]; shorter: Map<string, StoreError> }> {
    const noted = sessionIds.flatMap((id) => {
      const notes = unlessDamagedIn(this.#repositories, id, () => this.#link.notes(id), onDamaged);
      const { sessionNo, forgotten, isStale, length } = notes ?? {};
      return sessionNo === undefined || forgotten === "kept" ? [] : [{ id, sessionNo, isStale, length }];
    });
    const missing: string[] = [];
    const shorter = new Map<string, StoreError>();
    if (noted.length === 0) return { missing, shorter };
    const numbers = noted.map(({ sessionNo }) => sessionNo);
    const there = await this.#link.transaction((client) => lengthsThere(client, this.#link.schema, numbers));
    for (const { id, sessionNo, isStale, length } of noted) {
      const error = goneBack(this.#link.hub, id, there.get(sessionNo), length);
      if (error !== undefined) shorter.set(id, error);
      // A push that was cut off after it had begun a session anew has not noted the new number.
      const isThere = there.has(sessionNo) || (isStale && (await rowOf(this.#link, id)) !== undefined);
      if (!isThere) missing.push(id);
    }
    return { missing, shorter };
  }

  note(sessionId: string, changes: Parameters<typeof notePushed>[2]): void {
    this.#link.write("push", () => notePushed(this.#repositories, sessionId, changes));
  }

  #isHere(sessionId: string): boolean {
    return this.#repositories.database.read(() => this.#repositories.sessions.byId(sessionId)) !== undefined;
  }

  /**
   * Inserts the row of a session, without its title and items: they go with the first events, once its number is noted. If messages
   * of it were forgotten here, what the hub had goes first, unless it has more than this store knows.
   *
   * @returns false if the hub has something else of it.
   */
  async #begin(sessionId: string, project: string): Promise<boolean> {
    const notes = this.#link.notes(sessionId);
    const { origin = this.#link.storeId, name = sessionId, sessionNo: old, isStale, length = 0 } = notes;
    const sessionNo = await this.#link.transaction(async (client) => {
      const { schema } = this.#link;
      if (isStale && old !== undefined) {
        const known = "session_no = $1 AND holder = $2 AND length = $3 AND origin = $4 AND session_id = $5";
        const terms = [old, this.#link.storeId, length, origin, name];
        await client.query(`DELETE FROM ${schema}.sessions WHERE ${known}`, terms);
      }
      const { rows } = await client.query<{ sessionNo: number }>(
        `INSERT INTO ${schema}.sessions (origin, session_id, holder, project) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING RETURNING session_no AS "sessionNo"`,
        [origin, name, this.#link.storeId, project],
      );
      return rows[0]?.sessionNo;
    });
    if (sessionNo === undefined) return false;
    const nothing = { isStale: undefined, isCopy: undefined, left: undefined, head: undefined };
    this.note(sessionId, { ...nothing, sessionNo, length: 0, lastId: 0, entryId: 0 });
    return true;
  }

  /**
   * Sends the next events after a place, in one transaction.
   *
   * @param notes  What the hub has of the session.
   * @param keep  How many messages of the path on the hub stay; undefined if all do.
   * @returns "refused" if the log on the hub is not as this store knows it, or another store has taken the session.
   */
  async #sendFrom(
    sessionId: string,
    project: string,
    place: Place,
    notes: HubNotes,
    keep?: number,
  ): Promise<(Unsent & { hasChanged: boolean }) | "refused"> {
    const { origin = this.#link.storeId, name = sessionId, sessionNo, length = 0, head: known } = notes;
    if (sessionNo === undefined) return "refused";
    const unsent = unsentFrom(this.#repositories, sessionId, place);
    const current = headIn(this.#repositories, sessionId);
    const digest = headNote(current.digest, project);
    const head = digest === known ? undefined : current;
    const events = keep === undefined ? unsent.events : [{ keep }, ...unsent.events];
    if (events.length === 0 && head === undefined) return { ...unsent, hasChanged: false };
    const long = events.length <= 2 ? events : undefined; // more are within the size of a batch
    for (const [what, sent] of [["items", head?.head] as const, ["next message", long] as const]) {
      const size = Buffer.byteLength(JSON.stringify(sent ?? null));
      if (size <= HUB_BODY_BYTES_MAX) continue;
      const reason = `session "${sessionId}" has ${size} bytes of ${what}, and a hub takes ${HUB_BODY_BYTES_MAX} at once`;
      const solution = `It stays here, and the other sessions are pushed. To push the session, forget what is too large: \`coppice forget ${sessionId}\`.`;
      throw this.#link.refused(reason, solution);
    }
    const isTaken = await this.#link.transaction(async (client, { hasWords }) => {
      const { schema } = this.#link;
      const change = `UPDATE ${schema}.sessions SET length = length + $4, message_count = coalesce($5, message_count) + $6,
          last_at_ms = coalesce($7, last_at_ms), head = coalesce($8, head), title = CASE WHEN $8::bytea IS NULL THEN title ELSE $9 END,
          project = $10, pushed_at = clock_timestamp(), pushed_by = session_user
        WHERE session_no = $1 AND holder = $2 AND length = $3 AND origin = $11 AND session_id = $12`;
      const { messageCount, lastAtMs = null } = unsent;
      const counts = [sessionNo, this.#link.storeId, length, events.length, keep ?? null, messageCount, lastAtMs];
      const shown = [head && bodyOfHead(head), head && shownText(head.head.title), project];
      const { rowCount } = await client.query(change, [...counts, ...shown, origin, name]);
      if (rowCount !== 1) return false;
      if (events.length > 0) {
        const add = `INSERT INTO ${schema}.log (session_no, n, body) VALUES ($1, $2, $3)`;
        await client.query(add, [sessionNo, length, encodeBody(events)]);
      }
      if (hasWords) await indexWords(client, schema, sessionNo, length, events);
      return true;
    });
    if (!isTaken) return "refused";
    this.note(sessionId, {
      ...unsent.notes,
      sessionNo,
      length: length + events.length,
      head: digest,
      ...(head && { items: head.head.items.map(digestOfItem) }),
      isCopy: undefined,
    });
    return { ...unsent, hasChanged: true };
  }

  /**
   * Finds out what the hub has of a session, and brings the notes up to date. It reads the whole log, so it is for what is rare: a
   * rewind, an answer that was lost, a copy of this file, a session that was taken.
   *
   * @returns what became of it; or how many messages were sent.
   */
  async #reconcile(sessionId: string, project: string): Promise<PushOutcome | number> {
    const row = await rowOf(this.#link, sessionId);
    const { sessionNo, length: known = 0, isStale } = this.#link.notes(sessionId);
    if (row === undefined) return sessionNo !== undefined && !isStale ? "gone" : 0; // it was deleted since
    const isNoted = row.sessionNo === sessionNo;
    if (!isStale && sessionNo !== undefined && !isNoted) return "gone";
    const isTaken = row.holder !== this.#link.storeId;
    const path = await pathOnHub(this.#link, row);
    const same = commonPlace(this.#repositories, sessionId, row, path);
    if (isStale && sessionNo === undefined && !path.all.some(same.isForgotten)) {
      this.note(sessionId, { isStale: undefined }); // this hub never had what was forgotten
      return 0;
    }
    if (isStale && isTaken) {
      throw this.#link.refused(
        `another store has gone on with session "${sessionId}", of which messages were forgotten here: ` +
          `take it back with coppice hub pull ${sessionId} --take, and push again`,
      );
    }
    const hasMoreHere = same.hasMore;
    if (isTaken) {
      this.note(sessionId, { isCopy: true });
      return hasMoreHere ? "moved" : "unchanged";
    }
    const hasMoreThere = path.messages.slice(same.count).some((one) => !same.isForgotten(one));
    const isOfOthers = (isStale || row.length > known) && hasMoreThere;
    if (isOfOthers) return hasMoreHere ? "diverged" : "behind";
    if (isStale) {
      if (isNoted && row.length === known) {
        throw this.#link.refused(`only the role that began session "${sessionId}" may delete messages of it`);
      }
      this.note(sessionId, { sessionNo: row.sessionNo, length: row.length }); // now it is deleted
      return 0;
    }
    if (!hasMoreThere) {
      this.note(sessionId, { sessionNo: row.sessionNo, length: row.length, ...same.notes });
      return 0;
    }
    const at = { ...this.#link.notes(sessionId), sessionNo: row.sessionNo, length: row.length };
    const sent = await this.#sendFrom(sessionId, project, same.place, at, same.count);
    return sent === "refused" ? 0 : sent.messageCount;
  }
}

const ATTEMPTS_MAX = 5;

/** Postgres stores no U+0000 in texts. What a session is called is in its head, unchanged. */
function shownText(text: string | null): string | null {
  return text === null ? null : text.toWellFormed().replaceAll("\0", "\ufffd");
}
