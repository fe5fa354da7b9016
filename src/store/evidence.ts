import type { Role } from "../core/message.ts";
import { decodeVector } from "../vector/codec.ts";
import { GENERATION_NOW, vectorNow } from "./generations.ts";
import type { StoreDatabase } from "./open.ts";

/** What ranking needs of a message, without its text. */
export interface EvidenceRow {
  messageId: number;
  sessionId: string;
  seq: number;
  role: Role;
  /** Whether it is an assistant's and has no text of its own, only calls. */
  isCall: boolean;
  name: string | null;
  tokenCount: number;
  createdAtMs: number;
}

/** What a hit shows of a message. */
export interface TextRow {
  messageId: number;
  seq: number;
  stepId: number;
  role: Role;
  name: string | null;
  createdAtMs: number;
  text: string;
}

/** Rows of `messages` as recall reads them: many at once, in no order. */
export class EvidenceRepository {
  readonly #rows;
  readonly #embeddings;
  readonly #around;
  readonly #texts;

  constructor({ client }: StoreDatabase) {
    this.#rows = client.prepare<[string], Omit<EvidenceRow, "isCall"> & { isCall: number }>(
      `SELECT m.id AS messageId, m.session_id AS sessionId, m.seq, m.role, m.name,
         m.token_count AS tokenCount, m.created_at_ms AS createdAtMs,
         m.role = 'assistant' AND instr(m.parts, '"type":"tool_call"') > 0 AND NOT EXISTS (
           SELECT 1 FROM json_each(m.parts) part WHERE part.value ->> 'type' = 'text'
         ) AS isCall
       FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value`,
    );
    this.#embeddings = client
      .prepare<[string, string], [messageId: number, embedding: Buffer]>(
        `SELECT id, embedding FROM (
           SELECT m.id, ${vectorNow("m")} AS embedding FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value
         )
         WHERE embedding IS NOT NULL AND EXISTS (SELECT 1 FROM generations WHERE id = ${GENERATION_NOW} AND embedder_id = ?)`,
      )
      .raw();
    this.#around = client
      .prepare<{ ids: string; radius: number }, number>(
        `SELECT DISTINCT n.id FROM json_each(@ids) given CROSS JOIN messages m ON m.id = given.value
         CROSS JOIN messages n ON n.session_id = m.session_id AND n.seq BETWEEN m.seq - @radius AND m.seq + @radius`,
      )
      .pluck();
    this.#texts = client.prepare<[string], TextRow>(
      `SELECT m.id AS messageId, m.seq, m.step_id AS stepId, m.role, m.name, m.created_at_ms AS createdAtMs, m.text
       FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value`,
    );
  }

  rows(ids: readonly number[]): EvidenceRow[] {
    return this.#rows.all(JSON.stringify(ids)).map(({ isCall, ...row }) => ({ ...row, isCall: isCall === 1 }));
  }

  /** By message, of those that have one of this embedder. */
  embeddings(ids: readonly number[], embedderId: string): Map<number, Float32Array> {
    const rows = this.#embeddings.all(JSON.stringify(ids), embedderId);
    return new Map(rows.map(([id, bytes]) => [id, decodeVector(bytes, bytes.length / Float32Array.BYTES_PER_ELEMENT)]));
  }

  /** These messages and those at most `radius` places before and after each. */
  around(ids: readonly number[], radius: number): number[] {
    return this.#around.all({ ids: JSON.stringify(ids), radius });
  }

  texts(ids: readonly number[]): TextRow[] {
    return this.#texts.all(JSON.stringify(ids));
  }
}
