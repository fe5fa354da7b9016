import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { untilAborted } from "../core/until-aborted.ts";
import type { Summarizer } from "../models/summarizer.ts";
import {
  type Costs,
  type HeldClaim,
  type Lease,
  NO_COSTS,
  type NoClaim,
  type Repositories,
  releaseClaims,
  renewClaims,
} from "../store/index.ts";

/** A claim expires after this time unless it is renewed. If a process on another machine dies, others wait that long. */
const LEASE_MS = 45_000;
const RENEW_MS = 15_000;
/** If another process keeps the store busy, a result is written again after this time. */
const RECORD_AGAIN_MS = 500;

export interface ClaimsOptions {
  repositories: Repositories;
  sessionId: string;
  summarizer: Summarizer;
  clock: Clock;
  /** Identifies this open store in its claims. */
  claimant: string;
  signal: AbortSignal;
}

/** The claim on the summaries of one call, and the costs of the call. */
export interface ClaimedSummary {
  claim: HeldClaim;
  /** When the claim expires, by `performance.now()`. */
  heldUntil: number;
  sessionId: string;
  summarizerId: string;
  costs: Costs;
  /** True if the claim was found to be lost before a request was sent. */
  isLost: boolean;
  /** Why the claim could not be renewed, if the store failed. */
  storeError?: unknown;
}

/** Holds and renews the claims of one run. An abort releases them at once, because the store may be closed right after it. */
export class SummaryClaims {
  readonly #options: ClaimsOptions;
  readonly #held = new Set<ClaimedSummary>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#renew(), RENEW_MS).unref();
    options.signal.addEventListener("abort", this.#release);
  }

  claim(make: (lease: Lease) => HeldClaim | NoClaim): ClaimedSummary | NoClaim {
    const { sessionId, summarizer, clock, claimant } = this.#options;
    const nowMs = clock();
    const claim = make({ claimant, nowMs, untilMs: nowMs + LEASE_MS });
    if (claim === "changed" || "heldUntilMs" in claim) return claim;
    const heldUntil = performance.now() + LEASE_MS;
    const summary = { claim, heldUntil, sessionId, summarizerId: summarizer.id, costs: NO_COSTS, isLost: false };
    this.#held.add(summary);
    return summary;
  }

  /**
   * Renews a claim before a request is paid for.
   * @throws if the claim was lost: this process was slow, and another one has taken over, or the messages were forgotten.
   */
  hold(summary: ClaimedSummary): void {
    const { repositories, clock } = this.#options;
    try {
      const isHeld = renewClaims(repositories, [summary.claim], clock() + LEASE_MS);
      summary.heldUntil = performance.now() + LEASE_MS;
      if (isHeld) return;
    } catch (error) {
      summary.storeError = error;
      throw error;
    }
    summary.isLost = true;
    throw new Error("the claim on this summary was lost");
  }

  /** Releases the claim on work that was given up. */
  giveUp(summary: ClaimedSummary): void {
    this.#held.delete(summary);
    releaseClaims(this.#options.repositories, [summary]);
  }

  /** Writes a paid result, which ends the claim. While another process keeps the store busy, tries again until the claim ends. */
  async record<T>(summary: ClaimedSummary, write: (claim: HeldClaim) => T): Promise<T> {
    for (;;) {
      try {
        const result = write(summary.claim);
        this.#held.delete(summary);
        return result;
      } catch (error) {
        if (!StoreError.is(error, "STORE_BUSY") || performance.now() >= summary.heldUntil) throw error;
      }
      await untilAborted(delay(RECORD_AGAIN_MS), this.#options.signal);
    }
  }

  /** Ends the run, and releases the claims whose results were not recorded. */
  end(): void {
    clearInterval(this.#timer);
    this.#options.signal.removeEventListener("abort", this.#release);
    this.#release();
  }

  #renew(): void {
    const { repositories, clock } = this.#options;
    const held = [...this.#held];
    if (held.length === 0) return;
    quietly(() => {
      const claims = held.map(({ claim }) => claim);
      renewClaims(repositories, claims, clock() + LEASE_MS);
      for (const summary of held) summary.heldUntil = performance.now() + LEASE_MS;
    });
  }

  readonly #release = (): void => {
    const held = [...this.#held];
    this.#held.clear();
    if (held.length > 0) quietly(() => releaseClaims(this.#options.repositories, held));
  };
}

/** Ignores errors. Claims expire by themselves, and recording a result would report the same error. */
function quietly(change: () => void): void {
  try {
    change();
  } catch {}
}
