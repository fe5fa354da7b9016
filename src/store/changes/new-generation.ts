import { assert } from "../../core/damage.ts";
import { PLACEMENT_VERSION } from "../../forest/placement.ts";
import type { Target } from "../derived/reembedding.ts";
import type { UnionRow } from "../derived/unions.ts";
import type { GenerationRow } from "../facts/generations.ts";
import type { Repositories } from "../repositories.ts";
import type { DerivedRows } from "./derive.ts";

// The events of a reembed. Each function is one transaction.

/** Staged vectors moved or deleted in one transaction: about 10 ms. */
const VECTORS_MAX = 200;

/** A forest grown beside the one in use. Its log positions count from 1; the switch adds the end of the log in use. */
export interface NewForest {
  dimension: number;
  createdAtMs: number;
  /** The cosine from which steps joined, if it is not the embedder's own. */
  similarityMin: number | undefined;
  log: readonly { sessionId: string; row: UnionRow }[];
  sessions: readonly ({ sessionId: string } & DerivedRows)[];
  withoutVector: readonly number[];
  /** Summaries that cover exactly the steps of a cluster of this forest. */
  carried: readonly CarriedSummary[];
}

export interface CarriedSummary {
  summaryId: number;
  /** The cluster, and the log position at which it holds exactly the summary's steps. */
  rootId: number;
  logPosition: number;
}

/** The setting with the cosine that was chosen for the generation in use. */
const SIMILARITY = "similarityMin";

/** Returns the cosine from which steps join a cluster, if one was chosen when the forest was grown again with this embedder. */
export function similarityOf({ settings }: Repositories, embedderId: string): number | undefined {
  const chosen = settings.get(SIMILARITY) as { embedderId: string; similarityMin: number } | undefined;
  return chosen?.embedderId === embedderId ? chosen.similarityMin : undefined;
}

/** The setting with the version of placement that the generation in use began with. Older stores lack it. */
const PLACEMENT = "placement";

/** Returns true if the forest in use was begun by the placement of this version, or of a newer one, which this one must not undo. */
export function isPlacedNow({ settings }: Repositories): boolean {
  return Number(settings.get(PLACEMENT) ?? 0) >= PLACEMENT_VERSION;
}

/** Call it inside the transaction that begins a generation. */
export function notePlacement({ settings }: Repositories): void {
  settings.set(PLACEMENT, PLACEMENT_VERSION);
}

/** Undefined in a store without a generation. */
export function nextTarget({ generations }: Repositories, embedderId: string): Target | undefined {
  const newest = generations.newest();
  return newest === undefined ? undefined : { generation: newest.id + 1, embedderId };
}

/** Stages vectors for the next generation. @returns how many; undefined if another process has begun it. */
export function stageVectors(
  repositories: Repositories,
  target: Target,
  vectors: readonly { id: number; embedding: Float32Array | undefined }[],
): number | undefined {
  const { database, generations, reembedding } = repositories;
  return database.write("reembed", () => {
    if (generations.newest()!.id >= target.generation) return undefined;
    return vectors.filter(({ id, embedding }) => reembedding.stage(target, id, embedding)).length;
  });
}

/** Moves some staged vectors to their messages, and deletes unused ones. @returns how many; 0 at the end. */
export function moveVectors({ database, reembedding }: Repositories): number {
  if (!database.read(() => reembedding.hasLeftover())) return 0;
  return database.write("reembed", () => {
    const movedCount = reembedding.move(VECTORS_MAX);
    return movedCount + reembedding.deleteWaste(VECTORS_MAX - movedCount);
  });
}

/**
 * Replaces the generation in use: log, vectors, pointers, clusters, themes and summaries. The new vectors stay in the
 * staging table until `moveVectors` moves them. Upkeep assigns the new clusters to subjects. Summaries of the old
 * generation stay stored, and contexts show those that were carried over.
 *
 * @param plan  Called inside the transaction. Returns a forest of everything in the store, or undefined if its forest
 * is out of date. Then nothing is written.
 */
export function switchGeneration(
  repositories: Repositories,
  target: Target,
  plan: () => NewForest | undefined,
): GenerationRow | undefined {
  const { database, generations, messages, unions, clusters, themes, subjects, summaries, sessions } = repositories;
  const { pendingVectors, reembedding, frontierMoves, settings } = repositories;
  return database.write("reembed", () => {
    const forest = plan();
    if (forest === undefined) return undefined;
    const { dimension, createdAtMs, similarityMin } = forest;
    const base = unions.newestPosition();
    const generation = generations.insert({ embedderId: target.embedderId, dimension, createdAtMs, logPosition: base });
    assert(generation.id === target.generation, "the generation that vectors were staged for begins");

    notePlacement(repositories);
    if (similarityMin === undefined) settings.delete(SIMILARITY);
    else settings.set(SIMILARITY, { embedderId: target.embedderId, similarityMin });
    for (const { sessionId, row } of forest.log) unions.add(sessionId, generation.id, { ...row, id: base + row.id });
    const parentsOf = new Map(forest.sessions.map(({ sessionId, parents }) => [sessionId, parents]));
    for (const { id, parentId, sessionId } of messages.parents()) {
      const parent = parentsOf.get(sessionId)?.get(id) ?? id;
      if (parent !== parentId) messages.setParent(parent, id, sessionId);
    }
    pendingVectors.deleteAll(); // vectors of the old embedder
    for (const id of forest.withoutVector) {
      reembedding.drop(id);
      pendingVectors.add(createdAtMs, id);
    }
    clusters.deleteAll();
    themes.deleteAll();
    frontierMoves.deleteCheckpoints();
    for (const { sessionId, ...rows } of forest.sessions) {
      for (const state of rows.clusters) {
        const { root } = state.cluster;
        clusters.put(sessionId, { ...state, logPosition: base + state.logPosition });
        if (state.settledAt !== null) clusters.settle(base + state.settledAt, root, sessionId);
        if (state.subjectRoot !== null) subjects.setRoot(state.subjectRoot, root);
      }
      for (const { theme, logPosition } of rows.themes) {
        themes.put(sessionId, { theme, logPosition: base + logPosition });
      }
    }
    summaries.leaveForest(base);
    for (const { summaryId, rootId, logPosition } of forest.carried) {
      summaries.carry(summaryId, rootId, base + logPosition);
    }
    sessions.countRewriteOfAll(); // other processes have the old forest in memory
    return generation;
  });
}
