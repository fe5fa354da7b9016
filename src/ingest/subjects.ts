import { setImmediate } from "node:timers/promises";
import { StoreError } from "../core/errors.ts";
import { ProjectSubjects } from "../forest/subjects.ts";
import type { Repositories } from "../store/repositories.ts";
import type { SettledCluster } from "../store/subjects.ts";
import { placeClusters } from "../store/write.ts";

/** Most clusters that are placed in one transaction, and about the most comparisons made in it: some 10 ms each. */
const BATCH_CLUSTERS_MAX = 100;
const BATCH_COMPARISONS = 20_000;

/** Placed clusters that are loaded in one go. */
const PAGE_CLUSTERS = 500;

/** Placed clusters that stay in memory from one time to the next, in whole projects: of 512 numbers each, 100 MB. */
const KEPT_CLUSTERS_MAX = 50_000;

/**
 * Places settled clusters among the subjects of their projects, and keeps the subjects of the projects that it came to last:
 * to load those of 20,000 clusters takes a second, and to place one more among them a millisecond.
 */
export class SubjectPlacer {
  readonly #repositories: Repositories;
  readonly #batchMax: number;
  /** By project, the one placed in longest ago first. */
  readonly #placings = new Map<string | null, ProjectPlacing>();

  /** @param batchMax  Most clusters placed in one transaction. */
  constructor(repositories: Repositories, batchMax = BATCH_CLUSTERS_MAX) {
    this.#repositories = repositories;
    this.#batchMax = batchMax;
  }

  /**
   * Place the settled clusters that have no place yet, in the order in which they settled, in small transactions with room
   * for others in between. One call at a time.
   *
   * Any number of processes may do this at once: each cluster is placed once, and where depends only on the log. A project
   * that is damaged is left alone: `verify` names it.
   *
   * @throws the signal's reason if it is aborted; what has been placed by then stays.
   */
  async placeAll(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { database, subjects } = this.#repositories;
    for (const project of database.read(() => subjects.projectsToAssign())) {
      const placing = this.#placings.get(project) ?? new ProjectPlacing(this.#repositories, project);
      this.#placings.delete(project);
      this.#placings.set(project, placing);
      try {
        while (placing.goesOn(this.#batchMax)) {
          await setImmediate();
          signal.throwIfAborted();
        }
      } catch (error) {
        // What is in memory may be ahead of the file.
        this.#placings.delete(project);
        if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
      }
    }
    this.#release();
  }

  /** Keep the projects placed in last, as many as there is room for. */
  #release(): void {
    let keptCount = 0;
    for (const [project, { clusterCount }] of [...this.#placings].toReversed()) {
      keptCount += clusterCount;
      if (keptCount > KEPT_CLUSTERS_MAX) this.#placings.delete(project);
    }
  }
}

/** The subjects of a project in memory: of all of its clusters that settled up to some position of the log. */
class ProjectPlacing {
  readonly #repositories: Repositories;
  readonly #project: string | null;
  #subjects = new ProjectSubjects();
  /** Log position at which the newest of its clusters settled. All that settled later came, or will come, to it later. */
  #settledUpTo = 0;
  /** Log position at which this was so, the generation, and how often its rows of clusters had been written anew. */
  #position = 0;
  #generation = 0;
  #rewriteCount = -1;

  constructor(repositories: Repositories, project: string | null) {
    this.#repositories = repositories;
    this.#project = project;
  }

  get clusterCount(): number {
    return this.#subjects.clusterCount;
  }

  /** Load or place some more. @returns whether there may be more to do. */
  goesOn(batchMax: number): boolean {
    // What there is to load is loaded before the transaction, where it holds nobody up.
    const isLoaded = this.#repositories.database.read(() => {
      const isCurrent = this.#isCurrent();
      if (!isCurrent) this.#load();
      return isCurrent;
    });
    return !isLoaded || this.#place(batchMax);
  }

  #place(batchMax: number): boolean {
    let goesOn = true;
    placeClusters(this.#repositories, () => {
      if (!this.#isCurrent()) return [];
      const countMax = Math.min(batchMax, Math.ceil(BATCH_COMPARISONS / (this.#subjects.subjectCount + 1)));
      const next = this.#next(countMax);
      goesOn = next.length === countMax;
      const waiting = next.filter(({ subject }) => subject === null);
      return waiting.map(({ cluster, settledAt }) => {
        const { root: subject, similarity } = this.#subjects.place(cluster);
        this.#settledUpTo = settledAt;
        return { root: cluster.root, sessionId: cluster.sessionId, subject, similarity };
      });
    });
    return goesOn;
  }

  /** Take in some of what others have placed; all of it anew where any of it has lost its place. */
  #load(): void {
    const { unions, generations } = this.#repositories;
    if (!this.#holds()) {
      this.#subjects = new ProjectSubjects();
      this.#settledUpTo = 0;
    }
    this.#position = unions.newestPosition();
    const { id, rewriteCount } = generations.newest()!;
    this.#generation = id;
    this.#rewriteCount = rewriteCount;
    for (const { cluster, settledAt, subject } of this.#next(PAGE_CLUSTERS)) {
      if (subject === null) return;
      this.#subjects.restore(cluster, subject);
      this.#settledUpTo = settledAt;
    }
  }

  /** Whether everything is in memory that has a place. */
  #isCurrent(): boolean {
    if (!this.#holds()) return false;
    this.#position = this.#repositories.unions.newestPosition();
    const [next] = this.#next(1);
    return next === undefined || next.subject === null;
  }

  /** Whether everything that is in memory still has its place. */
  #holds(): boolean {
    const { subjects, generations } = this.#repositories;
    const { id, rewriteCount } = generations.newest()!;
    if (id !== this.#generation || rewriteCount !== this.#rewriteCount) return false;
    return !subjects.isDissolvedAfter(this.#position);
  }

  #next(limit: number): SettledCluster[] {
    return this.#repositories.subjects.settledAfter(this.#project, this.#settledUpTo, limit);
  }
}
