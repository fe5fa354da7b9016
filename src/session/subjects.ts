import { formatHandle } from "../core/handle.ts";
import { titleAmong } from "../models/title.ts";
import type { Repositories } from "../store/repositories.ts";
import type { SubjectSession } from "../store/subjects.ts";

export const SUBJECTS_LIMIT_DEFAULT = 50;

export interface SubjectsOptions {
  /** Returns only the subjects of this project. A subject belongs to one project. */
  project?: string;
  /** The most subjects to return: 0 to 10,000, by default 50. */
  limit?: number;
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
  /** Oldest first. */
  sessions: SubjectSession[];
}

export function subjectsOf(repositories: Repositories, project: string | undefined, limit: number): SubjectInfo[] {
  const { subjects, unions } = repositories;
  const position = unions.newestPosition();
  return subjects.longLived(project, limit).map(({ root, ...counts }) => {
    const sessions = subjects.sessionsOf(root);
    return {
      subject: formatHandle("subject", root, position),
      ...counts,
      label: titleAmong(subjects.labelsOf(root)),
      firstAtMs: Math.min(...sessions.map(({ firstAtMs }) => firstAtMs)),
      lastAtMs: Math.max(...sessions.map(({ lastAtMs }) => lastAtMs)),
      sessions,
    };
  });
}
