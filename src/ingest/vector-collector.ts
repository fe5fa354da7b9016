import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Clock } from "../core/clock.ts";
import { type Embedder, isRemote, type RemoteEmbedder } from "../models/embedder.ts";
import type { OnUsage } from "../models/usage.ts";
import type { Repositories } from "../store/repositories.ts";
import { relieve } from "./append.ts";
import { EmbedRun } from "./embed-run.ts";

/** Calls under way at once. */
export const EMBED_CONCURRENCY = 4;

/** Vectors of a session after which what they have let wait too long goes into the forest, while others are still due. */
const RELIEVE_VECTORS = 500;

/** Least time between two looks whether a service is back, or another process has finished. */
const LOOK_MS_MIN = 100;

/** What came of asking for the vectors that were due. */
export interface EmbedResult {
  /** Messages that have their vector now. */
  embedded: number;
  /** Messages for which a try failed that is made again. */
  failed: number;
  /** Messages given up, because the embedder takes others and not these: they do without. */
  refused: number;
  /** Messages that are still due, those included that another process is asking for. */
  waiting: number;
  /** What ended it before every message was tried. */
  error?: unknown;
}

export interface EmbedOptions {
  signal: AbortSignal;
  /** Only the messages of this one. */
  sessionId?: string;
  /** From 1 to 64. */
  concurrency?: number;
  /** How long to go on, in milliseconds, while the service is away or others are asking; 0 unless given. */
  waitMsMax?: number;
  /** Whether to ask although the account was refused before. */
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

/** Brings the messages of a store the vectors that come later. With a local embedder there is nothing to bring. */
export class VectorCollector {
  readonly #ports: VectorCollectorPorts;
  readonly #claimant = randomUUID();
  readonly #inFlight = new Set<number>();
  /** That the rest is known of: `reembed` may have come to another. */
  #embedder: Embedder | undefined;
  /** Whether the service has answered this store: then what it refuses is a text, and not all of us. */
  #hasWorked = false;
  /** Why the account was refused. Only a caller who says so asks again, or a store that is opened anew. */
  #refusal: unknown;

  constructor(ports: VectorCollectorPorts) {
    this.#ports = ports;
  }

  /**
   * Ask for what is due. A failing model never rejects.
   *
   * Any number of processes may do this at once: each message is asked for by one of them, and by another only when that one
   * has died or given up.
   *
   * @throws the signal's reason if it is aborted, `EMBEDDER_MISMATCH` where the store has come to another embedder, and what
   *   keeps the result from being written; what has been written by then stays.
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
   * When vectors of a session may be asked for that were due and could not be at a moment; undefined where there are none,
   * and where the account was refused.
   */
  nextTryAfter(sessionId: string, sinceMs: number): number | undefined {
    const { inUse, repositories } = this.#ports;
    const { embedder } = inUse;
    if (!isRemote(embedder) || this.#refusal !== undefined) return undefined;
    return repositories.database.read(() => repositories.pendingVectors.nextTryAfter(sessionId, sinceMs));
  }

  async #walk(embedder: RemoteEmbedder, options: EmbedOptions, result: EmbedResult): Promise<void> {
    const { repositories, clock } = this.#ports;
    const storedOf = new Map<string, number>();
    const before = result.embedded;
    const run = new EmbedRun(
      { repositories, embedder, clock, claimant: this.#claimant, inFlight: this.#inFlight },
      {
        sessionId: options.sessionId,
        signal: options.signal,
        onUsage: options.onUsage,
        onStored: (sessionIds, count) => {
          for (const id of sessionIds) {
            const stored = (storedOf.get(id) ?? 0) + count;
            storedOf.set(id, stored < RELIEVE_VECTORS ? stored : 0);
            if (stored >= RELIEVE_VECTORS) this.#relieve(id);
          }
          const { count: waiting } = repositories.pendingVectors.due(options.sessionId);
          options.onProgress?.({ embedded: before + run.embedded, waiting });
        },
      },
      this.#hasWorked,
    );
    const workers = Array.from({ length: options.concurrency ?? EMBED_CONCURRENCY }, () => run.work());
    const ends = await Promise.allSettled(workers);
    this.#hasWorked ||= run.hasWorked;
    options.signal.throwIfAborted();
    run.end();
    for (const id of storedOf.keys()) this.#relieve(id);
    result.embedded += run.embedded;
    result.failed += run.failed;
    result.refused += run.refused;
    this.#refusal = run.isRefused ? run.error : undefined;
    if (run.error === undefined) delete result.error;
    else result.error = run.error;
    const broken = ends.find((end) => end.status === "rejected");
    if (broken !== undefined) throw broken.reason;
  }

  /** What is in memory of a session that moves is out of date. */
  #relieve(sessionId: string): void {
    const { repositories, inUse, clock, changes } = this.#ports;
    const { embedder } = inUse;
    if (relieve(repositories, sessionId, { embedder, clock })) changes.count += 1;
  }
}
