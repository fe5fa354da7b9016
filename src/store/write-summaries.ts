import { createHash } from "node:crypto";
import { StoreError } from "../core/errors.ts";
import { heldUntilMs, type Lease } from "./claimant.ts";
import type { Costs } from "./costs.ts";
import { Coverage } from "./coverage.ts";
import type { Repositories } from "./repositories.ts";
import type { NewSpan, SpanStrategy } from "./spans.ts";
import type { NewSummary } from "./summaries.ts";

// The events that concern summaries. Each exported function that writes is one transaction.

export interface HeldClaim {
  table: "summaries" | "spans";
  id: number;
  claimant: string;
}

/** Why no claim was made: another store holds one, or the messages have changed since they were read. */
export type NoClaim = { heldUntilMs: number } | "changed";

type ThemeWork = Omit<NewSummary, "status" | "claimant" | "claimedUntilMs">;
type SpanWork = Omit<NewSpan, "status" | "claimant" | "claimedUntilMs">;

/**
 * Claims a theme before a model is paid to summarize it. While the claim holds, no other store summarizes the theme or
 * a part of it. `rewriteCount` is the generation's count when the messages were read.
 */
export function claimTheme(
  repositories: Repositories,
  work: ThemeWork,
  rewriteCount: number,
  lease: Lease,
): HeldClaim | NoClaim {
  const { database, unions, summaries, generations } = repositories;
  return database.write("resolveDirty", () => {
    assertSession(repositories, work.sessionId);
    const coverage = new Coverage(unions);
    if (generations.newest()?.rewriteCount !== rewriteCount || !isInUse(repositories, work)) return "changed";
    if (coverage.themeOf(work.rootId) !== work.rootId || isCovered(repositories, coverage, work)) return "changed";
    const claims = summaries.claims(work.sessionId).filter(({ rootId }) => coverage.themeOf(rootId) === work.rootId);
    const held = discardLost(summaries, claims, lease);
    if (held !== undefined) return held;
    const { claimant, untilMs } = lease;
    const id = summaries.add({ ...work, status: "claimed", claimant, claimedUntilMs: untilMs });
    return { table: "summaries", id, claimant };
  });
}

export function claimSpan(repositories: Repositories, work: SpanWork, lease: Lease): HeldClaim | NoClaim {
  const { database, spans } = repositories;
  return database.write("resolveDirty", () => {
    assertSession(repositories, work.sessionId);
    if (!isUnchanged(repositories, work)) return "changed";
    if ((spans.newest(work.sessionId, work.strategy, "done")?.seqLast ?? -1) >= work.seqLast) return "changed";
    const held = discardLost(spans, spans.claims(work.sessionId, work.strategy), lease);
    if (held !== undefined) return held;
    const { claimant, untilMs } = lease;
    const id = spans.add({ ...work, status: "claimed", claimant, claimedUntilMs: untilMs });
    return { table: "spans", id, claimant };
  });
}

/** Deletes claims that no longer hold. Returns the first one that does, if there is one. */
function discardLost(
  repository: { discard(ids: readonly number[]): void },
  claims: readonly { id: number; claimant: string; claimedUntilMs: number }[],
  lease: Lease,
): { heldUntilMs: number } | undefined {
  for (const claim of claims) {
    const untilMs = heldUntilMs(claim, lease);
    if (untilMs !== undefined) return { heldUntilMs: untilMs };
    repository.discard([claim.id]);
  }
  return undefined;
}

/** @returns false if one of the claims was lost. */
export function renewClaims(repositories: Repositories, claims: readonly HeldClaim[], untilMs: number): boolean {
  return repositories.database.write("resolveDirty", () =>
    claims
      .map(({ table, id, claimant }) => repositories[table].renewClaim(id, claimant, untilMs))
      .every((isHeld) => isHeld),
  );
}

/** Releases the claims on work that was given up, and records its costs. */
export function releaseClaims(
  repositories: Repositories,
  claims: readonly { claim: HeldClaim; sessionId: string; summarizerId: string; costs: Costs }[],
): void {
  const { database, sessions } = repositories;
  database.write("resolveDirty", () => {
    for (const { claim, sessionId, summarizerId, costs } of claims) {
      repositories[claim.table].endClaim(claim.id, claim.claimant);
      if (sessions.byId(sessionId) !== undefined) repositories.costs.discard(sessionId, summarizerId, costs);
    }
  });
}

/**
 * Releases claims that this store could not release before, because the file could not be written. Call it only while
 * no work of this store on the session is under way.
 */
export function releaseLeftoverClaims(
  repositories: Repositories,
  sessionId: string,
  strategy: "union-find" | SpanStrategy,
  claimant: string,
): void {
  const { database, summaries, spans } = repositories;
  const leftover = database
    .read(() => (strategy === "union-find" ? summaries.claims(sessionId) : spans.claims(sessionId, strategy)))
    .filter((claim) => claim.claimant === claimant);
  if (leftover.length === 0) return;
  database.write("resolveDirty", () => {
    for (const { id } of leftover) (strategy === "union-find" ? summaries : spans).endClaim(id, claimant);
  });
}

/**
 * Records a summary of a theme, or a failed attempt, and ends its claim. A stand-in costs nothing and needs no claim.
 * Nothing is recorded if another summary covers at least as much, or if another generation is in use. After a lost
 * claim, only a summary of unchanged messages is recorded.
 *
 * @returns true if the row was written.
 */
export function recordSummary(repositories: Repositories, row: NewSummary, claim?: HeldClaim): boolean {
  const { database, unions, summaries, costs } = repositories;
  return database.write("resolveDirty", () => {
    assertSession(repositories, row.sessionId);
    const wasHeld = claim !== undefined && summaries.endClaim(claim.id, claim.claimant);
    const isWanted =
      row.status === "done"
        ? (wasHeld || sourceDigestOf(repositories, row.rootId, row.logPosition) === row.sourceDigest) &&
          isInUse(repositories, row) &&
          !isCovered(repositories, new Coverage(unions), row)
        : wasHeld;
    if (isWanted) summaries.add(row);
    else costs.discard(row.sessionId, row.summarizerId, row);
    return isWanted;
  });
}

/**
 * Records a row for a span and ends its claim. Returns false if nothing was written: messages were forgotten, another
 * summary covers at least as much, or an attempt failed after its claim was lost.
 */
export function recordSpan(repositories: Repositories, operation: string, row: NewSpan, claim?: HeldClaim): boolean {
  const { database, spans, costs } = repositories;
  return database.write(operation, () => {
    assertSession(repositories, row.sessionId);
    const wasHeld = claim === undefined || spans.endClaim(claim.id, claim.claimant);
    const done = row.standsIn
      ? spans.shown(row.sessionId, row.strategy)
      : spans.newest(row.sessionId, row.strategy, "done");
    const isWanted =
      isUnchanged(repositories, row) && (done?.seqLast ?? -1) < row.seqLast && (wasHeld || row.status === "done");
    if (!isWanted) {
      if (row.summarizerId) costs.discard(row.sessionId, row.summarizerId, row);
      return false;
    }
    const id = spans.add(row);
    if (row.status === "done") spans.discard(spans.superseded(id, row));
    return true;
  });
}

/** Returns the SHA-256, in hex, of the digests of a theme's messages at a log position, in order of seq. */
export function sourceDigestOf({ messages, unions }: Repositories, root: number, logPosition: number): string {
  const digest = createHash("sha256");
  for (const part of messages.digestsOfSteps(unions.stepsOf("theme", root, logPosition))) digest.update(part);
  return digest.digest("hex");
}

function assertSession({ sessions }: Repositories, sessionId: string): void {
  if (sessions.byId(sessionId) === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
}

function isInUse({ generations }: Repositories, { logPosition }: ThemeWork): boolean {
  return logPosition > (generations.newest()?.logPosition ?? 0);
}

/** A stored stand-in covers only other stand-ins. */
function isCovered({ summaries }: Repositories, coverage: Coverage, row: ThemeWork): boolean {
  return [...summaries.shown(row.sessionId), ...summaries.waiting(row.sessionId)].some(
    (other) => (row.standsIn || !other.standsIn) && coverage.covers(other, row.rootId, row.logPosition),
  );
}

/** Returns true if a span holds the messages that were read. */
function isUnchanged({ spans }: Repositories, row: SpanWork): boolean {
  const { messageCount, sourceDigest } = spans.contentOf(row.sessionId, row.seqFirst, row.seqLast);
  return messageCount === row.messageCount && sourceDigest === row.sourceDigest;
}
