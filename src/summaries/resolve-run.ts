import type { SessionSettings } from "../core/options.ts";
import { extractiveSummarizer } from "../models/extractive-summarizer.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { ModelUsage } from "../models/usage.ts";
import type { Lease } from "../store/claimant.ts";
import { type Costs, NO_COSTS } from "../store/costs.ts";
import type { Repositories } from "../store/repositories.ts";
import type { NewSummary } from "../store/summaries.ts";
import type { HeldClaim, NoClaim } from "../store/write-summaries.ts";
import { type CallBudget, Spending } from "./call-budget.ts";
import { type ClaimedSummary, type ClaimsOptions, SummaryClaims } from "./claims.ts";
import type { DeferReason, OnResolveEvent, ResolveEvent } from "./events.ts";
import { type Asker, consequenceOf, type Postponement } from "./next-try.ts";
import { type Outcome, planReading, type Reading, type SummarizeOptions, summarize } from "./summarize.ts";

const STAND_IN = extractiveSummarizer();

/** Counts of themes. With `flat` and `sandwich`, the one summary of the session counts as a theme. */
export interface ResolveResult {
  /** Themes with a new summary. */
  resolved: number;
  /** Themes for which the summarizer failed or gave an unusable answer. They are tried again after a delay. */
  failed: number;
  /** Themes that grew meanwhile, or whose messages were forgotten or summarized by another process meanwhile. */
  stale: number;
  /** Themes whose summary was refused, or was not shorter than its sources. They wait until they grow, or for an hour. */
  parked: number;
  /** Themes for which the summarizer was not called; see `DeferReason`. */
  deferred: number;
}

export function nothingDone(): ResolveResult {
  return { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 };
}

export interface ResolveRunOptions extends ClaimsOptions, Omit<SummarizeOptions, "onUsage" | "onCall" | "onSend"> {
  budget: CallBudget;
  onEvent?: OnResolveEvent | undefined;
}

type Making = Pick<NewSummary, "summarizerId" | "promptVersion" | "attempts" | "createdAtMs">;

type MakingResult = Making &
  Costs &
  Pick<NewSummary, "title" | "text" | "tokenCount" | "error" | "errorCode" | "nextTryAtMs" | "pauses"> &
  Pick<NewSummary, "claimant" | "standsIn"> & { status: "done" | "failed" | "parked" };

export interface SummaryTask {
  handle: string;
  reading: Reading;
  /** The number of this try, from 1. */
  attempts: number;
  claim(making: Making, lease: Lease): HeldClaim | NoClaim;
  /** Writes the result. A stand-in has no claim. @returns false if the result is of no more use. */
  record(made: MakingResult, claim?: HeldClaim): boolean;
  /** Returns true if messages have joined since the sources were read. */
  hasGrown(): boolean;
}

export interface SummaryContext {
  repositories: Repositories;
  sessionId: string;
  settings: SessionSettings;
  tokensMax: number;
  /** The step that may still get tool results. */
  openStepId: number | undefined;
  summarizer: Summarizer;
}

export interface DueSummary {
  id: number;
  handle: string;
  /** Why the summary is not made now; undefined if it is. */
  wait: Postponement | undefined;
}

/**
 * The summaries of one session and strategy that are due. The `Asker` is the summarizer that would make them.
 *
 * Without an `Asker`, the summaries are those that contexts need a stand-in for. Earlier stand-ins then count as summaries.
 */
export interface DueSummaries {
  list(asker: Asker | undefined): DueSummary[];
  /** Reads the sources of a summary. @returns undefined if the summary is no longer due, or must wait. */
  task(id: number, asker: Asker | undefined): SummaryTask | undefined;
}

/** One call of `resolveDirty`. No transaction is open while a summarizer works. */
export class ResolveRun {
  readonly result = nothingDone();
  /** When the first postponed summary may be tried again, in Unix milliseconds; undefined if unknown. */
  nextTryAtMs: number | undefined;
  readonly options: ResolveRunOptions;
  readonly #claims: SummaryClaims;
  /** The summarizer is not called before this time, in Unix milliseconds. */
  #stoppedUntilMs: number | undefined;

  constructor(options: ResolveRunOptions) {
    this.options = options;
    const { database, summaries } = options.repositories;
    const { summarizerId, claimant, nowMs } = this.asker();
    this.#stoppedUntilMs = database.read(() => summaries.pausedUntil(summarizerId, claimant, nowMs));
    this.#claims = new SummaryClaims(options);
  }

  asker(): Asker {
    const { summarizer, claimant, clock } = this.options;
    return { summarizerId: summarizer.id, promptVersion: summarizer.promptVersion, claimant, nowMs: clock() };
  }

  end(): void {
    this.#claims.end();
  }

  /** Counts a summary that an earlier try postpones. */
  wait(handle: string, { kind, nextTryAtMs }: Postponement): void {
    if (kind === "deferred") return void this.#defer(handle, "backing_off", nextTryAtMs ?? undefined);
    this.result.parked += 1;
    this.#tryAgainAt(nextTryAtMs);
  }

  /**
   * Makes one summary, unless a limit, a pause or another process's claim prevents it.
   * @returns false if a stand-in is needed.
   */
  async work(task: SummaryTask): Promise<boolean> {
    const { signal, summarizer, tokenCounter, budget } = this.options;
    signal.throwIfAborted();
    if (this.#stoppedUntilMs !== undefined) return this.#defer(task.handle, "stopped", this.#stoppedUntilMs);
    const plan = planReading(task.reading, tokenCounter);
    if (!budget.reserve(plan.estimate)) return this.#defer(task.handle, "limit", undefined);
    const spending = new Spending();
    try {
      const work = this.#claims.claim((lease) => task.claim(this.#making(summarizer, task.attempts), lease));
      if (work === "changed") return true;
      if ("heldUntilMs" in work) return this.#defer(task.handle, "claimed", work.heldUntilMs);
      this.#emit("started", task.handle);
      const onSend = (): void => this.#claims.hold(work);
      const onCall = (tokenCount: number): void => {
        if (!summarizer.isLocal) onSend();
        spending.begin(tokenCount);
      };
      const onUsage = (usage: ModelUsage): void => {
        work.costs = withUsage(work.costs, usage);
        spending.report(work.costs);
      };
      const outcome = await summarize(plan, { summarizer, tokenCounter, signal, onUsage, onCall, onSend });
      signal.throwIfAborted();
      if (work.storeError !== undefined) throw work.storeError; // the summarizer did not fail
      if (!work.isLost) return this.#finish(task, work, outcome);
      this.#claims.giveUp(work);
      return this.#defer(task.handle, "claimed", this.options.clock());
    } finally {
      budget.release(plan.estimate, spending);
    }
  }

  /** Makes a summary with the extractive summarizer. Nothing is recorded if it fails, or is not shorter than its sources. */
  async standIn({ handle, reading, record }: SummaryTask): Promise<void> {
    const { signal, tokenCounter } = this.options;
    const plan = planReading(reading, tokenCounter);
    const outcome = await summarize(plan, { summarizer: STAND_IN, tokenCounter, signal });
    signal.throwIfAborted();
    if (outcome.status !== "done") return;
    const made = { ...this.#making(STAND_IN, 1), ...NO_COSTS, ...outcome, claimant: null, standsIn: true };
    if (record(made)) this.#emit("stood_in", handle, { tokenCount: outcome.tokenCount });
  }

  #making({ id, promptVersion }: Summarizer, attempts: number): Making {
    return { summarizerId: id, promptVersion, attempts, createdAtMs: this.options.clock() };
  }

  #finish(task: SummaryTask, work: ClaimedSummary, outcome: Outcome): boolean {
    const making = this.#making(this.options.summarizer, task.attempts);
    const ending =
      outcome.status === "failed"
        ? consequenceOf(outcome.error, task.attempts, making.createdAtMs, Math.random())
        : outcome;
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
    return outcome.status === "parked"; // contexts show the sources instead
  }

  #defer(handle: string, reason: DeferReason, nextTryAtMs: number | undefined): false {
    this.result.deferred += 1;
    this.#tryAgainAt(nextTryAtMs ?? null);
    this.#emit("deferred", handle, { reason, ...(nextTryAtMs !== undefined && { nextTryAtMs }) });
    return false;
  }

  #tryAgainAt(nextTryAtMs: number | null): void {
    if (nextTryAtMs === null) return;
    this.nextTryAtMs = Math.min(nextTryAtMs, this.nextTryAtMs ?? nextTryAtMs);
  }

  #emit(kind: ResolveEvent["kind"], handle: string, more: Partial<ResolveEvent> = {}): void {
    const { onEvent, sessionId } = this.options;
    const emit = async (): Promise<void> => onEvent?.({ kind, sessionId, handle, ...more });
    // The listener may be an async function.
    void emit().catch((error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.emitWarning(`A listener of resolveDirty has failed: ${text}`, "CoppiceWarning");
    });
  }
}

/** Adds usage to costs. Invalid numbers count as 0, because a summarizer of the caller may report anything. */
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
