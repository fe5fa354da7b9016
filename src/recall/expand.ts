import * as z from "zod/mini";
import { DamageError } from "../core/damage.ts";
import { StoreError } from "../core/errors.ts";
import { formatHandle, type Handle, type Level, messageIdOf, parseHandle } from "../core/handle.ts";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import type { Message } from "../core/message.ts";
import { once } from "../core/once.ts";
import { type FieldsOf, oneWordOf, parseOptions, text, whole } from "../core/schema.ts";
import { Coverage } from "../store/coverage.ts";
import type { Repositories } from "../store/repositories.ts";

export const EXPAND_LIMIT_DEFAULT = 50;

export interface ExpandOptions {
  /** How much to expand around a message, by default its cluster. A handle names its own level. */
  level?: ExpandLevel;
  /** Most members to return: 0 to 10,000, by default 50. */
  limit?: number;
  /** Members to skip: by default 0, or for a message id, those before the page that shows the message in its middle. */
  offset?: number;
  /** Only this project. Messages and roots of other projects are not found. */
  project?: string;
}

export type ExpandLevel = "step" | Level;

const expandSchema = once(() =>
  z.strictObject({
    level: z.optional(oneWordOf(["step", "cluster", "theme", "subject", "span"])),
    limit: z._default(whole(0, PAGE_LIMIT_MAX), EXPAND_LIMIT_DEFAULT),
    offset: z.optional(whole(0)),
    project: z.optional(text()),
  } satisfies FieldsOf<ExpandOptions>),
);

export interface Expansion {
  /** The expanded handle, with its log position; null for a step, which has no root. */
  root: string | null;
  level: ExpandLevel;
  /** The members exactly as they were appended, in the order of the conversation. A subject's oldest session comes first. */
  members: Message[];
  /** The number of all members, returned or not. */
  memberCount: number;
  /** The number of members before the returned ones. */
  offset: number;
}

export interface FoundRoots {
  messageId: number;
  sessionId: string;
  seq: number;
  /** Null until the message has graduated. Pinned messages never graduate. */
  cluster: string | null;
  theme: string | null;
  /** Null until the cluster has settled and has a subject. */
  subject: string | null;
}

/**
 * Returns the exact messages behind a handle, or around a message.
 *
 * A handle with a log position names the members of its root at that position, even if the root was absorbed later. Without a
 * position, it names the current members. A span names the unpinned messages from its first to its last, if one of the two is
 * still stored. Any cluster of a subject names the subject.
 *
 * A message id (`12` or `message:12`) gives the message's cluster, or with `level` its step, theme or subject. The id of a theme's
 * root gives the theme, which is what `roots` lists. If the message has no subject, the result is its cluster. If it has no
 * cluster, the result is its step.
 *
 * @throws {StoreError} `HANDLE_INVALID`, `ROOT_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `OPTION_INVALID`.
 */
export function expand(repositories: Repositories, target: string | number, options: ExpandOptions = {}): Expansion {
  const { level, limit, offset: asked, project } = parseOptions("expand", expandSchema(), options);
  const { messages, sessions } = repositories;
  const messageId = messageIdOf(target);
  const page = (root: string | null, level: ExpandLevel, ids: readonly number[]): Expansion => {
    const offset = asked ?? offsetAround(ids, messageId, limit);
    const shown = ids.slice(offset, offset + limit);
    // Where a message is decides what is on which page. The rows of those on this one are compared with their checksums.
    if (shown.length < ids.length) messages.assertPlaced(ids);
    const byId = new Map(messages.byIds(shown).map((message) => [message.id, message]));
    const members = shown.flatMap((id) => byId.get(id) ?? []);
    if (members.length < shown.length) throw new DamageError(`messages of ${root ?? "the step"} are missing`);
    return { root, level, members, memberCount: ids.length, offset };
  };
  // All members of a root belong to the root's project.
  const isInProject = (messageId: number): boolean => {
    if (project === undefined) return true;
    const sessionId = messages.byId(messageId)?.sessionId;
    return sessionId !== undefined && sessions.byId(sessionId)?.project === project;
  };
  const expandHandle = (handle: Handle): Expansion => {
    const { level, root, position } = handle;
    // One end of a span may have been forgotten.
    const isFound = isInProject(root) || (level === "span" && isInProject(position!));
    const members = isFound ? membersOf(repositories, handle) : undefined;
    if (members === undefined) throw new StoreError("ROOT_NOT_FOUND", { handle: formatHandle(level, root, position) });
    return page(formatHandle(level, members.root, members.position), level, members.ids);
  };

  if (messageId === undefined) {
    const handle = parseHandle(String(target));
    if (level === undefined || level === handle.level) return expandHandle(handle);
    const expected = `${handle.level}, as the handle says, or left out`;
    throw new StoreError("OPTION_INVALID", { option: "level", expected, actual: level });
  }
  if (level === "span") {
    const expected = "step, cluster, theme or subject for a message, because a span has its own handle";
    throw new StoreError("OPTION_INVALID", { option: "level", expected, actual: level });
  }
  if (!isInProject(messageId)) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  const { cluster, theme, subject } = findRoots(repositories, messageId);
  const isThemeRoot = theme !== null && parseHandle(theme).root === messageId;
  const usual = isThemeRoot ? "theme" : "cluster";
  const handle = { step: null, cluster, theme, subject: subject ?? cluster }[level ?? usual];
  if (handle !== null) return expandHandle(parseHandle(handle));
  const { stepId } = messages.byId(messageId)!;
  return page(null, "step", messages.idsOfStep(stepId));
}

/** Returns the offset of the page with the message in its middle, or 0 if the first page includes the message. */
function offsetAround(ids: readonly number[], messageId: number | undefined, limit: number): number {
  const index = messageId === undefined ? -1 : ids.indexOf(messageId);
  return index < limit ? 0 : Math.min(index - Math.floor(limit / 2), ids.length - limit);
}

/** @throws {StoreError} `MESSAGE_NOT_FOUND`. */
export function findRoots(repositories: Repositories, messageId: number): FoundRoots {
  const { messages, unions, clusters, themes, subjects, generations } = repositories;
  if (typeof messageId !== "number") {
    throw new StoreError("OPTION_INVALID", { option: "message id", expected: "a number", actual: messageId });
  }
  const message = messages.byId(messageId);
  if (message === undefined) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  generations.newest(); // fails if a generation is damaged
  const { sessionId, seq } = message;
  const clusterRoot = unions.entered(sessionId, message.stepId)?.clusterRoot;
  if (clusterRoot === undefined) return { messageId, sessionId, seq, cluster: null, theme: null, subject: null };
  const cluster = clusters.byRoot(sessionId, clusterRoot);
  const position = unions.lastPosition(sessionId);
  const changedAt = Math.max(cluster.logPosition, cluster.settledAt ?? 0);
  if (position < changedAt) throw new DamageError(`the log of session ${sessionId} lacks position ${changedAt}`);
  const newest = unions.shownPosition();
  const subjectRoot = subjects.subjectOf(cluster, newest);
  const themeRoot = new Coverage(themes, sessionId).themeOf(clusterRoot);
  return {
    messageId,
    sessionId,
    seq,
    cluster: formatHandle("cluster", clusterRoot, position),
    theme: formatHandle("theme", themeRoot, position),
    subject: subjectRoot === undefined ? null : formatHandle("subject", subjectRoot, newest),
  };
}

interface Members {
  root: number;
  position: number;
  ids: readonly number[];
}

/** Returns the members of a handle; undefined if there are none. A subject may have another root at the log position. */
function membersOf(repositories: Repositories, { level, root, position }: Handle): Members | undefined {
  const { unions, messages, subjects, spans, generations } = repositories;
  if (level === "span") {
    const ids = spans.idsBetween({ firstId: root, lastId: position! });
    return ids.length === 0 ? undefined : { root, position: position!, ids };
  }
  generations.newest(); // fails if a generation is damaged, so that the position may be of another one
  const newest = unions.shownPosition();
  // A position also selects the generation. The newest one may be before a rewind that no row has followed yet.
  const known = position === undefined ? newest + 1 : Math.min(Math.max(1, position), newest);
  const session = unions.started({ root, position: known });
  const started = level === "subject" ? subjects.started({ root, position: known }) : session?.position;
  if (session === undefined || started === undefined) return undefined;
  const at = position ?? (level === "subject" ? newest : unions.lastPosition(session.sessionId));
  if (at < started || at > newest) {
    const handle = formatHandle(level, root, at);
    const reason = at < started ? `its root began at log position ${started}` : `the log ends at position ${newest}`;
    throw new StoreError("HANDLE_INVALID", { handle, reason });
  }
  if (level !== "subject") {
    const { sessionId } = session;
    const held = { sessionId, root, position: at };
    unions.assertTrees(sessionId);
    // Nothing counts the members of what a rewind or a newer generation has replaced.
    const uncounted = (steps: readonly number[]): number[] => steps.flatMap((step) => messages.idsOfStep(step));
    if (unions.isRewound(held)) {
      const { steps, undoneSteps, ids } = unions.rewoundMembers(level, held);
      messages.assertStored([...steps, ...undoneSteps]);
      return { root, position: at, ids: messages.inOrder([...uncounted(steps), ...ids]) };
    }
    const steps = unions.stepsOf(level, held);
    // Forgetting takes whole steps out of the log.
    messages.assertStored(steps);
    if (at <= generations.newest()!.logPosition) return { root, position: at, ids: messages.inOrder(uncounted(steps)) };
    const ids = messages.idsOfSteps(steps);
    assertWhole(repositories, level, held, ids);
    return { root, position: at, ids };
  }
  subjects.assertWhole();
  const subjectRoot = subjects.rootAt({ root, position: at });
  if (subjectRoot === undefined) return undefined;
  return { root: subjectRoot, position: at, ids: idsOfSubject(repositories, { root: subjectRoot, position: at }) };
}

/**
 * Returns the messages of a subject at a log position. The clusters that it had then and still has were settled, so all of their
 * messages are among them. Forks may have added more.
 *
 * @throws {DamageError} if some are missing.
 */
function idsOfSubject(
  { subjects, clusters, unions, messages }: Repositories,
  at: { root: number; position: number },
): number[] {
  const { root, position } = at;
  const held = subjects.clusterRootsAt(at);
  const ids = subjects.messageIds(held, position);
  messages.assertStored([root]);
  if (clusters.begun(root)?.subjectParentId !== root) return ids; // it has no clusters any more
  const still = subjects.clustersOf(root, unions.newestPosition()).filter(({ rootId, settledAt }) => {
    return settledAt !== null && settledAt <= position && held.has(rootId);
  });
  const count = still.reduce((sum, { messageCount }) => sum + messageCount, 0);
  if (ids.length >= count) return ids;
  throw new DamageError(`subject ${root} has at least ${count} messages, and ${ids.length} are found`);
}

/**
 * Compares the members of a root with a count of them. There is one for what a cluster or theme holds now. What it held before is a
 * part of that, or of the theme that absorbed it.
 */
function assertWhole(
  { unions, messages, clusters, themes }: Repositories,
  level: "cluster" | "theme",
  { sessionId, root, position }: { sessionId: string; root: number; position: number },
  ids: readonly number[],
): void {
  const storedOf = (root: number): { logPosition: number; messageCount: number } | undefined => {
    if (level === "cluster") return clusters.find(sessionId, root);
    const stored = themes.byRoot(sessionId, root);
    return stored && { logPosition: stored.logPosition, messageCount: stored.theme.messageCount };
  };
  const isAbsorbed = level === "theme" && storedOf(root) === undefined;
  const top = isAbsorbed ? new Coverage(themes, sessionId).themeOf(root) : root;
  const stored = storedOf(top);
  if (stored === undefined) throw new DamageError(`${level} ${top} has no row`);
  const { logPosition, messageCount } = stored;
  const isNow = !isAbsorbed && logPosition <= position;
  const stepsNow = isNow ? [] : unions.stepsOf(level, { sessionId, root: top, position: logPosition });
  const count = isNow ? ids.length : messages.idsOfSteps(stepsNow).length;
  if (count !== messageCount)
    throw new DamageError(`${level} ${top} has ${messageCount} messages, and ${count} are found`);
}
