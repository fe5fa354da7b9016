import { openErrors, rankedFiles } from "../../context/story/noted-lines.ts";
import type { ActionKind } from "../../core/action.ts";
import { groupedBy } from "../../core/groups.ts";
import type { Role } from "../../core/message.ts";
import { isPath } from "../../core/project.ts";
import { judged, type ReadVerdicts, type Verdict } from "../../core/verdicts.ts";
import { decisionsIn } from "../../models/decisions.ts";
import { NoteReader, namedFilesOf } from "../../models/notes.ts";
import { isSameMatter } from "../../models/same-matter.ts";
import { sentencesOf } from "../../models/sentences.ts";
import { openTasksIn } from "../../models/statements.ts";
import { namesNothing, needsNeighbors, type Told, ToldReader, toldIn } from "../../models/told.ts";
import { toldTogether } from "../../models/told-together.ts";
import type { ClusterRow, NotableMessage, Repositories } from "../../store/index.ts";
import type { TolerantReader } from "./tolerant-reader.ts";

/** A line that is quoted from a message. `expand` accepts its `messageId`. */
export interface WorkLine {
  text: string;
  sessionId: string;
  seq: number;
  messageId: number;
  /** The time of the message, in Unix milliseconds. */
  atMs: number;
  /** Who said it. It is `tool` for what a tool printed. */
  by: Role;
  /** What a person said of the message later. */
  verdict?: Verdict;
}

export interface Decision extends WorkLine {
  /** Older decisions that share most of their words with this one, newest first. */
  replaces: WorkLine[];
}

/**
 * An `error` of a turn that was cut off after which its tool, or the programs of its command, did not succeed, a `question` without an
 * answer, or an open `task`: of the last list, or what the user asked in a turn that was cut off.
 */
export interface OpenEnd extends WorkLine {
  kind: "error" | "question" | "task";
}

/** Returns the same lines with the verdicts on their messages. */
export function judgedLines<L extends WorkLine>(lines: readonly L[], read: ReadVerdicts): L[] {
  return judged(lines, ({ messageId }) => messageId, read);
}

/** Reads the newest messages of a session. */
interface NotableReader {
  messages: {
    notableBefore(sessionId: string, range: { seqFrom: number; seqEnd: number; limit: number }): NotableMessage[];
  };
}

/** Open ends are looked for in so many of a session's newest messages. Nobody waits any longer for an answer to older ones. */
const ENDING_MESSAGES_MAX = 40;
/** The first words of actions of tools. All others are commands. */
const TOOLS: ReadonlySet<string> = new Set<ActionKind>(["read", "edit", "write", "search", "fetch", "task"]);
/** Options with which a program does nothing. */
const ASKS_ONLY = / (?:--?help|-h|--version|-V|--dry-run\S*)(?: |$)/;
const SHARED_WORDS_MIN = 2;

const REPEATED_MIN = 3;

/** "All 31 tests pass", and not "2 pass and 3 fail". */
const PASSED =
  /^(?!.*(?:\b(?:no[nt]|fail\w*)\b|n['’]t\b)).*\b(?:pass(?:es|ed|ing)?|succe\w+|green|clean(?:ly)?|completed?)\b/i;
/** Offers of a program that was asked for nothing yet. */
const OFFER = /\bhow (?:can|may) i (?:help|assist)\b/i;

/** A question may be followed by a polite sentence. */
const LAST_SENTENCES = 2;

/**
 * Returns the decisions and rules in messages, newest first, and the files, those in most use first. Files in the folder of the project
 * are named within it.
 */
export function workIn(
  messages: readonly NotableMessage[],
  project: string | null,
): { decided: Decision[]; files: WorkLine[] } {
  const sorted = messages.toSorted((left, right) => left.createdAtMs - right.createdAtMs || left.id - right.id);
  const lineOf = sourcesIn(sorted);
  const decided = decisionsIn(toldBy(sorted))
    .map(lineOf)
    .sort((left, right) => right.atMs - left.atMs || right.messageId - left.messageId);
  const decisions: Decision[] = [];
  for (const line of decided) {
    const newer = decisions.find((one) => one.messageId !== line.messageId && isSameMatter(one.text, line.text));
    if (newer === undefined) decisions.push({ ...line, replaces: [] });
    else newer.replaces.push(line);
  }
  // The messages may be of several sessions, so they are numbered anew.
  const named = sorted.map((message, seq) => ({ messageId: message.id, seq, files: namedFilesOf(message) }));
  const files = new Map<string, WorkLine>();
  for (const line of rankedFiles(named)) {
    const isWithin = project !== null && isPath(project) && line.text.startsWith(`${project}/`);
    const text = isWithin ? line.text.slice(project.length + 1) : line.text;
    if (!files.has(text)) files.set(text, { ...lineOf(line), text });
  }
  return { decided: decisions, files: [...files.values()] };
}

/**
 * Returns what messages of one or more sessions tell, each session's in order, without what agents wrote to compact their context. A
 * sentence that a user repeats in several messages is what a program puts around each prompt.
 */
export function toldBy(messages: readonly NotableMessage[]): Told[] {
  const counts = new Map<string, number>();
  const told = [...groupedBy(messages, ({ sessionId }) => sessionId).values()].map((own) => {
    const reader = new ToldReader();
    const read = own.flatMap((message) => reader.of(message) ?? []).filter(({ by }) => by !== "summary");
    for (const { by, sentences } of read) {
      if (by === "user") for (const { text } of sentences) counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    return toldIn(read);
  });
  const isOwn = ({ by, text }: Told): boolean => by !== "user" || counts.get(text)! < REPEATED_MIN;
  return told.flatMap((own) => toldTogether(own.filter(isOwn)));
}

/**
 * Returns what the last turn of a session left open, newest first. Closing words of the agent tell what came of the errors before them.
 * Without them, the turn was cut off, and what the user asked is open.
 *
 * @param said  The newest messages with words.
 */
export function openEnds({ messages }: NotableReader, sessionId: string, said: readonly NotableMessage[]): OpenEnd[] {
  const range = { seqFrom: 0, seqEnd: Number.MAX_SAFE_INTEGER, limit: ENDING_MESSAGES_MAX };
  const ending = messages.notableBefore(sessionId, range);
  const last = ending.at(-1);
  const ends = openEndsIn(ending);
  if (last?.role === "assistant" && !last.parts.some(({ type }) => type === "tool_call")) {
    return ends.filter(({ kind }) => kind !== "error");
  }
  const asked = said.findLast((message) => message.sessionId === sessionId && message.role === "user");
  if (asked === undefined) return ends;
  const sinceAsked = ends.filter(({ kind, seq }) => kind !== "error" || seq > asked.seq);
  const isQuestion = ends.some(({ kind, messageId }) => kind === "question" && messageId === asked.id);
  const turn = said.filter((one) => one.sessionId === sessionId && one.seq >= asked.seq);
  if (sinceAsked.length === 0 && saysDone(turn, ending)) return [];
  // "Thanks" asks for nothing, and "yes" is understood by what was asked before.
  const sentences = toldBy([asked]).filter(({ by, text }) => by === "user" && !needsNeighbors(text));
  if (isQuestion || sentences.length === 0) return sinceAsked;
  const ask = sentences.reduce((best, one) => (one.worth > best.worth ? one : best));
  return [...sinceAsked, { kind: "task", ...sourcesIn([asked])(ask) }];
}

/**
 * Returns true if the newest that an agent told in a turn is that all passes, and it only ran commands since.
 *
 * @param turn  Its messages with words.
 * @param ending  The newest messages.
 */
function saysDone(turn: readonly NotableMessage[], ending: readonly NotableMessage[]): boolean {
  const newest = toldBy(turn).findLast(({ by }) => by === "agent");
  if (newest === undefined || !namesNothing(newest.text) || !PASSED.test(newest.text)) return false;
  const reader = new NoteReader();
  const since = ending.filter(({ seq }) => seq >= newest.seq).flatMap((message) => reader.doneIn(message).did);
  return !since.some((action) => TOOLS.has(action.split(" ")[0]!));
}

/** Returns the open ends of a list of messages that ends with these, newest first. */
export function openEndsIn(messages: readonly NotableMessage[]): OpenEnd[] {
  const ending = messages.slice(-ENDING_MESSAGES_MAX);
  const lineOf = sourcesIn(ending);
  const reader = new NoteReader();
  const acted = ending.map((message) => ({ messageId: message.id, seq: message.seq, ...reader.doneIn(message) }));
  const ends: OpenEnd[] = openErrors(acted, isMendedBy).map((error) => ({
    kind: "error",
    ...lineOf(error),
    by: "tool",
  }));
  const last = ending.at(-1);
  const question = last && questionIn(last);
  if (question !== undefined) ends.push({ kind: "question", ...lineOf({ text: question, messageId: last!.id }) });
  for (const message of ending.toReversed()) {
    const tasks = message.role === "assistant" ? openTasksIn(message.text) : undefined;
    if (tasks === undefined) continue;
    ends.push(...tasks.map((text) => ({ kind: "task" as const, ...lineOf({ text, messageId: message.id }) })));
    break; // only the last list of tasks is current
  }
  return ends.sort((left, right) => right.seq - left.seq);
}

/** Returns what users and models said in clusters. It stops after the cluster with which it has `countMax` messages. */
export function notableOf(
  { messages, unions }: Repositories,
  clusters: readonly ClusterRow[],
  countMax: number,
  reader: TolerantReader,
): NotableMessage[] {
  const found: NotableMessage[] = [];
  for (const cluster of clusters) {
    if (found.length >= countMax) break;
    const { sessionId, rootId: root } = cluster;
    const notable = reader(
      sessionId,
      () => messages.notableOf(unions.stepsOf("cluster", { sessionId, root, position: unions.newestPosition() })),
      [],
    );
    found.push(...notable.filter((message) => message.sessionId === sessionId)); // a fork shares the others
  }
  return found;
}

/** Returns the root of the cluster that a line's message is in. A message that is in none counts to the newest cluster of its session. */
export function clusterOf({ messages, unions }: Repositories, line: WorkLine): number | undefined {
  const stepId = messages.stepOf(line.messageId)?.stepId ?? line.messageId;
  return (unions.entered({ sessionId: line.sessionId, stepId }) ?? unions.newestEntered(line.sessionId, 1)[0])
    ?.clusterRoot;
}

/** Returns true if a success shows that what failed works: with the same tool, or with a command that does at least as much. */
function isMendedBy(failed: string, succeeded: string): boolean {
  const [tool] = succeeded.split(" ");
  if (TOOLS.has(tool!)) return failed.startsWith(`${tool} `);
  if (ASKS_ONLY.test(succeeded)) return false;
  const isWord = (word: string): boolean => !word.startsWith("-");
  const [words, own] = [failed.split(" ").filter(isWord), succeeded.split(" ").filter(isWord)];
  // `npm test` tests more than `npm test lock`. A program alone may do something else.
  return own.length >= SHARED_WORDS_MIN && own.every((word, index) => word === words[index]);
}

function questionIn({ role, text }: NotableMessage): string | undefined {
  if (role === "tool") return undefined;
  const last = sentencesOf(text).slice(-LAST_SENTENCES);
  const question = last.find(({ kind, text }) => kind === "prose" && /[?？]["'”’)\]*_]*$/.test(text))?.text;
  return question === undefined || OFFER.test(question) ? undefined : question;
}

/** Returns a function that adds to a text where its message is. */
export function sourcesIn(messages: readonly NotableMessage[]) {
  const byId = new Map(messages.map((message) => [message.id, message]));
  return ({ text, messageId }: { text: string; messageId: number }): WorkLine => {
    const { sessionId, seq, createdAtMs, role } = byId.get(messageId)!;
    return { text, sessionId, seq, messageId, atMs: createdAtMs, by: role };
  };
}
