import { groupedBy } from "../../core/groups.ts";
import type { ReadVerdicts } from "../../core/verdicts.ts";
import type { NotableMessage, Repositories, Span } from "../../store/index.ts";
import { type Remembered, stillRemembered } from "./remembered.ts";
import { toldLines } from "./told-lines.ts";
import type { TolerantReader, UnreadableOption } from "./tolerant-reader.ts";
import { type Decision, judgedLines, type OpenEnd, openEnds, type WorkLine, workIn } from "./work-lines.ts";

export const RECAP_LIMIT_DEFAULT = 16;
export const RECAP_LINES_DEFAULT = 3;
export const RECAP_MS_DEFAULT = 7 * 24 * 60 * 60 * 1_000;

/** The newest sessions that are read. */
const SESSIONS_MAX = 200;
/** The newest sessions whose open ends are looked for. */
const ENDING_SESSIONS_MAX = 20;
/** The newest messages with words that are read of all sessions together, and the least and the most of one. */
const SAID_TOTAL = 2_400;
const SAID_MIN = 80;
const SAID_MAX = 800;
/** They are read a page at a time, because the newest may be later than the time asked for. */
const PAGES_MAX = 5;
/** What is told of all topics may have about so many tokens for each line of the other kinds in a topic. */
const TOLD_TOKENS = 210;
/** What a session leaves open is taken up by a session of the project that begins so soon after its end. */
const TAKEN_UP_MS = 10 * 60 * 1_000;
/** What people asked to remember of a project has so many lines for each line of the other kinds in a topic. */
const REMEMBERED_LINES = 3;
/** An open end makes a topic as important as this many messages. */
const END_MESSAGES = 20;

export interface RecapOptions extends UnreadableOption {
  /** Only messages of this time or later, in Unix milliseconds; by default those of the seven days before `untilMs`. */
  sinceMs?: number;
  /** Only messages of this time or earlier, in Unix milliseconds; by default all. */
  untilMs?: number;
  project?: string;
  /** The most topics: 0 to 10,000, by default 16. Each project has one before another has two: its newest, and then those with most messages and open ends. */
  limit?: number;
  /** The most lines of each kind in a topic, and a measure for what is told of it: 0 to 10,000, by default 3. */
  linesMax?: number;
}

export interface Recap {
  sinceMs: number;
  /** Null if none was asked for. */
  untilMs: number | null;
  /**
   * What people asked to remember in the project that was asked for, or in those of the topics, or in all if there are no topics: whenever it was,
   * without what was replaced or rejected since. Newest first, at most three times `linesMax` of each project.
   */
  remembered: Remembered[];
  sessionCount: number;
  messageCount: number;
  /** Newest first. */
  topics: RecapTopic[];
  /** All topics of the time, beyond `limit` too. */
  topicCount: number;
}

/** A session, with those of its subagents and others of the same title in its project. Every line is quoted from a message. */
export interface RecapTopic {
  project: string | null;
  title: string;
  /** The newest first. */
  sessionIds: string[];
  messageCount: number;
  firstAtMs: number;
  lastAtMs: number;
  /** What came out, in sentences of its messages, in order. */
  told: WorkLine[];
  decided: Decision[];
  open: OpenEnd[];
  files: WorkLine[];
}

interface Group {
  project: string | null;
  title: string;
  sessionIds: string[];
  messageCount: number;
  /** The messages of its largest session. Sessions in the same words count once. */
  size: number;
  firstAtMs: number;
  lastAtMs: number;
  said: NotableMessage[];
  open: OpenEnd[];
}

type RecapSettings = Required<Pick<RecapOptions, "sinceMs" | "limit" | "linesMax">> & {
  untilMs?: number | undefined;
  project?: string | undefined;
  /** Sessions that are left out. */
  without?: ReadonlySet<string>;
};

/** Returns what was worked on, decided and left open in a time, by session. */
export function recapOf(repositories: Repositories, options: RecapSettings, reader: TolerantReader): Recap {
  const { sinceMs, untilMs, project, without, limit, linesMax } = options;
  const span = { sinceMs, untilMs: untilMs ?? Number.MAX_SAFE_INTEGER };
  const all = repositories.overviews.idsSince({ project, ...span, limit: SESSIONS_MAX });
  const sessionIds = all.filter((id) => without?.has(id) !== true);
  const oldestFirst = sessionIds.toReversed();
  const repeated = reader("", () => repositories.origins.repeatedIn(oldestFirst), new Map<string, Set<number>>());
  const groups = new Map<string, Group>();
  const saidMax = Math.min(SAID_MAX, Math.max(SAID_MIN, Math.floor(SAID_TOTAL / sessionIds.length)));
  const found = sessionIds.flatMap((id) => {
    return reader(id, () => sessionIn(repositories, id, span, saidMax, repeated.get(id)), undefined) ?? [];
  });
  const [subagents, sessions] = [true, false].map((isSubagent) => {
    return found.filter(({ parentId }) => (parentId !== undefined) === isSubagent);
  });
  // A subagent's session may be newer than its parent's, which it joins.
  for (const own of [...sessions!, ...subagents!]) {
    const { id } = own;
    const isEnding = own.parentId === undefined && sessionIds.indexOf(id) < ENDING_SESSIONS_MAX;
    const ends = isEnding && !isTakenUp(own, sessions!) ? openEndsOf(repositories, own, reader) : [];
    own.group.open = ends.filter(({ messageId, atMs, sessionId }) => {
      return sessionId === id && isIn(span, atMs) && repeated.get(id)?.has(messageId) !== true;
    });
    const key = keyOf(own, groups, sessions!);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, own.group);
    else join(group, own);
  }
  const chosen = chosenOf([...groups.values()], limit).sort((left, right) => right.lastAtMs - left.lastAtMs);
  const told = toldLines(
    chosen.flatMap(({ said }) => said),
    TOLD_TOKENS * linesMax,
  );
  const projects = new Set<string | null>();
  const verdictsOn: ReadVerdicts = (ids) => repositories.remembered.verdictsOn(ids);
  const shown = chosen.map((group) => topicOf(group, judgedLines(told, verdictsOn), linesMax, verdictsOn));
  // What nothing is told of, such as a greeting, is no topic, unless a project has no other.
  const topics = shown.filter((topic) => {
    const isNewest = !projects.has(topic.project);
    projects.add(topic.project);
    return isNewest || topic.told.length + topic.decided.length + topic.open.length > 0;
  });
  const isOfAll = project === undefined && projects.size === 0;
  const of = isOfAll ? [undefined] : project === undefined ? [...projects].flatMap((one) => one ?? []) : [project];
  const remembered = of.flatMap((project) => {
    const wanted = { project, untilMs: span.untilMs, limit: REMEMBERED_LINES * linesMax };
    return reader("", () => stillRemembered(repositories, wanted), []);
  });
  return {
    sinceMs,
    untilMs: untilMs ?? null,
    remembered: remembered.sort((left, right) => right.atMs - left.atMs),
    sessionCount: sessions!.length,
    messageCount: [...groups.values()].reduce((sum, { messageCount }) => sum + messageCount, 0),
    topics,
    topicCount: groups.size - (shown.length - topics.length),
  };
}

interface OwnSession {
  id: string;
  /** The session that started this one, if it is a subagent's. */
  parentId: string | undefined;
  parentSessionId: string | null;
  group: Group;
}

/** Returns undefined if a session has nothing of its own in a time. */
function sessionIn(
  { messages, overviews, sessions }: Repositories,
  id: string,
  span: Span,
  saidMax: number,
  repeated: ReadonlySet<number> | undefined,
): OwnSession | undefined {
  const session = sessions.known(id);
  const { project, parentSessionId, metadata } = session;
  // What a fork shares was worked on in the session that holds it.
  const isOwn = ({ id: messageId, sessionId }: { id: number; sessionId: string }): boolean =>
    sessionId === id && repeated?.has(messageId) !== true;
  const counted = messages
    .timesIn({ sessionId: id, ...span })
    .filter(({ id: messageId }) => repeated?.has(messageId) !== true);
  if (counted.length === 0) return undefined;
  const said = saidIn(messages, id, span, saidMax).filter(isOwn);
  const byTime = counted.toSorted((left, right) => left.atMs - right.atMs);
  // These two are read whole, and so compared with their checksums.
  const ends = messages.byIds([byTime[0]!.id, byTime.at(-1)!.id]);
  const times = ends.map(({ createdAtMs }) => createdAtMs);
  // The last message shows whether the words before it closed a turn.
  const seqLast = Math.max(...ends.map(({ seq }) => seq));
  if (seqLast > (said.at(-1)?.seq ?? -1))
    said.push(...messages.notableBefore(id, { seqFrom: seqLast, seqEnd: seqLast + 1, limit: 1 }));
  const group = {
    project,
    title: overviews.nameOf(session) ?? "",
    sessionIds: [id],
    messageCount: counted.length,
    size: counted.length,
    firstAtMs: Math.min(...times),
    lastAtMs: Math.max(...times),
    said,
    open: [],
  };
  const isSubagent = parentSessionId !== null && metadata?.isSubagent === true;
  return { id, parentId: isSubagent ? parentSessionId : undefined, parentSessionId, group };
}

/** The newest messages with words in a time, in order. */
function saidIn(messages: Repositories["messages"], id: string, span: Span, countMax: number): NotableMessage[] {
  let said: NotableMessage[] = [];
  let seqEnd = Number.MAX_SAFE_INTEGER;
  for (let page = 0; page < PAGES_MAX && said.length < countMax; page++) {
    const older = messages.saidBefore(id, { seqFrom: 0, seqEnd, limit: countMax });
    said = [...older.filter(({ createdAtMs }) => isIn(span, createdAtMs)), ...said];
    if (older.length < countMax || older[0]!.createdAtMs < span.sinceMs) break;
    seqEnd = older[0]!.seq;
  }
  return said;
}

/** Returns true if the user went on in another session at once, as after a plan or a `/clear`. */
function isTakenUp({ group }: OwnSession, sessions: readonly OwnSession[]): boolean {
  return sessions.some(({ group: { project, firstAtMs } }) => {
    const waitMs = firstAtMs - group.lastAtMs;
    return project !== null && project === group.project && waitMs > 0 && waitMs <= TAKEN_UP_MS;
  });
}

function openEndsOf(repositories: Repositories, { id, group }: OwnSession, reader: TolerantReader): OpenEnd[] {
  return reader(id, () => openEnds(repositories, id, group.said), []);
}

/** A subagent's session is its parent's, or that of the parent's part in the same project. Sessions of one title are one matter. */
function keyOf(
  { id, parentId, group: { project, title } }: OwnSession,
  groups: ReadonlyMap<string, Group>,
  sessions: readonly OwnSession[],
): string {
  const part = sessions.find((one) => one.parentSessionId === parentId && one.group.project === project);
  const starter = parentId && (part?.id ?? parentId);
  const key = starter && [...groups].find(([, { sessionIds }]) => sessionIds.includes(starter))?.[0];
  if (key) return key;
  return title === "" ? id : JSON.stringify([project, title]);
}

function join(group: Group, { parentId, group: own }: OwnSession): void {
  group.messageCount += own.messageCount;
  group.firstAtMs = Math.min(group.firstAtMs, own.firstAtMs);
  group.lastAtMs = Math.max(group.lastAtMs, own.lastAtMs);
  if (parentId !== undefined) {
    group.size += own.size;
    return; // what a subagent says, its parent tells if it matters
  }
  group.size = Math.max(group.size, own.size);
  group.sessionIds.push(...own.sessionIds);
  group.said = [...own.said, ...group.said];
  group.open.push(...own.open);
}

/** Chooses one topic of each project, then a second, and so on: the newest first, and then the most important. */
function chosenOf(groups: readonly Group[], limit: number): Group[] {
  const sizeOf = ({ size, open }: Group): number => size + END_MESSAGES * open.length;
  const largestFirst = groups.toSorted((left, right) => sizeOf(right) - sizeOf(left));
  const ranked = [...groupedBy(largestFirst, ({ project }) => project).values()].flatMap((own) => {
    const newest = own.reduce((one, other) => (other.lastAtMs > one.lastAtMs ? other : one));
    return [newest, ...own.filter((group) => group !== newest)].map((group, rank) => ({ group, rank }));
  });
  return ranked
    .sort((left, right) => left.rank - right.rank || sizeOf(right.group) - sizeOf(left.group))
    .slice(0, limit)
    .map(({ group }) => group);
}

function isIn({ sinceMs, untilMs }: Span, atMs: number): boolean {
  return atMs >= sinceMs && atMs <= untilMs;
}

function topicOf(
  { said, open, size: _, ...group }: Group,
  told: readonly WorkLine[],
  linesMax: number,
  verdictsOn: ReadVerdicts,
): RecapTopic {
  const { decided, files } = workIn(said, group.project);
  return {
    ...group,
    told: told.filter(({ sessionId }) => group.sessionIds.includes(sessionId)),
    decided: judgedLines(decided.slice(0, linesMax), verdictsOn),
    open: judgedLines(open.slice(0, linesMax), verdictsOn),
    files: files.slice(0, linesMax),
  };
}
