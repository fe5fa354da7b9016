import type { PoolClient } from "pg";

/** The most dimensions of a vector of 16-bit numbers. */
export const CENTROID_DIMENSION_MAX = 16_000;

/** Returns true if the hub can search by meaning. The transaction then finds the operators of pgvector in any schema. */
export async function hasCentroids(client: PoolClient): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT set_config('search_path', quote_ident(n.nspname), true)
     FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace
     WHERE a.attrelid = 'coppice.clusters'::regclass AND a.attname = 'centroid' AND NOT a.attisdropped`,
  );
  return rowCount === 1;
}

export function vectorText(vector: Float32Array): string {
  return `[${Array.from(vector, (value) => value.toFixed(6)).join(",")}]`;
}

/**
 * Adds a column for the centroids of clusters, which pushes then send.
 *
 * @returns false if the database has no pgvector with vectors of 16-bit numbers, and the caller may not add it.
 */
export async function addCentroids(client: PoolClient): Promise<boolean> {
  const { rowCount } = await client.query("SELECT FROM pg_available_extensions WHERE name = 'vector'");
  if (rowCount === 0) return false;
  await client.query("SAVEPOINT pgvector");
  try {
    await client.query("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public");
    const { rows } = await client.query<{ schema: string }>(
      "SELECT quote_ident(n.nspname) AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'vector'",
    );
    await client.query(`SET LOCAL search_path = ${rows[0]!.schema};
      GRANT USAGE ON SCHEMA ${rows[0]!.schema} TO coppice_reader, coppice_writer;
      DELETE FROM coppice.clusters;
      UPDATE coppice.sessions SET vectors = NULL WHERE vectors IS NOT NULL;
      ALTER TABLE coppice.clusters ADD centroid halfvec NOT NULL CHECK (vector_dims(centroid) = dimension)`);
    return true;
  } catch (error) {
    if (!/^(42501|42704|3F000|0A000)$/.test(String((error as { code?: unknown }).code))) throw error;
    await client.query("ROLLBACK TO SAVEPOINT pgvector");
    return false;
  }
}
