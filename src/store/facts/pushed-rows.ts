import type { StoreDatabase } from "../file/open.ts";
import { Repository, rawRows } from "../file/repository.ts";
import { artifacts, messageArtifacts, messages } from "../sql/schema.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { blobOf } from "../sql/stored-value.ts";
import type { FactTables } from "./fact-rows.ts";
import { vectorNow } from "./generations.ts";
import { withBranches } from "./paths.ts";

/** Where a message is. `sessionId` may be the id of a superseded branch. */
const PLACE = columns(messages, "id", "sessionId", "seq", "stepId", "turnSeq", "digest", "createdAtMs");
export type MessagePlace = RowOf<typeof PLACE> & {
  /** The checksum of the row, which a part of a row is not compared with. */
  seal: number;
};

/** SQL: the session and its branches. */
const OWN = `session_id IN ${withBranches("@id")}`;

const IN_WINDOW = columns(messages, "id", "turnSeq");

const INDEXED = columns(messages, "id", "sessionId", "seq", "role", "name", "text", "tokenCount", "createdAtMs");
/** What the word index of a hub needs of a message. `parts` is JSON. */
export type IndexedRow = RowOf<typeof INDEXED> & { parts: string };

/** Messages of a session, in order of their ids, with the long strings that they need. */
export interface MessageBatch {
  messages: (FactTables["messages"] & { text: string })[];
  artifacts: FactTables["artifacts"][];
}

/** Reads a session that is pushed to a hub, in order of message ids, which neither a rewind nor an undo changes. */
export class PushedRowRepository extends Repository {
  // A list of a session's messages, and lists passed as JSON.
  readonly places = this.statement<{ id: string }, MessagePlace>`
    SELECT ${PLACE}, checksum AS seal FROM messages WHERE ${OWN} ORDER BY id`.all;
  /** The vectors of a session's messages in the generation in use. */
  readonly #vectors = this.statement<{ id: string }, { id: number; embedding: Buffer }>`
    SELECT id, embedding FROM (SELECT id, ${vectorNow("messages")} AS embedding FROM messages WHERE ${OWN})
    WHERE embedding IS NOT NULL ORDER BY id`;
  /** The roots of a session's clusters. */
  readonly clusterRoots = this.statement<{ id: string }, number>`
    SELECT root_id FROM clusters WHERE session_id = @id ORDER BY root_id`.pluck().all;
  /** The messages of a session's window, which are in no cluster, in order. */
  readonly inWindow = this.statement<{ id: string }, RowOf<typeof IN_WINDOW>>`
    SELECT ${IN_WINDOW.of("m")} FROM sessions s CROSS JOIN messages m ON m.session_id = s.id AND m.seq >= s.graduated_seq
    WHERE s.id = @id ORDER BY m.seq`.all;
  readonly indexed = this.statement<[ids: string], IndexedRow>`
    SELECT ${INDEXED}, messages.parts AS parts FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`
    .allOf;

  readonly #changes = this.statement<[], number>`SELECT total_changes()`.pluck();
  readonly #database: StoreDatabase;

  constructor(database: StoreDatabase) {
    super(database);
    this.#database = database;
  }

  /** Differs from an earlier one if anyone may have written since. */
  state(): string {
    return `${this.#database.dataVersion()} ${this.#changes.one()} ${this.#database.rollbackCount}`;
  }

  /** Reads the first of these messages, up to about a number of bytes; at least one if there is one. */
  batch(messageIds: readonly number[], bytesMax: number): MessageBatch {
    const batch: MessageBatch = { messages: [], artifacts: [] };
    const condition = "WHERE id IN (SELECT value FROM json_each(@ids)) ORDER BY id";
    let bytes = 0;
    for (const row of rawRows(this.#database, messages, condition, { ids: JSON.stringify(messageIds) })) {
      bytes += (row.parts as string).length + String(row.text).length;
      if (batch.messages.length > 0 && bytes > bytesMax) break;
      delete row.parentId;
      batch.messages.push(row as unknown as MessageBatch["messages"][number]);
    }
    const used = `WHERE sha256 IN (SELECT sha256 FROM message_artifacts WHERE message_id IN (SELECT value FROM json_each(@ids)))`;
    const ids = JSON.stringify(batch.messages.map(({ id }) => id));
    for (const row of rawRows(this.#database, artifacts, used, { ids }))
      batch.artifacts.push(row as unknown as FactTables["artifacts"]);
    return batch;
  }

  /** Vectors may come or change after their messages. */
  *vectors(sessionId: string): Generator<{ id: number; embedding: Buffer }> {
    for (const { id, embedding } of this.#vectors.iterate({ id: sessionId }))
      yield { id, embedding: blobOf(embedding) };
  }

  /** Which long strings the messages of a session and its branches have. */
  *artifactsOf(sessionId: string): Generator<FactTables["messageArtifacts"]> {
    const condition = `WHERE message_id IN (SELECT id FROM messages WHERE ${OWN}) ORDER BY message_id, pointer`;
    for (const { checksum: _, ...row } of rawRows(this.#database, messageArtifacts, condition, { id: sessionId }))
      yield row as FactTables["messageArtifacts"];
  }
}
