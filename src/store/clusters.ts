import { and, asc, eq, isNull, sql } from "drizzle-orm";
import type { OpenCluster } from "../forest/cluster.ts";
import { encodeVector } from "../vector/codec.ts";
import type { StoreDatabase } from "./open.ts";
import { clusters } from "./schema.ts";

export type ClusterRow = typeof clusters.$inferSelect;

/** What a row of `clusters` adds to the cluster that the forest knows. */
export interface ClusterState {
  cluster: OpenCluster;
  label: string;
  logPosition: number;
}

/** All that a row of `clusters` holds. */
export interface StoredCluster extends ClusterState {
  /** Log position from which it takes no members; null while it is open. */
  settledAt: number | null;
  /** Root of its subject; null until it has been placed among the subjects. */
  subjectRoot: number | null;
}

/** A cluster as `roots` shows it. */
export interface ClusterOverview {
  root: number;
  stepCount: number;
  messageCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
  label: string;
  logPosition: number;
  settled: boolean;
  /** Root of the theme it is in now. */
  themeRoot: number;
}

type InsertedRow = Omit<ClusterRow, "centroidSum" | "settledAt" | "subjectParentId"> & { centroidSum: Buffer };

/** Rows of `clusters`. */
export class ClusterRepository {
  readonly #put;
  readonly #settle;
  readonly #open;
  readonly #ofSession;
  readonly #deleteOf;
  readonly #deleteAll;
  readonly #overviews;
  readonly #labelOf;

  constructor({ orm, client }: StoreDatabase) {
    this.#put = client.prepare<InsertedRow>(
      `INSERT INTO clusters (root_id, session_id, step_count, message_count, token_count, centroid_sum, vector_count,
                             seq_first, seq_last, turn_last, last_at_ms, speakers, label, log_position)
       VALUES (@rootId, @sessionId, @stepCount, @messageCount, @tokenCount, @centroidSum, @vectorCount,
               @seqFirst, @seqLast, @turnLast, @lastAtMs, @speakers, @label, @logPosition)
       ON CONFLICT (root_id) DO UPDATE SET
         step_count = excluded.step_count, message_count = excluded.message_count, token_count = excluded.token_count,
         centroid_sum = excluded.centroid_sum, vector_count = excluded.vector_count, seq_first = excluded.seq_first,
         seq_last = excluded.seq_last, turn_last = excluded.turn_last, last_at_ms = excluded.last_at_ms,
         speakers = excluded.speakers, label = excluded.label, log_position = excluded.log_position`,
    );
    this.#settle = client.prepare<[number, number]>("UPDATE clusters SET settled_at = ? WHERE root_id = ?");
    this.#open = orm
      .select()
      .from(clusters)
      .where(and(eq(clusters.sessionId, sql.placeholder("sessionId")), isNull(clusters.settledAt)))
      .orderBy(asc(clusters.rootId))
      .prepare();
    this.#ofSession = orm
      .select()
      .from(clusters)
      .where(eq(clusters.sessionId, sql.placeholder("sessionId")))
      .orderBy(asc(clusters.rootId))
      .prepare();
    this.#deleteOf = client.prepare<[string]>("DELETE FROM clusters WHERE session_id = ?");
    this.#deleteAll = client.prepare<[]>("DELETE FROM clusters");
    this.#overviews = client.prepare<{ sessionId: string }, Omit<ClusterOverview, "settled"> & { settled: number }>(
      `WITH RECURSIVE up(cluster, root) AS (
         SELECT c.root_id, m.parent_id FROM clusters c JOIN messages m ON m.id = c.root_id WHERE c.session_id = @sessionId
         UNION
         SELECT up.cluster, m.parent_id FROM up JOIN messages m ON m.id = up.root WHERE m.parent_id <> up.root
       )
       SELECT c.root_id AS root, c.step_count AS stepCount, c.message_count AS messageCount,
              c.token_count AS tokenCount, c.seq_first AS seqFirst, c.seq_last AS seqLast, c.label,
              c.log_position AS logPosition, c.settled_at IS NOT NULL AS settled, up.root AS themeRoot
       FROM clusters c
       JOIN up ON up.cluster = c.root_id
       JOIN themes t ON t.root_id = up.root
       WHERE c.session_id = @sessionId
       ORDER BY c.seq_first`,
    );
    this.#labelOf = client.prepare<[number], string>("SELECT label FROM clusters WHERE root_id = ?").pluck();
  }

  put(sessionId: string, { cluster, label, logPosition }: ClusterState): void {
    this.#put.run({
      rootId: cluster.root,
      sessionId,
      stepCount: cluster.stepCount,
      messageCount: cluster.messageCount,
      tokenCount: cluster.tokenCount,
      centroidSum: encodeVector(cluster.sum),
      vectorCount: cluster.vectorCount,
      seqFirst: cluster.seqFirst,
      seqLast: cluster.seqLast,
      turnLast: cluster.turnLast,
      lastAtMs: cluster.atMsLast,
      speakers: JSON.stringify(cluster.speakers),
      label,
      logPosition,
    });
  }

  settle(root: number, position: number): void {
    this.#settle.run(position, root);
  }

  /** Those that may still take members, oldest root first. */
  open(sessionId: string): OpenCluster[] {
    return this.#open.all({ sessionId }).map(clusterOf);
  }

  /** All of them, oldest root first. */
  ofSession(sessionId: string): StoredCluster[] {
    return this.#ofSession.all({ sessionId }).map((row) => ({
      cluster: clusterOf(row),
      label: row.label,
      logPosition: row.logPosition,
      settledAt: row.settledAt,
      subjectRoot: row.subjectParentId,
    }));
  }

  deleteOf(sessionId: string): void {
    this.#deleteOf.run(sessionId);
  }

  /** Of all sessions. */
  deleteAll(): void {
    this.#deleteAll.run();
  }

  /** Every cluster of a session with the theme it is in, oldest first. */
  overviews(sessionId: string): ClusterOverview[] {
    return this.#overviews.all({ sessionId }).map((row) => ({ ...row, settled: row.settled === 1 }));
  }

  labelOf(root: number): string {
    return this.#labelOf.get(root) ?? "";
  }
}

function clusterOf(row: typeof clusters.$inferSelect): OpenCluster {
  return {
    root: row.rootId,
    sum: row.centroidSum,
    vectorCount: row.vectorCount,
    messageCount: row.messageCount,
    stepCount: row.stepCount,
    tokenCount: row.tokenCount,
    seqFirst: row.seqFirst,
    seqLast: row.seqLast,
    turnLast: row.turnLast,
    atMsLast: row.lastAtMs,
    speakers: JSON.parse(row.speakers) as OpenCluster["speakers"],
  };
}
