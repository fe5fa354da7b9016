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
  /** Members passed over, in the order of the conversation. */
  offset?: number;
}

export type ExpandLevel = "step" | Level;

export interface Expansion {
  /** The handle that was expanded, with its log position; null for a step, which has no root. */
  root: string | null;
  level: ExpandLevel;
  /** Exactly as they were appended, in the order of the conversation. */
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
}

/**
 * Grow a summary, a cluster or the surroundings of a message back to the exact messages.
 *
 * A handle with a log position gives what its root held at that position, also after the root was absorbed; without one,
 * what it holds now. A message id gives the cluster the message is in, or with `level` its step or its theme; while the
 * message has not graduated, its step.
 *
 * @throws {StoreError} `HANDLE_INVALID`, `ROOT_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `OPTION_INVALID`.
 */
export function expand(repositories: Repositories, target: string | number, options: ExpandOptions = {}): Expansion {
  const limit = wholeNumber("limit", options.limit ?? EXPAND_LIMIT_DEFAULT, 0, PAGE_LIMIT_MAX);
  const offset = wholeNumber("offset", options.offset ?? 0, 0, Number.MAX_SAFE_INTEGER);
  const level = oneOf("level", options.level ?? "cluster", ["step", "cluster", "theme"]);
  const { unions, messages } = repositories;
  const page = (root: string | null, level: ExpandLevel, steps: readonly number[]): Expansion => {
    const ids = messages.idsOfSteps(steps);
    return { root, level, members: messages.byIds(ids.slice(offset, offset + limit)), memberCount: ids.length };
  };
  const ofHandle = (handle: Handle): Expansion => {
    const position = positionOf(repositories, handle);
    const root = formatHandle(handle.level, handle.root, position);
    return page(root, handle.level, unions.stepsOf(handle.level, handle.root, position));
  };

  const messageId = messageIdOf(target);
  if (messageId === undefined) {
    const handle = parseHandle(String(target));
    if (options.level === undefined || options.level === handle.level) return ofHandle(handle);
    const expected = `${handle.level}, as the handle says, or left out`;
    throw new StoreError("OPTION_INVALID", { option: "level", expected, actual: options.level });
  }
  const { cluster, theme } = findRoots(repositories, messageId);
  const handle = level === "step" ? null : level === "cluster" ? cluster : theme;
  if (handle !== null) return ofHandle(parseHandle(handle));
  return page(null, "step", [messages.byId(messageId)!.stepId]);
}

/** @throws {StoreError} `MESSAGE_NOT_FOUND`. */
export function findRoots(repositories: Repositories, messageId: number): FoundRoots {
  const { messages, unions } = repositories;
  const message = messages.byId(messageId);
  if (message === undefined) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  const { sessionId, seq } = message;
  const clusterRoot = unions.clusterOf(message.stepId);
  if (clusterRoot === undefined) return { messageId, sessionId, seq, cluster: null, theme: null };
  const position = unions.lastPosition(sessionId);
  const themeRoot = new Coverage(unions).themeOf(clusterRoot);
  return {
    messageId,
    sessionId,
    seq,
    cluster: formatHandle("cluster", clusterRoot, position),
    theme: formatHandle("theme", themeRoot, position),
  };
}

function messageIdOf(target: string | number): number | undefined {
  if (typeof target === "string" && !/^\d+$/.test(target)) return undefined;
  const id = Number(target);
  if (!Number.isSafeInteger(id) || id < 0) throw new StoreError("MESSAGE_NOT_FOUND", { messageId: id });
  return id;
}

/** The position a handle is meant at: its own, or that of its session's last union. */
function positionOf({ unions }: Repositories, handle: Handle): number {
  const text = formatHandle(handle.level, handle.root, handle.position);
  const started = unions.started(handle.root);
  if (started === undefined) throw new StoreError("ROOT_NOT_FOUND", { handle: text });
  if (handle.position === undefined) return unions.lastPosition(started.sessionId);
  if (handle.position < started.position) {
    const reason = `its root began at log position ${started.position}`;
    throw new StoreError("HANDLE_INVALID", { handle: text, reason });
  }
  const newest = unions.newestPosition();
  if (handle.position > newest) {
    throw new StoreError("HANDLE_INVALID", { handle: text, reason: `the log ends at position ${newest}` });
  }
  return handle.position;
}
