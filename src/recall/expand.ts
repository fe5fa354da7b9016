import * as z from "zod/mini";
import { StoreError } from "../core/errors.ts";
import { formatHandle, type Handle, type Level, messageIdOf, parseHandle } from "../core/handle.ts";
import { EXPAND_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "../core/limits.ts";
import type { Message } from "../core/message.ts";
import { once } from "../core/once.ts";
import { type FieldsOf, oneWordOf, parseOptions, text, whole } from "../core/schema.ts";
import { judged } from "../core/verdicts.ts";
import { type Repositories, ThemeRoots } from "../store/index.ts";

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
  /** For a message: where it is. Null for a handle. */
  place: MessagePlace | null;
}

/** The session of a message, its seq there, and the handles of what it belongs to. */
export interface MessagePlace {
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
  const { messages, sessions, remembered } = repositories;
  const messageId = messageIdOf(target);
  const page = (root: string | null, level: ExpandLevel, ids: readonly number[], place: MessagePlace | null) => {
    const offset = asked ?? offsetAround(ids, messageId, limit);
    const shown = ids.slice(offset, offset + limit);
    const byId = new Map(messages.byIds(shown).map((message) => [message.id, message]));
    const members = judged(
      shown.flatMap((id) => byId.get(id) ?? []),
      ({ id }) => id,
      (ids) => remembered.verdictsOn(ids),
    );
    return { root, level, members, memberCount: ids.length, offset, place };
  };
  // All members of a root belong to the root's project.
  const isInProject = (messageId: number): boolean => {
    if (project === undefined) return true;
    const sessionId = messages.byId(messageId)?.sessionId;
    return sessionId !== undefined && sessions.byId(sessionId)?.project === project;
  };
  const expandHandle = (handle: Handle, place: MessagePlace | null): Expansion => {
    const { level, root, position } = handle;
    // One end of a span may have been forgotten.
    const isFound = isInProject(root) || (level === "span" && isInProject(position!));
    const members = isFound ? membersOf(repositories, handle) : undefined;
    if (members === undefined) throw new StoreError("ROOT_NOT_FOUND", { handle: formatHandle(level, root, position) });
    return page(formatHandle(level, members.root, members.position), level, members.ids, place);
  };

  if (messageId === undefined) {
    const handle = parseHandle(String(target));
    if (level === undefined || level === handle.level) return expandHandle(handle, null);
    const expected = `${handle.level}, as the handle says, or left out`;
    throw new StoreError("OPTION_INVALID", { option: "level", expected, actual: level });
  }
  if (level === "span") {
    const expected = "step, cluster, theme or subject for a message, because a span has its own handle";
    throw new StoreError("OPTION_INVALID", { option: "level", expected, actual: level });
  }
  if (!isInProject(messageId)) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  const message = messages.byId(messageId);
  if (message === undefined) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  const place = placeOf(repositories, message);
  const { cluster, theme, subject } = place;
  const isThemeRoot = theme !== null && parseHandle(theme).root === messageId;
  const usual = isThemeRoot ? "theme" : "cluster";
  const handle = { step: null, cluster, theme, subject: subject ?? cluster }[level ?? usual];
  if (handle !== null) return expandHandle(parseHandle(handle), place);
  return page(null, "step", messages.idsOfSteps([message.stepId]), place);
}

/** Returns the offset of the page with the message in its middle, or 0 if the first page includes the message. */
function offsetAround(ids: readonly number[], messageId: number | undefined, limit: number): number {
  const index = messageId === undefined ? -1 : ids.indexOf(messageId);
  return index < limit ? 0 : Math.min(index - Math.floor(limit / 2), ids.length - limit);
}

function placeOf(repositories: Repositories, { sessionId, seq, stepId }: Message): MessagePlace {
  const { unions, clusters, subjects, generations } = repositories;
  generations.newest(); // fails if a generation is damaged
  const clusterRoot = unions.entered({ sessionId, stepId })?.clusterRoot;
  if (clusterRoot === undefined) return { sessionId, seq, cluster: null, theme: null, subject: null };
  const cluster = clusters.byRoot(sessionId, clusterRoot);
  const position = unions.lastPosition(sessionId);
  const newest = unions.newestPosition();
  const subjectRoot = subjects.subjectOf(cluster, newest);
  const themeRoot = new ThemeRoots(unions, sessionId).themeOf(clusterRoot);
  return {
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
  const newest = unions.newestPosition();
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
    if (unions.isRewound(held)) {
      const { steps, ids } = unions.rewoundMembers(level, held);
      return { root, position: at, ids: messages.inOrder([...messages.idsOfSteps(steps), ...ids]) };
    }
    return { root, position: at, ids: messages.idsOfSteps(unions.stepsOf(level, held)) };
  }
  const subjectRoot = subjects.rootAt({ root, position: at });
  if (subjectRoot === undefined) return undefined;
  return { root: subjectRoot, position: at, ids: subjects.messageIds({ root: subjectRoot, position: at }) };
}
