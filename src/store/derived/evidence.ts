import { DamageError } from "../../core/damage.ts";
import { ROLES } from "../../core/message.ts";
import { decodeEmbedding } from "../../vector/codec.ts";
import { GENERATION_NOW, vectorNow } from "../facts/generations.ts";
import { BRANCHES, IS_SESSION, PathReader } from "../facts/paths.ts";
import { blobOf } from "../sql/codecs.ts";
import { isOfStep, MESSAGE } from "../sql/message-columns.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import { blockOf, ID_BLOCK_SIZE, type IdRange } from "./id-block.ts";
import type { SearchScope } from "./search-scope.ts";

/** The part of a message that ranking reads. */
export interface EvidenceRow
  extends Pick<RowOf<typeof MESSAGE>, "sessionId" | "seq" | "role" | "name" | "tokenCount" | "createdAtMs"> {
  messageId: number;
  /** True if the message has tool calls and no text. */
  isCall: boolean;
}

type RankedColumns = [
  messageId: number,
  sessionId: string,
  seq: number,
  role: EvidenceRow["role"],
  name: string | null,
  tokenCount: number,
  createdAtMs: number,
  isCall: number,
];

/** The part of a message that a hit shows. */
export interface TextRow
  extends Pick<RowOf<typeof MESSAGE>, "seq" | "stepId" | "role" | "name" | "createdAtMs" | "text"> {
  messageId: number;
}

const GIVEN = "FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value";

/** Reads `messages` for recall: many at once, in no order. */
export class EvidenceRepository extends PathReader {
  // Recalls run these, each with a list of messages as JSON.
  // As rows, a thousand would take twice as long as one JSON text. Parts are only parsed if one may be a text.
  readonly #rows = this.statement<[ids: string], string>`
    SELECT json_group_array(json_array(
      m.id, m.session_id, m.seq, m.role, m.name, m.token_count, m.created_at_ms,
      m.role = 'assistant' AND instr(m.parts, '"type":"tool_call"') > 0 AND (instr(m.parts, '"type":"text"') = 0
        OR NOT EXISTS (SELECT 1 FROM json_each(m.parts) part WHERE part.value ->> 'type' = 'text'))
    )) ${GIVEN}`.pluck();
  readonly #embeddings = this.statement<[ids: string, embedderId: string], [messageId: number, embedding: Buffer]>`
    SELECT id, embedding FROM (SELECT m.id, ${vectorNow("m")} AS embedding ${GIVEN})
    WHERE embedding IS NOT NULL AND EXISTS (SELECT 1 FROM generations WHERE id = ${GENERATION_NOW} AND embedder_id = ?)`.raw();
  readonly #members = this.statement<[roots: string], [root: number, messageId: number]>`
    SELECT u.root, m.id
    FROM json_each(?) given
    CROSS JOIN unions u ON u.root = given.value AND u.level = 'cluster' AND u.kind IN ('start', 'join')
      AND u.generation = ${GENERATION_NOW}
    CROSS JOIN messages m ON ${isOfStep("u.node")}`.raw();
  /** The newest messages of all windows, newest first. They are in no cluster. */
  readonly inWindows = this.statement<[limit: number], number>`
    SELECT m.id FROM sessions s CROSS JOIN messages m ON m.session_id = s.id AND m.seq >= s.graduated_seq
    ORDER BY m.id DESC LIMIT ?`.pluck().all;
  /** The lowest message ids, in order. */
  readonly firstIds = this.statement<[limit: number], number>`
    SELECT id FROM messages WHERE session_id NOT IN ${BRANCHES} ORDER BY id LIMIT ?`.pluck().all;
  /** For each given id the lowest message id that is not below it. */
  readonly firstIdsFrom = this.statement<[ids: string], number>`
    SELECT DISTINCT (SELECT min(id) FROM messages WHERE id >= given.value) FROM json_each(?) given`.pluck().all;
  /** The first id from an id on, and the last before another; NULL if there is none. */
  readonly #ends = this.statement<{ from: number; to: number }, { first: number | null; last: number | null }>`
    SELECT (SELECT min(id) FROM messages WHERE id >= @from) AS first, (SELECT max(id) FROM messages WHERE id < @to) AS last`;
  /** Without a session, each message has that of its row. */
  readonly #around = this.statement<{ ids: string; radius: number; sessionId: string | null }, string>`
    SELECT json_group_array(DISTINCT n.id) ${GIVEN.replace("?", "@ids")}
    CROSS JOIN (SELECT holder_id, seq_first, seq_last FROM shared_pasts WHERE session_id = @sessionId
      UNION ALL SELECT @sessionId, 0, ${Number.MAX_SAFE_INTEGER}) piece
    CROSS JOIN messages n ON n.session_id = coalesce(piece.holder_id, m.session_id)
      AND n.seq BETWEEN max(m.seq - @radius, seq_first) AND min(m.seq + @radius, seq_last)`.pluck().one;
  readonly #textsOf = this.statement<
    [ids: string],
    [messageId: number, text: string]
  >`SELECT m.id, m.text ${GIVEN}`.raw();
  /** Selects the given assistant messages after which the user speaks, or the session ends, before the assistant or a tool goes on. */
  readonly #closing = this.statement<[ids: string], number>`
    SELECT m.id ${GIVEN}
    WHERE coalesce((SELECT n.turn_seq = n.seq FROM messages n
      WHERE n.session_id = m.session_id AND n.seq > m.seq
        AND (n.turn_seq = n.seq OR n.role IN ('assistant', 'tool'))
      ORDER BY n.seq LIMIT 1), 1)`.pluck();
  readonly #superseded = this.statement<
    { project: string | null; ids: string | null; mine: 0 | 1 },
    RowOf<typeof MESSAGE> & { parentSessionId: string }
  >`
    SELECT ${MESSAGE.of("m")}, ${columns(TABLES.sessions, "parentSessionId").of("s")}
    FROM sessions s CROSS JOIN messages m ON m.session_id = s.id
    WHERE NOT (s.${IS_SESSION}) AND (@project IS NULL OR s.project = @project)
      AND (@mine = 0 OR (SELECT p.author FROM sessions p WHERE p.id = s.parent_session_id) IS NULL)
      AND (@ids IS NULL OR s.parent_session_id IN (SELECT value FROM json_each(@ids)))`;
  readonly #texts = this.statement<[ids: string], TextRow>`
    SELECT m.id AS messageId, ${MESSAGE.of("m")} ${GIVEN}`;

  /** The superseded messages of a scope's sessions. `sessionId` is the session that has superseded them. */
  superseded({ project, sessionIds, mine }: SearchScope): RowOf<typeof MESSAGE>[] {
    const ids = sessionIds === undefined ? null : JSON.stringify(sessionIds);
    const rows = this.#superseded.all({ project: project ?? null, ids, mine: mine ? 1 : 0 });
    return rows.map(({ parentSessionId: sessionId, ...row }) => ({ ...row, sessionId }));
  }

  /** The scope of a search as the other methods read it. */
  scopeOf(given: SearchScope): SearchScope {
    const shared = (given.sessionIds ?? []).flatMap((id) => this.paths.past(id));
    return shared.length === 0 ? given : { ...given, shared };
  }

  /**
   * @param asked  The session that the search is of, if it is one. What it shares counts as its own.
   * @throws {DamageError} if one is missing, although an index names it.
   */
  rows(ids: readonly number[], asked?: string): EvidenceRow[] {
    const rows = (JSON.parse(this.#rows.one(JSON.stringify(ids))) as RankedColumns[]).map(
      ([messageId, holderId, seq, role, name, tokenCount, createdAtMs, isCall]) => {
        // Checksums are of whole rows, which ranking does not read.
        if (!ROLES.includes(role)) throw new DamageError(`message ${messageId} has an unknown role`);
        const sessionId = asked ?? holderId;
        return { messageId, sessionId, seq, role, name, tokenCount, createdAtMs, isCall: isCall === 1 };
      },
    );
    assertEach(ids, rows);
    return rows;
  }

  /** @throws {DamageError} if one is missing or damaged. */
  texts(ids: readonly number[]): TextRow[] {
    const rows = this.#texts.allOf(ids);
    assertEach(ids, rows);
    return rows;
  }

  /** The vectors by message id. Messages without a vector of this embedder are missing. */
  embeddings(ids: readonly number[], embedderId: string): Map<number, Float32Array> {
    return decoded(this.#embeddings.all(JSON.stringify(ids), embedderId));
  }

  /** The first and the last message id of each id block, in order. Between two blocks are no ids. */
  idRanges(): IdRange[] {
    const ranges: IdRange[] = [];
    for (let from = 0; ; ) {
      const { first } = this.#ends.one({ from, to: from });
      if (first === null) return ranges;
      const to = (blockOf(first) + 1) * ID_BLOCK_SIZE;
      ranges.push([first, this.#ends.one({ from, to }).last!]);
      from = to;
    }
  }

  members(roots: readonly number[]): Map<number, number[]> {
    const members = new Map(roots.map((root): [number, number[]] => [root, []]));
    for (const [root, id] of this.#members.all(JSON.stringify(roots))) members.get(root)!.push(id);
    return members;
  }

  /** The texts by message id. Each takes 2 µs. */
  textsOf(ids: readonly number[]): Map<number, string> {
    return new Map(ids.length === 0 ? [] : this.#textsOf.all(JSON.stringify(ids)));
  }

  /** Returns those of the given assistant messages that end a turn in the session that holds them. */
  closing(ids: readonly number[]): Set<number> {
    return new Set(ids.length === 0 ? [] : this.#closing.all(JSON.stringify(ids)));
  }

  /** Returns these messages, and those at most `radius` seqs before or after one of them. @param asked  Like in `rows`. */
  around(ids: readonly number[], radius: number, asked?: string): number[] {
    return JSON.parse(this.#around({ ids: JSON.stringify(ids), radius, sessionId: asked ?? null })) as number[];
  }
}

function assertEach(ids: readonly number[], rows: readonly { messageId: number }[]): void {
  if (rows.length === ids.length) return;
  const found = new Set(rows.map(({ messageId }) => messageId));
  throw new DamageError(`message ${ids.find((id) => !found.has(id))} is missing, and in an index`);
}

function decoded(rows: readonly [messageId: number, embedding: Buffer][]): Map<number, Float32Array> {
  return new Map(rows.map(([id, bytes]) => [id, decodeEmbedding(blobOf(bytes))]));
}
