import { AFTER_REMEMBERED, REMEMBERED } from "../../core/verdicts.ts";

/** SQL: a message of `alias` is what an agent wrote to compact its context. */
export const isSummary = (alias: string): string =>
  `coalesce(instr(${alias}.metadata, '"isCompactSummary":true') > 0, 0)`;

/** SQL: a message of `alias` is what a program gave an agent before a user has spoken, such as the task of a subagent. SQLite computes the text. */
const isTask = (alias: string): string => `(${alias}.role = 'user' AND ${alias}.turn_seq < 0 AND ${alias}.text = '')`;

/** SQL: who says a message of `alias`, for a title. What an agent wrote to compact its context gives none, like a tool's result. */
export const tellerOf = (alias: string): string =>
  `CASE WHEN ${isSummary(alias)} THEN 'tool' WHEN ${isTask(alias)} THEN 'system' ELSE ${alias}.role END`;

/** SQL: the beginning of what a message of `alias` says for a title: its text, or a task. */
export const toldOf = (alias: string, charsMax: string | number): string =>
  `substr(CASE WHEN ${isTask(alias)} AND json_valid(${alias}.parts)
    THEN coalesce(${alias}.parts ->> '$[0].text', '') ELSE ${alias}.text END, 1, ${charsMax})`;

/** SQL: selects the id of the first request of the user. A word alone, such as `shell` or `yes`, is one only if no other comes soon. */
export function openingOf(session: string, seqLast: string): string {
  return `SELECT id FROM (
      SELECT id, seq, text FROM messages
      WHERE session_id = ${session} AND role = 'user' AND text <> '' AND seq <= ${seqLast} AND NOT ${isSummary("messages")}
      ORDER BY seq LIMIT 4)
    ORDER BY text NOT GLOB '*[^!-~]*', seq LIMIT 1`;
}

/** After an interruption, a request is put again before much work was done. If much was done, the user wants it once more. */
const REPEATED_WITHIN = 12;

/** SQL: 1 if a message of the user repeats one shortly before it, word for word. */
export const isRepeated = (alias: string): string =>
  `(${alias}.turn_seq = ${alias}.seq AND EXISTS (
    SELECT 1 FROM messages asked WHERE asked.session_id = ${alias}.session_id AND asked.role = 'user'
      AND asked.seq BETWEEN ${alias}.seq - ${REPEATED_WITHIN} AND ${alias}.seq - 1 AND asked.digest = ${alias}.digest))`;

/** SQL: the session is of what people asked to remember. */
export function isOfRemembered(id: string): string {
  return `(${id} >= '${REMEMBERED}' AND ${id} < '${AFTER_REMEMBERED}')`;
}

/** SQL: the verdicts on the messages that are given as JSON, oldest first. One that was rejected itself does not hold. */
export const VERDICTS_ON = `
  SELECT message_id AS id, kind, verdict_id AS saidIn FROM verdicts
  WHERE message_id IN (SELECT value FROM json_each(?))
    AND NOT EXISTS (SELECT 1 FROM verdicts r WHERE r.message_id = verdicts.verdict_id AND r.kind = 'rejected')
  ORDER BY said_at_ms, verdict_id`;

export interface NamedScope {
  project: string | undefined;
  limit: number;
  /** Only actions with exactly this target. */
  target?: string;
  /** Only actions with a path that is the end of this path, or the other way round. */
  path?: string;
}

/** SQL: the action changed something or ran, and worked. */
export const HAS_WORKED = "a.outcome = 'ok' AND a.kind IN ('run', 'edit', 'write')";

/** The messages of a turn that are read around an action: at most so many before it and after it. */
const TURN_MESSAGES_MAX = 30;
const TURN_BEHIND = 10;

/** SQL: the messages `m` that users and models wrote in the turn of the message `z`, around it. */
export const IN_TURN_OF = `m.session_id = z.session_id
  AND m.seq BETWEEN max(z.turn_seq, z.seq - ${TURN_MESSAGES_MAX}) AND z.seq + ${TURN_BEHIND}
  AND m.turn_seq = z.turn_seq AND m.role IN ('user', 'assistant')`;

/** SQL for `target` and `path`, which are NULL if they are not given. */
export const OF_TARGET = `(@target IS NULL OR a.target = @target) AND (@path IS NULL
  OR substr('/' || a.target, -length(@path) - 1) = '/' || @path OR substr('/' || @path, -length(a.target) - 1) = '/' || a.target)`;
