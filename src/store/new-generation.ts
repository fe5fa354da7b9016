import { assert } from "../core/assert.ts";
import type { GrowingTheme } from "../forest/growing-forest.ts";
import type { StoredCluster } from "./clusters.ts";
import type { GenerationRow } from "./generations.ts";
import type { Target } from "./reembedding.ts";
import type { Repositories } from "./repositories.ts";
import type { UnionRow } from "./unions.ts";

// What happens to the store while its forest is grown anew with another embedder. Each function is one transaction.

/** Staged vectors that are moved or deleted in one transaction: some 10 ms. */
const VECTORS_MAX = 200;

/** A forest grown beside the one in use. Its log positions count from 1, wherever the log will stand by then. */
export interface NewForest {
  dimension: number;
  /** Unix milliseconds. */
  createdAtMs: number;
  /** Of all sessions, in order. */
  log: readonly { sessionId: string; row: UnionRow }[];
  sessions: readonly { sessionId: string; clusters: readonly StoredCluster[]; themes: readonly GrowingTheme[] }[];
  /** The parent of every message that is not its own, by id. */
  parents: ReadonlyMap<number, number>;
  /** Messages whose vectors have not been made. */
  withoutVector: readonly number[];
  /** Summaries whose sources are, step for step, a theme of this forest as of a position. */
  carried: readonly CarriedSummary[];
}

export interface CarriedSummary {
  summaryId: number;
  rootId: number;
  logPosition: number;
}

/** The target of whoever begins now; undefined in a store that was never written to. */
export function nextTarget({ generations }: Repositories, embedderId: string): Target | undefined {
  const newest = generations.newest();
  return newest === undefined ? undefined : { generation: newest.id + 1, embedderId };
}

/**
 * Vectors were made for the generation to come.
 *
 * @returns how many were not there yet; undefined, and nothing is written, where that generation has come meanwhile: another
 *   process was faster.
 */
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

/**
 * Some of the vectors that came into use with the switch came to their messages; and of those that were made for a
 * generation that another came before, some went.
 *
 * @returns how many; 0 where none is left, and nothing written.
 */
export function moveVectors({ database, reembedding }: Repositories): number {
  if (database.read(() => reembedding.restCount(1)) === 0) return 0;
  return database.write("reembed", () => {
    const movedCount = reembedding.move(VECTORS_MAX);
    return movedCount + reembedding.deleteWaste(VECTORS_MAX - movedCount);
  });
}

/**
 * The new generation took the place of the old: log, vectors, pointers, clusters, themes and summaries, all at once.
 *
 * The vectors are in use from here on where they are: to write them into the rows of their messages would take as long again
 * as all the rest, and is done afterwards, a few at a time.
 *
 * Clusters have no places among the subjects then; upkeep gives them. Summaries of the old generation stay rows, and their
 * handles go on meaning what they meant; the context shows those that were carried over.
 *
 * @param plan  Asked inside the transaction for a forest of all that is in the store by then; undefined where what was grown
 *   is behind, and nothing is written.
 */
export function switchGeneration(
  repositories: Repositories,
  target: Target,
  plan: () => NewForest | undefined,
): GenerationRow | undefined {
  const { database, generations, messages, unions, clusters, themes, subjects, summaries, sessions, pendingVectors } =
    repositories;
  return database.write("reembed", () => {
    const forest = plan();
    if (forest === undefined) return undefined;
    const { dimension, createdAtMs } = forest;
    const base = unions.newestPosition();
    const generation = generations.insert({
      embedderId: target.embedderId,
      dimension,
      createdAtMs,
      logPosition: base,
    });
    assert(generation.id === target.generation, "the generation that vectors were staged for begins");

    for (const { sessionId, row } of forest.log) {
      unions.add(sessionId, generation.id, { ...row, id: base + row.id });
    }
    for (const { id, parentId } of messages.parents()) {
      const parent = forest.parents.get(id) ?? id;
      if (parent !== parentId) messages.setParent(id, parent);
    }
    pendingVectors.deleteAll(); // of the old embedder
    leaveWithoutVector(repositories, forest.withoutVector, createdAtMs);
    clusters.deleteAll();
    themes.deleteAll();
    for (const { sessionId, ...rows } of forest.sessions) {
      for (const state of rows.clusters) {
        const { root } = state.cluster;
        clusters.put(sessionId, { ...state, logPosition: base + state.logPosition });
        if (state.settledAt !== null) clusters.settle(root, base + state.settledAt);
        if (state.subjectRoot !== null) subjects.setRoot(root, state.subjectRoot);
      }
      for (const { theme, logPosition } of rows.themes) {
        themes.put(sessionId, { theme, logPosition: base + logPosition });
      }
    }
    summaries.hideAll(base);
    summaries.deleteClaims(); // what is being made is of the old forest
    for (const { summaryId, rootId, logPosition } of forest.carried) {
      summaries.carry(summaryId, rootId, base + logPosition);
    }
    sessions.countRewrite(); // other processes hold the forest as it was
    return generation;
  });
}

/**
 * Messages of hot windows come into the new generation before its remote embedder has given them vectors: the old ones go,
 * and the new ones are due, as they are for a message that was just appended.
 */
function leaveWithoutVector(
  { reembedding, pendingVectors }: Repositories,
  messageIds: readonly number[],
  dueSinceMs: number,
): void {
  for (const id of messageIds) reembedding.drop(id);
  pendingVectors.addAll(messageIds, dueSinceMs);
}
