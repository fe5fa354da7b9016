import type { OpenCluster } from "../../forest/cluster.ts";
import { clusters } from "../sql/schema.ts";
import { columns, type RowOf } from "../sql/statement.ts";

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
export type ClusterRow = RowOf<typeof CLUSTER>;

export function storedCluster({ label, logPosition, settledAt, subjectParentId, ...row }: ClusterRow): StoredCluster {
  const { rootId: root, sessionId: _, checksum: __, centroidSum: sum, ...counts } = row;
  return { cluster: { root, sum, ...counts }, label, logPosition, settledAt, subjectRoot: subjectParentId };
}

export function clusterRow(sessionId: string, { cluster, subjectRoot, ...state }: StoredCluster): ClusterRow {
  const { root: rootId, sum: centroidSum, ...counts } = cluster;
  return { rootId, sessionId, centroidSum, ...counts, ...state, subjectParentId: subjectRoot, checksum: null };
}
