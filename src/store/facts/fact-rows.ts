import { textOf } from "../../core/artifacts.ts";
import { DamageError } from "../../core/damage.ts";
import { baseNameOf } from "../../core/project.ts";
import type { StoreDatabase } from "../file/open.ts";
import { type RawValues, Repository, rawInsert, rawRows } from "../file/repository.ts";
import { isSharedText } from "../sql/message-columns.ts";
import { columns } from "../sql/statement.ts";
import { type DecodedRow, TABLES, type Table } from "../sql/tables.ts";
import { GENERATION_NOW, type GenerationRow, vectorNow } from "./generations.ts";
import { withBranches } from "./paths.ts";

const SESSION = columns(TABLES.sessions);

/** A value as SQLite has it, of one that the schema decodes. */
type RawValue<V> = V extends null | number | string | Buffer
  ? V
  : V extends boolean
    ? number
    : V extends Float32Array
      ? Buffer
      : string;
type RawRow<Row, Omitted extends string = never> = {
  [K in Exclude<keyof Row, Omitted>]: RawValue<Row[K]>;
};

/** What the rows of a session come from. It is the first row. */
export interface RowsOrigin {
  /** Null if the store could not be written. */
  storeId: string | null;
  embedderId: string;
  dimension: number;
  /** No row has a higher id. */
  newestId: number;
  /** The key of `tombstones`, in hex; null if nothing was forgotten. */
  tombstoneKey: string | null;
}

/** The tables whose rows move with a session, and the columns that each store sets by itself. */
export const FACT_TABLES = {
  sessions: { table: TABLES.sessions, own: ["frontierVersion"] },
  messages: { table: TABLES.messages, own: ["parentId", "text"] },
  artifacts: { table: TABLES.artifacts, own: [] },
  messageArtifacts: { table: TABLES.messageArtifacts, own: ["checksum"] },
  forgottenMessages: { table: TABLES.forgottenMessages, own: ["checksum"] },
  pendingVectors: { table: TABLES.pendingVectors, own: ["claimant", "claimedUntilMs"] },
  unions: { table: TABLES.unions, own: ["generation", "checksum"] },
  undoneUnions: { table: TABLES.undoneUnions, own: ["generation", "checksum"] },
  frontierMoves: { table: TABLES.frontierMoves, own: ["checksum"] },
  summaries: { table: TABLES.summaries, own: [] },
  discardedCosts: { table: TABLES.discardedCosts, own: ["checksum"] },
  entries: { table: TABLES.entries, own: [] },
  items: { table: TABLES.items, own: ["id"] },
  tombstones: { table: TABLES.tombstones, own: ["checksum"] },
} as const satisfies Record<string, { table: Table; own: readonly string[] }>;

type Raw<T extends keyof typeof FACT_TABLES> = RawRow<
  DecodedRow<(typeof FACT_TABLES)[T]["table"]>,
  (typeof FACT_TABLES)[T]["own"][number]
>;

/** The rows by the names of their tables in schema.ts. Values are as SQLite has them. */
export type FactTables = Omit<{ [T in keyof typeof FACT_TABLES]: Raw<T> }, "messages"> & {
  origin: RowsOrigin;
  /**
   * `embedding` is the vector in the generation in use. A writer makes it again if it is undefined; `vectorCrc` is then the
   * CRC-32 that it must have.
   */
  messages: Omit<Raw<"messages">, "storedText" | "embedding"> & {
    storedText: string | Buffer;
    embedding: Buffer | null | undefined;
    vectorCrc?: number | undefined;
  };
};

export type FactRow = { [T in keyof FactTables]: { table: T; row: FactTables[T] } }[keyof FactTables];

/** From where on rows are wanted: messages of the path from a seq on, and rows of the log after a position. */
export interface RowsFrom {
  seq: number;
  position: number;
}

const OWN = `session_id IN ${withBranches("@id")}`;
const OF_MESSAGE = `message_id IN (SELECT id FROM messages WHERE ${OWN} AND (seq >= @seq OR session_id <> @id))`;
const IN_USE = `generation = ${GENERATION_NOW}`;

/** SQL: the rows of a session's tables. `moves` says which of them move, because a damaged value would leave out a row here. */
const CONDITIONS: Record<Exclude<keyof typeof FACT_TABLES, "tombstones">, string> = {
  sessions: `WHERE id IN ${withBranches("@id")} ORDER BY superseded_at_ms, id`,
  messages: `WHERE ${OWN} AND (seq >= @seq OR session_id <> @id) ORDER BY session_id <> @id, session_id, seq`,
  artifacts: `WHERE sha256 IN (SELECT sha256 FROM message_artifacts WHERE ${OF_MESSAGE}) ORDER BY sha256`,
  messageArtifacts: `WHERE ${OF_MESSAGE} ORDER BY message_id, pointer`,
  forgottenMessages: `WHERE ${OWN} ORDER BY session_id, seq`,
  pendingVectors: `WHERE ${OWN} ORDER BY message_id`,
  unions: "WHERE session_id = @id AND id > @position ORDER BY id",
  undoneUnions: "WHERE session_id = @id ORDER BY id, undone_at",
  frontierMoves: "WHERE session_id = @id ORDER BY seq_end",
  summaries: "WHERE session_id = @id ORDER BY id",
  discardedCosts: `WHERE ${OWN} ORDER BY session_id, summarizer_id`,
  entries: `WHERE ${OWN} ORDER BY id`,
  items: "WHERE session_id = @id ORDER BY namespace, key",
};

/** Logs of older generations and of subjects stay, and so do claims, which belong to a process. */
function moves(name: string, row: RawValues, { id, logPosition }: GenerationRow): boolean {
  if (name === "unions") return row.generation === id && row.level !== "subject";
  if (name === "undoneUnions") return row.generation === id;
  if (name !== "summaries") return true;
  const isOfForest = row.level === "cluster";
  return row.status !== "claimed" && (!isOfForest || (row.logPosition as number) > logPosition);
}

/** The tables whose rows of a session are replaced, beside its log and its items. */
const REPLACED = ["messages", "forgotten_messages", "frontier_moves", "summaries", "discarded_costs", "entries"];

export class FactRowRepository extends Repository {
  // Staged vectors, and the ids of several tables at once.
  readonly #vectorNow = this.statement<[id: number], Buffer | null>`
    SELECT ${vectorNow("messages")} FROM messages WHERE id = ?`.pluck();
  readonly #hadForest = this.statement<[embedderId: string], number>`
    SELECT EXISTS (SELECT 1 FROM generations WHERE embedder_id = ?)`.pluck();
  readonly newestId = this.statement<{ id: string }, number>`
    SELECT max(
      coalesce((SELECT max(id) FROM messages WHERE ${OWN}), 0),
      coalesce((SELECT max(id) FROM unions WHERE session_id = @id AND level <> 'subject' AND ${IN_USE}), 0),
      coalesce((SELECT max(max(id, undone_at)) FROM undone_unions WHERE session_id = @id AND ${IN_USE}), 0),
      coalesce((SELECT max(id) FROM summaries WHERE session_id = @id), 0),
      coalesce((SELECT max(max(coalesce(shown_from, 0), coalesce(shown_until, 0))) FROM summaries WHERE session_id = @id), 0),
      coalesce((SELECT max(id) FROM entries WHERE ${OWN}), 0))`.pluck().one;
  readonly #deleteLogs = ["unions", "undone_unions"].map(
    (table) => this.statement<[sessionId: string, generation: number]>`
      DELETE FROM ${table} WHERE session_id = ? AND generation = ? AND level <> 'subject'`,
  );
  readonly #deleteRows = REPLACED.map(
    (table) => this.statement<[sessionId: string]>`DELETE FROM ${table} WHERE session_id = ?`,
  );
  readonly deleteItemsOf = this.statement<[sessionId: string]>`DELETE FROM items WHERE session_id = ?`.run;
  readonly #inserts = new Map<string, (row: RawValues) => number>();
  readonly #database: StoreDatabase;

  constructor(database: StoreDatabase) {
    super(database);
    this.#database = database;
  }

  /** @throws {DamageError} if an index may hide a row of a session. */
  assertWhole(): void {
    this.rowCheck.assertWhole(TABLES.messages, "messages_by_seq");
    this.rowCheck.assertWhole(TABLES.unions, "unions_by_session");
    for (const { table } of Object.values(FACT_TABLES)) {
      if (table !== TABLES.messages && table !== TABLES.unions) this.rowCheck.assertWhole(table);
    }
  }

  /** Overwrites the session, if there is one, so that its children keep it. */
  putSession({ checksum: _, ...row }: RawValues): void {
    rawInsert(this.#database, TABLES.sessions, "overwrite")(row);
  }

  insert(table: keyof typeof FACT_TABLES, row: RawValues): void {
    this.#inserting(table, "fail")(row);
  }

  /** Returns false if the table has the row, or another one in its place. */
  insertUnlessThere(table: keyof typeof FACT_TABLES, row: RawValues): boolean {
    return this.#inserting(table, "skip")(row) > 0;
  }

  #inserting(table: keyof typeof FACT_TABLES, existing: "fail" | "skip"): (row: RawValues) => number {
    const known = this.#inserts.get(table) ?? rawInsert(this.#database, FACT_TABLES[table].table, existing);
    this.#inserts.set(table, known);
    return known;
  }

  holderOf(table: keyof FactTables, id: unknown): string | undefined {
    if (table !== "messages" && table !== "unions" && table !== "summaries" && table !== "entries") return undefined;
    const [found] = rawRows(this.#database, FACT_TABLES[table].table, "WHERE id = @id", { id });
    return found?.sessionId as string | undefined;
  }

  /** Deletes what rows of the session replace. The session itself, older generations and subjects stay. */
  deleteOf(sessionId: string, generation: number): void {
    for (const deleteLog of this.#deleteLogs) deleteLog.run(sessionId, generation);
    for (const deleteRows of this.#deleteRows) deleteRows.run(sessionId);
    this.deleteItemsOf(sessionId);
  }

  itemsOf(sessionId: string): FactTables["items"][] {
    const rows = [...rawRows(this.#database, TABLES.items, CONDITIONS.items, { id: sessionId })];
    for (const row of rows) delete row.id;
    return rows as FactTables["items"][];
  }

  /** @throws {DamageError} if rows are damaged. Indexes are compared by `assertWhole`. */
  *of(sessionId: string, generation: GenerationRow, from: RowsFrom): Generator<FactRow> {
    const { embedderId, logPosition: generationStart } = generation;
    const artifacts = new Set<unknown>();
    for (const [name, condition] of Object.entries(CONDITIONS)) {
      const { table, own } = FACT_TABLES[name as keyof typeof CONDITIONS];
      for (const row of rawRows(this.#database, table, condition, { id: sessionId, ...from })) {
        if (!moves(name, row, generation)) continue;
        if (name === "messages") {
          const { id, storedText, parts } = row;
          if (Buffer.isBuffer(storedText) && !isSharedText(storedText, parts as string)) {
            throw new DamageError(`row ${id} of messages is damaged`);
          }
          this.#useVectorNow(row, embedderId);
        }
        if (name === "sessions" && (row.project !== null || row.author !== null)) {
          // A folder of this machine means nothing elsewhere, and no hub says there whose copy it is.
          if (row.project !== null) row.project = baseNameOf(row.project as string);
          row.author = null;
          SESSION.seal(row);
        }
        if (name === "artifacts") {
          assertSound(row);
          artifacts.add(row.sha256);
        }
        if (name === "messageArtifacts" && !artifacts.has(row.sha256)) {
          throw new DamageError(`artifact ${row.sha256} is missing, or in no index`);
        }
        // No checksum covers it. A row that moves is not claimed.
        if (name === "summaries") row.claimedUntilMs = null;
        // These moves were of a forest that does not move. A rewind then looks for the position by the log.
        if (name === "frontierMoves" && (row.logPosition as number) <= generationStart) row.logPosition = 0;
        for (const key of own) delete row[key];
        yield { table: name, row } as unknown as FactRow;
      }
    }
  }

  #useVectorNow(row: RawValues, embedderId: string): void {
    if (row.embedderId === embedderId || row.embedderId === null) return;
    if (this.#hadForest.one(row.embedderId as string) === 0) {
      throw new DamageError(`message ${row.id} has a vector of ${row.embedderId}, which never made a forest`);
    }
    row.embedding = this.#vectorNow.one(row.id as number);
    row.embedderId = row.embedding === null ? null : embedderId;
  }
}

/** @throws {DamageError} if the long string is damaged. */
function assertSound(row: RawValues): void {
  const artifact = { ...row, compressed: row.compressed === 1 } as Parameters<typeof textOf>[0];
  textOf(artifact, (reason) => {
    throw new DamageError(`artifact ${row.sha256} ${reason}`);
  });
}
