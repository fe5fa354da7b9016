import type { NearestClusters } from "../ann/nearest-clusters.ts";
import type { Clock } from "../core/clock.ts";
import { IDLE_AFTER_MS } from "../core/limits.ts";
import { untilAborted } from "../core/until-aborted.ts";
import { moveIdleSessions } from "../ingest/frontier.ts";
import { indexTail } from "../ingest/index-texts.ts";
import { moveVectors } from "../ingest/reembed.ts";
import { SubjectPlacer } from "../ingest/subjects.ts";
import type { EmbedderInUse, VectorCollector } from "../ingest/vector-collector.ts";
import { isRemote } from "../models/embedder.ts";
import type { Repositories } from "../store/repositories.ts";
import type { ActiveSessions } from "./active.ts";

/** The parts of a store that its upkeep uses. */
export interface UpkeepPorts {
  repositories: Repositories;
  inUse: Readonly<EmbedderInUse>;
  clock: Clock;
  changes: { count: number };
  active: ActiveSessions;
  nearest: NearestClusters;
  vectors: VectorCollector;
}

export interface UpkeepOptions {
  signal: AbortSignal;
  /** True if sessions that this process has changed within a day may become idle too. */
  includeActive?: boolean;
}

/**
 * Maintains a store in the background, over all its sessions. Messages get the vectors that are due. Sessions without a message
 * for a day become idle, and their clusters settle. Settled clusters are assigned to subjects and enter the index of clusters;
 * messages enter the full-text index. The work is done in small steps, so that others can write in between. If nothing is due,
 * nothing is written.
 *
 * One run follows another: two at a time would go through the same sessions and hold the same subjects in memory.
 */
export class Upkeep {
  readonly #ports: UpkeepPorts;
  readonly #placer: SubjectPlacer;
  /** Resolves, and never rejects, when the last run that was started is over. */
  #running: Promise<void> | undefined;

  constructor(ports: UpkeepPorts) {
    this.#ports = ports;
    this.#placer = new SubjectPlacer(ports.repositories);
  }

  /**
   * Runs every step, after the run in progress. If a step fails, the others still run.
   *
   * @throws the signal's reason if aborted, and completed work stays; otherwise what the first failed step threw.
   */
  async run({ signal, includeActive = false }: UpkeepOptions): Promise<void> {
    const before = this.#running;
    const run = (async () => {
      if (before !== undefined) await untilAborted(before, signal);
      await this.#run(signal, includeActive);
    })();
    const running = Promise.allSettled([before, run]).then(() => {});
    this.#running = running;
    void running.then(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return run;
  }

  /**
   * Runs every step for a caller who asked for something else, or waits for the run in progress. Errors are not thrown: `doctor`
   * and `verify` report them, and the next run tries again.
   *
   * @throws the signal's reason if aborted.
   */
  async runBehind(signal: AbortSignal): Promise<void> {
    if (this.#running !== undefined) return untilAborted(this.#running, signal);
    await this.run({ signal }).catch(() => signal.throwIfAborted());
  }

  async #run(signal: AbortSignal, includeActive: boolean): Promise<void> {
    const { repositories, inUse, nearest, vectors } = this.#ports;
    const steps = [
      ...(isRemote(inUse.embedder) ? [() => vectors.embed({ signal })] : []),
      () => this.#moveIdle(signal, includeActive),
      () => this.#placer.placeAll(signal),
      () => moveVectors(repositories, signal),
      () => indexTail(repositories, { signal }),
      () => nearest.carry(signal),
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
  }

  async #moveIdle(signal: AbortSignal, includeActive: boolean): Promise<void> {
    const { repositories, inUse, clock, changes, active } = this.#ports;
    const nowMs = clock();
    active.look(nowMs);
    await moveIdleSessions(repositories, {
      embedder: inUse.embedder,
      nowMs,
      isSpared: (sessionId) => !includeActive && active.isActive(sessionId, nowMs - IDLE_AFTER_MS),
      signal,
      onMoved: () => {
        changes.count += 1;
      },
    });
  }
}
