import { type Artifact, mayHaveArtifacts } from "../../core/artifacts.ts";
import { DamageError } from "../../core/damage.ts";
import { digestOf } from "../../core/digest.ts";
import { StoreError } from "../../core/errors.ts";
import type { JsonValue, Message, Part, Role } from "../../core/message.ts";
import { messageTokens, type TokenCounter } from "../../core/tokens.ts";
import { encodeEmbedding } from "../../vector/codec.ts";
import type { StoreDatabase } from "../file/open.ts";
import { CODECS } from "../sql/codecs.ts";
import {
  isOfStep,
  MESSAGE,
  type MessageValues,
  messageRowOf,
  partsOf,
  type SelectedMessage,
  storedTextOf,
  uncheckedRowOf,
} from "../sql/message-columns.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { type DecodedRow, TABLES } from "../sql/tables.ts";
import type { ArtifactRepository } from "./artifacts.ts";
import { isRepeated, isSummary, tellerOf, toldOf } from "./conditions.ts";
import { GENERATION_NOW, vectorNow } from "./generations.ts";
import { PathReader, type PathRepository, type Piece, rowsIn, sharedSeqOf, withBranches } from "./paths.ts";

const EACH_PAGE = 500;

/** A message to append. Its ids and its seq are chosen in the transaction. */
export interface MessageRow {
  role: Role;
  name: string | undefined;
  parts: Part[];
  /** JSON of `parts`, without the long strings that are in `artifacts`. */
  partsJson: string;
  artifacts: readonly Artifact[];
  text: string;
  tokenCount: number;
  tokenCounter: string;
  createdAtMs: number;
  metadata: Record<string, JsonValue> | undefined;
  externalId: string | undefined;
  /** True if the caller pinned the message. System messages and results of pinned calls are always pinned. */
  pinned: boolean;
  digest: Buffer;
  embedding: Float32Array | undefined;
  embedderId: string | undefined;
  /** Unix milliseconds; undefined if no vector is due. */
  vectorDueSinceMs: number | undefined;
}

export type RightVector = { id: number; embedderId: string; embedding: Buffer };

export interface StoredMessage {
  message: Message;
  digest: Buffer;
}

export interface LocalEmbedding {
  id: string;
  embed: (text: string) => Float32Array | undefined;
}

/** The part of a message that a cluster's title is made of. An agent's summary gives none, like a tool's result. */
export type TitledMessage = Pick<SelectedMessage, "role" | "text">;

/** A message that a story reads. In `parts`, notes replace long strings. */
export type NotableMessage = Pick<
  SelectedMessage,
  "id" | "sessionId" | "seq" | "stepId" | "turnSeq" | "role" | "name" | "text" | "createdAtMs"
> &
  Pick<SelectedMessage, "externalId" | "metadata"> & { parts: Part[] };

export const GRADUATING = columns(
  TABLES.messages,
  "id",
  "seq",
  "stepId",
  "turnSeq",
  "role",
  "name",
  "text",
  "tokenCount",
  "createdAtMs",
);
const ENTERING = GRADUATING.without("text");
/** Neither features nor titles read more of a text. */
export const ENTERING_TEXT_CHARS = 500;

export type GraduatingMessage = RowOf<typeof GRADUATING> & {
  /** Who says it, and what it says, for a title. */
  teller: Role;
  told: string;
  isSummary: number;
  isRepeated: number;
  embedding: Float32Array | null;
};
type GraduatingRow = Omit<GraduatingMessage, "embedding"> & { embedding: Buffer | null };

const WINDOW = columns(TABLES.messages, "seq", "stepId", "tokenCount");
const PLACES = columns(TABLES.messages, "id", "stepId");
const PARENTS = columns(TABLES.messages, "id", "parentId");
const PLACED_PARENTS = columns(TABLES.messages, "id", "parentId", "sessionId");
const STEP = columns(TABLES.messages, "sessionId", "stepId", "seq");
const KEYS = columns(TABLES.messages, "id", "seq", "digest");
const NAMES = columns(TABLES.messages, "seq", "externalId", "role");
const FORGOTTEN = columns(TABLES.forgottenMessages);

type IdAndSeq = { id: number; seq: number };
type InsertedRow = Record<
  Exclude<keyof DecodedRow<typeof TABLES.messages>, "checksum">,
  string | number | Buffer | null
>;
/** A time in Unix milliseconds, both ends included. */
export interface Span {
  sinceMs: number;
  untilMs: number;
}

type SeqsBefore = { seqFrom: number; seqEnd: number; limit: number };
type SeqsOfSession = [sessionId: string, seqFirst: number, seqLast: number];

const LAST = Number.MAX_SAFE_INTEGER;

const STEPS = `FROM json_each(?) step JOIN messages m ON ${isOfStep("step.value")}`;
const OF_STEPS = `${STEPS} ORDER BY m.seq`;

/** Rows of `messages`. This file is long, because all statements share the shape of a row and its checks. */
export class MessageRepository extends PathReader {
  // Appends and moves of the frontier run these.
  readonly #insert = this.statement<InsertedRow>`${columns(TABLES.messages).insert()}`;
  /** The seq of the session's next message. Seqs of forgotten messages are not used again. */
  readonly nextSeq = this.statement<{ sessionId: string }, number>`
    SELECT max(coalesce((SELECT max(seq) FROM messages WHERE session_id = @sessionId), -1),
               coalesce((SELECT max(seq) FROM forgotten_messages WHERE session_id = @sessionId), -1),
               ${sharedSeqOf("@sessionId")}) + 1`.pluck().one;
  readonly #withName = this.statement<[sessionId: string, externalId: string], RowOf<typeof KEYS>>`
    SELECT ${KEYS} FROM messages WHERE session_id = ? AND external_id = ?`;
  readonly #window = this.statement<SeqsOfSession, RowOf<typeof WINDOW>>`
    SELECT ${WINDOW} FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 ORDER BY seq`;
  readonly #graduating = this.statement<SeqsOfSession, GraduatingRow>`
    SELECT ${ENTERING}, substr(text, 1, ${ENTERING_TEXT_CHARS}) AS text,
      ${tellerOf("messages")} AS teller, ${toldOf("messages", ENTERING_TEXT_CHARS)} AS told, ${isSummary("messages")} AS isSummary,
      ${isRepeated("messages")} AS isRepeated, ${vectorNow("messages")} AS embedding
    FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 ORDER BY seq`.map(graduatingMessage);
  readonly #graduatingPlaces = this.statement<SeqsOfSession, RowOf<typeof PLACES>>`
    SELECT ${PLACES} FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 ORDER BY seq`;
  /** Like `graduating`, the messages of some steps. */
  readonly graduatingOf = this.statement<[stepIds: string], GraduatingRow>`
    SELECT ${ENTERING.of("m")}, substr(m.text, 1, ${ENTERING_TEXT_CHARS}) AS text,
      ${tellerOf("m")} AS teller, ${toldOf("m", ENTERING_TEXT_CHARS)} AS told, ${isSummary("m")} AS isSummary,
      ${isRepeated("m")} AS isRepeated, ${vectorNow("m")} AS embedding
    ${OF_STEPS}`.map(graduatingMessage).allOf;
  readonly #unpinnedUpTo = this.statement<[sessionId: string, seqLast: number], number>`
    SELECT seq FROM messages WHERE session_id = ? AND seq <= ? AND pinned = 0 ORDER BY seq DESC LIMIT 1`.pluck();
  /** The parent of a message in the forest of its own session. Forks have the message, too, and other parents for it. */
  readonly setParent = this.statement<[parentId: number, id: number, sessionId: string]>`
    UPDATE messages SET parent_id = ? WHERE id = ? AND session_id = ?`.run;
  /** An embedder that never made a forest is damage. */
  readonly #vector = this.statement<{ id: number; embedderId: string }, [embedding: Buffer | null, embedderId: string]>`
    SELECT embedding, embedder_id FROM messages WHERE id = @id AND (embedder_id = @embedderId
      OR (embedder_id NOT IN (SELECT embedder_id FROM generations)
        AND @embedderId = (SELECT embedder_id FROM generations WHERE id = ${GENERATION_NOW})))`.raw();
  readonly setVector = this.statement<RightVector>`
    UPDATE messages SET embedding = @embedding, embedder_id = @embedderId WHERE id = @id`.run;
  // Resumes, renders and recalls run these.
  readonly #lastUpTo = this.statement<
    [sessionId: string, seqLast: number],
    { id: number; seq: number; turnSeq: number }
  >`
    SELECT ${columns(TABLES.messages, "id", "seq", "turnSeq")} FROM messages WHERE session_id = ? AND seq <= ?
    ORDER BY seq DESC LIMIT 1`;
  readonly isStored = this.statement<[id: number], number>`SELECT EXISTS (SELECT 1 FROM messages WHERE id = ?)`.pluck()
    .one;
  readonly #unpinned = this.statement<SeqsOfSession, MessageValues>`
    SELECT ${MESSAGE} FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 ORDER BY seq`
    .raw()
    .map((values) => this.#checked(messageRowOf(values)));
  readonly #pinned = this.statement<[sessionId: string, seqLast: number], SelectedMessage>`
    SELECT ${MESSAGE} FROM messages WHERE session_id = ? AND seq <= ? AND pinned = 1 ORDER BY seq`.map((row) =>
    this.#checked(row),
  );
  readonly #range = this.statement<[id: string, seqFirst: number, seqLast: number, limit: number], MessageValues>`
    SELECT ${MESSAGE} FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`
    .raw()
    .map((values) => this.#checked(messageRowOf(values)));
  readonly #newest = this.statement<[id: string, seqFirst: number, seqLast: number, limit: number], MessageValues>`
    SELECT ${MESSAGE} FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?`
    .raw()
    .map((values) => this.#checked(messageRowOf(values)));
  readonly #notableBefore = this.statement<SeqsBefore & { sessionId: string; isSaid: number }, MessageValues>`
    SELECT ${MESSAGE} FROM messages
    WHERE session_id = @sessionId AND seq >= @seqFrom AND seq < @seqEnd AND pinned = 0
      AND (NOT @isSaid OR role IN ('user', 'assistant') AND instr(parts, '"type":"text"') > 0)
    ORDER BY seq DESC LIMIT @limit`
    .raw()
    .map(messageRowOf);
  /** The messages that a session holds itself in a time, in order. */
  readonly timesIn = this.statement<Span & { sessionId: string }, { id: number; atMs: number }>`
    SELECT ${columns(TABLES.messages, "id")}, created_at_ms AS atMs FROM messages
    WHERE session_id = @sessionId AND created_at_ms BETWEEN @sinceMs AND @untilMs ORDER BY seq`.all;
  /** What users and models said in some steps, in order. */
  readonly notableOf = this.statement<[stepIds: string], SelectedMessage>`
    SELECT ${MESSAGE.of("m")} ${STEPS} WHERE m.role NOT IN ('system', 'tool') ORDER BY m.seq`.map(notableMessage).allOf;
  readonly #seal = this.sealing(TABLES.messages);
  readonly #setPinned = this.statement<[pinned: number, id: number]>`UPDATE messages SET pinned = ? WHERE id = ?`.run;
  /** The session and the step of a message. Its content may be damaged. */
  readonly stepOf = this.statement<[id: number], RowOf<typeof STEP>>`
    SELECT ${STEP} FROM messages WHERE id = ?`.get;
  readonly lastSeq = this.statement<[sessionId: string], IdAndSeq>`
    SELECT id, seq FROM messages WHERE session_id = ? ORDER BY seq DESC LIMIT 1`.get;
  readonly parents = this.statement<[], RowOf<typeof PLACED_PARENTS>>`
    SELECT ${PLACED_PARENTS} FROM messages ORDER BY id`.all;
  readonly #pinnedTokens = this.statement<[sessionId: string, seqLast: number], number>`
    SELECT coalesce(sum(token_count), 0) FROM messages WHERE session_id = ? AND seq <= ? AND pinned = 1`.pluck().one;
  readonly #tokensOf = this.statement<{ sessionId: string; ids: string | null }, number>`
    SELECT coalesce(sum(token_count), 0) FROM messages
    WHERE session_id = @sessionId AND (@ids IS NULL OR id IN (SELECT value FROM json_each(@ids)))`.pluck().one;
  // Rewinds run these.
  /** The step that a rewind divides, and the first message of its later part. */
  readonly dividedBy = this.statement<{ sessionId: string; seqLast: number }, { stepId: number; partId: number }>`
    SELECT ${columns(TABLES.messages, "stepId")}, id AS partId FROM messages
    WHERE session_id = @sessionId AND seq > @seqLast AND step_id < (
      SELECT id FROM messages WHERE session_id = @sessionId AND seq > @seqLast ORDER BY seq LIMIT 1)
    ORDER BY seq LIMIT 1`.get;
  readonly #after = this.statement<[sessionId: string, seq: number, limit: number], MessageValues>`
    SELECT ${MESSAGE} FROM messages WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?`.raw();
  /** The external ids of the messages after a seq. */
  readonly namesAfter = this.statement<[sessionId: string, seq: number], RowOf<typeof NAMES>>`
    SELECT ${NAMES} FROM messages WHERE session_id = ? AND seq > ? ORDER BY seq`.all;
  readonly #move = this.statement<{
    id: number;
    sessionId: string;
    stepId: number;
    checksum: number | null;
  }>`
    UPDATE messages SET session_id = @sessionId, step_id = @stepId, checksum = @checksum
    WHERE id = @id`.run;
  readonly #rowOf = this.statement<[id: number], MessageValues>`SELECT ${MESSAGE} FROM messages WHERE id = ?`.raw();
  readonly moveForgotten = this.statement<{ from: string; to: string; seq: number }>`
    UPDATE forgotten_messages SET session_id = @to WHERE session_id = @from AND seq > @seq`.run;
  /** The forgotten seqs that only branches of a session have. */
  readonly #forgottenOfBranches = this.statement<
    { sessionId: string; seqFirst: number; seqLast: number },
    { seq: number; forgottenAtMs: number }
  >`
    SELECT f.seq, max(f.forgotten_at_ms) AS forgottenAtMs
    FROM forgotten_messages f
    WHERE f.session_id IN ${withBranches("@sessionId")} AND f.session_id <> @sessionId AND f.seq BETWEEN @seqFirst AND @seqLast
    GROUP BY f.seq`.all;
  readonly #addForgotten = this.statement<InsertOf<typeof FORGOTTEN>>`${FORGOTTEN.insert()}`.run;
  // Without the plus, SQLite would read all messages of the session.
  /** Makes each message of these steps that the session holds its own parent. */
  readonly #leaveForest = this.statement<[stepIds: string, sessionId: string]>`
    UPDATE messages AS m SET parent_id = m.id FROM json_each(?) step
    WHERE ${isOfStep("step.value")} AND +m.session_id = ?`;
  /** Yields the stored parents of a session in order of seq. The driver writes nothing before the last one was read. */
  readonly parentsOf = this.statement<[sessionId: string], RowOf<typeof PARENTS>>`
    SELECT ${PARENTS} FROM messages WHERE session_id = ? ORDER BY seq`.iterate;
  // Lists as JSON.
  readonly #setParentsOfSteps = this.statement<[steps: string, sessionId: string]>`
    UPDATE messages AS m SET parent_id = step.value ->> 1 FROM json_each(?) step
    WHERE ${isOfStep("step.value ->> 0")} AND +m.session_id = ?`;
  readonly #byIds = this.statement<[ids: string], SelectedMessage>`
    SELECT ${MESSAGE} FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq`;
  readonly #seqsOf = this.statement<[sessionId: string, ids: string], number>`
    SELECT seq FROM messages WHERE session_id = ? AND id IN (SELECT value FROM json_each(?))`.pluck().all;
  readonly #delete = this.statement<[sessionId: string, ids: string]>`
    DELETE FROM messages WHERE session_id = ? AND id IN (SELECT value FROM json_each(?))`.run;
  /** Those of some messages that are stored, in order of seq. */
  readonly inOrder = this.statement<[ids: string], number>`
    SELECT id FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq`.pluck().allOf;
  /** Those of some messages that are of a time, its ends included. */
  readonly idsOfTime = this.statement<{ ids: string; sinceMs: number; untilMs: number }, number>`
    SELECT m.id FROM json_each(@ids) given CROSS JOIN messages m ON m.id = given.value
    WHERE m.created_at_ms BETWEEN @sinceMs AND @untilMs`.pluck().all;
  /** With whether the row itself names the step: SQLite reads `m.step_id` from the index. */
  readonly #idsOfSteps = this.statement<[stepIds: string], { id: number; stepId: number; isOfStep: number }>`
    SELECT m.id, step.value AS stepId, (SELECT step_id FROM messages WHERE id = m.id) = step.value AS isOfStep ${OF_STEPS}`
    .allOf;
  readonly digestsOfSteps = this.statement<[stepIds: string], Buffer>`SELECT m.digest ${OF_STEPS}`.pluck().allOf;
  readonly tokensOfSteps = this.statement<[stepIds: string], number>`SELECT m.token_count ${OF_STEPS}`.pluck().allOf;
  readonly #syncKeys = this.statement<
    { sessionId: string; seqFirst: number; seqLast: number },
    { externalId: string | null; digest: string; seq: number }
  >`
    SELECT ${columns(TABLES.messages, "externalId")},
           CASE role
             WHEN 'tool' THEN (SELECT json_group_array(value ->> 'toolCallId') FROM json_each(parts))
             ELSE lower(hex(digest))
           END AS digest, seq
    FROM messages WHERE session_id = @sessionId AND seq BETWEEN @seqFirst AND @seqLast
    UNION ALL SELECT NULL, '', seq FROM forgotten_messages
    WHERE session_id = @sessionId AND seq BETWEEN @seqFirst AND @seqLast
    ORDER BY seq`;
  /**
   * Like `nextSeq`, even if the index lacks messages that the frontier has passed, or the last one: the row after it may be of the
   * same session. So no seq is given twice.
   */
  readonly seqEnd = this.statement<{ sessionId: string }, number>`
    SELECT max(
      coalesce((
        SELECT max(last.seq, coalesce(after.seq, 0)) + 1 FROM messages last
        LEFT JOIN messages after
          ON after.id = (SELECT min(id) FROM messages WHERE id > last.id) AND +after.session_id = last.session_id
        WHERE last.session_id = @sessionId ORDER BY last.seq DESC LIMIT 1), 0),
      coalesce((SELECT graduated_seq FROM sessions WHERE id = @sessionId), 0))`.pluck().one;
  readonly #forgottenCount = this.statement<[sessionId: string, seqFirst: number, seqLast: number], number>`
    SELECT count(*) FROM forgotten_messages WHERE session_id = ? AND seq BETWEEN ? AND ?`.pluck().one;
  readonly #pinnedCount = this.statement<[sessionId: string, seqFirst: number, seqLast: number], number>`
    SELECT count(*) FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 1`.pluck().one;
  // A table of SQLite's own, index hints, a view, recursion.
  /** The newest id ever given, including ids of forgotten messages. */
  readonly lastId = this.statement<[], number>`
    SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0)`.pluck().one;
  readonly #seqsByIndex = this.statement<[sessionId: string, seqFrom: number, limit: number], IdAndSeq>`
    SELECT id, seq FROM messages INDEXED BY messages_by_seq WHERE session_id = ? AND seq >= ? ORDER BY seq LIMIT ?`;
  readonly #seqsByTable = this.statement<[sessionId: string, seqFrom: number, limit: number], IdAndSeq>`
    SELECT id, seq FROM messages NOT INDEXED WHERE session_id = ? AND seq >= ? ORDER BY seq LIMIT ?`;
  readonly #openingsOf = this.statement<[charsMax: number, stepIds: string], TitledMessage>`
    SELECT ${tellerOf("m")} AS role, ${toldOf("m", "?")} AS text
    ${STEPS} ORDER BY step.key, m.seq`;
  /**
   * The first characters of the user's message that began the turn of a message. An agent's summary is none, nor is `yes`, nor a mark
   * such as `[Request interrupted by user]`: what they are about was asked before, if it was not long ago.
   */
  readonly askedBefore = this.statement<[charsMax: number, id: number], TitledMessage>`
    SELECT asked.role, substr(asked.text, 1, ?) AS text FROM messages m
    JOIN messages asked ON asked.role = 'user' AND NOT ${isSummary("asked")}
      AND asked.seq BETWEEN m.turn_seq - 100 AND m.turn_seq AND length(CAST(asked.text AS BLOB)) > 12
      AND NOT (asked.text LIKE '[%' AND instr(asked.text, ']') = length(asked.text))
      AND asked.session_id = coalesce((
      SELECT holder_id FROM shared_pasts
      WHERE session_id = m.session_id AND m.turn_seq BETWEEN seq_first AND seq_last), m.session_id)
    WHERE m.id = ? ORDER BY asked.seq DESC LIMIT 1`.get;
  /** The seqs of messages that are missing and were not forgotten. */
  readonly lostSeqs = this.statement<{ sessionId: string; limit: number }, number>`
    WITH RECURSIVE expected(seq) AS (
      SELECT CASE WHEN superseded_at_ms IS NULL
        THEN ${sharedSeqOf("@sessionId")} + 1
        ELSE fork_seq + 1 END FROM sessions WHERE id = @sessionId
      UNION ALL
      SELECT seq + 1 FROM expected WHERE seq < (SELECT max(seq) FROM messages WHERE session_id = @sessionId)
    )
    SELECT seq FROM expected
    WHERE EXISTS (SELECT 1 FROM messages WHERE session_id = @sessionId)
      AND seq NOT IN (SELECT seq FROM messages WHERE session_id = @sessionId)
      AND seq NOT IN (SELECT seq FROM forgotten_messages WHERE session_id = @sessionId)
    LIMIT @limit`.pluck().all;

  readonly #artifacts: ArtifactRepository;
  readonly #tokenCounter: TokenCounter;

  constructor(
    database: StoreDatabase,
    artifacts: ArtifactRepository,
    tokenCounter: TokenCounter,
    paths: PathRepository,
  ) {
    super(database, paths);
    this.#artifacts = artifacts;
    this.#tokenCounter = tokenCounter;
  }

  insert(message: Message, row: MessageRow): void {
    // Field by field, because V8 takes half of the insert's time for a spread of `message`.
    this.#insert.run({
      id: message.id,
      sessionId: message.sessionId,
      seq: message.seq,
      stepId: message.stepId,
      turnSeq: message.turnSeq,
      pinned: message.pinned ? 1 : 0,
      parentId: message.id,
      role: row.role,
      name: row.name ?? null,
      tokenCount: row.tokenCount,
      tokenCounter: row.tokenCounter,
      createdAtMs: row.createdAtMs,
      externalId: row.externalId ?? null,
      digest: row.digest,
      embedding: row.embedding === undefined ? null : encodeEmbedding(row.embedding),
      embedderId: row.embedderId ?? null,
      metadata: row.metadata === undefined ? null : JSON.stringify(row.metadata),
      storedText: row.artifacts.length > 0 ? row.text : storedTextOf(row.text, row.parts),
      parts: row.partsJson,
      text: row.text,
    });
    if (row.artifacts.length > 0) this.#artifacts.add(message.id, row.artifacts);
  }

  /** The message of a session, shared ones included, that has an external id. */
  byExternalId(sessionId: string, externalId: string): RowOf<typeof KEYS> | undefined {
    return this.paths.newest(sessionId, (piece) => {
      const found = this.#withName.get(piece.sessionId, externalId);
      return found !== undefined && found.seq <= piece.seqLast ? found : undefined;
    });
  }

  /** Like `unpinnedFrom`, with only the columns that make steps. */
  windowFrom(sessionId: string, seqFrom: number): RowOf<typeof WINDOW>[] {
    return this.#inPieces(sessionId, seqFrom, LAST, this.#window.all);
  }

  /** Without pinned messages. Of each text there is only the beginning. */
  graduating(sessionId: string, seqFirst: number, seqLast: number): GraduatingMessage[] {
    return this.#inPieces(sessionId, seqFirst, seqLast, this.#graduating.all);
  }

  /** The messages of `graduating`, without what they say. */
  *graduatingPlaces(sessionId: string, seqFirst: number, seqLast: number): Generator<RowOf<typeof PLACES>> {
    for (const piece of this.paths.pieces(sessionId, seqFirst, seqLast)) {
      yield* this.#graduatingPlaces.iterate(piece.sessionId, piece.seqFirst, piece.seqLast);
    }
  }

  #inPieces<Row>(sessionId: string, first: number, last: number, read: (...range: SeqsOfSession) => Row[]): Row[] {
    const pieces = this.paths.pieces(sessionId, first, last);
    return rowsIn(pieces, LAST, ({ sessionId, seqFirst, seqLast }) => read(sessionId, seqFirst, seqLast));
  }

  /** The seq of the newest message before `seq` that is not pinned; -1 if there is none. */
  seqBefore(sessionId: string, seq: number): number {
    const read = (piece: Piece) => this.#unpinnedUpTo.get(piece.sessionId, piece.seqLast);
    return this.paths.newest(sessionId, read, seq - 1) ?? -1;
  }

  lastOf(sessionId: string): { id: number; seq: number; turnSeq: number } | undefined {
    return this.paths.newest(sessionId, (piece) => this.#lastUpTo.get(piece.sessionId, piece.seqLast));
  }

  pinnedOf(sessionId: string): Message[] {
    return this.#inPieces(sessionId, 0, LAST, (...range) => inPlace(range, this.#pinned.all(range[0], range[2])));
  }

  /** The first characters of each message of some steps, in the order of the steps. */
  openingsOf(charsMax: number, stepIds: readonly number[]): TitledMessage[] {
    return this.#openingsOf.all(charsMax, JSON.stringify(stepIds));
  }

  /** Returns those of the messages of these steps that can be read, in order of seq. @param fresh  Messages that need not be read. */
  intactOfSteps(stepIds: readonly number[], fresh?: ReadonlyMap<number, { message: Message }>): Message[] {
    const places = this.#idsOfSteps(stepIds);
    const held = places.flatMap(({ id, stepId, isOfStep }) => {
      const message = fresh?.get(id)?.message;
      return message?.stepId === stepId && isOfStep === 1 ? [message] : [];
    });
    if (held.length === places.length) return held;
    const ids = places.map(({ id }) => id);
    try {
      return this.byIds(ids);
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      return ids.flatMap((id) => this.#intact(id) ?? []);
    }
  }

  leaveForest(sessionId: string, stepIds: readonly number[]): void {
    this.#leaveForest.run(JSON.stringify(stepIds), sessionId);
  }

  /** Moves the messages after a seq to a branch. @param partId  The first of a step that stays in part. @returns their ids. */
  supersede(sessionId: string, seqLast: number, branchId: string, partId: number | undefined): number[] {
    const ids: number[] = [];
    for (;;) {
      const page = this.#after.all(sessionId, seqLast, EACH_PAGE);
      for (const values of page) {
        const row = uncheckedRowOf(values);
        const id = row.id as number;
        const isOfPart = partId !== undefined && (row.stepId as number) < (ids[0] ?? id);
        const stepId = isOfPart ? partId : (row.stepId as number);
        ids.push(id);
        this.#place(row, { sessionId: branchId, stepId });
      }
      if (page.length < EACH_PAGE) break;
    }
    this.moveForgotten({ from: sessionId, to: branchId, seq: seqLast });
    return ids;
  }

  /** Gives a session the forgotten messages of its branches from its next seq to another, if they are all forgotten. */
  copyForgotten(sessionId: string, seqLast: number): void {
    const seqFirst = this.nextSeq({ sessionId });
    const rows = this.#forgottenOfBranches({ sessionId, seqFirst, seqLast });
    if (rows.length === 0 || rows.length <= seqLast - seqFirst) return;
    for (const row of rows) this.#addForgotten({ ...row, sessionId });
  }

  /** Moves a message to another session, where it has the same seq. */
  place(id: number, sessionId: string, stepId: number): void {
    const row = uncheckedRowOf(this.#rowOf.one(id));
    this.#place(row, { sessionId, stepId });
  }

  #place(row: Record<string, unknown>, place: { sessionId: string; stepId: number }): void {
    MESSAGE.change(row, place);
    this.#move({ id: row.id as number, ...place, checksum: row.checksum as number | null });
  }

  byId(id: number): Message | undefined {
    return this.byIds([id])[0];
  }

  /** In order and without pinned ones. */
  unpinnedFrom(sessionId: string, seqFrom: number): Message[] {
    return this.#inPieces(sessionId, seqFrom, LAST, (...range) => inPlace(range, this.#unpinned.all(...range)));
  }

  /** Returns the newest `limit` messages from `seqFrom` to before `seqEnd`, in order and without pinned ones. */
  notableBefore(sessionId: string, range: SeqsBefore, isSaid = false): NotableMessage[] {
    const pieces = this.paths.pieces(sessionId, range.seqFrom, range.seqEnd - 1).reverse();
    const rows = rowsIn(pieces, range.limit, ({ sessionId, seqFirst, seqLast }, limit) => {
      const wanted = { sessionId, seqFrom: seqFirst, seqEnd: seqLast + 1, limit, isSaid: Number(isSaid) };
      return inPlace([sessionId, seqFirst, seqLast], this.#notableBefore.all(wanted).reverse()).reverse();
    });
    return rows.reverse().map(notableMessage);
  }

  /** Like `notableBefore`, but only what users and assistants said in words. */
  saidBefore(sessionId: string, range: SeqsBefore): NotableMessage[] {
    return this.notableBefore(sessionId, range, true);
  }

  /** In order of seq. Unknown ids are left out. */
  byIds(ids: readonly number[]): Message[] {
    return this.#byIds.allOf(ids).map((row) => this.#checked(row));
  }

  /** A message that a session holds or shares. @throws {StoreError} `MESSAGE_NOT_FOUND`. */
  existing(sessionId: string, messageId: number): Message {
    const message = this.byId(messageId);
    if (message === undefined || !this.paths.has(sessionId, message)) {
      throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
    }
    return message;
  }

  /** Like `byIds`, as a session reads them: the messages that it shares are its own. */
  byIdsIn(sessionId: string, ids: readonly number[]): Message[] {
    const messages = this.byIds(ids);
    for (const message of messages) if (this.paths.has(sessionId, message)) message.sessionId = sessionId;
    return messages;
  }

  pinnedTokensOf(sessionId: string): number {
    const path = this.paths.of(sessionId);
    return path.reduce((sum, piece) => sum + this.#pinnedTokens(piece.sessionId, piece.seqLast), 0);
  }

  /** Of what the session holds itself. @param ids  By default all messages. */
  tokensOf(sessionId: string, ids?: readonly number[]): number {
    return this.#tokensOf({ sessionId, ids: ids === undefined ? null : JSON.stringify(ids) });
  }

  /** Returns the messages from one seq to another, both included. */
  range(sessionId: string, seqFirst: number, seqLast: number, limit = Number.MAX_SAFE_INTEGER): Message[] {
    return rowsIn(this.paths.pieces(sessionId, seqFirst, seqLast), limit, (piece, left) => {
      const range: SeqsOfSession = [piece.sessionId, piece.seqFirst, piece.seqLast];
      return inPlace(range, this.#range.all(...range, left));
    });
  }

  /** Returns the newest messages from one seq to another, oldest first. */
  newest(sessionId: string, seqFirst: number, seqLast: number, count: number): Message[] {
    const newestFirst = rowsIn(this.paths.pieces(sessionId, seqFirst, seqLast).reverse(), count, (piece, left) => {
      const range: SeqsOfSession = [piece.sessionId, piece.seqFirst, piece.seqLast];
      return inPlace(range, this.#newest.all(...range, left).reverse()).reverse();
    });
    return newestFirst.reverse();
  }

  /** @param count  How many messages the themes have. @throws {DamageError} if these are not all messages before `seqEnd`. */
  assertInThemes(sessionId: string, seqEnd: number, count: number): void {
    let missingCount = -count;
    for (const { sessionId: id, seqFirst, seqLast } of this.paths.pieces(sessionId, 0, seqEnd - 1)) {
      missingCount += seqLast - seqFirst + 1 - this.#forgottenCount(id, seqFirst, seqLast);
      missingCount -= this.#pinnedCount(id, seqFirst, seqLast);
    }
    if (missingCount <= 0) return;
    throw new DamageError(
      `the themes of session ${sessionId} lack ${missingCount} of the messages before seq ${seqEnd}`,
    );
  }

  /** Pins messages, or unpins them. The caller has read them, so that no damage is sealed. */
  setPinned(ids: readonly number[], pinned: boolean): void {
    for (const id of ids) {
      this.#setPinned(pinned ? 1 : 0, id);
      this.#seal(id);
    }
  }

  /** In order of seq. @throws {DamageError} if an index has a message in a step that is not its own. */
  idsOfSteps(stepIds: readonly number[]): number[] {
    const rows = this.#idsOfSteps(stepIds);
    const stray = rows.find(({ isOfStep }) => isOfStep !== 1);
    if (stray !== undefined) throw new DamageError(`the index by step has message ${stray.id} in a wrong step`);
    return [...new Set(rows.map(({ id }) => id))];
  }

  /** In order of seq. @throws {DamageError} like `idsOfSteps`. */
  ofSteps(stepIds: readonly number[]): Message[] {
    return this.byIds(this.idsOfSteps(stepIds));
  }

  /** Reads no other columns and needs no index, so a damaged message does not hide others. */
  seqsFrom(sessionId: string, seqFrom: number, limit: number): IdAndSeq[] {
    try {
      return this.#seqsByIndex.all(sessionId, seqFrom, limit);
    } catch {
      return this.#seqsByTable.all(sessionId, seqFrom, limit);
    }
  }

  /** Yields every message in order, before its digest is compared. Unreadable messages are noted instead. */
  *each(sessionId: string, note: (text: string) => void): Generator<StoredMessage> {
    for (let seqFrom = 0; ; ) {
      const page = this.seqsFrom(sessionId, seqFrom, EACH_PAGE);
      for (const row of this.#readableRows(page, note)) {
        try {
          yield { message: this.#unchecked(row), digest: row.digest };
        } catch (error) {
          note(`message ${row.id} cannot be read: ${(error as Error).message}`);
        }
      }
      if (page.length < EACH_PAGE) return;
      const next = page.at(-1)!.seq + 1;
      // Else the loop would not end.
      if (next <= seqFrom) throw new DamageError(`the messages of session ${sessionId} are not in order of their seqs`);
      seqFrom = next;
    }
  }

  #readableRows(page: readonly { id: number }[], note: (text: string) => void): SelectedMessage[] {
    if (page.length === 0) return [];
    let reason = "its row is missing";
    try {
      const rows = this.#byIds.allOf(page.map(({ id }) => id));
      if (rows.length === page.length) return rows;
    } catch (error) {
      reason = (error as Error).message;
    }
    if (page.length > 1) return page.flatMap((one) => this.#readableRows([one], note));
    note(`message ${page[0]!.id} cannot be read: ${reason}`);
    return [];
  }

  /**
   * The keys by which `sync` matches messages: external ids, and digests or the ids of tool calls. Forgotten messages have the empty
   * digest.
   */
  syncKeys(sessionId: string, seqFrom: number): { externalId: string | undefined; digest: string; seq: number }[] {
    const rows = this.#inPieces(sessionId, seqFrom, LAST, (sessionId, seqFirst, seqLast) =>
      this.#syncKeys.all({ sessionId, seqFirst, seqLast }),
    );
    return rows.map(({ externalId, ...row }) => ({ externalId: externalId ?? undefined, ...row }));
  }

  /** Returns the vector that a local embedder makes of a message; undefined if that is the stored one, or it made none. */
  rightVector({ id, text }: Message, { id: embedderId, embed }: LocalEmbedding): RightVector | undefined {
    const [stored, storedEmbedder] = this.#vector.get({ id, embedderId }) ?? [null];
    const right = stored === null ? undefined : embed(text);
    if (right === undefined) return undefined;
    const embedding = encodeEmbedding(right);
    const isStored = Buffer.isBuffer(stored) && stored.equals(embedding);
    return isStored && storedEmbedder === embedderId ? undefined : { id, embedderId, embedding };
  }

  /** Returns undefined for a message that is damaged. */
  #intact(id: number): Message | undefined {
    try {
      return this.byIds([id])[0];
    } catch (error) {
      if (error instanceof DamageError) return undefined;
      throw error;
    }
  }

  /** Sets the parent of all messages of each step that the session holds. */
  setParentsOfSteps(sessionId: string, steps: readonly (readonly [stepId: number, parentId: number])[]): void {
    this.#setParentsOfSteps.run(JSON.stringify(steps), sessionId);
  }

  /** Deletes messages and their rows in other tables, and records their seqs as forgotten. */
  forget(sessionId: string, ids: readonly number[], forgottenAtMs: number): void {
    const list = JSON.stringify(ids);
    for (const seq of this.#seqsOf(sessionId, list)) this.#addForgotten({ sessionId, seq, forgottenAtMs });
    this.#delete(sessionId, list);
  }

  /** The digest is compared if the checksum does not cover all of the message, because long strings are elsewhere. */
  #checked(row: SelectedMessage): Message {
    const isWhole = !mayHaveArtifacts(row.parts);
    const message = this.#unchecked(row, isWhole);
    if (isWhole || digestOf(message).equals(row.digest)) return message;
    throw new DamageError(`message ${row.id} is not what was appended: its digest differs`);
  }

  /** @param isWhole  True if all strings of the message are in its row. */
  #unchecked(row: SelectedMessage, isWhole = !mayHaveArtifacts(row.parts)): Message {
    const parts = partsOf(row);
    if (!isWhole) this.#artifacts.restore(row.id, parts);
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
    // A budget in this counter's tokens needs this counter's counts.
    if (row.tokenCounter !== this.#tokenCounter.name) message.tokenCount = messageTokens(message, this.#tokenCounter);
    if (row.externalId !== null) message.externalId = row.externalId;
    if (row.metadata !== null) message.metadata = row.metadata;
    return message;
  }
}

/**
 * Returns the rows of a range of seqs.
 *
 * @throws {DamageError} if one of them says that it is elsewhere: an index has it in the place of another one, or twice.
 */
function inPlace<Row extends { sessionId: string; seq: number }>(
  [sessionId, seqFirst, seqLast]: SeqsOfSession,
  rows: Row[],
): Row[] {
  let before = seqFirst - 1;
  for (const row of rows) {
    if (row.sessionId !== sessionId || row.seq <= before || row.seq > seqLast)
      throw new DamageError(`an index has seq ${row.seq} of session ${row.sessionId} in the place of another message`);
    before = row.seq;
  }
  return rows;
}

function notableMessage(row: SelectedMessage): NotableMessage {
  return { ...row, parts: partsOf(row) };
}

function graduatingMessage(row: GraduatingRow): GraduatingMessage {
  const { embedding } = row;
  const vector = embedding === null ? null : CODECS.embedding.fromDriver(embedding);
  return Object.assign(row, { embedding: vector });
}
