import { StoreError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import { extractiveSummarizer } from "../models/extractive-summarizer.ts";
import type { ModelUsage, Summarizer } from "../models/summarizer.ts";
import {
  type Costs,
  claimSummaries,
  type HeldClaim,
  type NewSummary,
  NO_COSTS,
  type Repositories,
  recordSummaries,
  type SummaryWork,
} from "../store/index.ts";
import { type CallBudget, Spending } from "./call-budget.ts";
import { type ClaimedSummary, type ClaimsOptions, SummaryClaims } from "./claims.ts";
import type { DeferReason, OnResolveEvent, ResolveEvent } from "./events.ts";
import { type Asker, type Consequence, consequenceOf, type Postponement } from "./next-try.ts";
import { sharedTexts } from "./shared-reply.ts";
import { type Outcome, planReading, type Reading, type SummarizeOptions, summarize } from "./summarize.ts";

const STAND_IN = extractiveSummarizer();

/** Counts of clusters. An overview counts as a cluster, and so does the one summary of the session with `flat` and `sandwich`. */
export interface ResolveResult {
  /** Clusters with a new summary. */
  resolved: number;
  /** Clusters for which the summarizer failed or gave an unusable answer. They are tried again after a delay. */
  failed: number;
  /** Clusters whose messages were forgotten, or summarized by another process, before the summary was made. */
  stale: number;
  /** Clusters whose summary was refused, or was not shorter than its sources. They wait until they grow, or for an hour. */
  parked: number;
  /** Clusters for which the summarizer was not called; see `DeferReason`. */
  deferred: number;
  /** The summarizer's newest error in this call, if there was one; with the code of a `StoreError`. */
  lastError?: { message: string; code?: string };
}

export function nothingDone(): ResolveResult {
  return { resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 };
}

export interface ResolveRunOptions extends ClaimsOptions, Omit<SummarizeOptions, "onUsage" | "onCall" | "onSend"> {
  budget: CallBudget;
  onEvent?: OnResolveEvent | undefined;
}

/** A cluster or span of one call. */
export interface SummaryMember {
  handle: string;
  /** The title if the call has several members. */
  title: string;
  work: Omit<SummaryWork, keyof Making>;
  /** The messages to read, in order. */
  sources: readonly Message[];
}

/** One call of the summarizer. */
export interface SummaryTask extends Pick<Reading, "previous" | "tokensMax"> {
  members: readonly SummaryMember[];
  /** The number of this try, from 1. */
  attempts: number;
}

type Making = Pick<NewSummary, "summarizerId" | "promptVersion" | "attempts" | "createdAtMs">;

export interface SummaryContext {
  repositories: Repositories;
  sessionId: string;
  settings: SessionSettings;
  tokensMax: number;
  /** The step that may still get tool results. */
  openStepId: number | undefined;
  summarizer: Summarizer;
  /** Returns what is known of the messages before the window. */
  past: () => Past;
}

export interface Past {
  /** The first seq of the window. */
  seqEnd: number;
  /** At most so many tokens have the messages before the window. */
  tokenCountMax: number;
  /** Returns true if tools are called in them. */
  isWork(): boolean;
  /**
   * Returns the messages of which the story tells something, each with the sentences that it tells as its text, in at most about
   * `tokensMax` tokens.
   */
  told(tokensMax: number): Message[];
}

/** The summaries that one call would make. */
export interface DueCall {
  keys: readonly number[];
  handles: readonly string[];
  /** Why the summaries are not made now; undefined if they are. */
  wait: Postponement | undefined;
  /** True if others of the same keys are due once these are made. */
  hasMore?: boolean;
}

/**
 * The summaries of one session and strategy that are due. The `Asker` is the summarizer that would make them.
 *
 * Without an `Asker`, the summaries are those for which contexts need a stand-in. Earlier stand-ins then count as summaries.
 */
export interface DueSummaries {
  list(asker: Asker | undefined): DueCall[];
  /** Reads the sources. @returns undefined if none of the summaries is due any more, or if all must wait. */
  task(keys: readonly number[], asker: Asker | undefined): SummaryTask | undefined;
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
    this.#stoppedUntilMs = database.read(() => summaries.pausedUntil(this.asker())) ?? undefined;
    this.#claims = new SummaryClaims(options);
  }

  asker(): Asker {
    const { summarizer, claimant, clock } = this.options;
    return { summarizerId: summarizer.id, promptVersion: summarizer.promptVersion, claimant, nowMs: clock() };
  }

  end(): void {
    this.#claims.end();
  }

  /** Counts summaries that an earlier try postpones. */
  wait({ handles, wait }: DueCall): void {
    const { kind, nextTryAtMs } = wait!;
    if (kind === "deferred") return void this.#defer(handles, "backing_off", nextTryAtMs ?? undefined);
    this.result.parked += handles.length;
    this.#tryAgainAt(nextTryAtMs);
  }

  /**
   * Makes the summaries of one call, unless a limit, a pause or another process's claim prevents it.
   * @returns false if stand-ins are needed.
   */
  async work(task: SummaryTask): Promise<boolean> {
    const { repositories, sessionId, signal, summarizer, tokenCounter, budget } = this.options;
    const handles = task.members.map(({ handle }) => handle);
    signal.throwIfAborted();
    if (this.#stoppedUntilMs !== undefined) return this.#defer(handles, "stopped", this.#stoppedUntilMs);
    const plan = planReading(readingOf(task), tokenCounter);
    if (!budget.reserve(plan.estimate)) return this.#defer(handles, "limit", undefined);
    const spending = new Spending();
    try {
      const making = this.#making(summarizer, task.attempts);
      const works = task.members.map(({ work }) => ({ ...work, ...making }));
      const claimed = this.#claims.claim((lease) => claimSummaries(repositories, works, lease));
      if (claimed === "changed") return true;
      if ("heldUntilMs" in claimed) return this.#defer(handles, "claimed", claimed.heldUntilMs);
      for (const handle of handles) this.#emit("started", handle);
      const onSend = (): void => this.#claims.hold(claimed);
      const onCall = (tokenCount: number): void => {
        if (!summarizer.isLocal) onSend();
        spending.begin(tokenCount);
      };
      const onUsage = (usage: ModelUsage): void => {
        claimed.costs = withUsage(claimed.costs, usage);
        spending.report(claimed.costs);
      };
      const options = { sessionId, summarizer, tokenCounter, signal, onUsage, onCall, onSend };
      const outcome = await summarize(plan, options);
      signal.throwIfAborted();
      if (claimed.storeError !== undefined) throw claimed.storeError; // the summarizer did not fail
      if (!claimed.isLost) return await this.#finish(task, claimed, outcome);
      this.#claims.giveUp(claimed);
      return this.#defer(handles, "claimed", this.options.clock());
    } finally {
      budget.release(plan.estimate, spending);
    }
  }

  /** Makes a summary with the extractive summarizer. Nothing is recorded if it fails, or is not shorter than its sources. */
  async standIn(task: SummaryTask): Promise<void> {
    const { repositories, sessionId, signal, tokenCounter } = this.options;
    const [{ handle, work }] = task.members as [SummaryMember];
    const plan = planReading(readingOf(task), tokenCounter);
    const outcome = await summarize(plan, { sessionId, summarizer: STAND_IN, tokenCounter, signal });
    signal.throwIfAborted();
    if (outcome.status !== "done") return;
    const row = { ...work, ...this.#making(STAND_IN, 1), ...outcome, standsIn: true };
    const [isWritten] = recordSummaries(repositories, "resolveDirty", [row]);
    if (isWritten) this.#emit("stood_in", handle, { tokenCount: outcome.tokenCount });
  }

  #making({ id, promptVersion }: Summarizer, attempts: number): Making {
    return { summarizerId: id, promptVersion, attempts, createdAtMs: this.options.clock() };
  }

  async #finish({ members, attempts }: SummaryTask, claimed: ClaimedSummary, answer: Outcome): Promise<boolean> {
    const { repositories, summarizer, tokenCounter } = this.options;
    const making = this.#making(summarizer, attempts);
    const isShared = members.length > 1;
    const texts =
      isShared && answer.status === "done"
        ? sharedTexts(
            answer.text,
            members.map(({ sources }) => sources.map(({ seq }) => seq)),
          )
        : undefined;
    const outcome: Outcome = texts?.every((text) => text === "")
      ? {
          status: "failed",
          error: new StoreError("MODEL_ANSWER_INVALID", {
            model: summarizer.id,
            reason: "no statement cites the messages of exactly one cluster",
          }),
        }
      : answer;
    const ending = outcome.status === "failed" ? this.#failure(outcome.error, making, isShared) : outcome;
    const rows = members.map(({ work, title }, index): NewSummary => {
      const row = { ...work, ...making, ...(index === 0 ? claimed.costs : NO_COSTS) };
      if (ending.status !== "done") return { ...row, ...ending, claimant: claimed.claim.claimant };
      const own = isShared ? { status: ending.status, title, text: texts![index]! } : ending;
      return { ...row, ...own, tokenCount: tokenCounter.count(own.title) + tokenCounter.count(own.text) };
    });
    const write = (claim: HeldClaim) => recordSummaries(repositories, "resolveDirty", rows, claim);
    const isWritten = await this.#claims.record(claimed, write);
    for (const [index, { handle }] of members.entries()) {
      const costs = eventCosts(rows[index]!);
      if (ending.status === "done") {
        const isStale = !isWritten[index];
        this.result[isStale ? "stale" : "resolved"] += 1;
        if (isStale) this.#tryAgainAt(making.createdAtMs);
        this.#emit("resolved", handle, { tokenCount: rows[index]!.tokenCount ?? 0, isStale, ...costs });
        continue;
      }
      const { status, error, errorCode, nextTryAtMs } = ending;
      this.result[status] += 1;
      if (outcome.status === "failed") {
        this.result.lastError = { message: error, ...(errorCode !== null && { code: errorCode }) };
      }
      this.#tryAgainAt(nextTryAtMs ?? null);
      const more = { ...(errorCode !== null && { errorCode }), ...(nextTryAtMs !== null && { nextTryAtMs }) };
      this.#emit(status, handle, { error, ...more, ...costs });
    }
    if (ending.status !== "done" && ending.pauses) this.#stoppedUntilMs = ending.nextTryAtMs ?? undefined;
    return outcome.status !== "failed"; // instead of an inflated summary, contexts show the sources
  }

  /** Returns the consequence of a failure. If the service refuses several clusters together, each is then tried alone. */
  #failure(error: unknown, { attempts, createdAtMs }: Making, isShared: boolean): Consequence {
    const consequence = consequenceOf(error, attempts, createdAtMs, Math.random());
    if (!isShared || consequence.status !== "parked" || consequence.nextTryAtMs !== null) return consequence;
    return { ...consequence, status: "failed", nextTryAtMs: createdAtMs };
  }

  #defer(handles: readonly string[], reason: DeferReason, nextTryAtMs: number | undefined): false {
    this.result.deferred += handles.length;
    this.#tryAgainAt(nextTryAtMs ?? null);
    const more = { reason, ...(nextTryAtMs !== undefined && { nextTryAtMs }) };
    for (const handle of handles) this.#emit("deferred", handle, more);
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

function readingOf({ members, previous, tokensMax }: SummaryTask): Reading {
  return {
    previous,
    sources: members.flatMap(({ sources }) => sources).sort((left, right) => left.seq - right.seq),
    sourceTokenCount: members.reduce((sum, { work }) => sum + work.sourceTokenCount, 0),
    tokensMax,
  };
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

function eventCosts({
  inputTokens = null,
  outputTokens = null,
  costUsd = null,
}: Pick<NewSummary, keyof Costs>): Partial<ResolveEvent> {
  return {
    ...(inputTokens !== null && { inputTokens }),
    ...(outputTokens !== null && { outputTokens }),
    ...(costUsd !== null && { costUsd }),
  };
}
