import { decodeVector } from "../vector/codec.ts";
import { isUsable, normalize } from "../vector/vector.ts";
import type { StoreDatabase } from "./open.ts";

/** The direction of one cluster's embeddings; clusters without one are left out everywhere here. */
interface CentroidRow {
  root: number;
  position: number;
  settled: boolean;
  vector: Float32Array;
}

interface StampRow {
  generation: number;
  createdAtMs: number;
  embedderId: string;
  dimension: number;
  rewriteCount: number;
}

/** Where a cluster is, and how large. */
export interface ClusterPlace {
  sessionId: string;
  messageCount: number;
  /** Of its last start or join. */
  logPosition: number;
}

type RawRow = [root: number, position: number, settledAt: number | null, sum: unknown];

const COLUMNS = "root_id, log_position, settled_at, centroid_sum";

/** Rows of `clusters` as whoever looks for the nearest ones wants them: their centroids, and what has become of them since. */
export class CentroidRepository {
  readonly #stamp;
  readonly #newestPosition;
  readonly #clusterCount;
  readonly #roots;
  readonly #changedSince;
  readonly #one;
  readonly #every;
  readonly #place;

  constructor({ client }: StoreDatabase) {
    this.#stamp = client.prepare<[], StampRow>(
      `SELECT id AS generation, created_at_ms AS createdAtMs, embedder_id AS embedderId, dimension,
              rewrite_count AS rewriteCount
       FROM generations ORDER BY id DESC LIMIT 1`,
    );
    this.#newestPosition = client.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'unions'").pluck();
    // SQLite takes both from an index: the rows themselves are long.
    this.#clusterCount = client.prepare<[], number>("SELECT count(*) FROM clusters").pluck();
    this.#roots = client.prepare<[], number>("SELECT root_id FROM clusters").pluck();
    // By position: what has come since is little beside what one root or one session has.
    this.#changedSince = client
      .prepare<[number], number>("SELECT DISTINCT root FROM unions NOT INDEXED WHERE id > ? AND level = 'cluster'")
      .pluck();
    this.#one = client.prepare<[number], RawRow>(`SELECT ${COLUMNS} FROM clusters WHERE root_id = ?`).raw();
    this.#every = client.prepare<[], RawRow>(`SELECT ${COLUMNS} FROM clusters ORDER BY root_id`).raw();
    this.#place = client.prepare<[number], ClusterPlace>(
      `SELECT session_id AS sessionId, message_count AS messageCount, log_position AS logPosition
       FROM clusters WHERE root_id = ?`,
    );
  }

  /** The generation in use; undefined before anything was embedded. */
  stamp(): StampRow | undefined {
    return this.#stamp.get();
  }

  /** The newest position ever given in the log. */
  newestPosition(): number {
    return this.#newestPosition.get() ?? 0;
  }

  clusterCount(): number {
    return this.#clusterCount.get()!;
  }

  /** Of all clusters, in no order. */
  roots(): number[] {
    return this.#roots.all();
  }

  /** Roots of clusters that were started, joined or settled after a log position, in no order. */
  changedSince(position: number): number[] {
    return this.#changedSince.all(position);
  }

  /** Of those of the given clusters that have a direction, in the order in which they are asked for. */
  *centroids(roots: Iterable<number>): Generator<CentroidRow> {
    const { dimension } = this.stamp()!;
    for (const root of roots) {
      const row = this.#one.get(root);
      const centroid = row === undefined ? undefined : centroidOf(row, dimension);
      if (centroid !== undefined) yield centroid;
    }
  }

  /** Of every cluster that has a direction, by root. Until it has ended, the connection can only read. */
  *everyCentroid(): Generator<CentroidRow> {
    const { dimension } = this.stamp()!;
    for (const row of this.#every.iterate()) {
      const centroid = centroidOf(row, dimension);
      if (centroid !== undefined) yield centroid;
    }
  }

  /** @param root  Of a cluster that is there. */
  placeOf(root: number): ClusterPlace {
    return this.#place.get(root)!;
  }
}

function centroidOf([root, position, settledAt, sum]: RawRow, dimension: number): CentroidRow | undefined {
  // As in schema.ts: what does not parse is damage.
  if (!Buffer.isBuffer(sum) || sum.byteLength !== dimension * Float32Array.BYTES_PER_ELEMENT) {
    throw new SyntaxError(`the centroid of cluster ${root} is not a row of ${dimension} 4-byte numbers`);
  }
  const vector = decodeVector(sum, dimension);
  if (!isUsable(vector)) return undefined;
  return { root, position, settled: settledAt !== null, vector: normalize(vector) };
}
