import type { Clock } from "../core/clock.ts";
import type { Costs } from "../store/costs.ts";
import type { Repositories } from "../store/repositories.ts";
import { type HeldClaim, type Lease, releaseClaims, renewClaims } from "../store/write-summaries.ts";

/**
 * Milliseconds for which a claim holds. Whoever dies keeps others from the summary it was at for so long; whoever sleeps for
 * longer finds that another has begun it.
 */
const LEASE_MS = 45_000;
const RENEW_MS = 15_000;

/** A summary that is being made. */
export interface ClaimedSummary {
  claim: HeldClaim;
  sessionId: string;
  summarizerId: string;
  /** So far. */
  costs: Costs;
}

/**
 * The claims of one run. They are renewed while the calls last, and released when the signal is aborted: at once, because the
 * store may be closed before anything else gets its turn.
 */
export class SummaryClaims {
  readonly #repositories: Repositories;
  readonly #clock: Clock;
  readonly #claimant: string;
  readonly #signal: AbortSignal;
  readonly #works = new Set<ClaimedSummary>();
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

  hold(work: ClaimedSummary): void {
    this.#works.add(work);
  }

  /** It has ended with what was recorded. */
  drop(work: ClaimedSummary): void {
    this.#works.delete(work);
  }

  /** The run is over; what it still holds failed to be recorded. */
  end(): void {
    clearInterval(this.#timer);
    this.#signal.removeEventListener("abort", this.#release);
    this.#releaseAll();
  }

  #renew(): void {
    if (this.#works.size === 0) return;
    const claims = [...this.#works].map(({ claim }) => claim);
    this.#quietly(() => renewClaims(this.#repositories, claims, this.#clock() + LEASE_MS));
  }

  #releaseAll(): void {
    if (this.#works.size === 0) return;
    const works = [...this.#works];
    this.#works.clear();
    this.#quietly(() => releaseClaims(this.#repositories, works));
  }

  /** Where the file cannot be written, claims run out by themselves. */
  #quietly(change: () => void): void {
    try {
      change();
    } catch {
      // Whoever awaits the run hears of a file that cannot be written when a result is recorded.
    }
  }
}
