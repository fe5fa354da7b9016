import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Clock } from "../core/clock.ts";
import { type Embedder, isRemote, type RemoteEmbedder } from "../models/embedder.ts";
import type { OnUsage } from "../models/usage.ts";
import type { Repositories } from "../store/repositories.ts";
import { EmbedRun } from "./embed-run.ts";
import { moveAfterVectors } from "./frontier.ts";

/** Calls under way at once. */
export const EMBED_CONCURRENCY = 4;

/** New vectors of a session after which its frontier moves, although others are still due. Placing them takes about 25 ms. */
const MOVE_VECTORS = 500;

/** Shortest delay in milliseconds before due vectors are tried again. */
const LOOK_MS_MIN = 100;

/** Counts of messages whose vectors were due. */
export interface EmbedResult {
  /** Messages that now have their vector. */
  embedded: number;
  /** Messages for which a try failed. They are tried again. */
  failed: number;
  /** Messages given up, because the service accepts others but refuses these. They get no vector. */
  refused: number;
  /** Messages that are still due. Some may be claimed by another process. */
  waiting: number;
  /** The error that ended the run before every message was tried. */
  error?: unknown;
}

export interface EmbedOptions {
  signal: AbortSignal;
  /** The only session to embed; all of them unless given. */
  sessionId?: string;
  /** Calls at once, from 1 to 64; 4 unless given. */
  concurrency?: number;
  /** Milliseconds to keep trying while the service is unavailable or other processes hold claims; 0 unless given. */
  waitMsMax?: number;
  /** True to try although the service has refused the account. */
  again?: boolean;
  onProgress?: (progress: { embedded: number; waiting: number }) => void;
  onUsage?: OnUsage;
}

/** The embedder of an open store. `reembed` replaces it. */
export interface EmbedderInUse {
  embedder: Embedder;
}

export interface VectorCollectorPorts {
  repositories: Repositories;
  inUse: Readonly<EmbedderInUse>;
  clock: Clock;
  changes: { count: number };
}

/** Requests the due vectors of a store from a remote embedder. With a local embedder no vector is ever due. */
export class VectorCollector {
  readonly #ports: VectorCollectorPorts;
  readonly #claimant = randomUUID();
  readonly #inFlight = new Set<number>();
  /** The embedder that the next two fields are about. `reembed` may change it. */
  #embedder: Embedder | undefined;
  /** True once the service has embedded a text. From then on a refusal is about a text, and not about the account. */
  #hasWorked = false;
  /** Why the account was refused. No request is made from then on, unless the caller passes `again`. */
  #refusal: unknown;

  constructor(ports: VectorCollectorPorts) {
    this.#ports = ports;
  }

  /**
   * Requests the vectors that are due. An error of the embedder does not reject; it is in the result.
   *
   * Any number of processes may do this at once: each message is claimed by one of them.
   *
   * @throws the signal's reason if it is aborted; `EMBEDDER_MISMATCH` if another process has run `reembed`; an error of the
   *   store. Vectors written by then stay.
   */
  async embed(options: EmbedOptions): Promise<EmbedResult> {
    const { inUse, repositories } = this.#ports;
    const { embedder } = inUse;
    options.signal.throwIfAborted();
    const result: EmbedResult = { embedded: 0, failed: 0, refused: 0, waiting: 0 };
    if (!isRemote(embedder)) return result;
    if (embedder !== this.#embedder) {
      this.#embedder = embedder;
      this.#hasWorked = false;
      this.#refusal = undefined;
    }
    const deadline = performance.now() + (options.waitMsMax ?? 0);
    for (;;) {
      if (this.#refusal === undefined || options.again) await this.#walk(embedder, options, result);
      else result.error = this.#refusal;
      const { count, nextTryAtMs } = repositories.database.read(() =>
        repositories.pendingVectors.due(options.sessionId),
      );
      result.waiting = count;
      const left = deadline - performance.now();
      if (count === 0 || left <= 0 || this.#refusal !== undefined) return result;
      const pause = Math.max(LOOK_MS_MIN, (nextTryAtMs ?? 0) - this.#ports.clock());
      await wait(Math.min(pause, left), undefined, { signal: options.signal }).catch(() => {});
      options.signal.throwIfAborted();
    }
  }

  /**
   * Returns when the next due vector of a session may be requested, if it could not be at `sinceMs`; undefined if there is no
   * such vector, or if the account was refused.
   */
  nextTryAfter(sessionId: string, sinceMs: number): number | undefined {
    const { inUse, repositories } = this.#ports;
    const { embedder } = inUse;
    if (!isRemote(embedder) || this.#refusal !== undefined) return undefined;
    return repositories.database.read(() => repositories.pendingVectors.nextTryAfter(sessionId, sinceMs));
  }

  async #walk(embedder: RemoteEmbedder, options: EmbedOptions, result: EmbedResult): Promise<void> {
    const { repositories, clock } = this.#ports;
    const { sessionId, signal, onUsage } = options;
    const before = result.embedded;
    /** Keyed by session: the vectors stored since its frontier was last moved. */
    const storedOf = new Map<string, number>();
    const onStored = (sessionIds: readonly string[], count: number): void => {
      for (const id of sessionIds) {
        const stored = (storedOf.get(id) ?? 0) + count;
        storedOf.set(id, stored < MOVE_VECTORS ? stored : 0);
        if (stored >= MOVE_VECTORS) this.#move(id);
      }
      const { count: waiting } = repositories.pendingVectors.due(sessionId);
      options.onProgress?.({ embedded: before + run.embedded, waiting });
    };
    const run = new EmbedRun(
      { repositories, embedder, clock, claimant: this.#claimant, inFlight: this.#inFlight },
      { sessionId, signal, onUsage, onStored },
      this.#hasWorked,
    );
    const workers = Array.from({ length: options.concurrency ?? EMBED_CONCURRENCY }, () => run.work());
    const ends = await Promise.allSettled(workers);
    this.#hasWorked ||= run.hasWorked;
    signal.throwIfAborted();
    run.end();
    for (const id of storedOf.keys()) this.#move(id);
    result.embedded += run.embedded;
    result.failed += run.failed;
    result.refused += run.refused;
    this.#refusal = run.isRefused ? run.error : undefined;
    if (run.error === undefined) delete result.error;
    else result.error = run.error;
    const broken = ends.find((end) => end.status === "rejected");
    if (broken !== undefined) throw broken.reason;
  }

  #move(sessionId: string): void {
    const { repositories, inUse, clock, changes } = this.#ports;
    // The state that an open session holds in memory is then out of date.
    if (moveAfterVectors(repositories, sessionId, inUse.embedder, clock)) changes.count += 1;
  }
}
