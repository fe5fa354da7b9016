import { createHash } from "node:crypto";
import { StoreError } from "../core/errors.ts";
import type { Costs } from "./costs.ts";
import { Coverage } from "./coverage.ts";
import type { Repositories } from "./repositories.ts";
import type { NewSpan, SpanStrategy } from "./spans.ts";
import type { NewSummary } from "./summaries.ts";

// What can happen to summaries, each one transaction.

/** In whose name a claim is made, and from when to when it holds unless it is renewed. */
export interface Lease {
  claimant: string;
  /** By the store's clock. */
  nowMs: number;
  untilMs: number;
}

/** A claim that was made. */
export interface HeldClaim {
  table: "summaries" | "spans";
  id: number;
  claimant: string;
}

/** Why there is none: another store is at work on the same until then at least, or what was read is not what is there. */
export type NoClaim = { heldUntilMs: number } | "changed";

type ThemeWork = Omit<NewSummary, "status" | "claimant" | "claimedUntilMs">;
type SpanWork = Omit<NewSpan, "status" | "claimant" | "claimedUntilMs">;

/**
 * A theme is about to be summarized, and paid for: nobody else begins the same, or a part of it, while the claim holds.
 * Claims that have run out are taken over.
 *
 * @param rewriteCount  Of the generation, when the sources were read: whatever is forgotten changes it.
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
    for (const claim of summaries.claims(work.sessionId)) {
      if (coverage.themeOf(claim.rootId) !== work.rootId) continue;
      if (isLive(claim, lease)) return { heldUntilMs: claim.claimedUntilMs };
      summaries.delete(claim.id);
    }
    const { claimant, untilMs } = lease;
    const id = summaries.add({ ...work, status: "claimed", claimant, claimedUntilMs: untilMs });
    return { table: "summaries", id, claimant };
  });
}

/** The same for a stretch of a session. */
export function claimSpan(repositories: Repositories, work: SpanWork, lease: Lease): HeldClaim | NoClaim {
  const { database, spans } = repositories;
  return database.write("resolveDirty", () => {
    assertSession(repositories, work.sessionId);
    if (!isAsRead(repositories, work)) return "changed";
    if ((spans.newest(work.sessionId, work.strategy, "done")?.seqLast ?? -1) >= work.seqLast) return "changed";
    const claim = spans.claim(work.sessionId, work.strategy);
    if (claim !== undefined && isLive(claim, lease)) return { heldUntilMs: claim.claimedUntilMs };
    if (claim !== undefined) spans.delete(claim.id);
    const { claimant, untilMs } = lease;
    const id = spans.add({ ...work, status: "claimed", claimant, claimedUntilMs: untilMs });
    return { table: "spans", id, claimant };
  });
}

/** The work on some claims goes on. One that was lost stays lost. */
export function renewClaims(repositories: Repositories, claims: readonly HeldClaim[], untilMs: number): void {
  repositories.database.write("resolveDirty", () => {
    for (const { table, id, claimant } of claims) repositories[table].renewClaim(id, claimant, untilMs);
  });
}

/** The work on some claims was given up: others may begin it. What was paid for it by then stays known. */
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
 * What this store had claimed in a session and could not give back, when the file could not be written, is given back now.
 * To be asked only while no work of this store on the session is under way.
 */
export function releaseLeft(
  { database, summaries, spans }: Repositories,
  sessionId: string,
  strategy: "union-find" | SpanStrategy,
  claimant: string,
): void {
  const left = database.read(() => {
    if (strategy === "union-find") return summaries.claims(sessionId).filter((claim) => claim.claimant === claimant);
    const claim = spans.claim(sessionId, strategy);
    return claim?.claimant === claimant ? [claim] : [];
  });
  if (left.length === 0) return;
  const table = strategy === "union-find" ? summaries : spans;
  database.write("resolveDirty", () => {
    for (const { id } of left) table.endClaim(id, claimant);
  });
}

/**
 * A theme was summarized, or the try failed. Its claim ends.
 *
 * Who lost the claim has slept too long: a try that failed is then another's affair; a summary is kept if its messages are
 * those that were read. In any case only if no other covers as much: of two for the same the first stays. Of a forest that
 * another has taken the place of nothing is kept.
 *
 * @param claim  None of what stands in for a summary: that costs nothing.
 * @returns whether it was written.
 */
export function recordSummary(repositories: Repositories, row: NewSummary, claim?: HeldClaim): boolean {
  const { database, unions, summaries, costs } = repositories;
  return database.write("resolveDirty", () => {
    assertSession(repositories, row.sessionId);
    const isHeld = claim !== undefined && summaries.endClaim(claim.id, claim.claimant);
    const isWanted =
      row.status === "done"
        ? (isHeld || sourceDigestOf(repositories, row.rootId, row.logPosition) === row.sourceDigest) &&
          isInUse(repositories, row) &&
          !isCovered(repositories, new Coverage(unions), row)
        : isHeld;
    if (isWanted) summaries.add(row);
    else costs.discard(row.sessionId, row.summarizerId, costsOf(row));
    return isWanted;
  });
}

/**
 * A stretch of a session was summarized, or the try failed, or it is due. Its claim ends.
 *
 * @returns false, and nothing is written, if its messages are not those that were read: some have been forgotten meanwhile.
 *   Or if another process was faster and has summarized as much or more: a context must not go back to less. Or if a try
 *   failed whose claim was lost.
 */
export function recordSpan(repositories: Repositories, operation: string, row: NewSpan, claim?: HeldClaim): boolean {
  const { database, spans, costs } = repositories;
  return database.write(operation, () => {
    assertSession(repositories, row.sessionId);
    const isHeld = claim === undefined || spans.endClaim(claim.id, claim.claimant);
    const done = row.standsIn
      ? spans.shown(row.sessionId, row.strategy)
      : spans.newest(row.sessionId, row.strategy, "done");
    const isWanted =
      isAsRead(repositories, row) && (done?.seqLast ?? -1) < row.seqLast && (isHeld || row.status === "done");
    if (!isWanted) {
      if (row.summarizerId) costs.discard(row.sessionId, row.summarizerId, costsOf(row));
      return false;
    }
    // What it makes useless: with what stands in for a summary only another that does.
    const standIns = row.standsIn ? spans.standIns(row.sessionId, row.strategy) : undefined;
    spans.add(row);
    if (row.status !== "done") return true;
    for (const id of standIns ?? spans.superseded(row.sessionId, row.strategy, row.seqLast)) {
      costs.discardSpan(id);
      spans.delete(id);
    }
    return true;
  });
}

/** SHA-256, hex, over the digests of what a theme held at a log position, in order of seq. */
export function sourceDigestOf({ messages, unions }: Repositories, root: number, logPosition: number): string {
  const digest = createHash("sha256");
  for (const part of messages.digestsOfSteps(unions.stepsOf("theme", root, logPosition))) digest.update(part);
  return digest.digest("hex");
}

function assertSession({ sessions }: Repositories, sessionId: string): void {
  if (sessions.byId(sessionId) === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
}

/**
 * One that lasts much longer than any is made for was made before the clock was set back. A little longer is one that was made
 * while this process waited for its turn to write.
 */
function isLive({ claimedUntilMs }: { claimedUntilMs: number }, { nowMs, untilMs }: Lease): boolean {
  return nowMs < claimedUntilMs && claimedUntilMs - untilMs < untilMs - nowMs;
}

/** Whether it was read in the forest that is in use: a store that is embedded anew gets another. */
function isInUse({ generations }: Repositories, { logPosition }: ThemeWork): boolean {
  return logPosition > (generations.newest()?.logPosition ?? 0);
}

/** Whether a summary covers as much; of what stands in for one, also another that does. */
function isCovered({ summaries }: Repositories, coverage: Coverage, row: ThemeWork): boolean {
  return [...summaries.shown(row.sessionId), ...summaries.waiting(row.sessionId)].some(
    (other) => (row.standsIn || !other.standsIn) && coverage.covers(other, row.rootId, row.logPosition),
  );
}

function isAsRead({ spans }: Repositories, row: SpanWork): boolean {
  const { messageCount, sourceDigest } = spans.contentOf(row.sessionId, row.seqFirst, row.seqLast);
  return messageCount === row.messageCount && sourceDigest === row.sourceDigest;
}

function costsOf({ inputTokens, outputTokens, costUsd }: { [C in keyof Costs]?: Costs[C] | undefined }): Costs {
  return { inputTokens: inputTokens ?? null, outputTokens: outputTokens ?? null, costUsd: costUsd ?? null };
}
