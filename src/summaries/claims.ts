import type { Clock } from "../core/clock.ts";
import type { Costs } from "../store/costs.ts";
import type { Repositories } from "../store/repositories.ts";
import { type HeldClaim, type Lease, releaseClaims, renewClaims } from "../store/write-summaries.ts";

/**
 * Milliseconds after which a claim expires unless it is renewed. If a process dies, others wait that long for its summary. If
 * a process is suspended for longer, another may make the summary.
 */
const LEASE_MS = 45_000;
const RENEW_MS = 15_000;

/** A summary that is being made. */
export interface ClaimedSummary {
  claim: HeldClaim;
  sessionId: string;
  summarizerId: string;
  costs: Costs;
}

/**
 * The claims of one run, which renews them until it ends. If the signal is aborted they are released at once, because the store
 * may be closed right after.
 */
export class SummaryClaims {
  readonly #repositories: Repositories;
  readonly #clock: Clock;
  readonly #claimant: string;
  readonly #signal: AbortSignal;
  readonly #held = new Set<ClaimedSummary>();
  readonly #release = (): void => this.#releaseAll();
  readonly #timer: NodeJS.Timeout;

  constructor(repositories: Repositories, clock: Clock, claimant: string, signal: AbortSignal) {
    this.#repositories = repositories;
    this.#clock = clock;
    this.#claimant = claimant;
    this.#signal = signal;
    this.#timer = setInterval(() => this.#renew(), RENEW_MS).unref();
    signal.addEventListener("abort", this.#release);
  }

  lease(): Lease {
    const nowMs = this.#clock();
    return { claimant: this.#claimant, nowMs, untilMs: nowMs + LEASE_MS };
  }

  hold(summary: ClaimedSummary): void {
    this.#held.add(summary);
  }

  /** Removes a claim that ended when its result was recorded. */
  drop(summary: ClaimedSummary): void {
    this.#held.delete(summary);
  }

  /** Ends the run. Claims whose results were not recorded are released. */
  end(): void {
    clearInterval(this.#timer);
    this.#signal.removeEventListener("abort", this.#release);
    this.#releaseAll();
  }

  #renew(): void {
    if (this.#held.size === 0) return;
    const claims = [...this.#held].map(({ claim }) => claim);
    this.#quietly(() => renewClaims(this.#repositories, claims, this.#clock() + LEASE_MS));
  }

  #releaseAll(): void {
    if (this.#held.size === 0) return;
    const held = [...this.#held];
    this.#held.clear();
    this.#quietly(() => releaseClaims(this.#repositories, held));
  }

  /** Ignores errors: claims expire by themselves, and recording a result fails for the same reason. */
  #quietly(change: () => void): void {
    try {
      change();
    } catch {}
  }
}
