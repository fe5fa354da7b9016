import type { OpenCluster } from "../../forest/cluster.ts";
import { columns, type InsertOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

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

export const CLUSTER = columns(TABLES.clusters);
/** A row, or what it would be: a fork has none at first. */
export type ClusterRow = InsertOf<typeof CLUSTER> & { checksum?: number };

export function storedCluster(stored: ClusterRow): StoredCluster {
  const { label, logPosition, settledAt, subjectParentId, checksum: _, ...row } = stored;
  const { rootId: root, sessionId: __, centroidSum: sum, ...counts } = row;
  return { cluster: { root, sum, ...counts }, label, logPosition, settledAt, subjectRoot: subjectParentId };
}

export function clusterRow(
  sessionId: string,
  { cluster, subjectRoot, ...state }: StoredCluster,
): InsertOf<typeof CLUSTER> {
  const { root: rootId, sum: centroidSum, ...counts } = cluster;
  return { rootId, sessionId, centroidSum, ...counts, ...state, subjectParentId: subjectRoot };
}
