import { setImmediate } from "node:timers/promises";
import { StoreError } from "../core/errors.ts";
import { ProjectSubjects } from "../forest/subjects.ts";
import { assignClusters, type Repositories, type SettledCluster } from "../store/index.ts";

/** The limits of one transaction. Reaching either takes about 10 ms. */
const BATCH_CLUSTERS_MAX = 100;
const BATCH_COMPARISONS = 20_000;

const PAGE_CLUSTERS = 500;

/** Assigned clusters that stay in memory between calls, in whole projects: 100 MB with vectors of 512 numbers. */
const KEPT_CLUSTERS_MAX = 50_000;

/**
 * Assigns settled clusters to the subjects of their projects. Subjects of the projects used last stay in memory.
 * Loading those of 20,000 clusters takes a second; assigning one more cluster takes a millisecond.
 */
export class SubjectPlacer {
  readonly #repositories: Repositories;
  readonly #batchMax: number;
  /** Keyed by project, least recently used first. */
  readonly #placings = new Map<string | null, ProjectPlacing>();

  constructor(repositories: Repositories, batchMax = BATCH_CLUSTERS_MAX) {
    this.#repositories = repositories;
    this.#batchMax = batchMax;
  }

  /**
   * Assigns the settled clusters that have no subject, in the order in which they settled, in small transactions. Only
   * one call may run at a time in this store. Other processes may do the same: each cluster is assigned once, and its
   * subject depends only on the log. A damaged project is skipped; `verify` reports it.
   *
   * @throws the signal's reason if it is aborted. Assignments that were made stay.
   */
  async placeAll(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { database, subjects } = this.#repositories;
    for (const project of database.read(() => subjects.projectsToAssign())) {
      const placing = this.#placings.get(project) ?? new ProjectPlacing(this.#repositories, project);
      this.#placings.delete(project);
      this.#placings.set(project, placing);
      try {
        while (placing.advance(this.#batchMax)) {
          await setImmediate();
          signal.throwIfAborted();
        }
      } catch (error) {
        // Memory may be ahead of the file.
        this.#placings.delete(project);
        if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
      }
    }
    this.#release();
  }

  /** Keeps as many of the projects used last as there is room for. */
  #release(): void {
    let keptCount = 0;
    for (const [project, { clusterCount }] of [...this.#placings].toReversed()) {
      keptCount += clusterCount;
      if (keptCount > KEPT_CLUSTERS_MAX) this.#placings.delete(project);
    }
  }
}

/** The subjects of a project in memory, up to some log position. */
class ProjectPlacing {
  readonly #repositories: Repositories;
  readonly #project: string | null;
  #subjects = new ProjectSubjects();
  /** The log position at which the newest of these clusters settled. */
  #settledUpTo = 0;
  /** When the clusters were last known to be current. */
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

  /** Loads or assigns some more clusters. @returns true if there may be more to do. */
  advance(batchMax: number): boolean {
    // Load before the transaction, so that nobody has to wait for it.
    const isLoaded = this.#repositories.database.read(() => {
      const isCurrent = this.#isCurrent();
      if (!isCurrent) this.#load();
      return isCurrent;
    });
    return !isLoaded || this.#place(batchMax);
  }

  #place(batchMax: number): boolean {
    let hasMore = true;
    assignClusters(this.#repositories, () => {
      if (!this.#isCurrent()) return [];
      const countMax = Math.min(batchMax, Math.ceil(BATCH_COMPARISONS / (this.#subjects.subjectCount + 1)));
      const next = this.#next(countMax);
      hasMore = next.length === countMax;
      const waiting = next.filter(({ subject }) => subject === null);
      return waiting.map(({ cluster, settledAt }) => {
        const { root: subject, similarity } = this.#subjects.assign(cluster);
        this.#settledUpTo = settledAt;
        return { root: cluster.root, sessionId: cluster.sessionId, subject, similarity };
      });
    });
    return hasMore;
  }

  /** Loads a page of assigned clusters. Begins again if a cluster in memory may have lost its subject. */
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

  /** Returns true if all assigned clusters are in memory. */
  #isCurrent(): boolean {
    if (!this.#holds()) return false;
    this.#position = this.#repositories.unions.newestPosition();
    const [next] = this.#next(1);
    return next === undefined || next.subject === null;
  }

  /** Returns true if all clusters in memory still have their subjects. */
  #holds(): boolean {
    const { subjects, generations } = this.#repositories;
    const { id, rewriteCount } = generations.newest()!;
    if (id !== this.#generation || rewriteCount !== this.#rewriteCount) return false;
    return !subjects.isDissolvedAfter(this.#position);
  }

  #next(limit: number): SettledCluster[] {
    return this.#repositories.subjects.settledAfter({
      project: this.#project,
      position: this.#settledUpTo,
      limit,
    });
  }
}
