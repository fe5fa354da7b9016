import { StoreError } from "../core/errors.ts";
import { formatHandle, type Handle, type Level, parseHandle } from "../core/handle.ts";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import type { Message } from "../core/message.ts";
import { oneOf, wholeNumber } from "../core/options.ts";
import { Coverage } from "../store/coverage.ts";
import type { Repositories } from "../store/repositories.ts";

/** Members that `expand` returns unless told otherwise. */
export const EXPAND_LIMIT_DEFAULT = 50;

export interface ExpandOptions {
  /** Given a message id: what to expand around it, `cluster` unless told otherwise. A handle says its own level. */
  level?: ExpandLevel;
  /** Most members returned, from 0 to 10,000. */
  limit?: number;
  /** Members passed over, in the order in which they are returned. */
  offset?: number;
  /** Only what is in this project: anything else is not found. */
  project?: string;
}

export type ExpandLevel = "step" | Level;

export interface Expansion {
  /** The handle that was expanded, with its log position; null for a step, which has no root. */
  root: string | null;
  level: ExpandLevel;
  /**
   * Exactly as they were appended, in the order of the conversation; of a subject, one session after another, in the order
   * in which the sessions were made.
   */
  members: Message[];
  /** All members, returned here or not. */
  memberCount: number;
}

/** Where a message stands in the forest. */
export interface FoundRoots {
  messageId: number;
  sessionId: string;
  seq: number;
  /** Null while it has not graduated, and for pinned messages, which never do. */
  cluster: string | null;
  theme: string | null;
  /** Null until its cluster has settled and come to its place among the subjects. */
  subject: string | null;
}

/**
 * Grow a summary, a cluster, a subject or the surroundings of a message back to the exact messages.
 *
 * A handle with a log position gives what its root held at that position, also after the root was absorbed; without one,
 * what it holds now; a span gives the messages from its first to its last that are not pinned,
 * as long as one of these two is stored. A subject may be named by any of its clusters. A message id gives the cluster the message is in, or with `level` its step, its theme or its subject;
 * while it is in no subject its cluster, and while it has not graduated its step.
 *
 * @throws {StoreError} `HANDLE_INVALID`, `ROOT_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `OPTION_INVALID`.
 */
export function expand(repositories: Repositories, target: string | number, options: ExpandOptions = {}): Expansion {
  const limit = wholeNumber("limit", options.limit ?? EXPAND_LIMIT_DEFAULT, 0, PAGE_LIMIT_MAX);
  const offset = wholeNumber("offset", options.offset ?? 0, 0, Number.MAX_SAFE_INTEGER);
  const level = oneOf("level", options.level ?? "cluster", ["step", "cluster", "theme", "subject", "span"]);
  const { unions, messages, subjects, spans, sessions } = repositories;
  /** A root is a message, and all that it roots is of one project. */
  const isInProject = (messageId: number): boolean => {
    if (options.project === undefined) return true;
    const sessionId = messages.byId(messageId)?.sessionId;
    return sessionId !== undefined && sessions.byId(sessionId)?.project === options.project;
  };
  const page = (root: string | null, level: ExpandLevel, ids: readonly number[]): Expansion => {
    const shown = ids.slice(offset, offset + limit);
    const byId = new Map(messages.byIds(shown).map((message) => [message.id, message]));
    return { root, level, members: shown.flatMap((id) => byId.get(id) ?? []), memberCount: ids.length };
  };
  const ofHandle = (handle: Handle): Expansion => {
    const { level } = handle;
    // Of a span, one of its ends may be forgotten.
    if (!isInProject(handle.root) && !(level === "span" && isInProject(handle.position!))) {
      throw new StoreError("ROOT_NOT_FOUND", { handle: formatHandle(level, handle.root, handle.position) });
    }
    if (level === "span") {
      const ids = spans.idsBetween(handle.root, handle.position!);
      const text = formatHandle(level, handle.root, handle.position);
      if (ids.length === 0) throw new StoreError("ROOT_NOT_FOUND", { handle: text });
      return page(text, level, ids);
    }
    const position = positionOf(repositories, handle);
    const root = level === "subject" ? subjectRootAt(repositories, handle, position) : handle.root;
    const ids =
      level === "subject"
        ? subjects.messageIds(root, position)
        : messages.idsOfSteps(unions.stepsOf(level, root, position));
    return page(formatHandle(level, root, position), level, ids);
  };

  const messageId = messageIdOf(target);
  if (messageId === undefined) {
    const handle = parseHandle(String(target));
    if (options.level === undefined || options.level === handle.level) return ofHandle(handle);
    const expected = `${handle.level}, as the handle says, or left out`;
    throw new StoreError("OPTION_INVALID", { option: "level", expected, actual: options.level });
  }
  if (level === "span") {
    const expected = "step, cluster, theme or subject for a message: it is in no span of its own";
    throw new StoreError("OPTION_INVALID", { option: "level", expected, actual: level });
  }
  if (!isInProject(messageId)) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  const { cluster, theme, subject } = findRoots(repositories, messageId);
  const handle = { step: null, cluster, theme, subject: subject ?? cluster }[level];
  if (handle !== null) return ofHandle(parseHandle(handle));
  return page(null, "step", messages.idsOfSteps([messages.byId(messageId)!.stepId]));
}

/** @throws {StoreError} `MESSAGE_NOT_FOUND`. */
export function findRoots(repositories: Repositories, messageId: number): FoundRoots {
  const { messages, unions, subjects } = repositories;
  const message = messages.byId(messageId);
  if (message === undefined) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  const { sessionId, seq } = message;
  const clusterRoot = unions.entered(message.stepId)?.clusterRoot;
  if (clusterRoot === undefined) return { messageId, sessionId, seq, cluster: null, theme: null, subject: null };
  const subjectRoot = subjects.rootOf(clusterRoot);
  const position = unions.lastPosition(sessionId);
  const themeRoot = new Coverage(unions).themeOf(clusterRoot);
  return {
    messageId,
    sessionId,
    seq,
    cluster: formatHandle("cluster", clusterRoot, position),
    theme: formatHandle("theme", themeRoot, position),
    subject: subjectRoot === undefined ? null : formatHandle("subject", subjectRoot, unions.newestPosition()),
  };
}

/** A subject may be named by any of its clusters. @throws {StoreError} `ROOT_NOT_FOUND` for one that was in none. */
function subjectRootAt({ subjects }: Repositories, { level, root, position }: Handle, at: number): number {
  const subjectRoot = subjects.rootAt(root, at);
  if (subjectRoot !== undefined) return subjectRoot;
  throw new StoreError("ROOT_NOT_FOUND", { handle: formatHandle(level, root, position) });
}

function messageIdOf(target: string | number): number | undefined {
  if (typeof target === "string" && !/^\d+$/.test(target)) return undefined;
  const id = Number(target);
  if (!Number.isSafeInteger(id) || id < 0) throw new StoreError("MESSAGE_NOT_FOUND", { messageId: id });
  return id;
}

/** The position a handle is meant at: its own, or that of the last union in its session; of a subject, in the store. */
function positionOf({ unions, subjects }: Repositories, handle: Handle): number {
  const { level, root, position } = handle;
  const text = formatHandle(level, root, position);
  const newest = unions.newestPosition();
  const at = Math.min(Math.max(1, position ?? newest), newest); // a position names its generation, too
  const session = unions.started(root, at);
  const started = level === "subject" ? subjects.started(root, at) : session?.position;
  if (session === undefined || started === undefined) throw new StoreError("ROOT_NOT_FOUND", { handle: text });
  if (position === undefined) return level === "subject" ? newest : unions.lastPosition(session.sessionId);
  if (position < started) {
    throw new StoreError("HANDLE_INVALID", { handle: text, reason: `its root began at log position ${started}` });
  }
  if (position > newest) {
    throw new StoreError("HANDLE_INVALID", { handle: text, reason: `the log ends at position ${newest}` });
  }
  return position;
}
