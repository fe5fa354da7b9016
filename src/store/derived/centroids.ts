import { DamageError } from "../../core/damage.ts";
import { decodeVector } from "../../vector/codec.ts";
import { isUsable, normalize } from "../../vector/vector.ts";
import type { GenerationRepository, GenerationRow } from "../facts/generations.ts";
import { IS_BEGUN_HERE } from "../facts/paths.ts";
import type { StoreDatabase } from "../file/open.ts";
import { Repository } from "../file/repository.ts";
import { CLUSTER } from "./cluster-rows.ts";
import { NEWEST_POSITION } from "./unions.ts";

type Stamp = Pick<GenerationRow, "createdAtMs" | "embedderId" | "dimension" | "rewriteCount"> & { generation: number };

/** A cluster and its centroid, which has unit length. A cluster without embeddings has none. */
interface CentroidRow {
  root: number;
  position: number;
  settled: boolean;
  vector: Float32Array;
}

/** A row as SQLite returns it. In a damaged file, the sum can have any type. */
type ClusterRow = Record<"rootId" | "logPosition", number> & { settledAt: number | null; centroidSum: unknown };

/** SQL: the columns of a cluster as they are stored. */
const NOT_DECODED = String(CLUSTER.of("c"));

export class CentroidRepository extends Repository {
  // Every recall runs these.
  readonly newestPosition = this.statement<[], number>`${NEWEST_POSITION}`.pluck().one;
  readonly clusterCount = this.statement<[], number>`
    SELECT count(*) FROM clusters c WHERE ${IS_BEGUN_HERE}`.pluck().one;
  /** In no order. */
  readonly roots = this.statement<[], number>`SELECT root_id FROM clusters c WHERE ${IS_BEGUN_HERE}`.pluck().all;
  // NOT INDEXED makes SQLite seek by id, because few rows of the log are newer than the position.
  /** The roots of clusters that were started, joined or settled after a log position, in no order. */
  readonly changedSince = this.statement<[position: number], number>`
    SELECT DISTINCT root FROM unions NOT INDEXED WHERE id > ? AND level = 'cluster'`.pluck().all;
  readonly #one = this.statement<[root: number], ClusterRow>`
    SELECT ${NOT_DECODED} FROM clusters c WHERE ${IS_BEGUN_HERE} AND c.root_id = ?`;
  readonly #every = this.statement<[], ClusterRow>`
    SELECT ${NOT_DECODED} FROM clusters c NOT INDEXED WHERE ${IS_BEGUN_HERE}`;

  readonly #generations: GenerationRepository;

  constructor(database: StoreDatabase, generations: GenerationRepository) {
    super(database);
    this.#generations = generations;
  }

  /** Identifies the state of the centroids. It is undefined before anything was embedded. */
  stamp(): Stamp | undefined {
    const newest = this.#generations.newest();
    if (newest === undefined) return undefined;
    const { id: generation, createdAtMs, embedderId, dimension, rewriteCount } = newest;
    return { generation, createdAtMs, embedderId, dimension, rewriteCount };
  }

  /** Yields the centroids of these clusters in the given order. @throws {DamageError} if a row is damaged. */
  *centroids(roots: Iterable<number>): Generator<CentroidRow> {
    const { dimension } = this.stamp()!;
    for (const root of roots) {
      const row = this.#one.get(root);
      const centroid = row === undefined ? undefined : centroidOf(row, dimension);
      if (centroid !== undefined) yield centroid;
    }
  }

  /** Yields in no order. The connection can only read until the generator ends. */
  *everyCentroid(): Generator<CentroidRow> {
    const { dimension } = this.stamp()!;
    for (const row of this.#every.iterate()) {
      const centroid = centroidOf(row, dimension);
      if (centroid !== undefined) yield centroid;
    }
  }
}

function centroidOf(row: ClusterRow, dimension: number): CentroidRow | undefined {
  const damage = CLUSTER.damageOf(row);
  if (damage !== undefined) throw new DamageError(damage);
  const { rootId: root, logPosition: position, settledAt, centroidSum: sum } = row;
  if (!Buffer.isBuffer(sum) || sum.byteLength !== dimension * Float32Array.BYTES_PER_ELEMENT) {
    throw new DamageError(`the centroid of cluster ${root} is not a row of ${dimension} 4-byte numbers`);
  }
  const vector = decodeVector(sum, dimension);
  if (!isUsable(vector)) return undefined;
  return { root, position, settled: settledAt !== null, vector: normalize(vector) };
}
