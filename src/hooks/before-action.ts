import type { Action, PlacedAction } from "../core/action.ts";
import { actionsIn, isChange } from "../models/actions.ts";
import { fileSessions, fixAfter, isAbsolute, type WorkReader, withoutCopies } from "../session/past-work.ts";
import type { Line } from "./quotation.ts";

/** Sessions of the file, and calls of the program, that are looked at. */
const SESSIONS_MAX = 10;
const CALLS_MAX = 1_000;
/** The programs of a command line that are looked up. */
const PROGRAMS_MAX = 3;

/** Errors that say that a command was called in a wrong way, and not that the work is unfinished. */
const MISCALLED =
  /command not found|not recognized|no such (?:command|option)|un(?:known|recognized) (?:flag|option|argument|command|shorthand)|(?:invalid|illegal|unexpected) (?:option|flag|argument)|missing (?:script|required)|permission denied|^usage:/i;

/** A note for the agent before a tool call, and the subject of the note. */
export interface Warning {
  about: string;
  line: Line;
}

/**
 * Returns the one thing that is worth saying before an agent changes a file or runs a command: what was decided about the file in
 * another session, or that the same command failed in another session because it was called in a wrong way, and has never worked.
 */
export function warningBefore(
  reader: WorkReader,
  call: { name: string; args: unknown },
  project: string,
  ownIds: ReadonlySet<string>,
): Warning | undefined {
  const actions = actionsIn(call, undefined);
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
  ownIds: ReadonlySet<string>,
): Warning | undefined {
  // A relative path may be of any folder.
  if (!isAbsolute(path)) return undefined;
  const isMeant = ({ sessionId, target }: PlacedAction): boolean =>
    !ownIds.has(sessionId) && (target === path || `${project}/${target}` === path);
  const others = fileSessions(reader, path, { project, limit: SESSIONS_MAX, isMeant });
  const [newest] = others.flatMap(({ decided }) => decided).sort((left, right) => right.atMs - left.atMs);
  if (newest === undefined) return undefined;
  return { about: path, line: { kind: "decided", id: newest.messageId, atMs: newest.atMs, text: newest.text } };
}

function aboutCommand(
  reader: WorkReader,
  { name, target }: Action,
  project: string,
  ownIds: ReadonlySet<string>,
): Warning | undefined {
  const calls = withoutCopies(reader.named(name, { project, limit: CALLS_MAX, target }));
  if (calls.some(({ outcome }) => outcome === "ok")) return undefined;
  const failed = calls.find(
    (call) => call.error !== null && MISCALLED.test(call.error) && !ownIds.has(call.sessionId) && isAlone(reader, call),
  );
  if (failed === undefined) return undefined;
  const worked = fixAfter(reader, failed, failed.error!)?.succeeded;
  const text = `failed here: ${failed.error}${worked === undefined || worked === target ? "" : `; this worked: ${worked}`}`;
  return { about: target, line: { kind: "command", id: failed.messageId, atMs: failed.createdAtMs, text } };
}

/** Returns true if the line started one program. Of several, nobody knows which one failed. */
function isAlone(reader: WorkReader, { messageId, part }: PlacedAction): boolean {
  const call = reader.parts(messageId)[part];
  return call?.type === "tool_call" && actionsIn(call, undefined).filter(({ kind }) => kind === "run").length === 1;
}
