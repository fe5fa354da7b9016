import { heldUntilMs, type Lease } from "../derived/claimant.ts";
import type { Costs } from "../derived/costs.ts";
import { type DoneSummary, isSpan, type NewSummary } from "../derived/summaries.ts";
import type { RootAt } from "../derived/unions.ts";
import { sourceDigestOf } from "../facts/spans.ts";
import type { Repositories } from "../repositories.ts";

// The events that concern summaries. Each exported function that writes is one transaction.

export interface HeldClaim {
  ids: readonly number[];
  claimant: string;
}

/** Why no claim was made: another store holds one, or the messages have changed since they were read. */
export type NoClaim = { heldUntilMs: number } | "changed";

export type SummaryWork = Omit<NewSummary, "status" | "claimant" | "claimedUntilMs">;

/** Claims summaries before a model is paid for them. While the claim holds, no other store makes any of them. */
export function claimSummaries(
  repositories: Repositories,
  works: readonly SummaryWork[],
  lease: Lease,
): HeldClaim | NoClaim {
  const { database, summaries } = repositories;
  const { claimant, untilMs } = lease;
  return database.write("resolveDirty", () => {
    for (const work of works) repositories.sessions.existing(work.sessionId);
    if (!works.every((work) => isWanted(repositories, work))) return "changed";
    const claims = works.flatMap((work) => summaries.claimsOf(work));
    const held = claims.map((claim) => heldUntilMs(claim, lease)).find((heldUntil) => heldUntil !== undefined);
    if (held !== undefined) return { heldUntilMs: held };
    summaries.discard(claims.map(({ id }) => id)); // these no longer hold
    const ids = works.map((work) => summaries.add({ ...work, status: "claimed", claimant, claimedUntilMs: untilMs }));
    return { ids, claimant };
  });
}

/** @returns false if one of the claims was lost. */
export function renewClaims(repositories: Repositories, claims: readonly HeldClaim[], untilMs: number): boolean {
  const { database, summaries } = repositories;
  return database.write("resolveDirty", () =>
    claims
      .flatMap(({ ids, claimant }) => ids.map((id) => summaries.renewClaim(untilMs, id, claimant)))
      .every((count) => count === 1),
  );
}

/** Releases the claims on work that was given up, and records its costs. */
export function releaseClaims(
  repositories: Repositories,
  claims: readonly { claim: HeldClaim; sessionId: string; summarizerId: string; costs: Costs }[],
): void {
  const { database, sessions, summaries } = repositories;
  database.write("resolveDirty", () => {
    for (const { claim, sessionId, summarizerId, costs } of claims) {
      for (const id of claim.ids) summaries.endClaim(id, claim.claimant);
      if (sessions.byId(sessionId) !== undefined) repositories.costs.discard(sessionId, summarizerId, costs);
    }
  });
}

/**
 * Releases claims that this store could not release before, because the file could not be written. Call it only while
 * no work of this store on the session is under way.
 */
export function releaseLeftoverClaims(repositories: Repositories, sessionId: string, claimant: string): void {
  const { database, summaries } = repositories;
  const leftover = database.read(() => summaries.claimsIn(sessionId).filter((claim) => claim.claimant === claimant));
  if (leftover.length === 0) return;
  database.write("resolveDirty", () => {
    for (const { id } of leftover) summaries.endClaim(id, claimant);
  });
}

/**
 * Records the summaries of one call, or its failure, and ends its claim. Rows without a claim are stand-ins and what `compact`
 * asks for. A row is not written if its messages have changed, if another summary covers at least as much, or if it is a failure
 * after the claim was lost. Finished rows of one call are written together or not at all, because each may tell of messages of the others.
 *
 * @returns for each row, true if it was written.
 */
export function recordSummaries(
  repositories: Repositories,
  operation: string,
  rows: readonly NewSummary[],
  claim?: HeldClaim,
): boolean[] {
  const { database, summaries, costs } = repositories;
  return database.write(operation, () => {
    for (const { sessionId } of rows) repositories.sessions.existing(sessionId);
    const held = claim?.ids.map((id) => summaries.endClaim(id, claim.claimant));
    const wanted = rows.map((row) => isWanted(repositories, row));
    const isWhole = wanted.every((is) => is);
    return rows.map((row, index) => {
      const isOwn = held === undefined || held[index] === 1 || row.status === "done";
      if (!isOwn || !wanted[index] || (row.status === "done" && !isWhole)) {
        costs.discard(row.sessionId, row.summarizerId, row);
        return false;
      }
      summaries.add(row);
      if (row.status === "done") summaries.discard(summaries.superseded(row));
      return true;
    });
  });
}

/**
 * Restores summaries that rewinds took out of the contexts, if they are of the same messages again and no other summary covers
 * any of these. Call it inside a transaction.
 */
export function restoreSummaries(repositories: Repositories, sessionId: string): void {
  const { summaries, unions } = repositories;
  const knownOf = new Map<number, { position: number; at: RootAt | undefined }>();
  for (const row of summaries.left(sessionId)) {
    const { id, level, rootId, logPosition } = row;
    if (isSpan(level)) {
      if (!isOfEnds(repositories, row) || !isWanted(repositories, row)) continue;
      // Of a strategy, the newest row is shown. This one reaches further.
      const newer = summaries.done(sessionId).filter((other) => other.level === level && other.id > id);
      summaries.leaveContexts(
        newer.map((other) => other.id),
        unions.newestPosition(),
      );
      summaries.showAgain(id);
    } else {
      // The next summary of a cluster covers what entered it since, so only that is read.
      const known = knownOf.get(rootId);
      const from = known?.position ?? 0;
      const then = { sessionId, root: rootId, position: logPosition };
      const goesOn = known !== undefined && from < logPosition && !unions.isUndoneBetween({ ...then, from });
      const isLost = goesOn && known.at === undefined;
      const held = isLost ? [] : unions.stepsOf("cluster", then, goesOn ? from : 0);
      const at = isLost ? undefined : unions.clusterOf(sessionId, held, goesOn ? known.at : undefined);
      knownOf.set(rootId, { position: logPosition, at });
      const moved = at && { ...row, rootId: at.root, logPosition: at.position };
      if (moved && isWanted(repositories, moved)) {
        summaries.carry(id, moved.rootId, moved.logPosition);
      }
    }
  }
}

/** Returns the ids of finished summaries of spans whose messages are no longer what was summarized. */
export function wrongSpans(repositories: Repositories, sessionId: string): number[] {
  const done = repositories.summaries.done(sessionId);
  const spans = done.filter(({ level, shownUntil }) => isSpan(level) && shownUntil === null);
  const isRight = (row: DoneSummary): boolean => isOfEnds(repositories, row) && isUnchanged(repositories, row);
  return spans.filter((row) => !isRight(row)).map(({ id }) => id);
}

/** Returns the ids of finished summaries of clusters that the log does not have. */
export function rootlessSummaries({ summaries, unions }: Repositories, sessionId: string): number[] {
  const hasRoot = ({ level, rootId: root, logPosition: position }: DoneSummary): boolean =>
    isSpan(level) ||
    unions.entriesOf({ sessionId, root, from: 0, position }, 1).length > 0 ||
    unions.stepsOf(level, { sessionId, root, position }).length > 0;
  const done = summaries.done(sessionId).filter(({ shownUntil }) => shownUntil === null);
  return done.filter((row) => !hasRoot(row)).map(({ id }) => id);
}

/** Returns true if the first and the last message of a span are those that the row names. */
function isOfEnds(
  { spans }: Repositories,
  { sessionId, seqFirst, seqLast, rootId, logPosition }: DoneSummary,
): boolean {
  const { firstId, lastId } = spans.contentOf(sessionId, seqFirst, seqLast);
  return firstId === rootId && lastId === logPosition;
}

/** Returns true if the row is of exactly the messages that no other summary covers, and these are as they were read. */
function isWanted(repositories: Repositories, row: SummaryWork): boolean {
  const { summaries, messages, unions, generations } = repositories;
  const { sessionId, level, rootId, logPosition, sourceDigest } = row;
  if (isSpan(level)) {
    const hasStandIns = row.standsIn && level !== "overview";
    const done = hasStandIns ? summaries.shownSpan(sessionId, level) : summaries.newestSpan(sessionId, level);
    return (done?.seqLast ?? -1) < row.seqLast && isUnchanged(repositories, row);
  }
  if (logPosition <= generations.newest()!.logPosition) return false;
  const from = summaries.coveredUntil({ sessionId, root: rootId });
  const entries = unions.entriesOf({ sessionId, root: rootId, from, position: logPosition });
  const steps = entries.map(({ stepId }) => stepId);
  return sourceDigestOf(messages.digestsOfSteps(steps)) === sourceDigest;
}

function isUnchanged(
  { spans }: Repositories,
  { sessionId, seqFirst, seqLast, messageCount, sourceDigest }: SummaryWork,
): boolean {
  const content = spans.contentOf(sessionId, seqFirst, seqLast);
  return content.messageCount === messageCount && content.sourceDigest === sourceDigest;
}
