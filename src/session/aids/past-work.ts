import type { ActionKind, PlacedAction, RecurringError } from "../../core/action.ts";
import { groupedBy } from "../../core/groups.ts";
import type { Message, Part, Role } from "../../core/message.ts";
import type { ReadVerdicts } from "../../core/verdicts.ts";
import { baseName } from "../../core/working-set.ts";
import { errorLinesIn, insertedBy, isChange, isOfFile } from "../../models/actions.ts";
import { decisionsIn } from "../../models/decisions.ts";
import { errorSignature } from "../../models/error-signature.ts";
import { cutLine, oneLine } from "../../models/lines.ts";
import { sentencesOf } from "../../models/sentences.ts";
import { commandsIn } from "../../models/shell.ts";
import { ToldReader, toldIn } from "../../models/told.ts";
import type { NamedScope } from "../../store/index.ts";
import { judgedLines, type WorkLine } from "./work-lines.ts";

/** The newest actions with a file or a program, or with an error, that are looked at. */
const NAMED_MAX = 1_000;
const FAILED_MAX = 100;
/** A cure is looked for in this many actions after the error that changed something or ran, and worked. */
const CURE_ACTIONS_MAX = 100;
/** The last steps before a success that are told. */
const STEPS_MAX = 10;
/** The most errors of a text that are looked up. */
const ERRORS_MAX = 5;
const LINE_CHARS_MAX = 200;
const ERROR_WORD = /\p{L}[\p{L}\p{N}_]{2,}/gu;
/** Errors are similar if they share so many words, and if these are this part of the words of both (the Dice coefficient). */
const SHARED_WORDS_MIN = 3;
const LIKENESS_MIN = 0.6;
/** Of the similar errors, so many are looked up: most may be of other projects. */
const SIMILAR_MAX = 50;

export const WORK_LIMIT_DEFAULT = 10;

export interface WorkOptions {
  /** Only sessions of this project. */
  project?: string;
  /** The most rows to return: 0 to 10,000, by default 10. */
  limit?: number;
}

/** A message of a turn. */
export interface TurnMessage {
  id: number;
  seq: number;
  stepId: number;
  role: Role;
  text: string;
  parts: readonly Part[];
  metadata?: Message["metadata"] | null;
  createdAtMs: number;
}

/** Reads actions and what was said around them. */
export interface WorkReader {
  named(name: string, scope: NamedScope): PlacedAction[];
  failedWith(error: string, scope: Pick<NamedScope, "project" | "limit">): PlacedAction[];
  /** The changes and the programs of a session that worked after a seq, in order. */
  workedAfter(sessionId: string, seq: number, limit: number): PlacedAction[];
  /** The messages of users and models in the turn with this seq, in order, the nearest ones. */
  turn(sessionId: string, seq: number): TurnMessage[];
  parts(messageId: number): readonly Part[];
  verdictsOn: ReadVerdicts;
}

interface FileSessionsOptions {
  project: string | undefined;
  limit: number;
  /** Leaves out other actions. */
  isMeant?: (action: PlacedAction) => boolean;
}

/** What a session did with a file. */
export interface FileSession {
  sessionId: string;
  project: string | null;
  /** The file as the session named it last. Several files may have the name that was asked for. */
  path: string;
  /** The time of its last action with the file, in Unix milliseconds. */
  lastAtMs: number;
  readCount: number;
  changeCount: number;
  /**
   * Why it changed the file, newest first and each reason once: `text` is what was said about a change, or else what the user had asked.
   * "" stands alone, if nothing was said about any change.
   */
  changes: WorkLine[];
  /** Decisions and rules that name the file, newest first. */
  decided: WorkLine[];
}

/** An action between a failure and the success after it. */
export interface FixStep {
  kind: ActionKind;
  target: string;
  messageId: number;
  /** The beginning of what a change put in, as far as its call says it; "" for others. */
  text: string;
}

/** An error that went away, and what was done before it did. */
export interface Fix {
  /** The error, without what differs each time it occurs. */
  error: string;
  /** True if it is not the error that was asked for, but shares most of its words. */
  similar: boolean;
  sessionId: string;
  /** The call that failed, and the first one that succeeded after it. `expand` accepts both. */
  failedMessageId: number;
  curedMessageId: number;
  atMs: number;
  /** The command that succeeded. */
  succeeded: string;
  /** What was changed and run in between, in order. */
  steps: FixStep[];
  /** What the model said of it. */
  said: WorkLine | null;
}

/** A way in which a program was called in a project. */
export interface CommandWay {
  command: string;
  project: string | null;
  okCount: number;
  failedCount: number;
  lastAtMs: number;
  /** The newest of its calls that worked, or else of those that failed. */
  messageId: number;
  sessionId: string;
  /** The newest of its calls that failed; null if none did. */
  failedMessageId: number | null;
  /** The error of its newest failure, without what differs each time it occurs. */
  error: string | null;
}

/** What a change of a file replaced, as far as its call says it: a text for each place. */
export interface Replaced {
  messageId: number;
  texts: string[];
}

/** An error that came back in at least three sessions. */
export interface Friction extends RecurringError {
  /** What failed with it last, and the message with the call. */
  command: string;
  messageId: number;
  sessionId: string;
  /** What made it go, the last time that something did; null if nothing is known. */
  fix: Fix | null;
}

/**
 * What agents did with files, commands and errors, in all sessions. Answers are made of the table `actions`, which upkeep keeps, and of
 * the 2,000 newest messages that it lacks.
 */
export interface Work {
  /**
   * Returns the sessions that read or changed a file, the last one first, with their changes and what was decided about it.
   *
   * @param path  A path or its end. `open.ts` finds files of this name in all folders.
   * @throws {StoreError} `OPTION_INVALID`, `STORE_CORRUPT`.
   */
  file(path: string, options?: WorkOptions): FileSession[];
  /**
   * Returns what the newest changes of a file replaced, newest first. Changes whose calls do not say it are left out.
   *
   * @param path  As for `file`.
   * @throws {StoreError} `OPTION_INVALID`, `STORE_CORRUPT`.
   */
  replaced(path: string, options?: WorkOptions): Replaced[];
  /**
   * Returns the files that a session read or changed, and that somebody has changed on this machine since its last message, the last
   * touched first: at most 20, of its 500 newest messages. A file is left out if nothing tells that it is another: if it was put in place
   * anew, as by a checkout, and the session did not write it as a whole in another size; if it is gone; and all files of a copy from a hub.
   *
   * @throws {StoreError} `SESSION_NOT_FOUND`, `STORE_CORRUPT`.
   */
  changedSince(sessionId: string): string[];
  /**
   * Returns what made an error go in earlier sessions, newest first: what was changed and run between the failure and the first success
   * of the same call. If the error is not known, the same for errors that share most of its words.
   *
   * @param error  The error's line, or all of the output.
   * @throws {StoreError} `OPTION_INVALID`, `STORE_CORRUPT`.
   */
  fixes(error: string, options?: WorkOptions): Fix[];
  /**
   * Returns the ways in which a program or tool was called, in each project by itself, those that worked most often first.
   *
   * @param command  The program or tool, or the beginning of its command line, such as `npm run`.
   * @throws {StoreError} `OPTION_INVALID`, `STORE_CORRUPT`.
   */
  ways(command: string, options?: WorkOptions): CommandWay[];
  /**
   * Returns the errors that came back in three sessions or more, those in most sessions first. Messages that upkeep has not read yet
   * do not count.
   *
   * @throws {StoreError} `OPTION_INVALID`, `STORE_CORRUPT`.
   */
  friction(options?: WorkOptions): Friction[];
}

/**
 * Returns the sessions that read or changed a file, the last one first.
 *
 * @param path  A `plainPath`, or its end: `store/open.ts` finds `src/store/open.ts`.
 */
export function fileSessions(
  reader: WorkReader,
  path: string,
  { project, limit, isMeant = () => true }: FileSessionsOptions,
): FileSession[] {
  const meant = actionsWith(reader, path, project).filter(isMeant);
  const bySession = groupedBy(meant, ({ sessionId }) => sessionId);
  return [...bySession].slice(0, limit).map(([sessionId, actions]) => fileSession(reader, sessionId, actions, path));
}

/** Returns the changes of a file, newest first. @param path  As for `fileSessions`. */
export function changesOf(reader: WorkReader, path: string, project: string | undefined): PlacedAction[] {
  return actionsWith(reader, path, project).filter(hasChanged);
}

function actionsWith(reader: WorkReader, path: string, project: string | undefined): PlacedAction[] {
  const named = reader.named(baseName(path), { project, limit: NAMED_MAX, path });
  const found = named.filter((action) => isOfFile(action.kind) && isOfPath(action, path));
  return withoutCopies(found);
}

/** Returns a path as calls give it: with slashes, and without `..` at its beginning. */
export function plainPath(path: string): string {
  return path.replaceAll("\\", "/").replace(/^(?:\.\/)+/, "");
}

function hasChanged({ kind, outcome }: PlacedAction): boolean {
  return isChange(kind) && outcome !== "failed";
}

/** The most reasons of a session, and the most changes for which one is looked for. */
const REASONS_MAX = 3;
const CHANGES_MAX = 12;

function fileSession(
  reader: WorkReader,
  sessionId: string,
  actions: readonly PlacedAction[],
  path: string,
): FileSession {
  const changes = actions.filter(hasChanged);
  const turns = new Map<number, TurnMessage[]>();
  const decided = new Map<string, WorkLine>();
  const reasons = new Map<string, WorkLine>();
  for (const change of changes.slice(0, CHANGES_MAX)) {
    if (reasons.size === REASONS_MAX) break;
    const turn = reader.turn(sessionId, change.seq);
    if (turn[0] !== undefined) turns.set(turn[0].seq, turn);
    const reason = reasonOf(change, turn);
    if (!reasons.has(reason.text)) reasons.set(reason.text, reason);
  }
  if (reasons.size > 1) reasons.delete(""); // nothing was said about a change
  const said = [...turns.values()].flat().sort((left, right) => left.seq - right.seq);
  const told = new ToldReader();
  for (const { messageId, text } of decisionsIn(toldIn(said.flatMap((message) => told.of(message) ?? []))).reverse()) {
    const message = said.find(({ id }) => id === messageId)!;
    if (names(text, path) && !decided.has(text)) decided.set(text, lineOf(sessionId, message, text));
  }
  const [{ project, target, createdAtMs: lastAtMs }] = actions as [PlacedAction];
  return {
    ...{ sessionId, project, path: target, lastAtMs },
    readCount: actions.filter(({ kind }) => kind === "read").length,
    changeCount: changes.length,
    changes: judgedLines([...reasons.values()], (ids) => reader.verdictsOn(ids)),
    decided: judgedLines([...decided.values()], (ids) => reader.verdictsOn(ids)),
  };
}

/** Returns what was said last before a change, or else what the user asked. */
function reasonOf(change: PlacedAction, turn: readonly TurnMessage[]): WorkLine {
  const before = turn.filter(({ seq, role }) => seq <= change.seq && role !== "tool").reverse();
  const said = before.find((message) => proseOf(message) !== undefined);
  const { sessionId, seq, messageId, createdAtMs: atMs } = change;
  return { text: (said && proseOf(said)) ?? "", sessionId, seq, messageId, atMs, by: said?.role ?? "assistant" };
}

/** Returns the last sentence that a model said in a message, or the first of a user. */
function proseOf({ role, text, parts }: TurnMessage): string | undefined {
  const said = parts.flatMap((part) => (part.type === "text" && part.injected !== true ? [part.text] : [])).join("\n");
  const sentences = sentencesOf(said === "" ? (role === "user" ? text : "") : said).filter(
    ({ kind }) => kind === "prose",
  );
  const chosen = role === "user" ? sentences[0] : sentences.at(-1);
  return chosen && cutLine(oneLine(chosen.text), LINE_CHARS_MAX);
}

/**
 * Returns what was done in earlier sessions after which an error did not come back there, newest first.
 *
 * @param text  The error, with or without the output around it.
 * @param options.errors  All errors. Similar ones are looked up if the error itself is not known.
 */
export function fixesOf(
  reader: WorkReader,
  text: string,
  { project, limit, errors }: { project: string | undefined; limit: number; errors: () => readonly string[] },
): Fix[] {
  const asked = new Set(errorLinesIn(text).flatMap((line) => errorSignature(line) ?? []));
  const fixesWith = (signatures: readonly string[]): Fix[] => {
    const fixes: Fix[] = [];
    for (const error of signatures) {
      if (fixes.length === limit) break;
      const failures = withoutCopies(reader.failedWith(error, { project, limit: FAILED_MAX }));
      fixes.push(...fixesAfter(reader, failures, error, limit - fixes.length));
    }
    return fixes;
  };
  const known = fixesWith([...asked].slice(0, ERRORS_MAX));
  if (known.length > 0) return known;
  return fixesWith(similarErrors(errors(), asked)).map((fix) => ({ ...fix, similar: true }));
}

/** Returns errors that share most of their words with one of these, the most similar first. */
function similarErrors(errors: readonly string[], asked: ReadonlySet<string>): string[] {
  const wordsOf = (error: string): Set<string> => new Set(error.toLowerCase().match(ERROR_WORD) ?? []);
  const wanted = [...asked].map(wordsOf).filter(({ size }) => size >= SHARED_WORDS_MIN);
  const found = errors.flatMap((error) => {
    const own = wordsOf(error);
    const likeness = wanted.map((words) => {
      const shared = [...words].filter((word) => own.has(word)).length;
      return shared < SHARED_WORDS_MIN ? 0 : (2 * shared) / (words.size + own.size);
    });
    const best = Math.max(0, ...likeness);
    return best >= LIKENESS_MIN ? [{ error, best }] : [];
  });
  const sorted = found.sort((left, right) => right.best - left.best);
  return sorted.slice(0, SIMILAR_MAX).map(({ error }) => error);
}

/** Returns what made an error go, newest first: for each session, after its newest failure. */
export function fixesAfter(reader: WorkReader, failures: readonly PlacedAction[], error: string, limit: number): Fix[] {
  const sessionIds = new Set<string>();
  const fixes: Fix[] = [];
  for (const failed of failures) {
    if (fixes.length === limit) break;
    if (sessionIds.has(failed.sessionId)) continue;
    sessionIds.add(failed.sessionId);
    const fix = fixAfter(reader, failed, error);
    if (fix !== undefined) fixes.push(fix);
  }
  return fixes;
}

/** Returns what came between a command's failure and its first success in that session; undefined if nothing did. */
export function fixAfter(reader: WorkReader, failed: PlacedAction, error: string): Fix | undefined {
  // An agent's own tools say in the error what to do.
  if (failed.kind !== "run") return undefined;
  const later = reader.workedAfter(failed.sessionId, failed.seq, CURE_ACTIONS_MAX);
  const again = later.findIndex((action) => isSameAct(action, failed));
  const cured = later[again];
  if (cured === undefined) return undefined;
  const between = later.slice(0, again).filter(({ messageId }) => messageId !== cured.messageId);
  const steps = between.slice(-STEPS_MAX).map(({ kind, target, messageId, part }): FixStep => {
    const call = isChange(kind) ? reader.parts(messageId)[part] : undefined;
    const text = call?.type === "tool_call" ? cutLine(oneLine(insertedBy(call, target)), LINE_CHARS_MAX) : "";
    return { kind, target, messageId, text };
  });
  // The same call succeeded by itself: nobody knows why.
  if (steps.length === 0 && cured.target === failed.target) return undefined;
  const said = reader
    .turn(cured.sessionId, cured.seq)
    .filter(({ seq, role }) => seq > failed.seq && seq <= cured.seq && role === "assistant")
    .findLast((message) => proseOf(message) !== undefined);
  return {
    ...{ error, similar: false },
    sessionId: failed.sessionId,
    failedMessageId: failed.messageId,
    curedMessageId: cured.messageId,
    atMs: cured.createdAtMs,
    succeeded: cured.target,
    steps,
    said: said === undefined ? null : lineOf(failed.sessionId, said, proseOf(said)!),
  };
}

/** Returns true for calls of a program that do the same to the same: only their options differ. */
function isSameAct(left: PlacedAction, right: PlacedAction): boolean {
  if (left.kind !== right.kind || left.name !== right.name) return false;
  return left.target === right.target || actOf(left.target) === actOf(right.target);
}

/** Returns a command without its options; the command itself if it only asks for help. */
function actOf(command: string): string {
  const words = commandsIn(command)[0]?.words ?? [];
  if (words.some((word) => /^(?:-h|--?help|--?version|-V)$/.test(word))) return command;
  return words.filter((word) => !word.startsWith("-")).join(" ");
}

/**
 * Returns how a program is called: the ways that worked, most often first, and then those that never did.
 *
 * @param command  The program, or the beginning of its command line: `go test`.
 */
export function waysOf(reader: WorkReader, command: string, project: string | undefined, limit: number): CommandWay[] {
  const words = commandsIn(command)[0]?.words ?? [];
  const name = baseName(words[0] ?? "");
  const ways = new Map<string, CommandWay>();
  for (const action of withoutCopies(reader.named(name, { project, limit: NAMED_MAX }))) {
    const { kind, target, outcome, createdAtMs, messageId, sessionId, error, project: of } = action;
    if (kind !== "run" || !beginsWith(target, words.slice(1))) continue;
    const key = JSON.stringify([of, target]);
    let way = ways.get(key);
    if (way === undefined) {
      const counts = { okCount: 0, failedCount: 0, lastAtMs: createdAtMs };
      way = { command: target, project: of, ...counts, messageId, sessionId, failedMessageId: null, error: null };
      ways.set(key, way);
    }
    if (outcome === "ok" && way.okCount === 0) Object.assign(way, { messageId, sessionId });
    if (outcome === "ok") way.okCount += 1;
    if (outcome === "failed") {
      way.failedCount += 1;
      way.failedMessageId ??= messageId;
    }
    way.error ??= error;
  }
  const tried = [...ways.values()].filter(({ okCount, failedCount }) => okCount + failedCount > 0);
  const sorted = tried.sort((left, right) => right.okCount - left.okCount || right.lastAtMs - left.lastAtMs);
  return sorted.slice(0, limit);
}

/** Returns true if the words follow the program in this order. Options may stand in between. */
function beginsWith(target: string, words: readonly string[]): boolean {
  const own = target.split(" ").slice(1);
  let at = 0;
  for (const word of words) {
    while (own[at] !== undefined && own[at] !== word && own[at]!.startsWith("-")) at += 1;
    if (own[at] !== word) return false;
    at += 1;
  }
  return true;
}

/** A session that an agent resumed or forked has copies of messages, with their times. The oldest session's count. */
export function withoutCopies(newestFirst: readonly PlacedAction[]): PlacedAction[] {
  const keyOf = ({ createdAtMs, ordinal, target }: PlacedAction): string => `${createdAtMs} ${ordinal} ${target}`;
  const oldest = new Map<string, string>();
  for (const action of newestFirst) oldest.set(keyOf(action), action.sessionId);
  return newestFirst.filter((action) => oldest.get(keyOf(action)) === action.sessionId);
}

/** Returns true if one path is the end of the other. A path that is not absolute is in the folder of its project. */
function isOfPath({ target, project }: PlacedAction, wanted: string): boolean {
  const whole = isAbsolute(target) || project === null || !isAbsolute(project) ? target : `${project}/${target}`;
  if (whole === wanted || whole.endsWith(`/${wanted}`)) return true;
  return target.includes("/") && wanted.endsWith(`/${target}`);
}

/** Returns true for a path from the root, or from a drive. */
export function isAbsolute(path: string): boolean {
  return /^(?:\/|[A-Za-z]:\/)/.test(path);
}

/** Returns true if a text names the file, by its name or by the end of its path. */
function names(text: string, path: string): boolean {
  const tokens = text.match(/[\w@~./\\-]+/g) ?? [];
  return tokens.some((token) => {
    const named = plainPath(token).replace(/[.]+$/, "");
    return baseName(named) === baseName(path) && (`/${path}`.endsWith(`/${named}`) || named.endsWith(`/${path}`));
  });
}

function lineOf(sessionId: string, { id, seq, createdAtMs, role }: TurnMessage, text: string): WorkLine {
  return { text, sessionId, seq, messageId: id, atMs: createdAtMs, by: role };
}
