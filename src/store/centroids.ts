import { decodeVector } from "../vector/codec.ts";
import { isUsable, normalize } from "../vector/vector.ts";
import { CLUSTER } from "./clusters.ts";
import { IS_BEGUN_HERE } from "./paths.ts";
import { Repository } from "./repository.ts";
import { generations } from "./schema.ts";
import { columns, type RowOf } from "./statement.ts";
import { NEWEST_POSITION } from "./unions.ts";

const STAMP = columns(generations, "createdAtMs", "embedderId", "dimension", "rewriteCount");
type StampRow = RowOf<typeof STAMP> & { generation: number };

/** A cluster without embeddings has no centroid and is left out everywhere here. */
interface CentroidRow {
  root: number;
  position: number;
  settled: boolean;
  vector: Float32Array;
}

/** Not decoded, so that a centroid can be of any type. */
type ClusterRow = Record<"rootId" | "logPosition", number> & { settledAt: number | null; centroidSum: unknown };

/** Each cluster once, as the session has it that began it. */
const CLUSTERS = `SELECT ${CLUSTER.of("c")} FROM clusters c WHERE ${IS_BEGUN_HERE}`;

export class CentroidRepository extends Repository {
  // Recalls run these.
  /** Undefined before anything was embedded. */
  readonly stamp = this.statement<[], StampRow>`
    SELECT id AS generation, ${STAMP} FROM generations ORDER BY id DESC LIMIT 1`.get;
  readonly newestPosition = this.statement<[], number>`${NEWEST_POSITION}`.pluck().one;
  // SQLite reads these from an index, because the rows are long.
  readonly clusterCount = this.statement<[], number>`SELECT count(*) FROM clusters c WHERE ${IS_BEGUN_HERE}`.pluck()
    .one;
  /** In no order. */
  readonly roots = this.statement<[], number>`SELECT root_id FROM clusters c WHERE ${IS_BEGUN_HERE}`.pluck().all;
  // Searched by position: few rows of the log follow it.
  /** Clusters that were started, joined or settled after a log position, in no order. */
  readonly changedSince = this.statement<[position: number], number>`
    SELECT DISTINCT root FROM unions NOT INDEXED WHERE id > ? AND level = 'cluster'`.pluck().all;
  readonly #one = this.statement<[root: number], ClusterRow>`${CLUSTERS} AND c.root_id = ?`;
  readonly #every = this.statement<[], ClusterRow>`${CLUSTERS} ORDER BY c.root_id`;

  /** In the given order. */
  *centroids(roots: Iterable<number>): Generator<CentroidRow> {
    const { dimension } = this.stamp()!;
    for (const root of roots) {
      const row = this.#one.get(root);
      const centroid = row === undefined ? undefined : centroidOf(row, dimension);
      if (centroid !== undefined) yield centroid;
    }
  }

  /** Yields in order of root. The connection can only read until the generator ends. */
  *everyCentroid(): Generator<CentroidRow> {
    const { dimension } = this.stamp()!;
    let [count, before] = [0, Number.NEGATIVE_INFINITY];
    for (const row of this.#every.iterate()) {
      if (row.rootId <= before) throw new SyntaxError(`cluster ${row.rootId} comes after cluster ${before}`);
      before = row.rootId;
      count += 1;
      const centroid = centroidOf(row, dimension);
      if (centroid !== undefined) yield centroid;
    }
    const indexed = this.clusterCount(); // in an index
    if (count !== indexed) throw new SyntaxError(`${count} clusters are found, and an index has ${indexed}`);
  }
}

function centroidOf(row: ClusterRow, dimension: number): CentroidRow | undefined {
  const damage = CLUSTER.damageOf(row);
  if (damage !== undefined) throw new SyntaxError(damage);
  const { rootId: root, logPosition: position, settledAt, centroidSum: sum } = row;
  // A SyntaxError means damage, as in schema.ts.
  if (!Buffer.isBuffer(sum) || sum.byteLength !== dimension * Float32Array.BYTES_PER_ELEMENT) {
    throw new SyntaxError(`the centroid of cluster ${root} is not a row of ${dimension} 4-byte numbers`);
  }
  const vector = decodeVector(sum, dimension);
  if (!isUsable(vector)) return undefined;
  return { root, position, settled: settledAt !== null, vector: normalize(vector) };
}
