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

/** How long one call may take, and for how long others leave its messages to it: longer, so that nobody pays for them twice. */
const CALL_MS_MAX = 180_000;
const CLAIM_MS = 210_000;

const BACKOFF: Backoff = { delayMsMin: 2_000, delayMsMax: 60 * 60 * 1_000 };

/** A batch that failed is tried again in so many parts, and each of these again: what cannot be embedded ends up alone. */
const PARTS = 4;

/** Tries that a service may fail for reasons of its own before the batch is split. */
const AWAY_TRIES = 2;

/** Tries after which a message is given up whose vector never comes right, though those of others do. */
const TRIES_MAX = 5;

/** Messages refused alone, with none accepted before, from which on it is not they that are refused. */
const REFUSALS_MAX = 2;

/** Batches that fail one after the other, but for refusals, before the run ends. */
const FAILURES_MAX = 3;

export interface EmbedRunPorts {
  repositories: Repositories;
  embedder: RemoteEmbedder;
  clock: () => number;
  /** Of this open store. */
  claimant: string;
  /** Messages that it is asking for. What else it has claimed, it could not give back when its try failed. */
  inFlight: Set<number>;
}

export interface EmbedRunOptions {
  /** Only the messages of this one. */
  sessionId: string | undefined;
  signal: AbortSignal;
  onUsage: OnUsage | undefined;
  /** Told after each batch. */
  onStored: (sessionIds: readonly string[], count: number) => void;
}

/**
 * One walk through the messages whose vectors are due, oldest first, by any number of workers at once.
 *
 * Each batch is claimed in a short transaction, asked for outside any, and written in another. What fails stays due, with a
 * later next try, unless it is known to be this very message that the service does not take.
 */
export class EmbedRun {
  embedded = 0;
  /** Messages whose try failed. */
  failed = 0;
  /** Messages that were given up. */
  refused = 0;
  /** Whether the service has given a vector for anything. */
  hasWorked: boolean;
  /** Why the run ended before all was tried. */
  error: unknown;
  /** Whether it is the account that was refused, and not a text. */
  isRefused = false;
  readonly #ports: EmbedRunPorts;
  readonly #options: EmbedRunOptions;
  /** Refused or failing alone, so that they are given up if the service takes others. */
  readonly #suspects = new Set<number>();
  #refusals = 0;
  #failuresInRow = 0;

  constructor(ports: EmbedRunPorts, options: EmbedRunOptions, hasWorked: boolean) {
    this.#ports = ports;
    this.#options = options;
    this.hasWorked = hasWorked;
  }

  /** Go on until nothing may be asked for any more. @throws the signal's reason; what `storeVectors` throws. */
  async work(): Promise<void> {
    while (this.error === undefined) {
      this.#options.signal.throwIfAborted();
      const batch = this.#claim();
      if (batch.length === 0) return;
      await this.#embed(batch);
    }
  }

  /** Give up what the service did not take although it took others. */
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
      const size = Math.max(1, batchSize(oldest[0], embedder.textsMax));
      const next = oldest.findIndex((row, index) => index === size || batchSize(row, embedder.textsMax) < size);
      return next === -1 ? oldest : oldest.slice(0, Math.max(1, next));
    });
  }

  async #embed(batch: readonly ClaimableVector[]): Promise<void> {
    const { inFlight } = this.#ports;
    const { signal } = this.#options;
    // At once, and not when a promise comes round to it: a store that closes closes its file right after.
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
      // Nobody could be told here, and the claim ends by itself.
    }
  }

  async #embedClaimed(batch: readonly ClaimableVector[]): Promise<void> {
    const { repositories, embedder } = this.#ports;
    const { signal, onStored } = this.#options;
    let vectors: Float32Array[];
    try {
      vectors = await this.#ask(batch.map(({ text }) => text));
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

  async #ask(texts: readonly string[]): Promise<Float32Array[]> {
    const { embedder } = this.#ports;
    const { signal: asked, onUsage } = this.#options;
    const late = new AbortController();
    const timer = setTimeout(() => {
      const reason = `nothing came within ${CALL_MS_MAX} ms`;
      late.abort(new StoreError("MODEL_UNAVAILABLE", { model: embedder.id, reason }));
    }, CALL_MS_MAX);
    try {
      const signal = AbortSignal.any([asked, late.signal]);
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

  #fail(batch: readonly ClaimableVector[], error: unknown): void {
    const { repositories, embedder, clock, claimant } = this.#ports;
    const ids = idsOf(batch);
    const errorCode = StoreError.is(error) ? error.code : null;
    const text = error instanceof Error ? error.message : String(error);
    this.failed += ids.length;
    if (isOfAccount(error)) {
      vectorsFailed(repositories, (pending) => pending.note(ids, claimant, errorCode, text));
      this.#stop(error, true);
      return;
    }
    const isAlone = ids.length === 1;
    const isAway = StoreError.is(error, "MODEL_UNAVAILABLE");
    const isText = errorCode === "MODEL_REFUSED";
    const askedMs = StoreError.is(error, "MODEL_UNAVAILABLE") ? Math.ceil(error.details.retryAfterMs || 0) : 0;
    // The service answers, and refuses one of several texts: each part of the batch is tried at once.
    const isSplit = isText && !isAlone;
    const attemptsMin = isSplit ? triesBefore(ids.length / PARTS, embedder.textsMax) : 0;
    const nowMs = clock();
    const tries = batch.map(({ messageId, attempts }) => ({
      messageId,
      attempts: Math.max(attempts + 1, attemptsMin),
      errorCode,
      error: text,
      nextTryAtMs: isSplit ? nowMs : nowMs + Math.max(askedMs, backoffMs(attempts + 1, BACKOFF)),
    }));
    vectorsFailed(repositories, (pending) => pending.fail(claimant, tries));
    if (isAlone && !isAway && (isText || batch[0]!.attempts + 1 >= TRIES_MAX)) this.#suspects.add(ids[0]!);
    if (isText && isAlone && !this.hasWorked) this.#refusals += 1;
    if (this.#refusals >= REFUSALS_MAX && !this.hasWorked) this.#stop(error, true);
    if (!isText) this.#failuresInRow += 1;
    if (isAway || this.#failuresInRow === FAILURES_MAX) this.#stop(error, false);
  }

  #stop(error: unknown, isRefused: boolean): void {
    this.error ??= error;
    this.isRefused ||= isRefused;
  }
}

function idsOf(batch: readonly ClaimableVector[]): number[] {
  return batch.map(({ messageId }) => messageId);
}

/** How many messages are asked for together, by how often they have failed. */
function batchSize(row: ClaimableVector | undefined, textsMax: number): number {
  if (row === undefined) return 0;
  const tries = row.errorCode === "MODEL_UNAVAILABLE" ? Math.max(0, row.attempts - AWAY_TRIES) : row.attempts;
  return Math.max(1, Math.floor(textsMax / PARTS ** tries));
}

/** After how many failures messages are asked for in batches no larger than that. */
function triesBefore(size: number, textsMax: number): number {
  return Math.ceil(Math.log(textsMax / size) / Math.log(PARTS));
}
