import type { Clock } from "../core/clock.ts";
import type { ModelUsage } from "../models/usage.ts";
import { type Costs, NO_COSTS } from "../store/costs.ts";
import type { Repositories } from "../store/repositories.ts";
import type { HeldClaim, Lease, NoClaim } from "../store/write-summaries.ts";
import { type CallBudget, type Reservation, Spending } from "./call-budget.ts";
import { type ClaimedSummary, SummaryClaims } from "./claims.ts";
import { type DeferReason, emit, type OnResolveEvent, type ResolveEvent } from "./events.ts";
import { type Asker, type Consequence, consequenceOf, type Postponement } from "./next-try.ts";
import { type Outcome, planReading, type Reading, type SummarizeOptions, summarize } from "./summarize.ts";

/** Counts of themes. With `flat` and `sandwich`, the one summary of the session counts as a theme. */
export interface ResolveResult {
  /** Themes with a new summary. */
  resolved: number;
  /** Themes for which the summarizer failed or gave an unusable answer. They are tried again after a delay. */
  failed: number;
  /** Themes that grew meanwhile, and themes whose summary was not stored because messages were forgotten or another process
   *  was faster. */
  stale: number;
  /** Themes whose summary would be no shorter than its sources, or was refused. They wait until they grow or for an hour. */
  parked: number;
  /** Themes for which the summarizer was not called; see `DeferReason`. */
  deferred: number;
}

export function nothingDone(): ResolveResult {
  return { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 };
}

const NOTHING: Reservation = { callCount: 0, tokenCount: 0 };

export interface ResolveRunOptions extends Omit<SummarizeOptions, "onUsage" | "onCall"> {
  clock: Clock;
  /** Names this open store in its claims. */
  claimant: string;
  budget: CallBudget;
  onEvent?: OnResolveEvent | undefined;
}

/** Who makes a summary, and when. */
export interface Making {
  summarizerId: string;
  promptVersion: number;
  attempts: number;
  createdAtMs: number;
}

/** The columns for the result of a try. */
export interface MakingResult extends Making, Costs {
  status: "done" | "failed" | "parked";
  /** The open store whose try failed; null if it did not. */
  claimant: string | null;
  title?: string;
  text?: string;
  tokenCount?: number;
  error?: string;
  errorCode?: string | null;
  nextTryAtMs?: number | null;
  pauses?: boolean;
}

/** A summary to make. */
export interface SummaryTask {
  handle: string;
  reading: Reading;
  /** The number of this try, from 1. */
  attempts: number;
  claim(making: Making, lease: Lease): HeldClaim | NoClaim;
  /** Writes the result. @returns false if it is no longer of use. */
  record(made: MakingResult, claim: HeldClaim): boolean;
  /** Returns true if messages have joined since the sources were read. */
  hasGrown(): boolean;
}

/** One call of `resolveDirty`: its claims, its limits and its result. */
export class ResolveRun {
  readonly result = nothingDone();
  readonly options: ResolveRunOptions;
  readonly #sessionId: string;
  readonly #claims: SummaryClaims;
  /** Unix milliseconds until which the summarizer is not called. */
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

  /** When the first postponed summary may be tried again, in Unix milliseconds; undefined if unknown. */
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

  /** Counts a summary that its earlier tries postpone. */
  wait(handle: string, { kind, nextTryAtMs }: Postponement): void {
    if (kind === "deferred") return void this.#defer(handle, "backing_off", nextTryAtMs ?? undefined);
    this.result.parked += 1;
    this.#tryAgainAt(nextTryAtMs);
  }

  /**
   * Makes one summary, unless the limits, a pause or another process's claim prevent it.
   *
   * @returns false if there is none and a stand-in is needed.
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
      this.#emit("started", task.handle);
      const onCall = (tokenCount: number): void => spending.begin(tokenCount);
      const onUsage = (usage: ModelUsage): void => {
        work.costs = withUsage(work.costs, usage);
        spending.report(work.costs);
      };
      const outcome = await summarize(plan, { summarizer, tokenCounter, signal, onUsage, onCall });
      signal.throwIfAborted();
      return this.#finish(task, work, outcome);
    } finally {
      budget.release(reserved, summarizer.isLocal ? NOTHING : spending);
    }
  }

  /** Reports a stand-in. */
  stoodIn(handle: string, tokenCount: number): void {
    this.#emit("stood_in", handle, { tokenCount });
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
      this.#emit("resolved", task.handle, { tokenCount: ending.tokenCount, isStale, ...costs });
      return true;
    }
    const { status, error, errorCode, nextTryAtMs, pauses } = ending;
    if (pauses) this.#stoppedUntilMs = nextTryAtMs ?? undefined;
    this.result[status] += 1;
    this.#tryAgainAt(nextTryAtMs);
    const more = { ...(errorCode !== null && { errorCode }), ...(nextTryAtMs !== null && { nextTryAtMs }) };
    this.#emit(status, task.handle, { error, ...more, ...costs });
    return outcome.status === "inflated"; // contexts show the sources instead
  }

  #defer(handle: string, reason: DeferReason, nextTryAtMs: number | undefined): false {
    this.result.deferred += 1;
    this.#tryAgainAt(nextTryAtMs ?? null);
    this.#emit("deferred", handle, { reason, ...(nextTryAtMs !== undefined && { nextTryAtMs }) });
    return false;
  }

  #tryAgainAt(nextTryAtMs: number | null): void {
    if (nextTryAtMs === null) return;
    this.#nextTryAtMs = Math.min(nextTryAtMs, this.#nextTryAtMs ?? nextTryAtMs);
  }

  #emit(kind: ResolveEvent["kind"], handle: string, more: Partial<ResolveEvent> = {}): void {
    emit(this.options.onEvent, { kind, sessionId: this.#sessionId, handle, ...more });
  }
}

/** Returns the columns for an outcome. */
function endingOf(
  outcome: Outcome,
  { attempts, createdAtMs }: Making,
): { status: "done"; title: string; text: string; tokenCount: number } | Consequence {
  if (outcome.status === "done") return outcome;
  if (outcome.status === "failed") return consequenceOf(outcome.error, attempts, createdAtMs, Math.random());
  return { status: "parked", error: outcome.error, errorCode: null, nextTryAtMs: null, pauses: false };
}

/** Adds usage to costs. A summarizer of the caller may report anything; a value that is not a valid number counts as 0. */
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
