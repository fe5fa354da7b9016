import type { PoolClient } from "pg";

/** True if the hub can search by meaning. */
export async function hasCentroids(client: PoolClient): Promise<boolean> {
  const { rowCount } = await client.query(
    "SELECT FROM pg_attribute WHERE attrelid = 'coppice.clusters'::regclass AND attname = 'centroid' AND NOT attisdropped",
  );
  return rowCount === 1;
}

export function vectorText(vector: Float32Array): string {
  return `[${Array.from(vector, (value) => value.toFixed(6)).join(",")}]`;
}

/**
 * Gives clusters their centroids. Pushes then send them.
 *
 * @returns false if the database has no pgvector with vectors of 16-bit numbers, and the caller may not add it.
 */
export async function addCentroids(client: PoolClient): Promise<boolean> {
  const { rowCount } = await client.query("SELECT FROM pg_available_extensions WHERE name = 'vector'");
  if (rowCount === 0) return false;
  await client.query("SAVEPOINT pgvector");
  try {
    await client.query(`CREATE EXTENSION IF NOT EXISTS vector;
      DELETE FROM coppice.clusters;
      UPDATE coppice.sessions SET vectors = NULL WHERE vectors IS NOT NULL;
      ALTER TABLE coppice.clusters ADD centroid halfvec NOT NULL CHECK (vector_dims(centroid) = dimension)`);
    return true;
  } catch (error) {
    if (!/^(42501|42704|0A000)$/.test(String((error as { code?: unknown }).code))) throw error;
    await client.query("ROLLBACK TO SAVEPOINT pgvector");
    return false;
  }
}
