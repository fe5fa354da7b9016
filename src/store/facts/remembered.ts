import type { Verdict } from "../../core/verdicts.ts";
import { Repository } from "../file/repository.ts";
import { MESSAGE } from "../sql/message-columns.ts";
import { columns, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";
import { isOfRemembered, VERDICTS_ON } from "./conditions.ts";
import { IS_SESSION } from "./paths.ts";

const SESSION = columns(TABLES.sessions, "project", "author");

export type RememberedRow = RowOf<typeof MESSAGE> & RowOf<typeof SESSION>;

/** What people asked to remember, and what they said later of messages. */
export class RememberedRepository extends Repository {
  // Every recall, and every read of messages, asks for verdicts. Without remembered messages, that takes a few microseconds.
  readonly #messages = this.statement<{ project: string | null; untilMs: number; limit: number }, RememberedRow>`
    SELECT ${MESSAGE.of("m")}, ${SESSION.of("s")} FROM sessions s CROSS JOIN messages m ON m.session_id = s.id
    WHERE ${isOfRemembered("s.id")} AND s.${IS_SESSION} AND (@project IS NULL OR s.project = @project)
      AND m.created_at_ms <= @untilMs AND m.metadata IS NOT NULL
    ORDER BY m.created_at_ms DESC, m.id DESC LIMIT @limit`;
  /** The session of this store's own for a project, or for none. */
  readonly sessionOf = this.statement<[project: string | null], string>`
    SELECT id FROM sessions
    WHERE ${isOfRemembered("id")} AND ${IS_SESSION} AND project IS ? AND author IS NULL ORDER BY id DESC LIMIT 1`.pluck()
    .get;
  readonly #verdicts = this.statement<
    [ids: string],
    { id: number; kind: Verdict["kind"]; saidIn: number }
  >`${VERDICTS_ON}`;
  readonly #targets = this.statement<[ids: string], { id: number; saidIn: number }>`
    SELECT message_id AS id, verdict_id AS saidIn FROM verdicts WHERE verdict_id IN (SELECT value FROM json_each(?))`;
  readonly #texts = this.statement<[ids: string], RowOf<typeof MESSAGE>>`
    SELECT ${MESSAGE} FROM messages WHERE id IN (SELECT value FROM json_each(?))`;

  /** Newest first. @param options.project  By default of all projects. */
  messages({
    project,
    untilMs = Number.MAX_SAFE_INTEGER,
    limit,
  }: {
    project?: string | undefined;
    untilMs?: number | undefined;
    limit: number;
  }): RememberedRow[] {
    return this.#messages.all({ project: project ?? null, untilMs, limit });
  }

  /** The newest verdict on each message that has one, by the message's id. */
  verdictsOn(ids: readonly number[]): Map<number, Verdict> {
    const found = ids.length === 0 ? [] : this.#verdicts.allOf(ids);
    const textOf = this.#textsOf(found.map(({ saidIn }) => saidIn));
    return new Map(
      found.flatMap(({ id, kind, saidIn }) => {
        const text = textOf.get(saidIn);
        return text === undefined ? [] : [[id, { kind, messageId: saidIn, text }]];
      }),
    );
  }

  /** The message that each of these remembered messages replaces or rejects. */
  targetsOf(ids: readonly number[]): Map<number, { id: number; text: string }> {
    const found = ids.length === 0 ? [] : this.#targets.allOf(ids);
    const textOf = this.#textsOf(found.map(({ id }) => id));
    return new Map(
      found.flatMap(({ id, saidIn }) => {
        const text = textOf.get(id);
        return text === undefined ? [] : [[saidIn, { id, text }]];
      }),
    );
  }

  #textsOf(ids: readonly number[]): Map<number, string> {
    if (ids.length === 0) return new Map();
    return new Map(this.#texts.allOf(ids).map(({ id, text }) => [id, text]));
  }
}
