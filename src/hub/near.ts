import type { PoolClient } from "pg";
import type { QueryVector } from "../recall/query-vector.ts";
import { PROBED_CLUSTERS } from "../recall/vector-source.ts";
import { decodeEmbedding } from "../vector/codec.ts";
import { squaredLength } from "../vector/vector.ts";
import { CENTROID_DIMENSION_MAX, hasCentroids, vectorText } from "./pgvector.ts";

/** Vectors of stores have unit length. Rounding changes the squared length by less than this. */
const LENGTH_ERROR_MAX = 0.01;

export interface MessageKey {
  place: number;
  sessionNo: number;
  messageId: number;
}

/** A message of a near cluster. */
export interface NearMember extends Pick<MessageKey, "sessionNo" | "messageId"> {
  vector: Float32Array;
}

// A push writes vectors and the embedder of the session together, with the mark.
const OF_EMBEDDER = `JOIN coppice.sessions s ON s.place = m.place AND s.session_no = m.session_no
    AND s.embedder_id = $2 AND s.dimension = $3 AND m.message_id <= s.marked_id
  WHERE m.embedding IS NOT NULL`;

/** The dimension is compared first, because Postgres refuses to compare vectors of different dimensions. */
export const NEAR = `WITH near AS MATERIALIZED (
    SELECT c.place, c.session_no, c.members FROM coppice.clusters c
    WHERE c.place = ANY ($1) AND c.embedder_id = $2 AND c.dimension = $3
    ORDER BY c.centroid <=> $4::halfvec LIMIT ${PROBED_CLUSTERS})
  SELECT m.session_no AS "sessionNo", m.message_id AS "messageId", m.embedding
  FROM near CROSS JOIN LATERAL unnest(near.members) AS member (id)
  JOIN coppice.messages m ON m.place = near.place AND m.session_no = near.session_no AND m.message_id = member.id
  ${OF_EMBEDDER}`;

const VECTORS = `SELECT wanted.id, m.embedding
  FROM unnest($4::bigint[], $5::bigint[], $6::bigint[], $1::double precision[]) AS wanted (place, session_no, message_id, id)
  JOIN coppice.messages m ON m.place = wanted.place AND m.session_no = wanted.session_no AND m.message_id = wanted.message_id
  ${OF_EMBEDDER}`;

/** Returns the messages of the clusters that are nearest to a vector; none if the hub has no pgvector. */
export async function nearMembers(
  client: PoolClient,
  project: string | undefined,
  { embedderId, embedding }: QueryVector,
): Promise<NearMember[]> {
  if (embedding.length > CENTROID_DIMENSION_MAX || !(await hasCentroids(client))) return [];
  const places = await client.query<{ place: number }>(
    "SELECT place FROM coppice.places WHERE $1::text IS NULL OR project = $1",
    [project ?? null],
  );
  const { rows } = await client.query<Omit<NearMember, "vector"> & { embedding: Buffer }>(NEAR, [
    places.rows.map(({ place }) => place),
    ...[embedderId, embedding.length, vectorText(embedding)],
  ]);
  return rows.flatMap(({ embedding: bytes, ...key }) => {
    const vector = decoded(bytes, embedding.length);
    return vector === undefined ? [] : [{ ...key, vector }];
  });
}

/** Returns the vectors of messages. Those without one of this embedder are missing. */
export async function vectorsOfMessages(
  client: PoolClient,
  wanted: readonly ({ id: number } & MessageKey)[],
  { embedderId, embedding }: QueryVector,
): Promise<{ id: number; vector: Float32Array }[]> {
  const { rows } = await client.query<{ id: number; embedding: Buffer }>(VECTORS, [
    wanted.map(({ id }) => id),
    ...[embedderId, embedding.length],
    wanted.map(({ place }) => place),
    wanted.map(({ sessionNo }) => sessionNo),
    wanted.map(({ messageId }) => messageId),
  ]);
  return rows.flatMap(({ id, embedding: bytes }) => {
    const vector = decoded(bytes, embedding.length);
    return vector === undefined ? [] : [{ id, vector }];
  });
}

/** Decodes bytes that a member of the team wrote. @returns undefined if they are no vector of this dimension and of unit length. */
function decoded(bytes: Buffer, dimension: number): Float32Array | undefined {
  try {
    const vector = decodeEmbedding(bytes);
    // A longer vector would be near to every query.
    const isUnit = Math.abs(squaredLength(vector) - 1) < LENGTH_ERROR_MAX;
    return vector.length === dimension && isUnit ? vector : undefined;
  } catch {
    return undefined;
  }
}
