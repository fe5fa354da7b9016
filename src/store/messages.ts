import { and, asc, eq, getTableColumns, gte, lte, type SQL, sql } from "drizzle-orm";
import { digestOf } from "../core/digest.ts";
import { StoreError } from "../core/errors.ts";
import type { JsonValue, Message, Part, Role } from "../core/message.ts";
import { messageTokens, type TokenCounter } from "../core/tokens.ts";
import { encodeVector } from "../vector/codec.ts";
import type { ArtifactRepository } from "./artifacts.ts";
import type { Artifact } from "./extract-artifacts.ts";
import { vectorNow } from "./generations.ts";
import type { StoreDatabase } from "./open.ts";
import { messages } from "./schema.ts";

/** Messages held in memory at once while all of a session's are looked at. */
const EACH_PAGE = 500;

/** Everything a row of `messages` holds but what the transaction that writes it decides: its id, seq, step and turn. */
export interface MessageRow {
  role: Role;
  name: string | undefined;
  parts: Part[];
  /** `parts` without its long strings, which are in `artifacts`. */
  partsJson: string;
  artifacts: readonly Artifact[];
  text: string;
  tokenCount: number;
  tokenCounter: string;
  createdAtMs: number;
  metadata: Record<string, JsonValue> | undefined;
  externalId: string | undefined;
  /** As the caller wishes; a system message, and a result of a pinned call, is pinned whatever it says. */
  pinned: boolean;
  digest: Buffer;
  embedding: Float32Array | undefined;
  embedderId: string | undefined;
  /** Unix milliseconds from which on a vector is due that comes later; undefined where none does. */
  vectorDueSinceMs: number | undefined;
}

/** Where a message stands. */
export interface MessagePlace {
  id: number;
  sessionId: string;
  seq: number;
  stepId: number;
  turnSeq: number;
  pinned: boolean;
}

/** What a message leaves behind is read from this. In `parts`, long strings are notes of artifacts. */
export interface NotableMessage {
  id: number;
  seq: number;
  stepId: number;
  role: Role;
  text: string;
  parts: Part[];
}

/** What the forest needs of a message. */
export interface GraduatingMessage {
  id: number;
  seq: number;
  stepId: number;
  turnSeq: number;
  role: Role;
  name: string | null;
  text: string;
  tokenCount: number;
  createdAtMs: number;
  embedding: Float32Array | null;
}

const MESSAGE_COLUMNS = {
  id: messages.id,
  sessionId: messages.sessionId,
  seq: messages.seq,
  stepId: messages.stepId,
  turnSeq: messages.turnSeq,
  role: messages.role,
  name: messages.name,
  parts: messages.parts,
  text: messages.text,
  tokenCount: messages.tokenCount,
  tokenCounter: messages.tokenCounter,
  pinned: messages.pinned,
  createdAtMs: messages.createdAtMs,
  metadata: messages.metadata,
  externalId: messages.externalId,
  digest: messages.digest,
};

type SelectedMessage = Pick<typeof messages.$inferSelect, keyof typeof MESSAGE_COLUMNS>;

/** What SQLite is handed for a row, by the schema's names. */
type InsertedRow = Record<keyof typeof messages.$inferSelect, string | number | Buffer | null>;

// Not through drizzle's builder: this is the one statement of every append, and the builder's placeholders would cost
// about as much again as the insert itself.
const INSERT = `INSERT INTO messages (${Object.values(getTableColumns(messages)).map(({ name }) => name)})
  VALUES (${Object.keys(getTableColumns(messages)).map((key) => `@${key}`)})`;

/**
 * Rows of `messages`.
 *
 * Longer than other files: all statements over the one table that everything reads, each a few lines, share the shape of
 * its rows and the checks on reading them.
 */
export class MessageRepository {
  readonly #database: StoreDatabase;
  readonly #artifacts: ArtifactRepository;
  readonly #tokenCounter: TokenCounter;
  readonly #lastId;
  readonly #insert;
  readonly #nextSeq;
  readonly #stepOf;
  readonly #lastOf;
  readonly #byId;
  readonly #placesByIndex;
  readonly #placesByTable;
  readonly #lastPlace;
  readonly #unpinnedFrom;
  readonly #pinnedOf;
  readonly #pinnedTokens;
  readonly #windowFrom;
  readonly #graduating;
  readonly #notableBefore;
  readonly #turnBefore;
  readonly #seqBefore;
  readonly #byExternalId;
  readonly #openingsOf;
  readonly #setParentOfStep;
  readonly #setParent;

  constructor(database: StoreDatabase, artifacts: ArtifactRepository, tokenCounter: TokenCounter) {
    const { orm, client } = database;
    this.#database = database;
    this.#artifacts = artifacts;
    this.#tokenCounter = tokenCounter;
    this.#lastId = client.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").pluck();
    this.#insert = client.prepare<InsertedRow>(INSERT);
    this.#stepOf = client.prepare<[number], { sessionId: string; stepId: number }>(
      "SELECT session_id AS sessionId, step_id AS stepId FROM messages WHERE id = ?",
    );
    this.#nextSeq = client
      .prepare<{ sessionId: string }, number>(
        `SELECT max(coalesce((SELECT max(seq) FROM messages WHERE session_id = @sessionId), -1),
                    coalesce((SELECT max(seq) FROM forgotten_messages WHERE session_id = @sessionId), -1)) + 1`,
      )
      .pluck();
    const inSession = eq(messages.sessionId, sql.placeholder("sessionId"));
    this.#lastOf = orm
      .select({ seq: messages.seq, turnSeq: messages.turnSeq })
      .from(messages)
      .where(inSession)
      .orderBy(sql`${messages.seq} desc`)
      .limit(1)
      .prepare();
    this.#byId = orm
      .select(MESSAGE_COLUMNS)
      .from(messages)
      .where(eq(messages.id, sql.placeholder("id")))
      .prepare();
    const placesBy = (how: string) =>
      client.prepare<[string, number, number], { id: number; seq: number }>(
        `SELECT id, seq FROM messages ${how} WHERE session_id = ? AND seq >= ? ORDER BY seq LIMIT ?`,
      );
    this.#placesByIndex = placesBy("INDEXED BY messages_by_seq");
    this.#placesByTable = placesBy("NOT INDEXED");
    this.#lastPlace = client.prepare<[string], { id: number; seq: number }>(
      "SELECT id, seq FROM messages WHERE session_id = ? ORDER BY seq DESC LIMIT 1",
    );
    this.#unpinnedFrom = orm
      .select(MESSAGE_COLUMNS)
      .from(messages)
      .where(and(inSession, gte(messages.seq, sql.placeholder("seqFrom")), eq(messages.pinned, false)))
      .orderBy(asc(messages.seq))
      .prepare();
    this.#windowFrom = client.prepare<[string, number], { seq: number; stepId: number; tokenCount: number }>(
      `SELECT seq, step_id AS stepId, token_count AS tokenCount FROM messages
       WHERE session_id = ? AND seq >= ? AND pinned = 0 ORDER BY seq`,
    );
    this.#pinnedTokens = client
      .prepare<[string], number>(
        "SELECT coalesce(sum(token_count), 0) FROM messages WHERE session_id = ? AND pinned = 1",
      )
      .pluck();
    this.#notableBefore = client.prepare<
      { sessionId: string; seqFrom: number; seqEnd: number; limit: number },
      Omit<NotableMessage, "parts"> & { parts: string }
    >(
      `SELECT id, seq, step_id AS stepId, role, text, parts FROM messages
       WHERE session_id = @sessionId AND seq >= @seqFrom AND seq < @seqEnd AND pinned = 0 ORDER BY seq DESC LIMIT @limit`,
    );
    this.#turnBefore = client
      .prepare<[string, number], number>(
        "SELECT turn_seq FROM messages WHERE session_id = ? AND seq < ? ORDER BY seq DESC LIMIT 1",
      )
      .pluck();
    this.#pinnedOf = orm
      .select(MESSAGE_COLUMNS)
      .from(messages)
      .where(and(inSession, sql`${messages.pinned} = 1`))
      .orderBy(asc(messages.seq))
      .prepare();
    this.#graduating = client.prepare<
      [string, number, number],
      Omit<GraduatingMessage, "embedding"> & { embedding: Buffer | null }
    >(
      `SELECT id, seq, step_id AS stepId, turn_seq AS turnSeq, role, name, text, token_count AS tokenCount,
              created_at_ms AS createdAtMs, ${vectorNow("messages")} AS embedding
       FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 ORDER BY seq`,
    );
    this.#byExternalId = client.prepare<[string, string], { id: number; seq: number; digest: Buffer }>(
      "SELECT id, seq, digest FROM messages WHERE session_id = ? AND external_id = ?",
    );
    this.#seqBefore = client
      .prepare<[string, number], number>(
        "SELECT seq FROM messages WHERE session_id = ? AND seq < ? AND pinned = 0 ORDER BY seq DESC LIMIT 1",
      )
      .pluck();
    this.#openingsOf = client
      .prepare<[number, number], string>(
        "SELECT substr(m.text, 1, ?) FROM cluster_members c JOIN messages m ON m.id = c.message_id WHERE c.cluster_id = ? ORDER BY c.log_position, m.seq",
      )
      .pluck();
    this.#setParentOfStep = client.prepare<[number, number]>(
      "UPDATE messages SET parent_id = ? WHERE step_id = ? AND step_id <> id",
    );
    this.#setParent = client.prepare<[number, number]>("UPDATE messages SET parent_id = ? WHERE id = ?");
  }

  /** The newest id ever given, also if its message has been forgotten since. */
  lastId(): number {
    return this.#lastId.get() ?? 0;
  }

  insert(place: MessagePlace, row: MessageRow): void {
    // Field by field: spreading `place` would take V8 half as long as the insert does.
    this.#insert.run({
      id: place.id,
      sessionId: place.sessionId,
      seq: place.seq,
      stepId: place.stepId,
      turnSeq: place.turnSeq,
      pinned: place.pinned ? 1 : 0,
      parentId: place.id,
      role: row.role,
      name: row.name ?? null,
      tokenCount: row.tokenCount,
      tokenCounter: row.tokenCounter,
      createdAtMs: row.createdAtMs,
      externalId: row.externalId ?? null,
      digest: row.digest,
      embedding: row.embedding === undefined ? null : encodeVector(row.embedding),
      embedderId: row.embedderId ?? null,
      metadata: row.metadata === undefined ? null : JSON.stringify(row.metadata),
      text: row.text,
      parts: row.partsJson,
    });
    if (row.artifacts.length > 0) this.#artifacts.add(place.id, row.artifacts);
  }

  /** The place that the session's next message gets: no place is given twice, not even that of a forgotten message. */
  nextSeq(sessionId: string): number {
    return this.#nextSeq.get({ sessionId })!;
  }

  lastOf(sessionId: string): { seq: number; turnSeq: number } | undefined {
    return this.#lastOf.get({ sessionId });
  }

  byId(id: number): Message | undefined {
    const row = this.#byId.get({ id });
    return row === undefined ? undefined : this.#toMessage(row);
  }

  /** The newest messages before `seqEnd`, at most `limit` and none before `seqFrom`, in order; pinned ones are left out. */
  notableBefore(sessionId: string, range: { seqFrom: number; seqEnd: number; limit: number }): NotableMessage[] {
    const rows = this.#notableBefore.all({ sessionId, ...range });
    return rows.reverse().map((row) => ({ ...row, parts: JSON.parse(row.parts) as Part[] }));
  }

  /** seqs of the user messages that open the newest `limit` turns before `seqEnd`, newest first: one look-up for each. */
  turnsBefore(sessionId: string, seqEnd: number, limit: number): number[] {
    const seqs: number[] = [];
    for (let seq = seqEnd; seqs.length < limit; ) {
      seq = this.#turnBefore.get(sessionId, seq) ?? -1;
      if (seq < 0) break;
      seqs.push(seq);
    }
    return seqs;
  }

  /** In the order of `ids`' seqs. Unknown ids are left out. */
  byIds(ids: readonly number[]): Message[] {
    return this.#select(sql`${messages.id} in (select value from json_each(${JSON.stringify(ids)}))`);
  }

  unpinnedFrom(sessionId: string, seqFrom: number): Message[] {
    return this.#unpinnedFrom.all({ sessionId, seqFrom }).map((row) => this.#toMessage(row));
  }

  /** Of the same messages what a step is made of. */
  windowFrom(sessionId: string, seqFrom: number): { seq: number; stepId: number; tokenCount: number }[] {
    return this.#windowFrom.all(sessionId, seqFrom);
  }

  pinnedOf(sessionId: string): Message[] {
    return this.#pinnedOf.all({ sessionId }).map((row) => this.#toMessage(row));
  }

  /** What they cost, by the counts that are stored. */
  pinnedTokensOf(sessionId: string): number {
    return this.#pinnedTokens.get(sessionId)!;
  }

  /** Messages of a session by place, both ends included. */
  range(sessionId: string, seqFirst: number, seqLast: number, limit = Number.MAX_SAFE_INTEGER): Message[] {
    return this.#select(
      and(eq(messages.sessionId, sessionId), gte(messages.seq, seqFirst), lte(messages.seq, seqLast)),
      limit,
    );
  }

  /** The session and the step of a message, also of one whose content is damaged. */
  stepOf(id: number): { sessionId: string; stepId: number } | undefined {
    return this.#stepOf.get(id);
  }

  /** Every message of the given steps, in order of seq. */
  ofSteps(stepIds: readonly number[]): Message[] {
    return this.byIds(this.idsOfSteps(stepIds));
  }

  /** Ids of every message of the given steps, in order of seq. */
  idsOfSteps(stepIds: readonly number[]): number[] {
    return this.#database.client
      .prepare<[string], number>(
        `SELECT m.id FROM json_each(?) step JOIN messages m ON m.id = step.value OR (m.step_id = step.value AND m.step_id <> m.id)
         ORDER BY m.seq`,
      )
      .pluck()
      .all(JSON.stringify(stepIds));
  }

  /**
   * Which messages a session has, in order, at most `limit` from a place on. The messages themselves are not looked at, nor
   * is a damaged index needed, so that what cannot be read hides nothing else.
   */
  places(sessionId: string, seqFrom: number, limit: number): { id: number; seq: number }[] {
    try {
      return this.#placesByIndex.all(sessionId, seqFrom, limit);
    } catch {
      return this.#placesByTable.all(sessionId, seqFrom, limit);
    }
  }

  /** The last of them. */
  lastPlace(sessionId: string): { id: number; seq: number } | undefined {
    return this.#lastPlace.get(sessionId);
  }

  /** Every message of a session with its stored digest, in order, unchecked; one that cannot be read is noted and left out. */
  *each(sessionId: string, note: (text: string) => void): Generator<{ message: Message; digest: Buffer }> {
    for (let seqFrom = 0; ; ) {
      const page = this.places(sessionId, seqFrom, EACH_PAGE);
      for (const row of this.#readableRows(page, note)) {
        try {
          yield { message: this.#unchecked(row), digest: row.digest };
        } catch (error) {
          note(`message ${row.id} cannot be read: ${(error as Error).message}`);
        }
      }
      if (page.length < EACH_PAGE) return;
      seqFrom = page.at(-1)!.seq + 1;
    }
  }

  #readableRows(places: readonly { id: number }[], note: (text: string) => void): SelectedMessage[] {
    let reason = "it is not there";
    try {
      const ids = JSON.stringify(places.map(({ id }) => id));
      const rows = this.#rows(sql`${messages.id} in (select value from json_each(${ids}))`);
      if (rows.length === places.length) return rows;
    } catch (error) {
      reason = (error as Error).message;
    }
    if (places.length > 1) return places.flatMap((place) => this.#readableRows([place], note));
    note(`message ${places[0]!.id} cannot be read: ${reason}`);
    return [];
  }

  /** The stored parent of every message of a session, in order. */
  parents(sessionId: string): { id: number; parentId: number }[] {
    return this.#database.orm
      .select({ id: messages.id, parentId: messages.parentId })
      .from(messages)
      .where(eq(messages.sessionId, sessionId))
      .orderBy(asc(messages.seq))
      .all();
  }

  /** The stored parent of every message of the store. */
  allParents(): { id: number; parentId: number }[] {
    return this.#database.client
      .prepare<[], { id: number; parentId: number }>("SELECT id, parent_id AS parentId FROM messages ORDER BY id")
      .all();
  }

  /** The first characters of each member of a cluster, in the order in which they entered. */
  openingsOf(clusterRoot: number, chars: number): string[] {
    return this.#openingsOf.all(chars, clusterRoot);
  }

  /** Digests of every message of the given steps, in order of seq. */
  digestsOfSteps(stepIds: readonly number[]): Buffer[] {
    return this.#database.client
      .prepare<[string], Buffer>(
        "SELECT digest FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq",
      )
      .pluck()
      .all(JSON.stringify(this.idsOfSteps(stepIds)));
  }

  /** Who said what, from a place on, for `sync`. */
  syncKeys(sessionId: string, seqFrom: number): { externalId: string | undefined; digest: string }[] {
    return this.#database.client
      .prepare<[string, number], { externalId: string | null; digest: string }>(
        `SELECT external_id AS externalId,
                CASE role
                  WHEN 'tool' THEN (SELECT json_group_array(value ->> 'toolCallId') FROM json_each(parts))
                  ELSE lower(hex(digest))
                END AS digest
         FROM messages
         WHERE session_id = ? AND seq >= ? ORDER BY seq`,
      )
      .all(sessionId, seqFrom)
      .map(({ externalId, digest }) => ({ externalId: externalId ?? undefined, digest }));
  }

  /** What the forest needs of the messages in a range of places, pinned ones left out. */
  graduating(sessionId: string, seqFirst: number, seqLast: number): GraduatingMessage[] {
    return this.#graduating.all(sessionId, seqFirst, seqLast).map(({ embedding, ...row }) => ({
      ...row,
      embedding: embedding === null ? null : (messages.embedding.mapFromDriverValue(embedding) as Float32Array),
    }));
  }

  /** seq of the newest message before `seq` that is not pinned; -1 if there is none. */
  seqBefore(sessionId: string, seq: number): number {
    return this.#seqBefore.get(sessionId, seq) ?? -1;
  }

  byExternalId(sessionId: string, externalId: string): { id: number; seq: number; digest: Buffer } | undefined {
    return this.#byExternalId.get(sessionId, externalId);
  }

  setParentOfStep(stepId: number, parentId: number): void {
    this.#setParent.run(parentId, stepId);
    this.#setParentOfStep.run(parentId, stepId);
  }

  /** Take messages away for good, and note that their places are empty on purpose. Their rows in other tables go too. */
  forget(sessionId: string, ids: readonly number[], forgottenAtMs: number): void {
    const list = JSON.stringify(ids);
    this.#database.client
      .prepare(
        `INSERT INTO forgotten_messages (session_id, seq, forgotten_at_ms)
         SELECT session_id, seq, ? FROM messages WHERE session_id = ? AND id IN (SELECT value FROM json_each(?))`,
      )
      .run(forgottenAtMs, sessionId, list);
    this.#database.client.prepare("DELETE FROM messages WHERE id IN (SELECT value FROM json_each(?))").run(list);
  }

  /** Places of a session at which there is no message although none was forgotten. */
  lostSeqs(sessionId: string, limit: number): number[] {
    return this.#database.client
      .prepare<{ sessionId: string; limit: number }, number>(
        `WITH RECURSIVE place(seq) AS (
           SELECT 0 UNION ALL SELECT seq + 1 FROM place WHERE seq < (SELECT max(seq) FROM messages WHERE session_id = @sessionId)
         )
         SELECT seq FROM place
         WHERE EXISTS (SELECT 1 FROM messages WHERE session_id = @sessionId)
           AND seq NOT IN (SELECT seq FROM messages WHERE session_id = @sessionId)
           AND seq NOT IN (SELECT seq FROM forgotten_messages WHERE session_id = @sessionId)
         LIMIT @limit`,
      )
      .pluck()
      .all({ sessionId, limit });
  }

  setParent(id: number, parentId: number): void {
    this.#setParent.run(parentId, id);
  }

  #select(condition: SQL | undefined, limit?: number): Message[] {
    return this.#rows(condition, limit).map((row) => this.#toMessage(row));
  }

  #rows(condition: SQL | undefined, limit = Number.MAX_SAFE_INTEGER): SelectedMessage[] {
    const rows = this.#database.orm.select(MESSAGE_COLUMNS).from(messages).where(condition);
    return rows.orderBy(asc(messages.seq)).limit(limit).all();
  }

  /**
   * SQLite keeps no checksums, so a flipped bit in a row goes unnoticed by it. The digest is checked at every reading: 4 µs
   * for a message of 600 characters, where a wrong one would be sent to a model as what was said.
   */
  #toMessage(row: SelectedMessage): Message {
    const message = this.#unchecked(row);
    if (digestOf(message).equals(row.digest)) return message;
    const reason = `message ${row.id} is not what was appended: its digest differs`;
    throw new StoreError("STORE_CORRUPT", { path: this.#database.path, reason });
  }

  #unchecked(row: SelectedMessage): Message {
    const parts = this.#artifacts.restore(row.id, row.parts);
    const message: Message = {
      id: row.id,
      sessionId: row.sessionId,
      seq: row.seq,
      role: row.role,
      parts,
      text: row.text,
      tokenCount: row.tokenCount,
      createdAtMs: row.createdAtMs,
      stepId: row.stepId,
      turnSeq: row.turnSeq,
      pinned: row.pinned,
    };
    if (row.name !== null) message.name = row.name;
    // Counts of another counter are no measure for a budget in this one's tokens.
    if (row.tokenCounter !== this.#tokenCounter.name) message.tokenCount = messageTokens(message, this.#tokenCounter);
    if (row.externalId !== null) message.externalId = row.externalId;
    if (row.metadata !== null) message.metadata = row.metadata;
    return message;
  }
}
