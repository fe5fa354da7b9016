import type { NearestClusters } from "../ann/nearest-clusters.ts";
import type { Clock } from "../core/clock.ts";
import { IDLE_AFTER_MS } from "../core/limits.ts";
import { untilAborted } from "../core/until-aborted.ts";
import { moveIdleSessions } from "../ingest/frontier.ts";
import type { EmbedderTerms } from "../ingest/graduate.ts";
import { indexTail } from "../ingest/index-texts.ts";
import { moveVectors, reembed } from "../ingest/reembed.ts";
import { SubjectPlacer } from "../ingest/subjects.ts";
import type { EmbedOptions, EmbedResult, VectorCollector } from "../ingest/vector-collector.ts";
import { type Embedder, isRemote } from "../models/embedder.ts";
import { erase, isErasingDue, isPlacedNow, type Repositories, scrub } from "../store/index.ts";

export interface UpkeepPorts {
  repositories: Repositories;
  embedder: Embedder;
  placing: EmbedderTerms;
  clock: Clock;
  changes: { count: number };
  changedAtMs: ReadonlyMap<string, number>;
  nearest: NearestClusters;
  vectors: VectorCollector;
  useEmbedder(embedder: Embedder): void;
}

/**
 * Maintains all sessions of a store, as `Store.upkeep` describes, in small transactions, so that others can write in between.
 * Runs never overlap, because two would hold the same subjects in memory.
 */
export class Upkeep {
  readonly #ports: UpkeepPorts;
  readonly #placer: SubjectPlacer;
  /** Resolves at the end of the newest run. Never rejects. */
  #running: Promise<void> | undefined;

  constructor(ports: UpkeepPorts) {
    this.#ports = ports;
    this.#placer = new SubjectPlacer(ports.repositories);
  }

  /**
   * Runs every step, after the run in progress. If a step fails, the others still run.
   *
   * @param isAsked  True if a caller asks for upkeep: then sessions that this process has changed within a day may become idle too,
   *   and damage is looked for.
   * @returns what became of the vectors that were due.
   * @throws the signal's reason if aborted; otherwise the error of the first failed step. Completed work stays.
   */
  async run(embedding: EmbedOptions, isAsked: boolean): Promise<EmbedResult> {
    const before = this.#running;
    const run = (async () => {
      if (before !== undefined) await untilAborted(before, embedding.signal);
      return await this.#run(embedding, isAsked);
    })();
    const running = Promise.allSettled([before, run]).then(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return run;
  }

  /**
   * Runs every step, or waits for the run in progress. Its errors are not thrown, because its callers have another task.
   * `doctor` and `verify` report them, and the next run tries again. @throws the signal's reason if aborted.
   */
  async runBehind(signal: AbortSignal): Promise<void> {
    if (this.#running !== undefined) return untilAborted(this.#running, signal);
    await this.run({ signal }, false).catch(() => signal.throwIfAborted());
  }

  async #run(embedding: EmbedOptions, isAsked: boolean): Promise<EmbedResult> {
    const { repositories, embedder, nearest, vectors } = this.#ports;
    const { signal } = embedding;
    let embedded: EmbedResult = { embedded: 0, failed: 0, refused: 0, waiting: 0 };
    const embed = async (): Promise<void> => {
      embedded = await vectors.embed(embedding);
    };
    const steps = [
      ...(isRemote(embedder) ? [embed] : []),
      () => this.#moveIdle(signal, isAsked),
      ...(isAsked && !isRemote(embedder) ? [() => this.#regrow(signal)] : []),
      () => this.#placer.placeAll(signal),
      () => moveVectors(repositories, signal),
      () => indexTail(repositories, { signal }),
      () => nearest.carry(signal),
      () => this.#erase(),
      // What it finds is told once in a round, so it needs somebody who listens.
      ...(isAsked ? [() => scrub(repositories, signal)] : []),
    ];
    const errors: unknown[] = [];
    for (const step of steps) {
      signal.throwIfAborted();
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    signal.throwIfAborted();
    if (errors.length > 0) throw errors[0];
    return embedded;
  }

  /** Grows the forest again if an older placement has grown it. A remote embedder may cost money, so its store waits for `reembed`. */
  async #regrow(signal: AbortSignal): Promise<void> {
    const { repositories, embedder, clock } = this.#ports;
    const { database, generations } = repositories;
    const isOld = (): boolean => generations.newest()?.embedderId === embedder.id && !isPlacedNow(repositories);
    if (!database.read(isOld)) return;
    await reembed(repositories, { embedder, clock, signal, onSwitch: () => this.#ports.useEmbedder(embedder) });
  }

  /** Removes the bytes of what was forgotten, if a process was killed before, or others were reading. */
  #erase(): void {
    const { repositories, nearest } = this.#ports;
    const { database } = repositories;
    if (database.isAtomic || !database.read(() => isErasingDue(repositories))) return;
    const isIndexGone = nearest.forget();
    database.withoutWaiting(() => erase(repositories, isIndexGone));
  }

  async #moveIdle(signal: AbortSignal, isAsked: boolean): Promise<void> {
    const { repositories, placing, clock, changes, changedAtMs } = this.#ports;
    const nowMs = clock();
    await moveIdleSessions(repositories, {
      embedder: placing,
      nowMs,
      isSpared: (sessionId) => !isAsked && (changedAtMs.get(sessionId) ?? 0) > nowMs - IDLE_AFTER_MS,
      signal,
      onMoved: () => {
        changes.count += 1;
      },
    });
  }
}
