import { compactionNote } from "../../core/compaction.ts";
import { formatHandle } from "../../core/handle.ts";
import { TITLE_TEXT_CHARS, titleAmong, titleOf } from "../../models/title.ts";
import type { NotableMessage, Repositories, Span, WorkedCluster } from "../../store/index.ts";
import { type WorkedOn, workedOn } from "./subject-page.ts";
import type { TolerantReader, UnreadableOption } from "./tolerant-reader.ts";
import { type Decision, notableOf, type OpenEnd, openEnds, type WorkLine, workIn } from "./work-lines.ts";

export const RECAP_LIMIT_DEFAULT = 8;
export const RECAP_LINES_DEFAULT = 3;
export const RECAP_MS_DEFAULT = 7 * 24 * 60 * 60 * 1_000;

/** The newest sessions that are read. */
const SESSIONS_MAX = 200;
/** The newest sessions whose open ends are looked for. */
const ENDING_SESSIONS_MAX = 20;
/** The messages of a topic that are searched for decisions. */
const MESSAGES_MAX = 120;
/** An open end makes a topic as important as this many messages. */
const END_MESSAGES = 20;

export interface RecapOptions extends UnreadableOption {
  /** Only messages of this time or later, in Unix milliseconds; by default those of the seven days before `untilMs`. */
  sinceMs?: number;
  /** Only messages of this time or earlier, in Unix milliseconds; by default all. */
  untilMs?: number;
  project?: string;
  /** The most topics: 0 to 10,000, by default 8. Those with most messages and open ends are chosen. */
  limit?: number;
  /** The most lines of each kind in a topic: 0 to 10,000, by default 3. */
  linesMax?: number;
}

export interface Recap {
  sinceMs: number;
  /** Null if none was asked for. */
  untilMs: number | null;
  sessionCount: number;
  messageCount: number;
  /** Newest first. */
  topics: RecapTopic[];
  /** All topics of the time, shown or not. */
  topicCount: number;
}

/** A subject, a theme of a session that goes on, or what a session's hot window holds. Every line is quoted from a message. */
export interface RecapTopic {
  /** The handle of the subject or the theme; null for messages that are still in the hot window. */
  root: string | null;
  project: string | null;
  title: string;
  sessionIds: string[];
  messageCount: number;
  firstAtMs: number;
  lastAtMs: number;
  /** Its clusters, newest first. Their counts and times are those of their messages in this time. */
  worked: WorkedOn[];
  /** How many clusters the subject has in this time. */
  workedCount: number;
  decided: Decision[];
  open: OpenEnd[];
  files: WorkLine[];
}

interface Group {
  root: string | null;
  project: string | null;
  clusters: WorkedCluster[];
  /** Messages that are in no cluster yet. */
  hot: NotableMessage[];
  open: OpenEnd[];
}

type RecapSettings = Required<Pick<RecapOptions, "sinceMs" | "limit" | "linesMax">> & {
  untilMs?: number | undefined;
  project?: string | undefined;
};

/** Returns what was worked on, decided and left open in a time, by subject. */
export function recapOf(repositories: Repositories, options: RecapSettings, reader: TolerantReader): Recap {
  const { sinceMs, untilMs, project, limit, linesMax } = options;
  const span = { sinceMs, untilMs: untilMs ?? Number.MAX_SAFE_INTEGER };
  const sessionIds = repositories.overviews.idsSince({ project, ...span, limit: SESSIONS_MAX });
  const oldestFirst = sessionIds.toReversed();
  const repeated = reader("", () => repositories.origins.repeatedIn(oldestFirst), new Map<string, Set<number>>());
  const groups = new Groups(repositories, span, repeated);
  for (const id of oldestFirst) reader(id, () => groups.addSession(id), undefined);
  for (const id of sessionIds.slice(0, ENDING_SESSIONS_MAX)) {
    const ends = reader(id, () => openEnds(repositories, id).map((end) => ({ end, group: groups.ofLine(end) })), []);
    for (const { end, group } of ends) {
      if (isIn(span, end.atMs) && end.sessionId === id && !groups.isRepeated(end.sessionId, end.messageId)) {
        group?.open.push(end);
      }
    }
  }
  const sized = groups.all.map((group) => ({ group, size: messageCountOf(group) + END_MESSAGES * group.open.length }));
  const topics = sized
    .sort((left, right) => right.size - left.size)
    .slice(0, limit)
    .map(({ group }) => topicOf(repositories, group, { span, linesMax, groups }, reader))
    .sort((left, right) => right.lastAtMs - left.lastAtMs);
  return {
    sinceMs,
    untilMs: untilMs ?? null,
    sessionCount: sessionIds.length - groups.emptyCount,
    messageCount: groups.all.reduce((sum, group) => sum + messageCountOf(group), 0),
    topics,
    topicCount: groups.all.length,
  };
}

/** Clusters by subject. A cluster that has none yet is with its theme. */
class Groups {
  readonly #repositories: Repositories;
  readonly #span: Span;
  /** The messages of each session that an earlier session has, too, because it was resumed or copied under another id. */
  readonly #repeated: ReadonlyMap<string, ReadonlySet<number>>;
  readonly #position: number;
  readonly #byRoot = new Map<string, Group>();
  readonly #byCluster = new Map<number, Group>();
  /** For each session, the group of its messages that are in no cluster. */
  readonly #ofHot = new Map<string, Group>();

  /** The sessions that have nothing of their own in this time. */
  emptyCount = 0;

  constructor(repositories: Repositories, span: Span, repeated: ReadonlyMap<string, ReadonlySet<number>>) {
    this.#repositories = repositories;
    this.#span = span;
    this.#repeated = repeated;
    this.#position = repositories.unions.newestPosition();
  }

  get all(): Group[] {
    return [...new Set([...this.#byRoot.values(), ...this.#ofHot.values()])];
  }

  addSession(id: string): void {
    const { clusters, messages, sessions, subjects } = this.#repositories;
    const { project, graduatedSeq: seqFrom } = sessions.known(id);
    const repeated = this.#repeated.get(id);
    const rows = clusters.workedIn(id, this.#span, repeated);
    const window = { seqFrom, seqEnd: Number.MAX_SAFE_INTEGER, limit: MESSAGES_MAX };
    // What a fork shares was worked on in the session that holds it.
    const hot = messages.notableBefore(id, window).filter(({ id: messageId, createdAtMs, sessionId }) => {
      return isIn(this.#span, createdAtMs) && sessionId === id && repeated?.has(messageId) !== true;
    });
    if (rows.length + hot.length === 0) this.emptyCount += 1;
    // All are looked up before one is added, so that a damaged one does not leave half a session.
    const placed = rows.map((cluster) => ({ cluster, subject: subjects.subjectOf(cluster, this.#position) }));
    for (const { cluster, subject } of placed) {
      const root =
        subject === undefined
          ? formatHandle("theme", cluster.themeRoot)
          : formatHandle("subject", subject, this.#position);
      const group = this.#byRoot.get(root) ?? { root, project, clusters: [], hot: [], open: [] };
      group.clusters.push(cluster);
      this.#byRoot.set(root, group);
      this.#byCluster.set(cluster.rootId, group);
    }
    if (hot.length === 0) return;
    // The end of a turn belongs to the turn. The newest step of an idle session stays out of the forest.
    const last = rows.toSorted((left, right) => left.seqLast - right.seqLast).at(-1);
    const isEnd =
      last !== undefined &&
      hot.every(({ turnSeq, stepId }) => turnSeq === last.turnLast || stepId === hot.at(-1)!.stepId);
    const group = isEnd ? this.#byCluster.get(last.rootId)! : { root: null, project, clusters: [], hot: [], open: [] };
    group.hot.push(...hot);
    this.#ofHot.set(id, group);
  }

  isRepeated(sessionId: string, messageId: number): boolean {
    return this.#repeated.get(sessionId)?.has(messageId) === true;
  }

  ofLine({ messageId, sessionId }: WorkLine): Group | undefined {
    const { messages, unions } = this.#repositories;
    const entered = unions.entered(sessionId, messages.stepOf(messageId)!.stepId);
    return entered === undefined ? this.#ofHot.get(sessionId) : this.#byCluster.get(entered.clusterRoot);
  }
}

function isIn({ sinceMs, untilMs }: Span, atMs: number): boolean {
  return atMs >= sinceMs && atMs <= untilMs;
}

function messageCountOf({ clusters, hot }: Group): number {
  return clusters.reduce((sum, { ownCount }) => sum + ownCount, hot.length);
}

function topicOf(
  repositories: Repositories,
  group: Group,
  { span, linesMax, groups }: { span: Span; linesMax: number; groups: Groups },
  reader: TolerantReader,
): RecapTopic {
  const { messages } = repositories;
  const { root, project, hot, open } = group;
  const clusters = group.clusters.toSorted((left, right) => right.atMsLast - left.atMsLast);
  const titles = group.clusters.map(({ label }) => label);
  if (hot.length > 0 && root === null) {
    const said = hot.filter(({ metadata }) => compactionNote(metadata) === undefined);
    titles.push(titleOf(said, messages.askedBefore(TITLE_TEXT_CHARS, hot[0]!.id)));
  }
  const said = [...notableOf(repositories, clusters, MESSAGES_MAX, reader), ...hot];
  const isOwn = ({ id, sessionId, createdAtMs }: NotableMessage): boolean =>
    isIn(span, createdAtMs) && !groups.isRepeated(sessionId, id);
  const { decided, files } = workIn(said.filter(isOwn), project);
  const atMs = hot.map(({ createdAtMs }) => createdAtMs);
  const sessionIds = [...clusters, ...hot].map(({ sessionId }) => sessionId);
  return {
    root,
    project,
    title: titleAmong(titles),
    sessionIds: [...new Set(sessionIds)],
    messageCount: messageCountOf(group),
    firstAtMs: Math.min(...atMs, ...clusters.map(({ firstAtMs }) => firstAtMs)),
    lastAtMs: Math.max(...atMs, ...clusters.map(({ atMsLast }) => atMsLast)),
    worked: clusters.slice(0, linesMax).map((row) => workedOn({ ...row, messageCount: row.ownCount })),
    workedCount: clusters.length,
    decided: decided.slice(0, linesMax),
    open: open.slice(0, linesMax),
    files: files.slice(0, linesMax),
  };
}
