import { setTimeout as wait } from "node:timers/promises";
import { type Backoff, backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { type Embedder, isRemote, type RemoteEmbedder } from "../models/embedder.ts";
import { askedDelayMs, isOfAccount } from "../models/failures.ts";
import type { OnUsage } from "../models/summarizer.ts";
import {
  type ClaimableVector,
  claimVectors,
  type Lease,
  newClaimant,
  type Repositories,
  renewVectorClaims,
  storeVectors,
  vectorsFailed,
} from "../store/index.ts";
import { moveAfterVectors } from "./frontier.ts";
import type { EmbedderTerms } from "./graduate.ts";
import { CALL_MS_MAX, requestVectors } from "./request-vectors.ts";

export const EMBED_CONCURRENCY = 4;

/** A claim lasts longer than a call, so that no other process requests the same vectors. */
const CLAIM_MS = CALL_MS_MAX + 30_000;

/** After this many new vectors of a session, its frontier moves. Placing them takes about 25 ms. */
const MOVE_VECTORS = 500;

const LOOK_MS_MIN = 100;

const BACKOFF: Backoff = { delayMsMin: 2_000, delayMsMax: 60 * 60 * 1_000 };

/** A batch that fails is split into this many parts. So in the end a text that cannot be embedded is alone. */
const PARTS = 4;

/** If the service was unavailable this many times, a batch is split. */
const UNAVAILABLE_TRIES = 2;

/** After this many failures a single message is given up, if the service embeds others. */
const TRIES_MAX = 5;

/** If the service refuses this many single messages in a row and has accepted none, it refuses everything. */
const REFUSALS_MAX = 2;

/** The run ends after this many failed batches in a row. Refused ones do not count. */
const FAILURES_MAX = 3;

/** Counts of messages whose vectors were due. */
export interface EmbedResult {
  /** Messages that now have their vector. */
  embedded: number;
  /** Messages for which an attempt failed. They are tried again. */
  failed: number;
  /** Messages that get no vector, because the service accepts others and refuses these. */
  refused: number;
  /** Messages that are still due. Some may be claimed by another process. */
  waiting: number;
  /** The error that ended the run before every message was tried. */
  error?: unknown;
}

export interface EmbedOptions {
  signal: AbortSignal;
  /** The only session to embed; by default all of them. */
  sessionId?: string;
  /** Calls at once, from 1 to 64; by default 4. */
  concurrency?: number;
  /** Milliseconds to keep trying while the service is unavailable or other processes hold claims; by default 0. */
  waitMsMax?: number;
  /** True to try again after the service has refused the account. */
  again?: boolean;
  onProgress?: (progress: { embedded: number; waiting: number }) => void;
  onUsage?: OnUsage;
}

/** The embedder of an open store. `reembed` replaces it. */
export interface EmbedderInUse {
  embedder: Embedder;
  placing: EmbedderTerms;
}

export interface VectorCollectorPorts {
  repositories: Repositories;
  inUse: Readonly<EmbedderInUse>;
  clock: Clock;
  changes: { count: number };
}

interface Service {
  embedder: RemoteEmbedder;
  claimant: string;
  /** Messages whose vectors are being requested. They are not claimed a second time. */
  inFlight: Set<number>;
  /** True once the service has embedded a text. A later refusal is about a text, and not about the account. */
  hasWorked: boolean;
  /** Why the account was refused. Then requests need `again`. */
  refusal: unknown;
}

/** Requests the due vectors of a store from a remote embedder. With a local embedder, no vector is ever due. */
export class VectorCollector {
  readonly #ports: VectorCollectorPorts;
  #service: Service | undefined;

  constructor(ports: VectorCollectorPorts) {
    this.#ports = ports;
  }

  /**
   * Requests the vectors that are due. Errors of the embedder are in the result. Other processes may do the same: each
   * message is claimed by one of them.
   *
   * @throws the signal's reason if it is aborted; `EMBEDDER_MISMATCH` if another process has run `reembed`; an error of
   * the store. Vectors that were written stay.
   */
  async embed(options: EmbedOptions): Promise<EmbedResult> {
    const { inUse, repositories, clock } = this.#ports;
    const { sessionId, signal, waitMsMax = 0 } = options;
    signal.throwIfAborted();
    const result: EmbedResult = { embedded: 0, failed: 0, refused: 0, waiting: 0 };
    if (!isRemote(inUse.embedder)) return result;
    const service = this.#serviceOf(inUse.embedder);
    const deadline = performance.now() + waitMsMax;
    for (;;) {
      if (service.refusal === undefined || options.again)
        await new EmbedRun(this.#ports, service, options, result).run();
      else result.error = service.refusal;
      const { count, nextTryAtMs } = repositories.database.read(() =>
        repositories.pendingVectors.due(sessionId, leaseOf(service, clock)),
      );
      result.waiting = count;
      const left = deadline - performance.now();
      if (count === 0 || left <= 0 || service.refusal !== undefined) return result;
      const pause = Math.max(LOOK_MS_MIN, (nextTryAtMs ?? 0) - clock());
      await wait(Math.min(pause, left), undefined, { signal }).catch(() => {});
      signal.throwIfAborted();
    }
  }

  /**
   * Returns when the next due vector of a session may be requested, if it could not be at `sinceMs`; undefined if no
   * vector is due, or if the account was refused.
   */
  nextTryAfter(sessionId: string, sinceMs: number): number | undefined {
    const { inUse, repositories, clock } = this.#ports;
    if (!isRemote(inUse.embedder)) return undefined;
    const service = this.#serviceOf(inUse.embedder);
    if (service.refusal !== undefined) return undefined;
    const lease = leaseOf(service, clock);
    return repositories.database.read(() => repositories.pendingVectors.nextTryAfter(sessionId, sinceMs, lease));
  }

  #serviceOf(embedder: RemoteEmbedder): Service {
    if (this.#service?.embedder !== embedder) {
      this.#service = {
        embedder,
        claimant: newClaimant(),
        inFlight: new Set(),
        hasWorked: false,
        refusal: undefined,
      };
    }
    return this.#service;
  }
}

/**
 * Requests vectors, oldest messages first, in several calls at once. Each batch is claimed in a short transaction, sent
 * outside any transaction, and stored in another. A message that failed is tried again later, unless the service
 * refuses it and accepts others.
 */
class EmbedRun {
  readonly #ports: VectorCollectorPorts;
  readonly #service: Service;
  readonly #options: EmbedOptions;
  /** The counts of this run are added. An error in it ends the run. */
  readonly #result: EmbedResult;
  /** Messages that failed alone. They are given up if the service embeds others. */
  readonly #suspects: number[] = [];
  /** Keyed by session: the vectors stored since its frontier last moved. */
  readonly #stored = new Map<string, number>();
  #refusals = 0;
  #failuresInRow = 0;

  constructor(ports: VectorCollectorPorts, service: Service, options: EmbedOptions, result: EmbedResult) {
    this.#ports = ports;
    this.#service = service;
    this.#options = options;
    this.#result = result;
    service.refusal = undefined;
    delete result.error;
  }

  async run(): Promise<void> {
    const { concurrency = EMBED_CONCURRENCY, signal } = this.#options;
    const ends = await Promise.allSettled(Array.from({ length: concurrency }, () => this.#work()));
    signal.throwIfAborted();
    if (this.#service.hasWorked && this.#suspects.length > 0) {
      this.#result.refused += this.#suspects.length;
      vectorsFailed(this.#ports.repositories, (pending) => pending.refuse(this.#suspects));
    }
    for (const sessionId of this.#stored.keys()) this.#move(sessionId);
    const broken = ends.find((end) => end.status === "rejected");
    if (broken !== undefined) throw broken.reason;
  }

  async #work(): Promise<void> {
    while (this.#result.error === undefined) {
      this.#options.signal.throwIfAborted();
      const batch = this.#claim();
      if (batch.length === 0) return;
      await this.#embed(batch);
    }
  }

  #claim(): ClaimableVector[] {
    const { repositories, clock } = this.#ports;
    const { embedder, inFlight } = this.#service;
    const lease = leaseOf(this.#service, clock);
    return claimVectors(repositories, embedder.id, lease, (pending) => {
      if (pending.awayUntil(lease.nowMs) !== undefined) return [];
      const oldest = pending
        .claimable(lease, this.#options.sessionId, embedder.textsMax + inFlight.size)
        .filter(({ messageId }) => !inFlight.has(messageId));
      const size = oldest[0] === undefined ? 1 : batchSize(oldest[0], embedder.textsMax);
      const end = oldest.findIndex((row, index) => index === size || batchSize(row, embedder.textsMax) < size);
      return end === -1 ? oldest : oldest.slice(0, end);
    });
  }

  async #embed(batch: readonly ClaimableVector[]): Promise<void> {
    const { inFlight } = this.#service;
    const { signal } = this.#options;
    // An aborted run must release its claims at once, because a closing store closes its file right after the abort.
    const release = (): void => this.#release(batch);
    signal.addEventListener("abort", release, { once: true });
    for (const { messageId } of batch) inFlight.add(messageId);
    try {
      await this.#embedClaimed(batch);
    } catch (error) {
      release();
      throw error;
    } finally {
      signal.removeEventListener("abort", release);
      for (const { messageId } of batch) inFlight.delete(messageId);
    }
  }

  #release(batch: readonly ClaimableVector[]): void {
    try {
      vectorsFailed(this.#ports.repositories, (pending) => pending.endClaims(idsOf(batch), this.#service.claimant));
    } catch {
      // The claim expires by itself.
    }
  }

  async #embedClaimed(batch: readonly ClaimableVector[]): Promise<void> {
    const { repositories, clock } = this.#ports;
    const { embedder } = this.#service;
    const { sessionId, signal, onProgress, onUsage } = this.#options;
    const texts = batch.map(({ text }) => text);
    let isHeld = true;
    let storeError: unknown;
    const hold = (): void => {
      try {
        isHeld = renewVectorClaims(repositories, idsOf(batch), leaseOf(this.#service, clock));
      } catch (error) {
        storeError = error;
        throw error;
      }
      if (!isHeld) throw new Error("the claims on these vectors were lost");
    };
    let vectors: Float32Array[];
    try {
      vectors = await requestVectors(embedder, texts, signal, onUsage, hold);
    } catch (error) {
      signal.throwIfAborted();
      if (storeError !== undefined) throw storeError; // the embedder did not fail
      if (isHeld) this.#fail(batch, error);
      else this.#release(batch);
      return;
    }
    signal.throwIfAborted();
    this.#service.hasWorked = true;
    this.#failuresInRow = 0;
    const embeddings = batch.map(({ messageId }, index) => ({ messageId, embedding: vectors[index]! }));
    const count = storeVectors(repositories, embedder.id, embeddings);
    this.#result.embedded += count;
    for (const id of new Set(batch.map((message) => message.sessionId))) {
      this.#stored.set(id, (this.#stored.get(id) ?? 0) + count);
      if (this.#stored.get(id)! >= MOVE_VECTORS) this.#move(id);
    }
    const { count: waiting } = repositories.pendingVectors.due(sessionId, leaseOf(this.#service, clock));
    onProgress?.({ embedded: this.#result.embedded, waiting });
  }

  #move(sessionId: string): void {
    const { repositories, inUse, clock, changes } = this.#ports;
    this.#stored.delete(sessionId);
    if (moveAfterVectors(repositories, sessionId, inUse.placing, clock)) changes.count += 1;
  }

  #fail(batch: readonly ClaimableVector[], failure: unknown): void {
    const { repositories, clock } = this.#ports;
    const { claimant, hasWorked } = this.#service;
    const ids = idsOf(batch);
    const errorCode = StoreError.is(failure) ? failure.code : null;
    const error = failure instanceof Error ? failure.message : String(failure);
    this.#result.failed += ids.length;
    if (isOfAccount(failure)) {
      vectorsFailed(repositories, (pending) => pending.endClaims(ids, claimant, { errorCode, error }));
      this.#stop(failure, true);
      return;
    }
    const isAlone = ids.length === 1;
    const isUnavailable = errorCode === "MODEL_UNAVAILABLE";
    const isText = errorCode === "MODEL_REFUSED";
    const askedMs = askedDelayMs(failure);
    const nowMs = clock();
    const tries = batch.map(({ messageId, attempts }) => {
      // One of several texts was refused, so the parts of the batch are tried without a delay.
      const delayMs = isText && !isAlone ? 0 : Math.max(askedMs, backoffMs(attempts + 1, BACKOFF));
      return { messageId, attempts: attempts + 1, errorCode, error, nextTryAtMs: nowMs + delayMs };
    });
    vectorsFailed(repositories, (pending) => {
      for (const { messageId, ...failed } of tries) pending.endClaims([messageId], claimant, failed);
    });
    if (isAlone && !isUnavailable && (isText || tries[0]!.attempts >= TRIES_MAX)) this.#suspects.push(ids[0]!);
    if (isText && isAlone && !hasWorked) {
      this.#refusals += 1;
      if (this.#refusals >= REFUSALS_MAX) this.#stop(failure, true);
    }
    if (!isText) this.#failuresInRow += 1;
    if (isUnavailable || this.#failuresInRow === FAILURES_MAX) this.#stop(failure, false);
  }

  #stop(error: unknown, isRefused: boolean): void {
    this.#result.error ??= error;
    if (isRefused) this.#service.refusal ??= error;
  }
}

function leaseOf({ claimant }: Service, clock: Clock): Lease {
  const nowMs = clock();
  return { claimant, nowMs, untilMs: nowMs + CLAIM_MS };
}

function idsOf(batch: readonly ClaimableVector[]): number[] {
  return batch.map(({ messageId }) => messageId);
}

/** Returns the size of the batch in which a message is tried next. It shrinks with each failure. */
function batchSize({ attempts, errorCode }: ClaimableVector, textsMax: number): number {
  const tries = errorCode === "MODEL_UNAVAILABLE" ? Math.max(0, attempts - UNAVAILABLE_TRIES) : attempts;
  return Math.max(1, Math.floor(textsMax / PARTS ** tries));
}
