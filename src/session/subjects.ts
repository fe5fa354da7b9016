import { formatHandle } from "../core/handle.ts";
import { labelOf } from "../models/label.ts";
import type { Repositories } from "../store/repositories.ts";
import type { SubjectSession } from "../store/subjects.ts";

/** Subjects that `store.subjects` returns unless told otherwise. */
export const SUBJECTS_LIMIT_DEFAULT = 50;

/** What a project has come back to in several sessions. */
export interface SubjectInfo {
  /** Handle at the log position at which it was looked at. */
  subject: string;
  project: string | null;
  /** The telling words that its clusters share. May be empty. */
  label: string;
  clusterCount: number;
  sessionCount: number;
  messageCount: number;
  tokenCount: number;
  /** Unix milliseconds, of the first and the last message in it, here and in each session. */
  firstAtMs: number;
  lastAtMs: number;
  /** Oldest first. */
  sessions: SubjectSession[];
}

/** The subjects with clusters of at least two sessions, those with the most tokens first. */
export function subjectsOf(repositories: Repositories, project: string | undefined, limit: number): SubjectInfo[] {
  const { subjects, unions } = repositories;
  const position = unions.newestPosition();
  return subjects.longLived(project, limit).map(({ root, ...counts }) => {
    const sessions = subjects.sessionsOf(root);
    return {
      subject: formatHandle("subject", root, position),
      ...counts,
      label: labelOf(subjects.labelsOf(root)),
      firstAtMs: Math.min(...sessions.map(({ firstAtMs }) => firstAtMs)),
      lastAtMs: Math.max(...sessions.map(({ lastAtMs }) => lastAtMs)),
      sessions,
    };
  });
}
