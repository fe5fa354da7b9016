import { resolve } from "node:path";
import type Database from "better-sqlite3";
import type { PlacedAction } from "../core/action.ts";
import type { Part } from "../core/message.ts";
import type { Verdict } from "../core/verdicts.ts";
import type { StoredNotes } from "./changes/projects.ts";
import {
  HAS_WORKED,
  IN_TURN_OF,
  isOfRemembered,
  isSummary,
  type NamedScope,
  OF_TARGET,
  openingOf,
  VERDICTS_ON,
} from "./facts/conditions.ts";
import type { NotableMessage } from "./facts/messages.ts";
import { openToRead } from "./file/door.ts";
import { columns } from "./sql/statement.ts";
import { TABLES } from "./sql/tables.ts";

/** Milliseconds that a read waits for a lock. Readers of a write-ahead log wait only while it is made or recovered. */
const LOCK_WAIT_MS = 100;

/** An answer is only looked for in this many messages after the question. */
const ANSWER_MESSAGES_MAX = 40;

/** The newest actions with a name that are looked at, in all projects. */
const NAMED_MAX = 3_000;

const IS_SUBAGENT = `coalesce(s.metadata, '') LIKE '%"isSubagent":true%'`;

export interface QuickSession {
  id: string;
  title: string | null;
  lastAtMs: number;
}

/** What a session has of one that holds messages of it. */
interface HeldPart {
  holderId: string;
  seqLast: number;
  logPosition: number;
}

const END = Number.MAX_SAFE_INTEGER;

type Checked<Row> = Row & { checksum: number | null };
type StoredMessage = Checked<Omit<NotableMessage, "parts" | "metadata"> & { parts: string; metadata: string | null }>;

const UNSEALED_OF_MESSAGES = ["parentId", "embedding", "embedderId", "storedText"] as const;
const COLUMNS = {
  sessions: columns(TABLES.sessions).without("frontierVersion"),
  messages: columns(TABLES.messages).without(...UNSEALED_OF_MESSAGES),
  storeSettings: columns(TABLES.storeSettings),
  actions: columns(TABLES.actions),
};

/** Returns the rows that are not damaged, so that the others can still be read. */
function intact<Row extends { checksum: number | null }>(table: keyof typeof COLUMNS, rows: readonly Row[]): Row[] {
  return rows.filter((row) => COLUMNS[table].damageOf(row) === undefined);
}

const MESSAGE = COLUMNS.messages.of("m");

const LAST_AT = `coalesce(
  (SELECT m.created_at_ms FROM messages m WHERE m.session_id = s.id ORDER BY m.seq DESC LIMIT 1), s.created_at_ms)`;

/**
 * Reads the little that hooks need from a store. An agent waits for a hook at each prompt, and loading the code of
 * `openDatabase` and the repositories takes longer than all of this reading. Nothing is written or converted.
 */
export class QuickReader {
  readonly #client: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[], unknown>>();

  constructor(client: Database.Database) {
    this.#client = client;
  }

  snapshot<T>(read: () => T): T {
    return this.#client.inTransaction ? read() : this.#client.transaction(read).deferred();
  }

  /** The sessions of a project, the most recently used first, without those of subagents and of what people asked to remember. */
  sessions(project: string, limit: number): QuickSession[] {
    const rows = this.#all<Checked<QuickSession>>(
      `SELECT ${COLUMNS.sessions.of("s")}, ${LAST_AT} AS lastAtMs
       FROM sessions s WHERE s.project = ? AND s.superseded_at_ms IS NULL AND NOT ${IS_SUBAGENT}
         AND NOT ${isOfRemembered("s.id")}
       ORDER BY lastAtMs DESC, s.id LIMIT ?`,
      project,
      limit,
    );
    return intact("sessions", rows).map(({ id, title, lastAtMs }) => ({ id, title, lastAtMs }));
  }

  /**
   * The ids of the sessions that an agent calls by this name, of their branches, and of the sessions that they branch from or share
   * a past with: an agent's context may have messages of all of them.
   */
  sessionIds(externalId: string): string[] {
    return this.#all<{ id: string }>(
      `WITH own AS (SELECT id, parent_session_id FROM sessions WHERE id = @externalId OR external_id = @externalId)
       SELECT id FROM own UNION SELECT parent_session_id FROM own WHERE parent_session_id IS NOT NULL
       UNION SELECT id FROM sessions WHERE parent_session_id IN (SELECT id FROM own)
       UNION SELECT holder_id FROM shared_pasts WHERE session_id IN (SELECT id FROM own)`,
      { externalId },
    ).map(({ id }) => id);
  }

  projectNow(project: string): string {
    const rows = this.#all<Checked<{ value: string }>>(
      `SELECT ${COLUMNS.storeSettings.of("t")} FROM store_settings t WHERE name = 'projects'`,
    );
    if (intact("storeSettings", rows).length < rows.length) throw new Error("The notes on projects are damaged.");
    const { merged } = (rows.length === 0 ? {} : JSON.parse(rows[0]!.value)) as StoredNotes;
    return new Map(merged).get(project) ?? project;
  }

  /** Returns undefined if there is no such session, or if it is a subagent's. */
  session(id: string): QuickSession | undefined {
    const rows = this.#all<Checked<QuickSession>>(
      `SELECT ${COLUMNS.sessions.of("s")}, ${LAST_AT} AS lastAtMs FROM sessions s WHERE s.id = ? AND NOT ${IS_SUBAGENT}`,
      id,
    );
    return intact("sessions", rows).map(({ title, lastAtMs }) => ({ id, title, lastAtMs }))[0];
  }

  /** What a session's user asked first; null if nothing. */
  opening(sessionId: string): string | null {
    const sql = `SELECT ${MESSAGE} FROM messages m WHERE m.id = (${openingOf("?", "?")})`;
    for (const { holderId, seqLast } of this.#path(sessionId).reverse()) {
      const [asked] = parsed(this.#all<StoredMessage>(sql, holderId, seqLast));
      if (asked !== undefined) return asked.text;
    }
    return null;
  }

  /** The newest messages of a session before `seqEnd`, in order and without pinned ones. For a fork, those that it shares, too. */
  notableBefore(sessionId: string, { seqEnd = END, limit }: { seqEnd?: number; limit: number }): NotableMessage[] {
    return this.#newest(sessionId, "m.pinned = 0", seqEnd, limit);
  }

  /** The newest messages before `seqEnd` that users and assistants said in words, in order. For a fork, those that it shares, too. */
  said(sessionId: string, limit: number, seqEnd = END): NotableMessage[] {
    const isSaid = `m.role IN ('user', 'assistant') AND instr(m.parts, '"type":"text"') > 0`;
    return this.#newest(sessionId, isSaid, seqEnd, limit);
  }

  /** The summaries with which agents went on after compactions, in order. For a fork, those that it shares, too. */
  compactSummaries(sessionId: string, limit: number, seqEnd = END): NotableMessage[] {
    return this.#newest(sessionId, isSummary("m"), seqEnd, limit);
  }

  #newest(sessionId: string, condition: string, seqEnd: number, limit: number): NotableMessage[] {
    const found: StoredMessage[] = [];
    for (const { holderId, seqLast } of this.#path(sessionId)) {
      if (found.length >= limit) break;
      const sql = `SELECT ${MESSAGE} FROM messages m
         WHERE m.session_id = ? AND m.seq <= ? AND ${condition} ORDER BY m.seq DESC LIMIT ?`;
      found.push(...this.#all<StoredMessage>(sql, holderId, Math.min(seqLast, seqEnd - 1), limit - found.length));
    }
    return parsed(found.reverse());
  }

  /** What makes a session, newest first: see `Path`. */
  #path(sessionId: string): HeldPart[] {
    const past = this.#all<HeldPart>(
      `SELECT holder_id AS holderId, seq_last AS seqLast, log_position AS logPosition FROM shared_pasts
       WHERE session_id = ? ORDER BY seq_first DESC`,
      sessionId,
    );
    return [{ holderId: sessionId, seqLast: Number.MAX_SAFE_INTEGER, logPosition: Number.MAX_SAFE_INTEGER }, ...past];
  }

  /**
   * The last that an assistant said between a message and the user's next one; undefined if it said nothing in the next
   * `ANSWER_MESSAGES_MAX` messages.
   */
  answerTo({ sessionId, seq }: Pick<NotableMessage, "sessionId" | "seq">): NotableMessage | undefined {
    const rows = this.#all<StoredMessage>(
      `SELECT ${MESSAGE} FROM messages m
       WHERE m.session_id = ? AND m.seq > ? AND m.seq <= ? AND m.role IN ('user', 'assistant')
         AND instr(m.parts, '"type":"text"') > 0
       ORDER BY m.seq`,
      sessionId,
      seq,
      seq + ANSWER_MESSAGES_MAX,
    );
    const turn = parsed(rows).filter(isSaid);
    const end = turn.findIndex(({ role }) => role === "user");
    return (end === -1 ? turn : turn.slice(0, end)).at(-1);
  }

  idsSince(sessionIds: readonly string[], sinceMs = 0): number[] {
    const sql = `SELECT json_group_array(m.id) AS ids FROM json_each(?) given
       CROSS JOIN messages m ON m.session_id = given.value WHERE m.created_at_ms >= ?`;
    return JSON.parse(this.#one<{ ids: string }>(sql, JSON.stringify(sessionIds), sinceMs).ids) as number[];
  }

  /** See `WorkReader`. */
  named(name: string, { path, target, ...scope }: NamedScope): PlacedAction[] {
    // However many there are in other projects, a hook looks at the newest.
    const named = `(SELECT * FROM actions WHERE name = @name ORDER BY message_id DESC LIMIT ${NAMED_MAX})`;
    const values = { name, path: path ?? null, target: target ?? null, ...scope };
    return this.#actions(`${OF_TARGET} AND s.project = @project`, values, { from: named });
  }

  failedWith(error: string, scope: { project: string | undefined; limit: number }): PlacedAction[] {
    return this.#actions("a.error = @error AND s.project = @project", { error, ...scope });
  }

  workedAfter(sessionId: string, seq: number, limit: number): PlacedAction[] {
    return this.#actions(
      `m.session_id = @sessionId AND m.seq > @seq AND ${HAS_WORKED}`,
      { sessionId, seq, limit },
      { order: "m.seq, a.ordinal" },
    );
  }

  turn(sessionId: string, seq: number): NotableMessage[] {
    const sql = `SELECT ${MESSAGE} FROM messages z JOIN messages m ON ${IN_TURN_OF}
      WHERE z.session_id = ? AND z.seq = ? ORDER BY m.seq`;
    return parsed(this.#all<StoredMessage>(sql, sessionId, seq));
  }

  parts(messageId: number): readonly Part[] {
    const rows = this.#all<StoredMessage>(`SELECT ${MESSAGE} FROM messages m WHERE m.id = ?`, messageId);
    return parsed(rows)[0]?.parts ?? [];
  }

  /** The newest verdict on each message that has one, by the message's id. */
  verdictsOn(ids: readonly number[]): Map<number, Verdict> {
    const found = this.#all<{ id: number; kind: Verdict["kind"]; saidIn: number }>(VERDICTS_ON, JSON.stringify(ids));
    const sql = `SELECT ${MESSAGE} FROM messages m WHERE m.id = ?`;
    return new Map(
      found.flatMap(({ id, kind, saidIn }) => {
        const text = parsed(this.#all<StoredMessage>(sql, saidIn))[0]?.text;
        return text === undefined ? [] : [[id, { kind, messageId: saidIn, text }]];
      }),
    );
  }

  /** By default, the newest are first. */
  #actions(
    condition: string,
    values: object,
    { from = "actions", order = "m.created_at_ms DESC, a.message_id DESC" } = {},
  ): PlacedAction[] {
    const rows = this.#all<Checked<PlacedAction>>(
      `SELECT ${COLUMNS.actions.of("a")}, m.session_id AS sessionId, m.seq, m.created_at_ms AS createdAtMs, s.project
       FROM ${from} a JOIN messages m ON m.id = a.message_id JOIN sessions s ON s.id = m.session_id
       WHERE ${condition} AND s.superseded_at_ms IS NULL ORDER BY ${order} LIMIT @limit`,
      values,
    );
    return intact("actions", rows);
  }

  close(): void {
    this.#client.close();
  }

  #one<Row>(sql: string, ...values: unknown[]): Row {
    return this.#statement(sql).get(...values) as Row;
  }

  #all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  #statement(sql: string): Database.Statement<unknown[], unknown> {
    const known = this.#statements.get(sql) ?? this.#client.prepare<unknown[]>(sql);
    this.#statements.set(sql, known);
    return known;
  }
}

export function openQuickly(path: string): QuickReader {
  return new QuickReader(openToRead(resolve(path), LOCK_WAIT_MS).client);
}

function isSaid({ parts }: NotableMessage): boolean {
  return parts.some((part) => part.type === "text" && part.injected !== true);
}

/** Leaves damaged messages out. The parser's error would quote one. */
function parsed(rows: readonly StoredMessage[]): NotableMessage[] {
  return intact("messages", rows).flatMap(({ checksum: _, ...row }) => {
    try {
      const metadata = row.metadata === null ? null : JSON.parse(row.metadata);
      return { ...row, metadata, parts: JSON.parse(row.parts) as Part[] };
    } catch {
      return [];
    }
  });
}
