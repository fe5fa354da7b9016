/** Which actions with a name are meant. */
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
