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

/** What upkeep needs of the store. */
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
  /** Whether also the sessions that this process has changed within a day may rest. Unless given, they are left alone. */
  includeActive?: boolean;
}

/**
 * What a store does for itself in the background, over all its sessions: messages get the vectors that are due; sessions in
 * which nobody has spoken for a day come to rest, and settle when they are over for now; settled clusters come to their
 * places among the subjects and into the index of clusters, and messages into the full-text index. In small steps, between
 * which others get their turn; where nothing is to be done, nothing is written.
 *
 * One runs at a time: two would go through the same sessions and hold the same subjects in memory.
 */
export class Upkeep {
  readonly #ports: UpkeepPorts;
  readonly #placer: SubjectPlacer;
  /** Ends, and never rejects, with the last one that was begun. */
  #running: Promise<void> | undefined;

  constructor(ports: UpkeepPorts) {
    this.#ports = ports;
    this.#placer = new SubjectPlacer(ports.repositories);
  }

  /**
   * Do all of it, after what is under way. A step that fails keeps none of the others from being done.
   *
   * @throws the signal's reason if it is aborted, what was done by then stays; otherwise what the first step threw that
   *   failed.
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
   * Do all of it behind a caller who has asked for something else, or wait for the one that is under way. What fails is no
   * affair of that caller: `doctor` and `verify` name it, and the next one tries again.
   *
   * @throws the signal's reason if it is aborted.
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
