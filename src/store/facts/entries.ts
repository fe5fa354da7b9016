import { DamageError } from "../../core/damage.ts";
import type { JsonValue } from "../../core/json.ts";
import { decodeValue } from "../sql/codecs.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import { PathReader, type Piece, rowsIn, withBranches } from "./paths.ts";

const ENTRY = columns(TABLES.entries);
const KNOWN = columns(TABLES.entries, "id", "beforeSeq", "createdAtMs");

const TIME = columns(TABLES.entries, "createdAtMs");

export type NewEntry = Omit<InsertOf<typeof ENTRY>, "id">;

/** JSON that a program keeps in order with the messages of a session. */
export interface Entry {
  /** Rises with every entry, and is never reused. */
  position: number;
  /** The entry came after the messages with lower seqs, and before this one. */
  beforeSeq: number;
  id?: string;
  value: JsonValue;
  /** Unix milliseconds. */
  createdAtMs: number;
}

/** A fork shares the entries before the last message that it shares. The sessions of its past may append more after that. */
export class EntryRepository extends PathReader {
  // Appends and reads of entries run these.
  readonly replace = this.statement<InsertOf<typeof ENTRY>>`${ENTRY.upsert()}`.run;
  readonly #insert = this.statement<NewEntry & { id: null }>`${ENTRY.insert()}`;
  readonly #after = this.statement<
    { sessionId: string; seqEnd: number; after: number; limit: number },
    RowOf<typeof ENTRY>
  >`SELECT ${ENTRY} FROM entries WHERE session_id = @sessionId AND before_seq <= @seqEnd AND id > @after
    ORDER BY id LIMIT @limit`;
  readonly #before = this.statement<
    { sessionId: string; seqEnd: number; before: number; limit: number },
    RowOf<typeof ENTRY>
  >`SELECT ${ENTRY} FROM entries WHERE session_id = @sessionId AND before_seq <= @seqEnd AND id < @before
    ORDER BY id DESC LIMIT @limit`;
  readonly #withName = this.statement<[sessionId: string, externalId: string, seqEnd: number], RowOf<typeof KNOWN>>`
    SELECT ${KNOWN} FROM entries WHERE session_id = ? AND external_id = ? AND before_seq <= ?`;
  readonly #beyond = this.statement<[sessionId: string, beforeSeq: number], Record<string, unknown>>`
    SELECT ${String(ENTRY)} FROM entries WHERE session_id = ? AND before_seq > ?`;
  /** The entries of a session whose ids another session's entries have, too. */
  readonly #sharing = this.statement<[sessionId: string, other: string], Record<string, unknown>>`
    SELECT ${String(ENTRY)} FROM entries WHERE session_id = ? AND external_id IN (
      SELECT external_id FROM entries WHERE session_id = ?)`;
  readonly #move = this.statement<{ id: number; sessionId: string; checksum: number }>`
    UPDATE entries SET session_id = @sessionId, checksum = @checksum WHERE id = @id`;
  /** How many entries without an id a session and its branches have, by time. A fork has those that it shares, too. */
  readonly timesOf = this.statement<{ sessionId: string }, { createdAtMs: number; count: number }>`
    SELECT createdAtMs, count(*) AS count FROM (
      SELECT ${TIME} FROM entries WHERE external_id IS NULL AND session_id IN ${withBranches("@sessionId")}
      UNION ALL
      SELECT ${TIME.of("e")} FROM shared_pasts p JOIN entries e ON e.session_id = p.holder_id AND e.before_seq <= p.seq_last
      WHERE p.session_id = @sessionId AND e.external_id IS NULL)
    GROUP BY createdAtMs`.all;
  readonly #isHeld = this.statement<{ sessionId: string; externalId: string }, number>`
    SELECT 1 FROM entries WHERE external_id = @externalId AND session_id IN ${withBranches("@sessionId")} LIMIT 1`.pluck();
  readonly count = this.statement<[], number>`SELECT count(*) FROM entries`.pluck().one;

  /** The entry of a session, shared ones included, that has an external id, and the session that holds it. */
  byExternalId(sessionId: string, externalId: string): (RowOf<typeof KNOWN> & { holderId: string }) | undefined {
    return this.paths.oldest(sessionId, ({ sessionId: holderId, seqLast }) => {
      const found = this.#withName.get(holderId, externalId, seqLast);
      return found && { ...found, holderId };
    });
  }

  /** Returns the new entry's position. */
  add(row: NewEntry): number {
    return Number(this.#insert.run({ ...row, id: null }).lastInsertRowid);
  }

  /** True if a session, shared entries included, or one of its branches has an entry with this id. */
  isHeld(sessionId: string, externalId: string): boolean {
    if (this.#isHeld.get({ sessionId, externalId }) !== undefined) return true;
    return this.byExternalId(sessionId, externalId) !== undefined;
  }

  /** Moves the entries after a message to another session. @returns how many. @throws {DamageError} if one is damaged. */
  moveBeyond(from: string, seq: number, to: string): number {
    const rows = this.#beyond.all(from, seq + 1);
    this.#moveAll(rows, to);
    return rows.length;
  }

  /** Moves the entries of a session whose ids a branch has, too. @param to  Returns the session that gets them. */
  moveSharing(from: string, branchId: string, to: () => string): void {
    const rows = this.#sharing.all(from, branchId);
    if (rows.length > 0) this.#moveAll(rows, to());
  }

  #moveAll(rows: readonly Record<string, unknown>[], to: string): void {
    for (const row of rows) {
      const damage = ENTRY.damageOf(row);
      if (damage !== undefined) throw new DamageError(damage);
      row.sessionId = to;
      ENTRY.seal(row);
      this.#move.run({ id: row.id as number, sessionId: to, checksum: row.checksum as number });
    }
  }

  after(sessionId: string, after: number, limit: number): Entry[] {
    const read = ({ sessionId, seqLast }: Piece, limit: number) =>
      this.#after.all({ sessionId, seqEnd: seqLast, after, limit });
    return rowsIn(this.paths.of(sessionId), limit, read).map(entryOf);
  }

  /** Newest first. */
  before(sessionId: string, before: number, limit: number): Entry[] {
    const read = ({ sessionId, seqLast }: Piece, limit: number) =>
      this.#before.all({ sessionId, seqEnd: seqLast, before, limit });
    return rowsIn(this.paths.of(sessionId).toReversed(), limit, read).map(entryOf);
  }
}

function entryOf({ id: position, beforeSeq, externalId, createdAtMs, ...row }: RowOf<typeof ENTRY>): Entry {
  return {
    position,
    beforeSeq,
    ...(externalId !== null && { id: externalId }),
    value: decodeValue(row) as JsonValue,
    createdAtMs,
  };
}
