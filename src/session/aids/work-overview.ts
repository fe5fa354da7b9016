import { baseName } from "../../core/working-set.ts";
import { errorLinesIn, QUOTING } from "../../models/actions.ts";
import { errorSignature } from "../../models/error-signature.ts";
import { cutLine, oneLine } from "../../models/lines.ts";
import type { Store } from "../store.ts";

/** An error, or a command, is told from so many failures on. */
const FAILURES_MIN = 2;
/** The signature of an error is read from so much of its line. */
const LINE_CHARS_MAX = 500;
/** A program and the words that say what it does, such as `npm run test`, and an option of git before them. */
const HEAD = /^(\S+)(?: -C \S+)?((?: [a-z][\w:-]*(?= |$)){0,2})/;
const MS_MAX = 8.64e15;

export interface WorkOverviewOptions {
  project?: string | undefined;
  /** Only what was done at this time or later, in Unix milliseconds. */
  sinceMs?: number | undefined;
  /** The most rows of each kind. */
  limit: number;
}

/** A file, an error or a command in past work, how often it came up, and where it did last. Copies of a message count once. */
export interface WorkCount {
  /** A path within its project, a line that a program printed, or the beginning of a command line. */
  name: string;
  project: string | null;
  /** How often it was changed, came up, or failed. */
  count: number;
  /** How often a command ran; for others, as `count`. */
  totalCount: number;
  sessionCount: number;
  lastAtMs: number;
  sessionId: string;
  seq: number;
  /** Of an error, the command that failed with it; of a command, the error of its newest failure. Null if it is not known. */
  detail: string | null;
}

export interface WorkOverview {
  /** The files that changed most often come first. Those outside the project are left out. */
  files: WorkCount[];
  /** Errors that came up at least twice. Those of the most sessions come first. */
  errors: WorkCount[];
  /** Commands that failed at least twice. Those that failed most often come first. */
  commands: WorkCount[];
}

/** Copies of a message have its time. */
const COUNT = "count(DISTINCT created_at_ms)";
const IN_SCOPE = "(:project IS NULL OR project = :project) AND created_at_ms >= :sinceMs";
/** SQL: what follows the folder of a worktree. Its files count as those of its project. */
const REST = "substr(target, instr(target, 'worktrees/') + 10)";
const FILES_SQL = `
SELECT CASE WHEN instr(target, 'worktrees/') > 0 THEN substr(${REST}, instr(${REST}, '/') + 1) ELSE target END AS name, project,
  ${COUNT} AS count, ${COUNT} AS totalCount, count(DISTINCT session_id) AS sessionCount, max(created_at_ms) AS lastAtMs,
  session_id AS sessionId, seq, NULL AS detail
FROM work WHERE kind IN ('edit', 'write') AND outcome <> 'failed' AND target NOT GLOB '[/~]*' AND target NOT GLOB '[A-Z]:*'
  AND target NOT GLOB '../*' AND ${IN_SCOPE}
GROUP BY project, name ORDER BY count DESC, sessionCount DESC, lastAtMs DESC LIMIT :limit`;
/** Calls of other tools have their arguments as JSON. */
const FAILED_SQL = `
SELECT error, target, project, ${COUNT} AS count, max(created_at_ms) AS lastAtMs, session_id AS sessionId, seq,
  result_id AS resultId, json_group_array(DISTINCT session_id) AS sessions
FROM work WHERE kind = 'run' AND outcome = 'failed' AND substr(target, instr(target, ' ') + 1, 1) <> '{' AND ${IN_SCOPE}
GROUP BY project, target, error`;
/** How often a command ran, by project. Calls of one message have its time. The view `work` lacks names, whose index this needs. */
const RUNS_SQL = `
SELECT s.project, count(DISTINCT m.created_at_ms || ' ' || a.target) AS count
FROM actions a JOIN messages m ON m.id = a.message_id JOIN sessions s ON s.id = m.session_id
WHERE a.name = :program AND a.kind = 'run' AND (a.target || ' ' GLOB :head OR a.target || ' ' GLOB :elsewhere)
  AND s.superseded_at_ms IS NULL AND m.created_at_ms >= :sinceMs GROUP BY s.project`;

/** Failures of one command with one error, or with none that is known. */
interface Failures extends Omit<WorkCount, "name" | "detail" | "totalCount" | "sessionCount"> {
  error: string | null;
  target: string;
  resultId: number | null;
  /** Their ids, as JSON. */
  sessions: string;
}

type Group = Omit<Failures, "sessions"> & { sessionCount: number };

const TEXTS = "SELECT id, text FROM messages WHERE id IN (SELECT value FROM json_each(?))";

/** Returns what comes up most in past work, as far as upkeep has read what tool calls did. */
export function workOverview(store: Store, { project, sinceMs, limit }: WorkOverviewOptions): WorkOverview {
  const scope = { project: project ?? null, sinceMs: sinceMs ?? -MS_MAX };
  const files = store.query(FILES_SQL, { ...scope, limit }) as unknown as WorkCount[];
  const failures = store.query(FAILED_SQL, scope) as unknown as Failures[];
  const meant = failures.filter(({ target }) => !QUOTING.test(target));
  const errors = groupsOf(meant, ({ error }) => error)
    .sort((left, right) => right.sessionCount - left.sessionCount || right.count - left.count)
    .slice(0, limit);
  const commands = groupsOf(meant, (one) => JSON.stringify([one.project, headOf(one.target)]))
    .sort((left, right) => right.count - left.count || right.sessionCount - left.sessionCount)
    .slice(0, limit);
  const heads = new Set(commands.map(({ target }) => headOf(target)));
  const { sinceMs: from } = scope;
  const runsOf = new Map(
    Array.from(heads, (head) => [head, store.query(RUNS_SQL, { sinceMs: from, ...patternsOf(head) })]),
  );
  const resultIds = [...errors, ...commands].flatMap(({ resultId }) => resultId ?? []);
  const textOf = new Map(store.query(TEXTS, [JSON.stringify(resultIds)]).map(({ id, text }) => [id, String(text)]));
  const counted = (group: Group, name: string, detail: string | null): WorkCount => {
    const { project: of, count, sessionCount, lastAtMs, sessionId, seq } = group;
    return { name, project: of, count, totalCount: count, sessionCount, lastAtMs, sessionId, seq, detail };
  };
  const lineOf = ({ error, resultId }: Group): string | null => error && lineWith(error, textOf.get(resultId) ?? "");
  return {
    files,
    errors: errors.map((group) => counted(group, lineOf(group)!, group.target)),
    commands: commands.map((group) => {
      const name = headOf(group.target);
      // A program is not found by a name that was quoted, cut or made by the shell.
      const runs = runsOf.get(name)?.find((one) => one.project === group.project);
      const failed = counted(group, name, lineOf(group));
      return { ...failed, totalCount: Math.max(failed.count, Number(runs?.count ?? 0)) };
    }),
  };
}

/** Adds up failures by a key, and leaves out those without one and those that came up once. The newest stands for all. */
function groupsOf(failures: readonly Failures[], keyOf: (one: Failures) => string | null): Group[] {
  const groups = new Map<string, Group & { ids: Set<string> }>();
  for (const { sessions, ...one } of failures) {
    const key = keyOf({ ...one, sessions });
    if (key === null) continue;
    const group = groups.get(key);
    const ids = new Set([...(group?.ids ?? []), ...JSON.parse(sessions)]);
    const count = one.count + (group?.count ?? 0);
    const newest = group === undefined || isNewer(one, group) ? one : group;
    groups.set(key, { ...newest, count, sessionCount: ids.size, ids });
  }
  return [...groups.values()].filter(({ count }) => count >= FAILURES_MIN);
}

/** A failure tells more if its error is known. */
function isNewer(left: Pick<Failures, "error" | "lastAtMs">, { error, lastAtMs }: Group): boolean {
  return (left.error === null) === (error === null) ? left.lastAtMs > lastAtMs : left.error !== null;
}

function headOf(command: string): string {
  const [, program = command, words = ""] = HEAD.exec(command) ?? [];
  return program + words;
}

/** Returns what the commands with this head are like. */
function patternsOf(head: string): { program: string; head: string; elsewhere: string } {
  const [program, ...words] = head.replace(/[[*?]/g, "[$&]").split(" ");
  return {
    program: baseName(head.split(" ")[0]!),
    head: [program, ...words, "*"].join(" "),
    elsewhere: [program, "-C *", ...words, "*"].join(" "),
  };
}

/** Returns the line of an output that has this signature. */
function lineWith(signature: string, output: string): string {
  const line = errorLinesIn(output).find((one) => errorSignature(one) === signature);
  return line === undefined ? signature : cutLine(oneLine(line), LINE_CHARS_MAX);
}
