import { StoreError } from "../../core/errors.ts";
import { formatHandle, parseHandle } from "../../core/handle.ts";
import type { ReadVerdicts } from "../../core/verdicts.ts";
import { titleAmong } from "../../models/title.ts";
import type { DatedCluster, Repositories } from "../../store/index.ts";
import { inOrder, type SubjectInfo } from "./subjects.ts";
import type { TolerantReader, UnreadableOption } from "./tolerant-reader.ts";
import {
  clusterOf,
  type Decision,
  judgedLines,
  notableOf,
  type OpenEnd,
  openEnds,
  type WorkLine,
  workIn,
} from "./work-lines.ts";

export const SUBJECT_LIMIT_DEFAULT = 10;

/** The most messages of a subject that are read, the newest first. Reading them takes about 50 ms. */
const MESSAGES_MAX = 500;
/** The newest sessions whose open ends are looked for. */
const SESSIONS_MAX = 10;
/** The newest messages with words in which the last request of a session is looked for. */
const SAID_MAX = 20;

export interface SubjectOptions extends UnreadableOption {
  /** The most entries of the timeline, decisions, open ends, and files: 0 to 10,000, by default 10 of each. */
  limit?: number;
  /** Only this project: subjects of others are not found. */
  project?: string;
}

/** A cluster, as an entry of a timeline. */
export interface WorkedOn {
  /** The handle of the cluster, for `expand`. */
  cluster: string;
  /** Its title, in words of its messages. */
  title: string;
  sessionId: string;
  seqFirst: number;
  seqLast: number;
  messageCount: number;
  /** The times of its first and its last message, in Unix milliseconds. */
  firstAtMs: number;
  lastAtMs: number;
}

/** What came of a subject. Every line is quoted from a message. */
export interface SubjectPage extends Omit<SubjectInfo, "label" | "sessions"> {
  title: string;
  /** The newest clusters, oldest first. */
  timeline: WorkedOn[];
  /** What was decided and ruled, newest first. */
  decided: Decision[];
  /** What its sessions left open, newest first. */
  open: OpenEnd[];
  /** The files that it is about, those in most use first, each with the last message that names it. */
  files: WorkLine[];
}

/** @throws {StoreError} `HANDLE_INVALID`, `ROOT_NOT_FOUND`. */
export function subjectPage(
  repositories: Repositories,
  handle: string,
  { limit, project }: { limit: number; project?: string | undefined },
  reader: TolerantReader,
): SubjectPage {
  const { clusters, subjects, sessions, unions } = repositories;
  const { level, root: named } = parseHandle(handle);
  if (level !== "subject") {
    const reason = `expected a subject; \`find\` and \`coppice subjects\` name the subject of a ${level}`;
    throw new StoreError("HANDLE_INVALID", { handle, reason });
  }
  const position = unions.newestPosition();
  const cluster = clusters.begun(named);
  const root = cluster && subjects.subjectOf(cluster, position);
  const members = root === undefined ? [] : subjects.clustersOf(root, position);
  const session = members.length === 0 ? undefined : sessions.byId(members[0]!.sessionId);
  if (session === undefined || (project !== undefined && session.project !== project)) {
    throw new StoreError("ROOT_NOT_FOUND", { handle });
  }
  const sum = (key: "messageCount" | "tokenCount"): number => members.reduce((total, row) => total + row[key], 0);
  const newestFirst = members.toSorted((left, right) => right.atMsLast - left.atMsLast || right.rootId - left.rootId);
  const sessionIds = [...new Set(newestFirst.map(({ sessionId }) => sessionId))];
  const roots = new Set(members.map(({ rootId }) => rootId));
  const dated = inOrder(members.flatMap((row) => reader(row.sessionId, () => [subjects.dated(row)], [])));
  const open = sessionIds.slice(0, SESSIONS_MAX).flatMap((id) => reader(id, () => endsIn(repositories, id, roots), []));
  const { decided, files } = workIn(notableOf(repositories, newestFirst, MESSAGES_MAX, reader), session.project);
  const verdictsOn: ReadVerdicts = (ids) => repositories.remembered.verdictsOn(ids);
  return {
    subject: formatHandle("subject", root!, position),
    project: session.project,
    title: titleAmong(dated.map(({ label }) => label)),
    clusterCount: members.length,
    sessionCount: sessionIds.length,
    messageCount: sum("messageCount"),
    tokenCount: sum("tokenCount"),
    firstAtMs: dated[0]?.firstAtMs ?? newestFirst.at(-1)!.atMsLast,
    lastAtMs: newestFirst[0]!.atMsLast,
    timeline: limit === 0 ? [] : dated.slice(-limit).map(workedOn),
    decided: judgedLines(decided.slice(0, limit), verdictsOn),
    open: judgedLines(open.slice(0, limit), verdictsOn),
    files: files.slice(0, limit),
  };
}

/** Returns the open ends of a session whose messages are in one of these clusters. */
function endsIn(repositories: Repositories, sessionId: string, roots: ReadonlySet<number>): OpenEnd[] {
  const said = repositories.messages.saidBefore(sessionId, {
    seqFrom: 0,
    seqEnd: Number.MAX_SAFE_INTEGER,
    limit: SAID_MAX,
  });
  return openEnds(repositories, sessionId, said).filter((end) => roots.has(clusterOf(repositories, end) ?? 0));
}

export function workedOn(row: DatedCluster): WorkedOn {
  const { rootId, logPosition, label, sessionId, seqFirst, seqLast, messageCount, firstAtMs, atMsLast } = row;
  const cluster = formatHandle("cluster", rootId, logPosition);
  return { cluster, title: label, sessionId, seqFirst, seqLast, messageCount, firstAtMs, lastAtMs: atMsLast };
}
