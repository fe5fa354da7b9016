import { createHash } from "node:crypto";
import type { JsonValue } from "../../core/message.ts";
import { OPENING_MESSAGES_MIN, originKeys } from "../../core/remembered.ts";
import type { StoreDatabase } from "../file/open.ts";
import { Repository } from "../file/repository.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import type { TombstoneRepository } from "./tombstones.ts";

/** A stored message, with what its copies have in common with it. */
export interface KnownOrigin {
  id: number;
  sessionId: string;
  /** In hex. */
  digest: string;
  /** The `originKeys` by which the message is recognized outside the store. */
  keys: readonly string[];
  /** Its places in the conversations that its session is a copy of, if it was imported. */
  places: readonly string[];
}

const FACTS = columns(TABLES.messages, "id", "sessionId", "seq", "externalId", "createdAtMs");
type Facts = RowOf<typeof FACTS> & { digest: string; metadata: string | null; isTimeShared: number };

const PARENT = columns(TABLES.sessions, "parentSessionId");

/** More generations of subagents or forks than anybody has. Damaged rows may be in a circle. */
const ANCESTORS_MAX = 100;

/**
 * Finds copies of messages. An agent that resumes or forks a session may write its messages again under another session id. Such a
 * message is stored like any other, and recognized when it is asked for: from columns that every row has, so there is nothing to
 * keep up to date, to repair, or to send to other stores.
 */
export class OriginRepository extends Repository {
  // Lists as JSON, bytes as hex, and lookups for each row. Damaged rows must not prevent forgetting.
  /** Messages that were imported without a time often have the time of their neighbors: that of the import. */
  readonly #facts = this.statement<[ids: string], Facts>`
    SELECT ${FACTS.of("m")}, hex(m.digest) AS digest, CAST(m.metadata AS TEXT) AS metadata,
      m.external_id IS NULL OR EXISTS (
        SELECT 1 FROM messages n
        WHERE n.session_id = m.session_id AND n.seq IN (m.seq - 1, m.seq + 1) AND n.created_at_ms = m.created_at_ms
      ) AS isTimeShared
    FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value`;
  readonly #withDigests = this.statement<[digests: string], number>`
    SELECT id FROM messages WHERE hex(digest) IN (SELECT value FROM json_each(?)) ORDER BY id`.pluck();
  readonly #beginning = this.statement<
    [sessionId: string],
    RowOf<typeof PARENT> & { isBranch: number; first: string | null; firstOfParent: string | null }
  >`
    SELECT ${PARENT.of("s")}, s.superseded_at_ms IS NOT NULL AS isBranch,
      (SELECT hex(digest) FROM messages WHERE session_id = s.id ORDER BY seq LIMIT 1) AS first,
      (SELECT hex(digest) FROM messages WHERE session_id = s.parent_session_id ORDER BY seq LIMIT 1) AS firstOfParent
    FROM sessions s WHERE s.id = ?`;
  readonly #firstOf = this.statement<[sessionId: string], number>`
    SELECT id FROM messages WHERE session_id = ? ORDER BY seq LIMIT 1`.pluck();
  readonly #idsOf = this.statement<[sessionId: string], number>`
    SELECT id FROM messages WHERE session_id = ? ORDER BY seq`.pluck();
  /** The messages of a session with the seq or the external id of a message. */
  readonly counterparts = this.statement<{ messageId: number; sessionId: string }, number>`
    SELECT c.id FROM messages m JOIN messages c ON c.session_id = @sessionId AND c.seq = m.seq WHERE m.id = @messageId
    UNION SELECT c.id FROM messages m JOIN messages c ON c.session_id = @sessionId AND c.external_id = m.external_id
    WHERE m.id = @messageId`.pluck().all;
  readonly #children = this.statement<[parentId: string], { id: string; toolCallId: string | null }>`
    SELECT id, CASE WHEN json_valid(metadata) THEN metadata ->> '$.toolCallId' END AS toolCallId FROM sessions
    WHERE parent_session_id = ? AND superseded_at_ms IS NULL AND id NOT IN (SELECT session_id FROM shared_pasts)
    ORDER BY id`;
  /** The ids of the calls in some messages. */
  readonly callIdsIn = this.statement<[ids: string], string>`
    SELECT DISTINCT part.value ->> 'toolCallId' FROM json_each(?) given CROSS JOIN messages m ON m.id = given.value
    CROSS JOIN json_each(iif(json_valid(m.parts), m.parts, '[]')) part
    WHERE part.value ->> 'type' = 'tool_call'`.pluck().allOf;
  readonly #tombstones: TombstoneRepository;

  constructor(database: StoreDatabase, tombstones: TombstoneRepository) {
    super(database);
    this.#tombstones = tombstones;
  }

  /** The origins of messages, by message id. @param linesOf  What is known of sessions. Pass the same one for calls that follow. */
  of(ids: readonly number[], linesOf = new Map<string, readonly string[]>()): Map<number, KnownOrigin> {
    const known = this.#facts.allOf(ids).map(({ id, sessionId, seq, digest, externalId, createdAtMs, ...row }) => {
      const time = row.isTimeShared === 1 ? undefined : createdAtMs;
      const keys = originKeys({ externalId, createdAtMs: time, metadata: objectIn(row.metadata) });
      const lines = linesOf.get(sessionId) ?? this.#linesOf(sessionId);
      linesOf.set(sessionId, lines);
      const places = externalId === null ? [] : lines.map((line) => `${line} ${seq}`);
      const origin: KnownOrigin = { id, sessionId, digest, keys, places };
      return [id, origin] as const;
    });
    return new Map(known);
  }

  /** Returns the messages that are copies of some messages, without these. It reads the digests of the whole store. */
  copiesOf(originals: Iterable<KnownOrigin>): KnownOrigin[] {
    const known = new Set<string>();
    const ids = new Set<number>();
    const digests = new Set<string>();
    for (const origin of originals) {
      for (const name of namesOf(origin)) known.add(name);
      ids.add(origin.id);
      digests.add(origin.digest);
    }
    const others = this.#withDigests.all(JSON.stringify([...digests])).filter((id) => !ids.has(id));
    return [...this.of(others).values()].filter((other) => namesOf(other).some((name) => known.has(name)));
  }

  /**
   * Returns the messages of sessions that are copies of messages of an earlier one. Only sessions that begin with the same message
   * are compared, because that takes 20 µs for each of their messages.
   */
  repeatedIn(sessionIds: readonly string[]): Map<string, ReadonlySet<number>> {
    const linesOf = new Map<string, readonly string[]>();
    const families = new Map<string, string[]>();
    for (const sessionId of sessionIds) {
      const firstId = this.#firstOf.get(sessionId);
      const names = firstId === undefined ? [] : [...this.of([firstId], linesOf).values()].flatMap(namesOf);
      const family = names.map((name) => families.get(name)).find((one) => one !== undefined) ?? [];
      family.push(sessionId);
      for (const name of names) families.set(name, family);
    }
    const repeated = new Map<string, ReadonlySet<number>>();
    for (const family of new Set(families.values())) {
      if (family.length === 1) continue;
      const seen = new Set<string>();
      for (const sessionId of family) {
        const known = [...this.of(this.#idsOf.all(sessionId), linesOf).values()];
        const isSeen = (origin: KnownOrigin): boolean => namesOf(origin).some((name) => seen.has(name));
        repeated.set(sessionId, new Set(known.filter(isSeen).map(({ id }) => id)));
        for (const origin of known) for (const name of namesOf(origin)) seen.add(name);
      }
    }
    return repeated;
  }

  /** The sessions that a session started, with the calls that started them. Copies of the session are not among them. */
  childrenOf(sessionId: string): { id: string; toolCallId: string | null }[] {
    return this.#children.all(sessionId).filter(({ id }) => !this.#beginsLikeParent(id));
  }

  #beginsLikeParent(sessionId: string): boolean {
    const row = this.#beginning.get(sessionId);
    return row !== undefined && row.first !== null && row.first === row.firstOfParent;
  }

  /**
   * Names the conversations that a session is a copy of: the ancestor that begins with the same message, and all sessions that
   * begin with the same texts. Messages of these with the same seq and digest are copies, even if the agent gave them new times.
   */
  #linesOf(sessionId: string): string[] {
    let top = sessionId;
    for (let count = 0; count < ANCESTORS_MAX; count++) {
      const row = this.#beginning.get(top);
      if (row?.parentSessionId == null) break;
      if (row.isBranch !== 1 && !this.#beginsLikeParent(top)) break;
      top = row.parentSessionId;
    }
    const opening = this.#tombstones.openingMessages(sessionId).slice(0, OPENING_MESSAGES_MIN);
    if (opening.length < OPENING_MESSAGES_MIN) return [`line ${top}`];
    const hash = createHash("sha256");
    for (const { digest } of opening) hash.update(digest);
    return [`line ${top}`, `opening ${hash.digest("hex")}`];
  }
}

/** Returns true if one of two messages is a copy of the other. */
export function areCopies(one: KnownOrigin, other: KnownOrigin): boolean {
  if (one.digest !== other.digest) return false;
  const names = namesOf(one);
  return namesOf(other).some((name) => names.includes(name));
}

function namesOf({ digest, keys, places }: KnownOrigin): string[] {
  return [...keys, ...places].map((key) => `${digest} ${key}`);
}

function objectIn(json: string | null): Record<string, JsonValue> | undefined {
  try {
    const value = JSON.parse(json ?? "null") as unknown;
    return typeof value === "object" && value !== null ? (value as Record<string, JsonValue>) : undefined;
  } catch {
    return undefined;
  }
}
