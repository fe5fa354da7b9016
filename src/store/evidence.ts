import { decodeVector } from "../vector/codec.ts";
import { GENERATION_NOW, vectorNow } from "./generations.ts";
import { MESSAGE } from "./messages.ts";
import { Repository } from "./repository.ts";
import { messages } from "./schema.ts";
import { columns, type RowOf } from "./statement.ts";

const RANKED = columns(messages, "sessionId", "seq", "role", "name", "tokenCount", "createdAtMs");

/** The part of a message that ranking reads. */
export interface EvidenceRow extends RowOf<typeof RANKED> {
  messageId: number;
  /** True if the message has tool calls and no text. */
  isCall: boolean;
}

/** The part of a message that a hit shows. */
export interface TextRow
  extends Pick<RowOf<typeof MESSAGE>, "seq" | "stepId" | "role" | "name" | "createdAtMs" | "text"> {
  messageId: number;
}

const GIVEN = "FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value";

/** Reads `messages` for recall: many at once, in no order. */
export class EvidenceRepository extends Repository {
  // Recalls run these, each with a list of messages as JSON.
  readonly rows = this.statement<[ids: string], RowOf<typeof RANKED> & { messageId: number; isCall: number }>`
    SELECT m.id AS messageId, ${RANKED.of("m")},
      m.role = 'assistant' AND instr(m.parts, '"type":"tool_call"') > 0 AND NOT EXISTS (
        SELECT 1 FROM json_each(m.parts) part WHERE part.value ->> 'type' = 'text'
      ) AS isCall
    ${GIVEN}`.map((row): EvidenceRow => ({ ...row, isCall: row.isCall === 1 })).allOf;
  readonly #embeddings = this.statement<[ids: string, embedderId: string], [messageId: number, embedding: Buffer]>`
    SELECT id, embedding FROM (SELECT m.id, ${vectorNow("m")} AS embedding ${GIVEN})
    WHERE embedding IS NOT NULL AND EXISTS (SELECT 1 FROM generations WHERE id = ${GENERATION_NOW} AND embedder_id = ?)`.raw();
  readonly #around = this.statement<{ ids: string; radius: number }, number>`
    SELECT DISTINCT n.id FROM json_each(@ids) given CROSS JOIN messages m ON m.id = given.value
    CROSS JOIN messages n ON n.session_id = m.session_id AND n.seq BETWEEN m.seq - @radius AND m.seq + @radius`.pluck();
  readonly #textsOf = this.statement<
    [ids: string],
    [messageId: number, text: string]
  >`SELECT m.id, m.text ${GIVEN}`.raw();
  readonly texts = this.statement<[ids: string], TextRow>`
    SELECT m.id AS messageId, ${MESSAGE.of("m")} ${GIVEN}`.allOf;

  /** The vectors by message id. Messages without a vector of this embedder are missing. */
  embeddings(ids: readonly number[], embedderId: string): Map<number, Float32Array> {
    const rows = this.#embeddings.all(JSON.stringify(ids), embedderId);
    return new Map(rows.map(([id, bytes]) => [id, decodeVector(bytes, bytes.length / Float32Array.BYTES_PER_ELEMENT)]));
  }

  /** The texts by message id. Each takes 2 µs. */
  textsOf(ids: readonly number[]): Map<number, string> {
    return new Map(ids.length === 0 ? [] : this.#textsOf.all(JSON.stringify(ids)));
  }

  /** Returns these messages, and those at most `radius` seqs before or after one of them. */
  around(ids: readonly number[], radius: number): number[] {
    return this.#around.all({ ids: JSON.stringify(ids), radius });
  }
}
