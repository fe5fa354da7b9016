import type { Part, Role } from "../../core/message.ts";
import { IS_SESSION, type Piece } from "../facts/paths.ts";

/** At least this many messages of a large scope are sampled, and at most twice as many. */
const SAMPLED_MIN = 256;

/** The messages that a search may find. Each option narrows them; an empty list leaves none. */
export interface SearchScope {
  project?: string;
  sessionIds?: readonly string[];
  /** True to leave out copies of what others of a team have said. False by default. */
  mine?: boolean;
  /** What these sessions share: see `scopeOf` of the evidence. */
  shared?: readonly Piece[];
  roles?: readonly Role[];
  /** Only messages with a part of one of these types. */
  partTypes?: readonly Part["type"][];
  /** Only messages created from `sinceMs` to `untilMs`, in Unix milliseconds, both included. */
  sinceMs?: number;
  untilMs?: number;
}

/** Part of a WHERE clause, with the values of its placeholders in order. */
export interface Condition {
  sql: string;
  values: (string | number)[];
}

/** The condition on the row `m` of `messages`; "" if all messages are in scope. */
export function scopeCondition(scope: SearchScope): Condition {
  const { roles, partTypes, sinceMs, untilMs } = scope;
  const conditions = [sessionCondition(scope)];
  if (roles !== undefined) conditions.push(oneOf("m.role", roles));
  if (sinceMs !== undefined) conditions.push({ sql: "m.created_at_ms >= ?", values: [sinceMs] });
  if (untilMs !== undefined) conditions.push({ sql: "m.created_at_ms <= ?", values: [untilMs] });
  if (partTypes !== undefined) conditions.push(hasPart(partTypes));
  return both(conditions);
}

/** The part of the condition that an index of `messages` answers. */
export function sessionCondition({ project, sessionIds, mine = false, shared = [] }: SearchScope): Condition {
  const conditions: Condition[] = [];
  if (sessionIds !== undefined) {
    const { sql, values } = oneOf("m.session_id", sessionIds);
    const pieces = shared.map(() => " OR (m.session_id = ? AND m.seq <= ?)").join("");
    const bounds = shared.flatMap(({ sessionId, seqLast }) => [sessionId, seqLast]);
    conditions.push({ sql: `(${sql}${pieces})`, values: [...values, ...bounds] });
  }
  if (project !== undefined) {
    conditions.push({
      sql: `m.session_id IN (SELECT id FROM sessions WHERE project = ? AND ${IS_SESSION})`,
      values: [project],
    });
  }
  if (mine) conditions.push({ sql: "m.session_id IN (SELECT id FROM sessions WHERE author IS NULL)", values: [] });
  return both(conditions);
}

/** Removes the condition on sessions, for messages of sessions that are known to fit. Forks share only some messages of a session. */
export function withinSessions(scope: SearchScope): SearchScope {
  if (scope.shared !== undefined) return scope;
  const { project: _, sessionIds: __, mine: ___, ...rest } = scope;
  return rest;
}

function oneOf(column: string, values: readonly string[]): Condition {
  return { sql: `${column} IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(values)] };
}

/** Searches the JSON's text first, because parsing it takes about 10 µs for each message. */
function hasPart(types: readonly string[]): Condition {
  const letters = types.map(() => "instr(m.parts, ?) > 0").join(" OR ") || "0";
  const part = oneOf("p.value ->> 'type'", types);
  return {
    sql: `(${letters}) AND EXISTS (SELECT 1 FROM json_each(m.parts) p WHERE ${part.sql})`,
    values: [...types.map((type) => `"type":${JSON.stringify(type)}`), ...part.values],
  };
}

function both(conditions: readonly Condition[]): Condition {
  const asked = conditions.filter(({ sql }) => sql !== "");
  return { sql: asked.map(({ sql }) => sql).join(" AND "), values: asked.flatMap(({ values }) => values) };
}

/**
 * Returns the step of the ids that are sampled to learn how long messages are. It is odd, so that a sample of a conversation has
 * messages of both sides. It seldom changes.
 */
export function sampleStep(messageCount: number): number {
  return 2 ** Math.floor(Math.log2(messageCount / SAMPLED_MIN)) + 1;
}

/** The messages of some sessions. Most sessions are written without interruption, so their ids are a range. */
export class SessionMessages {
  readonly #firstIds: Float64Array;
  readonly #lastIds: Float64Array;
  readonly #others: ReadonlySet<number>;
  /** The number of messages, if none was forgotten between others of its session. */
  readonly span: number;

  /** @param ranges  The first and the last id of each session whose ids are a range, in order. */
  constructor(ranges: readonly (readonly [number, number])[], others: ReadonlySet<number>, span: number) {
    this.span = span;
    this.#firstIds = Float64Array.from(ranges, ([first]) => first);
    this.#lastIds = Float64Array.from(ranges, ([, last]) => last);
    this.#others = others;
  }

  /** Returns the ids that are multiples of a number. Those of forgotten messages may be among them. */
  multiplesOf(step: number): number[] {
    const ids = [...this.#others].filter((id) => id % step === 0);
    this.#firstIds.forEach((first, index) => {
      for (let id = Math.ceil(first / step) * step; id <= this.#lastIds[index]!; id += step) ids.push(id);
    });
    return ids;
  }

  has(messageId: number): boolean {
    let [from, to] = [0, this.#firstIds.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#firstIds[middle]! <= messageId) from = middle + 1;
      else to = middle;
    }
    return (from > 0 && messageId <= this.#lastIds[from - 1]!) || this.#others.has(messageId);
  }
}
