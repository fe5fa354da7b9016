import { ACTION_RULES, type PlacedAction, type RecurringError, type StepAction } from "../../core/action.ts";
import { DamageError } from "../../core/damage.ts";
import { groupedBy } from "../../core/groups.ts";
import { BATCH_MESSAGES_MAX } from "../../core/limits.ts";
import type { Message } from "../../core/message.ts";
import { HAS_WORKED, IN_TURN_OF, type NamedScope, OF_TARGET } from "../facts/conditions.ts";
import type { MessageRepository } from "../facts/messages.ts";
import { IS_SESSION } from "../facts/paths.ts";
import type { StoreDatabase } from "../file/open.ts";
import { Repository } from "../file/repository.ts";
import type { StoreSettingRepository } from "../file/store-settings.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

/** Returns what the calls of a step did, in order. The first message of the step has the calls. */
export type ActionsOf = (step: readonly Message[]) => StepAction[];

/** Messages that need not be read again, by id. */
export type ReadMessages = ReadonlyMap<number, { message: Message }>;

type NamedValues = Record<"project" | "target" | "path", string | null> & { name: string; limit: number };

const ACTION = columns(TABLES.actions);
/** The name in `store_settings` of what was read: `NotedTo`. */
const NOTED_TO = "noted_to";

interface NotedTo {
  id: number;
  rules: number;
}

const NEXT = columns(TABLES.messages, "id", "stepId");
const PLACED = ACTION.of("a");
const PLACE = columns(TABLES.messages, "sessionId", "seq", "createdAtMs").of("m");
const OF = columns(TABLES.sessions, "project").of("s");
const FROM = "FROM actions a JOIN messages m ON m.id = a.message_id JOIN sessions s ON s.id = m.session_id";
/** SQL: the session is on its path, and of the project. */
const IN_PROJECT = `s.${IS_SESSION} AND (@project IS NULL OR s.project = @project)`;

/**
 * Rows of `actions`, up to the newest message that was read. Like the full-text index, they are made after the append. What a step did
 * is always read from the whole step, as it is stored then.
 */
export class ActionRepository extends Repository {
  // Lists as JSON, because they are long.
  readonly #nextIds = this.statement<
    [afterId: number, limit: number],
    { id: number; stepId: number; isActing: number }
  >`
    SELECT ${NEXT}, role = 'tool' OR (role = 'assistant' AND instr(parts, '"tool_call"') > 0) AS isActing
    FROM messages WHERE id > ? ORDER BY id LIMIT ?`.all;
  readonly #insert = this.statement<InsertOf<typeof ACTION>>`${ACTION.insert()}`.run;
  readonly #deleteOf = this.statement<[messageIds: string]>`
    DELETE FROM actions WHERE message_id IN (SELECT value FROM json_each(?))`.run;
  readonly #shownWith = this.statement<[messageIds: string], PlacedAction & { shownId: number }>`
    SELECT z.id AS shownId, ${PLACED}, ${PLACE}, ${OF}
    FROM messages z JOIN messages m ON m.session_id = z.session_id AND m.seq IN (z.seq, z.seq + 1) AND m.role = 'assistant'
    JOIN actions a ON a.message_id = m.id JOIN sessions s ON s.id = m.session_id
    WHERE z.id IN (SELECT value FROM json_each(?)) AND z.role = 'assistant' ORDER BY z.id, m.seq, a.ordinal`.allOf;
  readonly #stepsOf = this.statement<[messageIds: string], number>`
    SELECT DISTINCT step_id FROM messages WHERE id IN (SELECT value FROM json_each(?))`.pluck().allOf;
  readonly #endedOf = this.statement<{ stepIds: string; last: number }, number>`
    SELECT value FROM json_each(@stepIds) given WHERE NOT EXISTS (
      SELECT 1 FROM messages m WHERE m.step_id = given.value AND m.step_id <> m.id AND m.id > @last)`.pluck().all;
  readonly #stepsOfSession = this.statement<{ sessionId: string; to: number }, number>`
    SELECT step_id FROM messages WHERE session_id = @sessionId GROUP BY step_id HAVING max(id) <= @to`.pluck().all;
  readonly #ofSession = this.statement<{ sessionId: string }, RowOf<typeof ACTION>>`
    SELECT ${PLACED} FROM messages m JOIN actions a ON a.message_id = m.id
    WHERE m.session_id = @sessionId ORDER BY a.message_id, a.ordinal`.all;
  readonly #after = this.statement<{ sessionId: string; seq: number; limit: number }, PlacedAction>`
    SELECT ${PLACED}, ${PLACE}, ${OF} FROM messages m JOIN actions a ON a.message_id = m.id JOIN sessions s ON s.id = m.session_id
    WHERE m.session_id = @sessionId AND m.seq > @seq AND ${HAS_WORKED} ORDER BY m.seq, a.ordinal LIMIT @limit`.all;
  /** Returns what a session read and changed in its messages after a seq, newest first. What failed is left out. */
  readonly onFiles = this.statement<{ sessionId: string; seq: number }, RowOf<typeof ACTION>>`
    SELECT ${PLACED} FROM messages m JOIN actions a ON a.message_id = m.id
    WHERE m.session_id = @sessionId AND m.seq > @seq AND a.kind IN ('read', 'edit', 'write') AND a.outcome <> 'failed'
    ORDER BY m.seq DESC, a.ordinal DESC`.all;
  readonly #named = this.statement<NamedValues, PlacedAction>`
    SELECT ${PLACED}, ${PLACE}, ${OF} ${FROM} WHERE a.name = @name AND ${OF_TARGET} AND ${IN_PROJECT} ORDER BY m.created_at_ms DESC, a.message_id DESC LIMIT @limit`
    .all;
  readonly #failedWith = this.statement<{ error: string; project: string | null; limit: number }, PlacedAction>`
    SELECT ${PLACED}, ${PLACE}, ${OF} ${FROM} WHERE a.error = @error AND ${IN_PROJECT} ORDER BY m.created_at_ms DESC, a.message_id DESC LIMIT @limit`
    .all;
  readonly #failedAround = this.statement<{ error: string; project: string | null; limit: number }, PlacedAction>`
    SELECT ${PLACED}, ${PLACE}, ${OF} ${FROM} WHERE a.error IN (SELECT DISTINCT error FROM actions WHERE error IS NOT NULL AND instr(error, @error) > 0)
    AND ${IN_PROJECT} ORDER BY m.created_at_ms DESC, a.message_id DESC LIMIT @limit`.all;
  /** The messages that users and models wrote in the turn of a message, around it, in order. */
  readonly turnIds = this.statement<{ sessionId: string; seq: number }, number>`
    SELECT m.id FROM messages z JOIN messages m ON ${IN_TURN_OF}
    WHERE z.session_id = @sessionId AND z.seq = @seq ORDER BY m.seq`.pluck().all;
  readonly #errors = this.statement<[countMin: number], { error: string; countMax: number }>`
    SELECT error, count(*) AS countMax FROM actions WHERE error IS NOT NULL
    GROUP BY error HAVING countMax >= ? ORDER BY countMax DESC, error`.all;
  readonly #occurrences = this.statement<
    { error: string; project: string | null },
    { sessionCount: number; count: number; lastAtMs: number | null }
  >`
    SELECT count(DISTINCT session_id) AS sessionCount, count(*) AS count, max(created_at_ms) AS lastAtMs
    FROM (SELECT min(m.session_id) AS session_id, m.created_at_ms ${FROM}
      WHERE a.error = @error AND a.kind = 'run' AND ${IN_PROJECT} GROUP BY m.created_at_ms)`.one;

  readonly #messages: MessageRepository;
  readonly #settings: StoreSettingRepository;

  constructor(database: StoreDatabase, messages: MessageRepository, settings: StoreSettingRepository) {
    super(database);
    this.#messages = messages;
    this.#settings = settings;
  }

  /** The id of the newest message whose actions are rows; 0 if none was read by the rules of this version. */
  notedTo(): number {
    const { id, rules } = (this.#settings.get(NOTED_TO) ?? {}) as Partial<NotedTo>;
    return rules === ACTION_RULES ? id! : 0;
  }

  #setNotedTo(id: number): void {
    this.#settings.set(NOTED_TO, { id, rules: ACTION_RULES } satisfies NotedTo);
  }

  isBehind(): boolean {
    return this.#messages.lastId() > this.notedTo();
  }

  /** Reads the next `limit` messages, in the transaction of the caller, except `fresh` ones. @returns how many these are. */
  note(limit: number, actionsOf: ActionsOf, fresh?: ReadMessages): number {
    const next = this.#nextIds(this.notedTo(), limit);
    if (next.length === 0) {
      if (this.isBehind()) this.#setNotedTo(this.#messages.lastId()); // the newest messages were forgotten
      return 0;
    }
    const last = next.at(-1)!.id;
    const acting = new Set(next.flatMap(({ stepId, isActing }) => (isActing ? [stepId] : [])));
    // A later batch reads a step that goes on there.
    this.#noteSteps(new Set(this.#endedOf({ stepIds: JSON.stringify([...acting]), last })), actionsOf, fresh);
    this.#setNotedTo(last);
    return next.length;
  }

  /** Reads messages that came with ids up to `notedTo`. */
  noteLate(ids: readonly number[], actionsOf: ActionsOf): void {
    const to = this.notedTo();
    this.#noteSteps(new Set(this.#stepsOf(ids.filter((id) => id <= to))), actionsOf);
  }

  /** Returns true if the rows of what a session holds are what its steps did. A step that is not read whole yet is not compared. */
  isRight(sessionId: string, actionsOf: ActionsOf, fresh: ReadMessages): boolean {
    const noted = this.#stepsOfSession({ sessionId, to: this.notedTo() });
    const expected = batchesOf(noted).flatMap((batch) => this.#read(batch, actionsOf, fresh).map(lineOf));
    expected.sort();
    let stored: string[];
    try {
      const compared = new Set(noted);
      const rows = this.#ofSession({ sessionId }).filter(({ messageId }) => compared.has(messageId));
      stored = rows.map(lineOf).sort();
    } catch (error) {
      if (error instanceof DamageError) return false;
      throw error;
    }
    return stored.length === expected.length && stored.every((line, index) => line === expected[index]);
  }

  noteSession(sessionId: string, actionsOf: ActionsOf): void {
    this.#noteSteps(new Set(this.#stepsOfSession({ sessionId, to: this.notedTo() })), actionsOf);
  }

  #noteSteps(stepIds: ReadonlySet<number>, actionsOf: ActionsOf, fresh?: ReadMessages): void {
    for (const batch of batchesOf([...stepIds])) {
      this.#deleteOf(JSON.stringify(batch));
      for (const action of this.#read(batch, actionsOf, fresh)) this.#insert(action);
    }
  }

  /** Returns the actions of the messages that are not read yet, of the newest `limit`, in order. */
  unnoted(limit: number, actionsOf: ActionsOf): Omit<PlacedAction, "project">[] {
    const from = Math.max(this.notedTo(), this.#messages.lastId() - limit);
    const ids = this.#nextIds(from, limit).flatMap(({ stepId, isActing }) => (isActing ? [stepId] : []));
    return this.#read([...new Set(ids)], actionsOf);
  }

  /** Steps that are damaged have no actions: `verify` says that they are. */
  #read(stepIds: readonly number[], actionsOf: ActionsOf, fresh?: ReadMessages): Omit<PlacedAction, "project">[] {
    const byStep = groupedBy(this.#messages.intactOfSteps(stepIds, fresh), ({ stepId }) => stepId);
    return [...byStep.values()].flatMap((step) => {
      const [asking] = step;
      // A fork may have answers to a call that it shares.
      const own = step.filter(({ sessionId }) => sessionId === asking!.sessionId);
      const { id, stepId, sessionId: of, seq, createdAtMs } = asking!;
      const place = { sessionId: of, seq, createdAtMs };
      return id === stepId ? actionsOf(own).map((action) => ({ ...action, ...place })) : [];
    });
  }

  /** Returns the changes and the programs of a session after a seq that worked, in order. */
  workedAfter(sessionId: string, seq: number, limit: number): PlacedAction[] {
    return this.#after({ sessionId, seq, limit });
  }

  /** Returns what calls did, by message: calls of the message, or of the next one, which some agents write apart from their words. */
  shownWith(messageIds: readonly number[]): Map<number, PlacedAction[]> {
    return groupedBy(this.#shownWith(messageIds), ({ shownId }) => shownId);
  }

  /** Returns actions with this file, program or tool, newest first. */
  named(name: string, { project, limit, target, path }: NamedScope): PlacedAction[] {
    return this.#named({ name, project: project ?? null, limit, target: target ?? null, path: path ?? null });
  }

  /** Returns actions that failed with an error, or else with one that contains its text, newest first. */
  failedWith(error: string, { project, limit }: { project: string | undefined; limit: number }): PlacedAction[] {
    const wanted = { error, project: project ?? null, limit };
    const found = this.#failedWith(wanted);
    return found.length > 0 ? found : this.#failedAround(wanted);
  }

  /** Returns all errors, those that occurred most often first. */
  errors(): string[] {
    return this.#errors(1).map(({ error }) => error);
  }

  /** Returns the errors of programs that occurred in most sessions. An agent's own tools say in their errors what to do. */
  recurring(options: { project: string | undefined; sessionsMin: number; limit: number }): RecurringError[] {
    const { project = null, sessionsMin, limit } = options;
    let found: RecurringError[] = [];
    for (const { error, countMax } of this.#errors(sessionsMin)) {
      // The others occurred less often than the last that is told has sessions.
      if (countMax <= (found[limit - 1]?.sessionCount ?? 0)) break;
      const { lastAtMs, ...counts } = this.#occurrences({ error, project });
      if (counts.sessionCount < sessionsMin) continue;
      found.push({ error, ...counts, lastAtMs: lastAtMs! });
      found.sort((left, right) => right.sessionCount - left.sessionCount || right.count - left.count);
      found = found.slice(0, limit);
    }
    return found;
  }
}

function batchesOf(ids: readonly number[]): number[][] {
  const count = Math.ceil(ids.length / BATCH_MESSAGES_MAX);
  return Array.from({ length: count }, (_, at) => ids.slice(at * BATCH_MESSAGES_MAX, (at + 1) * BATCH_MESSAGES_MAX));
}

function lineOf(action: StepAction): string {
  const { messageId, part, ordinal, resultId, kind, name, target, outcome, error } = action;
  return JSON.stringify([messageId, ordinal, part, resultId, kind, name, target, outcome, error]);
}
