import { groupedBy } from "../../core/groups.ts";
import { formatHandle } from "../../core/handle.ts";
import { titleAmong } from "../../models/title.ts";
import type { Repositories, SubjectMember } from "../../store/index.ts";

export const SUBJECTS_LIMIT_DEFAULT = 50;

export interface SubjectsOptions {
  /** Returns only the subjects of this project. A subject belongs to one project. */
  project?: string;
  /** The most subjects to return: 0 to 10,000, by default 50. */
  limit?: number;
}

export interface SubjectSession {
  sessionId: string;
  title: string | null;
  /** What its part of the subject is about, as `label` of the whole. */
  label: string;
  messageCount: number;
  firstAtMs: number;
  lastAtMs: number;
}

/** A subject with clusters of at least two sessions. */
export interface SubjectInfo {
  /** The handle at the newest log position. */
  subject: string;
  project: string | null;
  /** The title of the cluster that has most in common with the others. May be empty. */
  label: string;
  clusterCount: number;
  sessionCount: number;
  messageCount: number;
  tokenCount: number;
  /** The times of the first and the last message, in Unix milliseconds. */
  firstAtMs: number;
  lastAtMs: number;
  /** In the order in which the subject began in them. */
  sessions: SubjectSession[];
}

export function subjectsOf(repositories: Repositories, project: string | undefined, limit: number): SubjectInfo[] {
  const { clusters, sessions, subjects, unions, generations } = repositories;
  generations.newest(); // fails if a generation is damaged
  const position = unions.newestPosition();
  const found: SubjectInfo[] = [];
  for (const root of subjects.longLived()) {
    if (found.length === limit) break;
    const first = clusters.begun(root);
    if (first === undefined) continue;
    const owner = sessions.known(first.sessionId);
    if (project !== undefined && owner.project !== project) continue;
    const members = inOrder(subjects.clustersOf(root, position).map((row) => subjects.dated(row)));
    if (members.length === 0) continue;
    const bySession = groupedBy(members, ({ sessionId }) => sessionId);
    const settled = members.toSorted((left, right) => left.settledAt! - right.settledAt!);
    const { firstAtMs, messageCount, lastAtMs } = sizeOf(members);
    found.push({
      subject: formatHandle("subject", root, position),
      project: owner.project,
      label: titleAmong(settled.map(({ label }) => label)),
      clusterCount: members.length,
      sessionCount: bySession.size,
      messageCount,
      tokenCount: members.reduce((sum, { tokenCount }) => sum + tokenCount, 0),
      firstAtMs,
      lastAtMs,
      sessions: Array.from(bySession, ([sessionId, ofSession]) => {
        const label = titleAmong(ofSession.map(({ label }) => label));
        return { sessionId, title: sessions.known(sessionId).title, label, ...sizeOf(ofSession) };
      }).sort((left, right) => left.firstAtMs - right.firstAtMs || (left.sessionId < right.sessionId ? -1 : 1)),
    });
  }
  return found;
}

/** Sorts clusters by when they began. */
export function inOrder(members: SubjectMember[]): SubjectMember[] {
  return members.sort((left, right) => left.firstAtMs - right.firstAtMs || left.rootId - right.rootId);
}

function sizeOf(members: readonly SubjectMember[]): Pick<SubjectSession, "messageCount" | "firstAtMs" | "lastAtMs"> {
  return {
    messageCount: members.reduce((sum, { messageCount }) => sum + messageCount, 0),
    firstAtMs: Math.min(...members.map((member) => member.firstAtMs)),
    lastAtMs: Math.max(...members.map((member) => member.lastAtMs)),
  };
}
