import { join } from "node:path";
import { warningBefore } from "../../src/hooks/before-action.ts";
import { openStore, type Store } from "../../src/index.ts";
import { type Fix, fixAfter, fixesOf, type WorkReader } from "../../src/session/aids/past-work.ts";
import { openQuickly } from "../../src/store/quick-reader.ts";
import { inFolder } from "./folder.ts";
import { entireInput, readEntireSessions } from "./recall-data.ts";

const PROJECT = "/entire";
const FAILURES_MAX = 1_000;
/** The fixes of an answer that somebody reads. */
const TOLD_MAX = 3;

type Row = Record<"id" | "createdAtMs" | "part", number> & Record<"sessionId" | "error" | "target" | "kind", string>;

/**
 * Replays the sessions of `entire/` in order of time. Each question is answered from what was stored before it.
 *
 * - `fix.asked`: errors that occurred before, in the same session or an earlier one, and that went away again. `right`: the share, in
 *   percent, for which one of the three newest fixes shares a changed file, a command, or a word that was put in. `wrong`: there are
 *   fixes, and none does.
 * - `point.share`: the share of changes and commands, in percent, before which the hook speaks. `point.said`: how often that is.
 */
export async function pastWorkFigures(
  dataFolder: string,
): Promise<{ fix: Record<string, number>; point: Record<string, number> }> {
  let figures = { fix: {}, point: {} };
  await inFolder(async (folder) => {
    const path = join(folder, "work.db");
    const store = openStore(path);
    for (const { sid, messages } of readEntireSessions(dataFolder))
      store.session(sid, { project: PROJECT }).append(messages.map(entireInput));
    await store.upkeep();
    const reader = openQuickly(path);
    figures = { fix: fixFigures(store, reader), point: pointFigures(store, reader) };
    reader.close();
    store.close();
  });
  return figures;
}

/** Reads what was stored before a time. */
function before(reader: WorkReader, timeMs: number): WorkReader {
  const isPast = ({ createdAtMs }: { createdAtMs: number }): boolean => createdAtMs < timeMs;
  return {
    named: (name, scope) => reader.named(name, scope).filter(isPast),
    failedWith: (error, scope) => reader.failedWith(error, scope).filter(isPast),
    workedAfter: (sessionId, seq, limit) => reader.workedAfter(sessionId, seq, limit).filter(isPast),
    turn: (sessionId, seq) => reader.turn(sessionId, seq).filter(isPast),
    verdictsOn: () => new Map(),
    parts: (messageId) => reader.parts(messageId),
  };
}

function rowsOf(store: Store, condition: string): Row[] {
  const rows = store.query(
    `SELECT a.message_id AS id, a.part, a.kind, a.target, a.error, m.session_id AS sessionId, m.created_at_ms AS createdAtMs
     FROM actions a JOIN messages m ON m.id = a.message_id WHERE ${condition} ORDER BY m.created_at_ms, a.message_id`,
  ) as Row[];
  // A resumed session repeats an earlier one.
  const seen = new Set<string>();
  return rows.filter(({ createdAtMs, target }) => {
    const key = `${createdAtMs} ${target}`;
    return !seen.has(key) && seen.add(key);
  });
}

function fixFigures(store: Store, reader: WorkReader): Record<string, number> {
  const counts = { asked: 0, right: 0, wrong: 0 };
  const done = new Set<string>();
  for (const { id, error, createdAtMs } of rowsOf(store, "a.error IS NOT NULL AND a.kind = 'run'")) {
    const scope = { project: PROJECT, limit: FAILURES_MAX };
    const failed = reader.failedWith(error, scope).find(({ messageId }) => messageId === id);
    const own = failed && fixAfter(reader, failed, error);
    if (own === undefined || done.has(`${own.curedMessageId} ${error}`)) continue;
    done.add(`${own.curedMessageId} ${error}`);
    const past = before(reader, createdAtMs);
    if (past.failedWith(error, scope).length === 0) continue;
    counts.asked += 1;
    const told = fixesOf(past, error, { project: PROJECT, limit: TOLD_MAX, errors: () => [] });
    if (told.length === 0) continue;
    if (told.some((fix) => isSame(fix, own))) counts.right += 1;
    else counts.wrong += 1;
  }
  const percent = (count: number): number => (counts.asked === 0 ? 0 : (100 * count) / counts.asked);
  return { asked: counts.asked, right: percent(counts.right), wrong: percent(counts.wrong) };
}

function isSame(told: Fix, own: Fix): boolean {
  const keysOf = ({ steps, succeeded }: Fix): Set<string> => {
    const changed = steps.map(({ kind, target }) =>
      kind === "run" ? target : target.slice(target.lastIndexOf("/") + 1),
    );
    const put = steps.flatMap(({ text }) => text.match(/[A-Za-z_][\w.]{4,}/g) ?? []);
    return new Set([...changed, ...put, ...(steps.length === 0 ? [succeeded] : [])]);
  };
  const ownKeys = keysOf(own);
  return [...keysOf(told)].some((key) => ownKeys.has(key));
}

function pointFigures(store: Store, reader: WorkReader): Record<string, number> {
  const told = new Set<string>();
  const rows = rowsOf(store, "a.kind IN ('edit', 'write', 'run')");
  const calls = new Map(rows.map((row) => [`${row.id} ${row.part}`, row]));
  for (const { id, part, sessionId, createdAtMs } of calls.values()) {
    const call = reader.parts(id)[part];
    if (call?.type !== "tool_call") continue;
    const warning = warningBefore(before(reader, createdAtMs), call, PROJECT, () => new Set([sessionId]));
    if (warning !== undefined) told.add(`${sessionId} ${warning.about}`);
  }
  return { share: (100 * told.size) / calls.size, said: told.size };
}
