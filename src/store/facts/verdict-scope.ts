import { AFTER_REMEMBERED, REMEMBERED } from "../../core/verdicts.ts";

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
