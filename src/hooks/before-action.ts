import type { Action, PlacedAction } from "../core/action.ts";
import { once } from "../core/once.ts";
import { withVerdict } from "../core/verdicts.ts";
import { actionsOfCall, isChange } from "../models/actions.ts";
import { fileSessions, fixAfter, isAbsolute, type WorkReader, withoutCopies } from "../session/aids/past-work.ts";
import type { QuickReader } from "../store/index.ts";
import type { SessionMemory } from "./begin.ts";
import type { Firing } from "./firing.ts";
import { type Line, quoted, type Said, said } from "./quotation.ts";

/** Sessions of the file, and calls of the program, that are looked at. */
const SESSIONS_MAX = 10;
const CALLS_MAX = 1_000;
const NEWEST_CALLS = 10;
/** The programs of a command line that are looked up. */
const PROGRAMS_MAX = 3;

/** Errors that say that a command was called in a wrong way, and not that the work is unfinished. */
const MISCALLED =
  /command not found|not recognized|no such (?:command|option)|un(?:known|recognized) (?:flag|option|argument|command|shorthand)|(?:invalid|illegal|unexpected) (?:option|flag|argument)|missing (?:script|required)|permission denied|^usage:/i;

/** A note for the agent before a tool call, and the subject of the note. */
interface Warning {
  about: string;
  lines: [Line, ...Line[]];
}

const TOKENS_MAX = 500;

/** Returns the answer to an agent that is about to act: one line about each file and command of a session, or nothing. */
export function sayBefore(
  reader: QuickReader,
  { call, project: named, sessionId }: Firing,
  { quoted: known, warned, digest }: SessionMemory,
): Said | undefined {
  if (call === undefined || named === undefined) return undefined;
  return reader.snapshot(() => {
    const ownIds = once(() => new Set(sessionId === "" ? [] : reader.sessionIds(sessionId)));
    const warning = warningBefore(reader, call, reader.projectNow(named), ownIds);
    if (warning === undefined || known.has(warning.lines[0].id!)) return undefined;
    const about = digest(warning.about); // the log holds nothing that anybody said
    if (warned.has(about)) return undefined;
    const quotation = quoted([{ name: "before", attributes: {}, lines: warning.lines }], { tokensMax: TOKENS_MAX });
    const answer = said(quotation, "what was found out about this before");
    return answer && { ...answer, about };
  });
}

/**
 * Returns the one thing that is worth saying before an agent changes a file or runs a command: what was decided about the file in
 * another session, or that the same command failed in another session because it was called in a wrong way, and has never worked.
 */
export function warningBefore(
  reader: WorkReader,
  call: { name: string; args: unknown },
  project: string,
  ownIds: () => ReadonlySet<string>,
): Warning | undefined {
  const actions = actionsOfCall(call);
  const changed = actions.find(({ kind }) => isChange(kind));
  if (changed !== undefined) return aboutFile(reader, changed.target, project, ownIds);
  const programs = actions.filter(({ kind }) => kind === "run").slice(0, PROGRAMS_MAX);
  for (const action of programs) {
    const warning = aboutCommand(reader, action, project, ownIds);
    if (warning !== undefined) return warning;
  }
  return undefined;
}

function aboutFile(
  reader: WorkReader,
  path: string,
  project: string,
  ownIds: () => ReadonlySet<string>,
): Warning | undefined {
  // A relative path may be of any folder.
  if (!isAbsolute(path)) return undefined;
  const isMeant = ({ sessionId, target }: PlacedAction): boolean =>
    (target === path || `${project}/${target}` === path) && !ownIds().has(sessionId);
  const others = fileSessions(reader, path, { project, limit: SESSIONS_MAX, isMeant });
  const [newest] = others.flatMap(({ decided }) => decided).sort((left, right) => right.atMs - left.atMs);
  if (newest === undefined) return undefined;
  const { messageId: id, atMs, by } = newest;
  return { about: path, lines: [{ kind: "decided", id, atMs, by, text: withVerdict(newest) }] };
}

function aboutCommand(
  reader: WorkReader,
  { name, target }: Action,
  project: string,
  ownIds: () => ReadonlySet<string>,
): Warning | undefined {
  const newest = (limit: number): PlacedAction[] => withoutCopies(reader.named(name, { project, limit, target }));
  const hasWorked = (calls: readonly PlacedAction[]): boolean => calls.some(({ outcome }) => outcome === "ok");
  // Most commands have worked lately, and then the others need not be read.
  if (hasWorked(newest(NEWEST_CALLS))) return undefined;
  const calls = newest(CALLS_MAX);
  if (hasWorked(calls)) return undefined;
  const failed = calls.find(
    (call) =>
      call.error !== null && MISCALLED.test(call.error) && !ownIds().has(call.sessionId) && isAlone(reader, call),
  );
  if (failed === undefined) return undefined;
  const { messageId: id, createdAtMs: atMs, error } = failed;
  const fix = fixAfter(reader, failed, error!);
  const lines: Warning["lines"] = [{ kind: "failed", id, atMs, by: "tool", text: error! }];
  if (fix !== undefined && fix.succeeded !== target) {
    const { curedMessageId, atMs, succeeded } = fix;
    lines.push({ kind: "worked", id: curedMessageId, atMs, by: "assistant", text: succeeded });
  }
  return { about: target, lines };
}

/** Returns true if the line started one program. Of several, nobody knows which one failed. */
function isAlone(reader: WorkReader, { messageId, part }: PlacedAction): boolean {
  const call = reader.parts(messageId)[part];
  return call?.type === "tool_call" && actionsOfCall(call).filter(({ kind }) => kind === "run").length === 1;
}
