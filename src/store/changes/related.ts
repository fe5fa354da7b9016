import type { KnownOrigin } from "../facts/origins.ts";
import type { Repositories } from "../repositories.ts";

/** A session to forget, or some messages of it. */
export interface ForgetTarget {
  sessionId: string;
  messageIds?: readonly number[] | undefined;
}

/** A session that has what is forgotten, too, or that was made from it. */
export interface RelatedSession {
  sessionId: string;
  /** `fork`: it shares the messages. `copy`: it has copies of them. `started`: the forgotten session or message started it. */
  relation: "fork" | "copy" | "started";
  /** How many of its messages would go. */
  messageCount: number;
  /** The ids of these, to forget them later; null if the whole session would go. */
  messageIds: number[] | null;
}

interface Chosen {
  sessionId: string;
  relation: RelatedSession["relation"] | undefined;
  ids: Set<number>;
  isWhole: boolean;
}

/**
 * Finds what has the same messages as some targets: forks that share them, copies, and the subagents that were started there, with
 * the copies, forks and subagents of these. It reads the digests of the whole store.
 *
 * @returns also everything to forget, targets included, in an order in which nothing is forgotten before what shares it.
 */
export function relatedTo(
  repositories: Repositories,
  targets: readonly ForgetTarget[],
): { related: RelatedSession[]; all: ForgetTarget[] } {
  const { origins } = repositories;
  const linesOf = new Map<string, readonly string[]>();
  const chosen = new Map<string, Chosen>();
  let found = targets.map((target) => chosenBy(repositories, target));
  while (found.length > 0) {
    const added = found.flatMap((one) => merge(chosen, one) ?? []);
    const known = origins.of(
      added.flatMap(({ ids }) => [...ids]),
      linesOf,
    );
    const copies = copiesBySession(repositories, origins.copiesOf(known.values()));
    found = [...added.flatMap((one) => [...forksOf(repositories, one), ...startedBy(repositories, one)]), ...copies];
  }
  const inOrder = [...chosen.values()].filter(({ ids, relation }) => ids.size > 0 || relation !== "copy");
  return {
    related: inOrder.flatMap(({ sessionId, relation, ids, isWhole }) =>
      relation === undefined
        ? []
        : [{ sessionId, relation, messageCount: ids.size, messageIds: isWhole ? null : [...ids] }],
    ),
    all: sharingFirst(
      repositories,
      inOrder.map(({ sessionId, ids, isWhole }) => (isWhole ? { sessionId } : { sessionId, messageIds: [...ids] })),
    ),
  };
}

/** A fork is forgotten before the session that holds what it shares. */
export function sharingFirst({ paths }: Repositories, targets: readonly ForgetTarget[]): ForgetTarget[] {
  const counts = new Map(targets.map(({ sessionId }) => [sessionId, paths.sharedCount(sessionId)]));
  return targets.toSorted((left, right) => counts.get(right.sessionId)! - counts.get(left.sessionId)!);
}

/** The messages of a target that are of some time. @returns undefined if there are none. */
export function targetOf(
  repositories: Repositories,
  {
    sessionId,
    messageIds,
    sinceMs,
    untilMs,
  }: ForgetTarget & { sinceMs?: number | undefined; untilMs?: number | undefined },
): ForgetTarget | undefined {
  const { sessions, messages } = repositories;
  const isOfAnyTime = sinceMs === undefined && untilMs === undefined;
  if (isOfAnyTime || sessions.unchecked(sessionId) === undefined) return { sessionId, messageIds };
  const given = messageIds ?? idsHeldBy(repositories, sessionId);
  const time = { sinceMs: sinceMs ?? Number.MIN_SAFE_INTEGER, untilMs: untilMs ?? Number.MAX_SAFE_INTEGER };
  const ids = messages.idsOfTime({ ids: JSON.stringify(given), ...time });
  if (ids.length === 0) return undefined;
  return messageIds === undefined && ids.length === given.length ? { sessionId } : { sessionId, messageIds: ids };
}

export function idsOf(repositories: Repositories, target: ForgetTarget): number[] {
  return [...chosenBy(repositories, target).ids];
}

/** Returns the ids of all messages that a session holds itself, with superseded ones. */
export function idsHeldBy({ messages, sessions }: Repositories, sessionId: string): number[] {
  return sessions.withBranches(sessionId).flatMap((id) => Array.from(messages.parentsOf(id), (message) => message.id));
}

function chosenBy(repositories: Repositories, { sessionId, messageIds }: ForgetTarget): Chosen {
  const { messages } = repositories;
  const held = idsHeldBy(repositories, sessionId);
  if (messageIds === undefined) return { sessionId, relation: undefined, ids: new Set(held), isWhole: true };
  const steps = messageIds.flatMap((id) => messages.stepOf(id)?.stepId ?? []);
  const isHeld = new Set(held);
  const ids = messages.idsOfSteps([...new Set(steps)]).filter((id) => isHeld.has(id));
  return { sessionId, relation: undefined, ids: new Set(ids), isWhole: false };
}

/** Adds what was found. @returns what is new of it; undefined if nothing is. */
function merge(chosen: Map<string, Chosen>, found: Chosen): Chosen | undefined {
  const known = chosen.get(found.sessionId);
  if (known === undefined) {
    chosen.set(found.sessionId, { ...found, ids: new Set(found.ids) });
    return found;
  }
  const ids = new Set([...found.ids].filter((id) => !known.ids.has(id)));
  if (ids.size === 0 && known.isWhole >= found.isWhole) return undefined;
  for (const id of ids) known.ids.add(id);
  known.isWhole ||= found.isWhole;
  return { ...found, ids };
}

function copiesBySession(repositories: Repositories, copies: readonly KnownOrigin[]): Chosen[] {
  const idsBySession = new Map<string, Set<number>>();
  for (const { id, sessionId: holderId } of copies) {
    const holder = repositories.sessions.unchecked(holderId);
    const sessionId = (holder?.supersededAtMs != null && holder.parentSessionId) || holderId;
    idsBySession.set(sessionId, (idsBySession.get(sessionId) ?? new Set()).add(id));
  }
  return [...idsBySession].map(([sessionId, ids]) => {
    const isWhole = ids.size === idsHeldBy(repositories, sessionId).length;
    return { sessionId, relation: "copy", ids, isWhole };
  });
}

/** A fork goes as a whole, because it cannot be without what it shares. */
function forksOf(repositories: Repositories, { sessionId, ids, isWhole }: Chosen): Chosen[] {
  const seqs = isWhole ? [0] : [...ids].flatMap((id) => repositories.messages.stepOf(id)?.seq ?? []);
  if (seqs.length === 0) return [];
  const forkIds = repositories.paths.sharing(sessionId, Math.min(...seqs) - 1);
  return forkIds.map((id) => wholeSession(repositories, id, "fork"));
}

function startedBy(repositories: Repositories, { sessionId, ids, isWhole }: Chosen): Chosen[] {
  const { origins } = repositories;
  const callIds = new Set(isWhole ? [] : origins.callIdsIn([...ids]));
  const started = origins
    .childrenOf(sessionId)
    .filter(({ toolCallId }) => isWhole || (toolCallId !== null && callIds.has(toolCallId)));
  return started.map(({ id }) => wholeSession(repositories, id, "started"));
}

function wholeSession(repositories: Repositories, sessionId: string, relation: RelatedSession["relation"]): Chosen {
  return { sessionId, relation, ids: new Set(idsHeldBy(repositories, sessionId)), isWhole: true };
}
