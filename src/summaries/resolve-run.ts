import type { Clock } from "../core/clock.ts";
import type { ModelUsage } from "../models/usage.ts";
import { type Costs, NO_COSTS } from "../store/costs.ts";
import type { Repositories } from "../store/repositories.ts";
import type { HeldClaim, Lease, NoClaim } from "../store/write-summaries.ts";
import { type CallBudget, type Reservation, Spending } from "./call-budget.ts";
import { type ClaimedSummary, SummaryClaims } from "./claims.ts";
import { type DeferReason, type OnResolveEvent, type ResolveEvent, tell } from "./events.ts";
import { type Asker, type Consequence, consequenceOf, type Postponement } from "./next-try.ts";
import { type Outcome, planReading, type Reading, type SummarizeOptions, summarize } from "./summarize.ts";

/** How many themes went which way; of `flat` and `sandwich`, whose summary is one, that one. */
export interface ResolveResult {
  /** Have a new summary. */
  resolved: number;
  /** The summarizer failed or answered what cannot be used; tried again after a while. */
  failed: number;
  /** Of `resolved`: grew while they were being summarized, so they are dirty again. Also those whose summary was not kept,
   *  because messages were forgotten or another process was faster. */
  stale: number;
  /** Cannot be made shorter than they are, or were refused; left alone until they grow, or until their next try. */
  parked: number;
  /** Not asked for: their last try failed a moment ago, another process is at them, they may cost more than the limits leave,
   *  or the service wants to be left alone. */
  deferred: number;
}

export function nothingDone(): ResolveResult {
  return { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 };
}

const NOTHING: Reservation = { callCount: 0, tokenCount: 0 };

export interface ResolveRunOptions extends Omit<SummarizeOptions, "onUsage" | "onCall"> {
  clock: Clock;
  /** Names the open store in its claims. */
  claimant: string;
  budget: CallBudget;
  onEvent?: OnResolveEvent | undefined;
}

/** Who makes a summary, and when: what the rows of themes and stretches say alike. */
export interface Making {
  summarizerId: string;
  promptVersion: number;
  attempts: number;
  createdAtMs: number;
}

/** How it went. */
export interface MakingResult extends Making, Costs {
  status: "done" | "failed" | "parked";
  /** Who has tried in vain. */
  claimant: string | null;
  title?: string;
  text?: string;
  tokenCount?: number;
  error?: string;
  errorCode?: string | null;
  nextTryAtMs?: number | null;
  pauses?: boolean;
}

/** One summary to be made. */
export interface SummaryTask {
  handle: string;
  reading: Reading;
  /** The how-manyth try. */
  attempts: number;
  claim(making: Making, lease: Lease): HeldClaim | NoClaim;
  /** @returns whether it was written. */
  record(made: MakingResult, claim: HeldClaim): boolean;
  /** Whether more has come to be summarized since it was read. */
  hasGrown(): boolean;
}

/** One `resolveDirty`: what it may still do, whom it tells, and what came of it. */
export class ResolveRun {
  readonly result = nothingDone();
  readonly options: ResolveRunOptions;
  readonly #sessionId: string;
  readonly #claims: SummaryClaims;
  /** Until when nobody is asked any more. */
  #stoppedUntilMs: number | undefined;
  #nextTryAtMs: number | undefined;

  constructor(repositories: Repositories, sessionId: string, options: ResolveRunOptions) {
    this.options = options;
    this.#sessionId = sessionId;
    const { summarizerId, claimant, nowMs } = this.asker();
    this.#stoppedUntilMs = repositories.database.read(() =>
      repositories.summaries.pausedUntil(summarizerId, claimant, nowMs),
    );
    this.#claims = new SummaryClaims(repositories, options.clock, options.claimant, options.signal);
  }

  /** When the first of what was not summarized may be tried again; undefined where nobody can say. */
  get nextTryAtMs(): number | undefined {
    return this.#nextTryAtMs;
  }

  asker(): Asker {
    const { summarizer, claimant, clock } = this.options;
    return { summarizerId: summarizer.id, promptVersion: summarizer.promptVersion, claimant, nowMs: clock() };
  }

  end(): void {
    this.#claims.end();
  }

  /** Its earlier tries say that it is not to be tried now. */
  wait(handle: string, { kind, nextTryAtMs }: Postponement): void {
    if (kind === "deferred") return void this.#defer(handle, "backing_off", nextTryAtMs ?? undefined);
    this.result.parked += 1;
    this.#tryAgainAt(nextTryAtMs);
  }

  /**
   * Make one summary, unless limits, a stop or another's claim keep it from being made.
   *
   * @returns false where there is none and another may stand in for it.
   * @throws the signal's reason if it is aborted; what the store throws.
   */
  async work(task: SummaryTask): Promise<boolean> {
    const { signal, summarizer, tokenCounter, budget } = this.options;
    signal.throwIfAborted();
    if (this.#stoppedUntilMs !== undefined) return this.#defer(task.handle, "stopped", this.#stoppedUntilMs);
    const plan = planReading(task.reading, (text) => tokenCounter.count(text));
    const reserved = summarizer.isLocal ? NOTHING : plan.estimate;
    if (!budget.reserve(reserved)) return this.#defer(task.handle, "limit", undefined);
    const spending = new Spending();
    try {
      const work = this.#begin(task);
      if (work === "changed") return true;
      if ("heldUntilMs" in work) return this.#defer(task.handle, "claimed", work.heldUntilMs);
      this.#tell("started", task.handle);
      const onCall = (tokenCount: number): void => spending.begin(tokenCount);
      const onUsage = (usage: ModelUsage): void => {
        work.costs = withUsage(work.costs, usage);
        spending.report(work.costs);
      };
      const outcome = await summarize(plan, { summarizer, tokenCounter, signal, onUsage, onCall });
      signal.throwIfAborted();
      return this.#finish(task, work, outcome);
    } finally {
      budget.settle(reserved, summarizer.isLocal ? NOTHING : spending);
    }
  }

  /** A summary stands in for one that could not be made. */
  stoodIn(handle: string, tokenCount: number): void {
    this.#tell("stood_in", handle, { tokenCount });
  }

  #begin(task: SummaryTask): ClaimedSummary | NoClaim {
    const claim = task.claim(this.#making(task), this.#claims.lease());
    if (claim === "changed" || "heldUntilMs" in claim) return claim;
    const { id: summarizerId } = this.options.summarizer;
    const work = { claim, sessionId: this.#sessionId, summarizerId, costs: NO_COSTS };
    this.#claims.hold(work);
    return work;
  }

  #making({ attempts }: SummaryTask): Making {
    const { summarizer, clock } = this.options;
    return { summarizerId: summarizer.id, promptVersion: summarizer.promptVersion, attempts, createdAtMs: clock() };
  }

  #finish(task: SummaryTask, work: ClaimedSummary, outcome: Outcome): boolean {
    const making = this.#making(task);
    const ending = endingOf(outcome, making);
    const claimant = ending.status === "done" ? null : work.claim.claimant;
    const isWritten = task.record({ ...making, ...work.costs, ...ending, claimant }, work.claim);
    this.#claims.drop(work);
    const costs = eventCosts(work.costs);
    if (ending.status === "done") {
      const isStale = !isWritten || task.hasGrown();
      if (isWritten) this.result.resolved += 1;
      if (isStale) {
        this.result.stale += 1;
        this.#tryAgainAt(making.createdAtMs);
      }
      this.#tell("resolved", task.handle, { tokenCount: ending.tokenCount, isStale, ...costs });
      return true;
    }
    const { status, error, errorCode, nextTryAtMs, pauses } = ending;
    if (pauses) this.#stoppedUntilMs = nextTryAtMs ?? undefined;
    this.result[status] += 1;
    this.#tryAgainAt(nextTryAtMs);
    const more = { ...(errorCode !== null && { errorCode }), ...(nextTryAtMs !== null && { nextTryAtMs }) };
    this.#tell(status, task.handle, { error, ...more, ...costs });
    return outcome.status === "inflated"; // then its sources are shown
  }

  #defer(handle: string, reason: DeferReason, nextTryAtMs: number | undefined): false {
    this.result.deferred += 1;
    this.#tryAgainAt(nextTryAtMs ?? null);
    this.#tell("deferred", handle, { reason, ...(nextTryAtMs !== undefined && { nextTryAtMs }) });
    return false;
  }

  #tryAgainAt(nextTryAtMs: number | null): void {
    if (nextTryAtMs === null) return;
    this.#nextTryAtMs = Math.min(nextTryAtMs, this.#nextTryAtMs ?? nextTryAtMs);
  }

  #tell(kind: ResolveEvent["kind"], handle: string, more: Partial<ResolveEvent> = {}): void {
    tell(this.options.onEvent, { kind, sessionId: this.#sessionId, handle, ...more });
  }
}

/** What a row says of an outcome. */
function endingOf(
  outcome: Outcome,
  { attempts, createdAtMs }: Making,
): { status: "done"; title: string; text: string; tokenCount: number } | Consequence {
  if (outcome.status === "done") return outcome;
  if (outcome.status === "failed") return consequenceOf(outcome.error, attempts, createdAtMs, Math.random());
  return { status: "parked", error: outcome.error, errorCode: null, nextTryAtMs: null, pauses: false };
}

/** What is no number of tokens or dollars counts for nothing: a summarizer of the caller's own may say anything. */
function withUsage(before: Costs, { inputTokens, outputTokens, costUsd }: ModelUsage): Costs {
  const isPrice = costUsd !== undefined && costUsd >= 0 && costUsd < Number.POSITIVE_INFINITY;
  return {
    inputTokens: (before.inputTokens ?? 0) + wholeTokens(inputTokens),
    outputTokens: (before.outputTokens ?? 0) + wholeTokens(outputTokens),
    costUsd: isPrice ? (before.costUsd ?? 0) + costUsd : before.costUsd,
  };
}

function wholeTokens(count: number): number {
  return count > 0 && count <= Number.MAX_SAFE_INTEGER ? Math.ceil(count) : 0;
}

function eventCosts({ inputTokens, outputTokens, costUsd }: Costs): Partial<ResolveEvent> {
  return {
    ...(inputTokens !== null && { inputTokens }),
    ...(outputTokens !== null && { outputTokens }),
    ...(costUsd !== null && { costUsd }),
  };
}
