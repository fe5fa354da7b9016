import { eq } from "drizzle-orm";
import type { OpenCluster } from "../forest/cluster.ts";
import { encodeVector } from "../vector/codec.ts";
import { Repository } from "./repository.ts";
import { clusters } from "./schema.ts";
import { columns, type InsertOf, type RowOf } from "./statement.ts";

export interface ClusterState {
  cluster: OpenCluster;
  label: string;
  logPosition: number;
}

export interface StoredCluster extends ClusterState {
  /** Null while the cluster is open. */
  settledAt: number | null;
  /** Null until the cluster has been assigned to a subject. */
  subjectRoot: number | null;
}

export const CLUSTER = columns(clusters);
type ClusterRow = RowOf<typeof CLUSTER>;
const SIZE = columns(clusters, "rootId", "tokenCount", "settledAt", "logPosition");
/** A cluster with the time of its first message. */
export type DatedCluster = ClusterRow & { firstAtMs: number };

/** SQL for `up`: the clusters of a session, each with every root on the way to its theme's root. */
const UP = `WITH RECURSIVE up(cluster, root) AS (
      SELECT c.root_id, m.parent_id FROM clusters c JOIN messages m ON m.id = c.root_id WHERE c.session_id = @sessionId
      UNION
      SELECT up.cluster, m.parent_id FROM up JOIN messages m ON m.id = up.root WHERE m.parent_id <> up.root
    )`;

export class ClusterRepository extends Repository {
  // Moves of the frontier, resumes and renders run these.
  readonly #put = this.statement<
    Omit<InsertOf<typeof CLUSTER>, "centroidSum" | "speakers"> & { centroidSum: Buffer; speakers: string }
  >`
    ${CLUSTER.upsert("sessionId", "settledAt", "subjectParentId")}`;
  readonly settle = this.statement<[position: number, root: number]>`
    UPDATE clusters SET settled_at = ? WHERE root_id = ?`.run;
  readonly delete = this.statement<[root: number]>`DELETE FROM clusters WHERE root_id = ?`.run;
  readonly reopen = this.statement<[root: number]>`
    UPDATE clusters SET settled_at = NULL, subject_parent_id = NULL WHERE root_id = ?`.run;
  /** Oldest root first. */
  readonly open = this.statement<[sessionId: string], ClusterRow>`
    SELECT ${CLUSTER} FROM clusters WHERE session_id = ? AND settled_at IS NULL ORDER BY root_id`.map(
    (row) => storedCluster(row).cluster,
  ).all;
  /** Oldest root first. */
  readonly ofSession = this.statement<[sessionId: string], ClusterRow>`
    SELECT ${CLUSTER} FROM clusters WHERE session_id = ? ORDER BY root_id`.map(storedCluster).all;
  /** Oldest root first. */
  readonly sizesOf = this.statement<[sessionId: string], RowOf<typeof SIZE>>`
    SELECT ${SIZE} FROM clusters WHERE session_id = ? ORDER BY root_id`.all;
  readonly sizeOf = this.statement<[root: number], RowOf<typeof SIZE>>`
    SELECT ${SIZE} FROM clusters WHERE root_id = ?`.get;
  readonly countOf = this.statement<[sessionId: string], number>`
    SELECT count(*) FROM clusters WHERE session_id = ?`.pluck().one;
  readonly find = this.statement<[root: number], ClusterRow>`SELECT ${CLUSTER} FROM clusters WHERE root_id = ?`.get;
  // Recursive.
  /** Every cluster of a session with its theme, oldest first. */
  readonly withThemes = this.statement<{ sessionId: string }, ClusterRow & { themeRoot: number }>`
    ${UP} SELECT ${CLUSTER.of("c")}, up.root AS themeRoot
    FROM clusters c
    JOIN up ON up.cluster = c.root_id
    JOIN themes t ON t.root_id = up.root
    WHERE c.session_id = @sessionId
    ORDER BY c.seq_first`.all;
  /** The clusters of a session that have messages of this time or later, with their themes. */
  readonly workedSince = this.statement<{ sessionId: string; sinceMs: number }, DatedCluster & { themeRoot: number }>`
    ${UP} SELECT ${CLUSTER.of("c")}, up.root AS themeRoot, first.created_at_ms AS firstAtMs
    FROM clusters c
    JOIN messages first ON first.id = c.root_id
    JOIN up ON up.cluster = c.root_id
    JOIN themes t ON t.root_id = up.root
    WHERE c.session_id = @sessionId AND c.last_at_ms >= @sinceMs
    ORDER BY c.seq_first`.all;

  /** @throws {SyntaxError} if there is no such row, although the log knows the cluster. */
  byRoot(root: number): ClusterRow {
    const row = this.find(root);
    if (row === undefined) throw new SyntaxError(`cluster ${root} has no row`);
    return row;
  }

  put(sessionId: string, { cluster, label, logPosition }: ClusterState): void {
    const { root: rootId, sum, speakers, ...counts } = cluster;
    this.#put.run({
      rootId,
      sessionId,
      centroidSum: encodeVector(sum),
      speakers: JSON.stringify(speakers),
      ...counts,
      label,
      logPosition,
      settledAt: null,
      subjectParentId: null,
    });
  }

  deleteOf(sessionId?: string): void {
    this.orm
      .delete(clusters)
      .where(sessionId === undefined ? undefined : eq(clusters.sessionId, sessionId))
      .run();
  }
}

function storedCluster({ label, logPosition, settledAt, subjectParentId, ...row }: ClusterRow): StoredCluster {
  const { rootId: root, sessionId: _, checksum: __, centroidSum: sum, ...counts } = row;
  return { cluster: { root, sum, ...counts }, label, logPosition, settledAt, subjectRoot: subjectParentId };
}
