import { type Backoff, backoffMs } from "../core/backoff.ts";
import { StoreError } from "../core/errors.ts";
import { untilAborted } from "../core/until-aborted.ts";
import type { RemoteEmbedder } from "../models/embedder.ts";
import { isOfAccount } from "../models/refusal.ts";
import type { OnUsage } from "../models/usage.ts";
import type { ClaimableVector } from "../store/pending-vectors.ts";
import type { Repositories } from "../store/repositories.ts";
import { claimVectors, storeVectors, vectorsFailed } from "../store/write.ts";
import { checkedVector } from "./checked-vector.ts";

/** Milliseconds that one call may take. The claim lasts longer, so that no other process requests the same vectors. */
const CALL_MS_MAX = 180_000;
const CLAIM_MS = 210_000;

const BACKOFF: Backoff = { delayMsMin: 2_000, delayMsMax: 60 * 60 * 1_000 };

/** A batch that failed is split into this many parts, and again if a part fails. A text that cannot be embedded ends up alone. */
const PARTS = 4;

/** Tries in which the service was unavailable before a batch is split. */
const UNAVAILABLE_TRIES = 2;

/** Failed tries after which a single message is given up, if the service embeds others. */
const TRIES_MAX = 5;

/** Single messages refused in a row, with none accepted, that mean that the service refuses everything. */
const REFUSALS_MAX = 2;

/** Batches that fail in a row, refusals aside, before the run ends. */
const FAILURES_MAX = 3;

export interface EmbedRunPorts {
  repositories: Repositories;
  embedder: RemoteEmbedder;
  clock: () => number;
  /** Names this open store in its claims. */
  claimant: string;
  /** Ids of the messages whose vectors this store is requesting now. They are not claimed a second time. */
  inFlight: Set<number>;
}

export interface EmbedRunOptions {
  /** The only session to embed; all of them if undefined. */
  sessionId: string | undefined;
  signal: AbortSignal;
  onUsage: OnUsage | undefined;
  /** Called after each batch. */
  onStored: (sessionIds: readonly string[], count: number) => void;
}

/**
 * Requests the vectors that are due, oldest messages first. Any number of workers may share one run.
 *
 * Each batch is claimed in a short transaction, sent outside any transaction, and stored in another. A message that failed
 * stays due with a later next try, unless the service refuses it and accepts others.
 */
export class EmbedRun {
  embedded = 0;
  /** Failed tries, counted once for each message. */
  failed = 0;
  /** Messages that were given up. */
  refused = 0;
  /** True once the service has embedded anything. */
  hasWorked: boolean;
  /** Why the run ended before every message was tried. */
  error: unknown;
  /** True if the service refused the account, rather than a text. */
  isRefused = false;
  readonly #ports: EmbedRunPorts;
  readonly #options: EmbedRunOptions;
  /** Messages that failed alone. They are given up if the service embeds others. */
  readonly #suspects = new Set<number>();
  #refusals = 0;
  #failuresInRow = 0;

  constructor(ports: EmbedRunPorts, options: EmbedRunOptions, hasWorked: boolean) {
    this.#ports = ports;
    this.#options = options;
    this.hasWorked = hasWorked;
  }

  /** Embeds batch after batch until none may be claimed. @throws the signal's reason; what `storeVectors` throws. */
  async work(): Promise<void> {
    while (this.error === undefined) {
      this.#options.signal.throwIfAborted();
      const batch = this.#claim();
      if (batch.length === 0) return;
      await this.#embed(batch);
    }
  }

  /** Gives up the messages that the service refused although it embedded others. */
  end(): void {
    if (!this.hasWorked || this.#suspects.size === 0) return;
    this.refused += this.#suspects.size;
    vectorsFailed(this.#ports.repositories, (pending) => pending.refuse([...this.#suspects]));
    this.#suspects.clear();
  }

  #claim(): ClaimableVector[] {
    const { repositories, embedder, clock, claimant, inFlight } = this.#ports;
    const nowMs = clock();
    const { sessionId } = this.#options;
    return claimVectors(repositories, embedder.id, claimant, nowMs + CLAIM_MS, (pending) => {
      if (pending.awayUntil(nowMs) !== undefined) return [];
      const oldest = pending
        .claimable(nowMs, claimant, sessionId, embedder.textsMax + inFlight.size)
        .filter(({ messageId }) => !inFlight.has(messageId));
      const size = oldest[0] === undefined ? 1 : batchSize(oldest[0], embedder.textsMax);
      const end = oldest.findIndex((row, index) => index === size || batchSize(row, embedder.textsMax) < size);
      return end === -1 ? oldest : oldest.slice(0, end);
    });
  }

  async #embed(batch: readonly ClaimableVector[]): Promise<void> {
    const { inFlight } = this.#ports;
    const { signal } = this.#options;
    // An aborted run must release its claims at once: a store that is closing closes its file right after the abort.
    const release = (): void => this.#release(batch);
    signal.addEventListener("abort", release, { once: true });
    for (const id of idsOf(batch)) inFlight.add(id);
    try {
      await this.#embedClaimed(batch);
    } catch (error) {
      release();
      throw error;
    } finally {
      signal.removeEventListener("abort", release);
      for (const id of idsOf(batch)) inFlight.delete(id);
    }
  }

  #release(batch: readonly ClaimableVector[]): void {
    const { repositories, claimant } = this.#ports;
    try {
      vectorsFailed(repositories, (pending) => pending.release(idsOf(batch), claimant));
    } catch {
      // The claim expires by itself.
    }
  }

  async #embedClaimed(batch: readonly ClaimableVector[]): Promise<void> {
    const { repositories, embedder } = this.#ports;
    const { signal, onStored } = this.#options;
    let vectors: Float32Array[];
    try {
      vectors = await this.#request(batch.map(({ text }) => text));
    } catch (error) {
      signal.throwIfAborted();
      this.#fail(batch, error);
      return;
    }
    signal.throwIfAborted();
    this.hasWorked = true;
    this.#failuresInRow = 0;
    const embeddings = batch.map(({ messageId }, index) => ({ messageId, embedding: vectors[index]! }));
    const stored = storeVectors(repositories, embedder.id, embeddings);
    this.embedded += stored;
    onStored([...new Set(batch.map(({ sessionId }) => sessionId))], stored);
  }

  async #request(texts: readonly string[]): Promise<Float32Array[]> {
    const { embedder } = this.#ports;
    const late = new AbortController();
    const timer = setTimeout(() => {
      const reason = `nothing came within ${CALL_MS_MAX} ms`;
      late.abort(new StoreError("MODEL_UNAVAILABLE", { model: embedder.id, reason }));
    }, CALL_MS_MAX);
    try {
      const signal = AbortSignal.any([this.#options.signal, late.signal]);
      const { onUsage } = this.#options;
      const call = (async () =>
        embedder.embedAll({ texts, task: "document", signal, ...(onUsage !== undefined && { onUsage }) }))();
      const vectors = await untilAborted(call, signal);
      if (!Array.isArray(vectors) || vectors.length !== texts.length) {
        const reason = `it has ${vectors?.length} vectors for ${texts.length} texts`;
        throw new StoreError("MODEL_ANSWER_INVALID", { model: embedder.id, reason });
      }
      return vectors.map((vector) => checkedVector(vector, embedder.dimension));
    } finally {
      clearTimeout(timer);
    }
  }

  #fail(batch: readonly ClaimableVector[], failure: unknown): void {
    const { repositories, embedder, clock, claimant } = this.#ports;
    const ids = idsOf(batch);
    const errorCode = StoreError.is(failure) ? failure.code : null;
    const error = failure instanceof Error ? failure.message : String(failure);
    this.failed += ids.length;
    if (isOfAccount(failure)) {
      vectorsFailed(repositories, (pending) => pending.note(ids, claimant, errorCode, error));
      this.#stop(failure, true);
      return;
    }
    const isAlone = ids.length === 1;
    const isUnavailable = errorCode === "MODEL_UNAVAILABLE";
    const isText = errorCode === "MODEL_REFUSED";
    const askedMs = StoreError.is(failure, "MODEL_UNAVAILABLE") ? Math.ceil(failure.details.retryAfterMs || 0) : 0;
    // One of several texts was refused, so the parts of the batch are tried without a delay.
    const isSplit = isText && !isAlone;
    const attemptsMin = isSplit ? attemptsBefore(ids.length / PARTS, embedder.textsMax) : 0;
    const nowMs = clock();
    const tries = batch.map(({ messageId, attempts }) => ({
      messageId,
      attempts: Math.max(attempts + 1, attemptsMin),
      errorCode,
      error,
      nextTryAtMs: isSplit ? nowMs : nowMs + Math.max(askedMs, backoffMs(attempts + 1, BACKOFF)),
    }));
    vectorsFailed(repositories, (pending) => pending.fail(claimant, tries));
    if (isAlone && !isUnavailable && (isText || batch[0]!.attempts + 1 >= TRIES_MAX)) this.#suspects.add(ids[0]!);
    if (isText && isAlone && !this.hasWorked) this.#refusals += 1;
    if (this.#refusals >= REFUSALS_MAX && !this.hasWorked) this.#stop(failure, true);
    if (!isText) this.#failuresInRow += 1;
    if (isUnavailable || this.#failuresInRow === FAILURES_MAX) this.#stop(failure, false);
  }

  #stop(error: unknown, isRefused: boolean): void {
    this.error ??= error;
    this.isRefused ||= isRefused;
  }
}

function idsOf(batch: readonly ClaimableVector[]): number[] {
  return batch.map(({ messageId }) => messageId);
}

/** Returns the size of the batch in which a message is tried next: the more often it failed, the smaller. */
function batchSize({ attempts, errorCode }: ClaimableVector, textsMax: number): number {
  const tries = errorCode === "MODEL_UNAVAILABLE" ? Math.max(0, attempts - UNAVAILABLE_TRIES) : attempts;
  return Math.max(1, Math.floor(textsMax / PARTS ** tries));
}

/** Returns the failed tries after which a message is sent in batches no larger than `size`. */
function attemptsBefore(size: number, textsMax: number): number {
  return Math.ceil(Math.log(textsMax / size) / Math.log(PARTS));
}
