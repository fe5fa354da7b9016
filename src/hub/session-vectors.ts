import { createHash } from "node:crypto";
import type { PoolClient } from "pg";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import type { Repositories, RowsOrigin } from "../store/index.ts";
import { decodeEmbedding } from "../vector/codec.ts";
import { addInto, isUsable, normalize } from "../vector/vector.ts";
import { CENTROID_DIMENSION_MAX, hasCentroids, vectorText } from "./pgvector.ts";
import { insertRows, rowsOfSession, type SessionKey, updateSession } from "./places.ts";
import { digestOf } from "./rows.ts";

/** A statement changes the vectors of at most this many messages. */
const UPDATED_MAX = 1_000;

/** Messages that are near to each other. `root` is the first of them. */
interface PushedCluster {
  root: number;
  members: readonly number[];
  /** As pgvector reads it. */
  centroid: string;
}

/** The vectors of a session as the hub has them. */
export interface SessionVectors extends Pick<RowsOrigin, "embedderId" | "dimension"> {
  /** The stored bytes, by message id. Empty if every store makes them again. */
  messages: ReadonlyMap<number, Buffer>;
  clusters: readonly PushedCluster[];
}

/** Reads the vectors of a session in the generation in use. Call it in a read. */
export function vectorsOf(
  { pushedRows, centroids, evidence }: Repositories,
  sessionId: string,
  { embedderId, dimension }: Pick<RowsOrigin, "embedderId" | "dimension">,
): SessionVectors {
  if (embedderId === hashingEmbedder.id) return { embedderId, dimension, messages: new Map(), clusters: [] };
  const messages = new Map(Array.from(pushedRows.vectors(sessionId), ({ id, embedding }) => [id, embedding]));
  const roots = pushedRows.clusterRoots({ id: sessionId });
  const members = evidence.members(roots);
  const clusters = Array.from(centroids.centroids(roots), ({ root, vector }) => {
    return { root, members: members.get(root)!, centroid: vectorText(vector) };
  });
  return { embedderId, dimension, messages, clusters: [...clusters, ...turnsOf(messages, dimension)] };

  /** The window is in no cluster yet. Its turns stand for clusters, so that searches find its messages in the same way. */
  function* turnsOf(vectors: ReadonlyMap<number, Buffer>, length: number): Generator<PushedCluster> {
    const turns = new Map<number, number[]>();
    for (const { id, turnSeq } of pushedRows.inWindow({ id: sessionId })) {
      if (vectors.has(id)) turns.set(turnSeq, [...(turns.get(turnSeq) ?? []), id]);
    }
    for (const ids of turns.values()) {
      const sum = new Float32Array(length);
      for (const id of ids) addInto(sum, decodeEmbedding(vectors.get(id)!));
      if (isUsable(sum)) yield { root: ids[0]!, members: ids, centroid: vectorText(normalize(sum)) };
    }
  }
}

/**
 * Makes the vectors of a session on the hub those of the store. Without pgvector it has no clusters.
 *
 * @param known  The digest that the session has on the hub.
 * @returns false if nothing had changed.
 */
export async function putVectors(
  client: PoolClient,
  key: SessionKey,
  vectors: SessionVectors,
  known: Buffer | null,
): Promise<boolean> {
  const { embedderId, dimension, messages } = vectors;
  const mayHaveClusters = messages.size > 0 && dimension <= CENTROID_DIMENSION_MAX;
  const clusters = mayHaveClusters && (await hasCentroids(client)) ? vectors.clusters : [];
  const digested = clusters.map((cluster) => {
    return { ...cluster, digest: digestOf(JSON.stringify([embedderId, dimension, cluster])) };
  });
  const digest = createHash("sha256");
  for (const [id, embedding] of messages) digest.update(`${id} `).update(embedding);
  for (const cluster of digested) digest.update(cluster.digest);
  const now = messages.size > 0 ? digest.digest() : null;
  if (now === null ? known === null : known?.equals(now)) return false;
  await putEmbeddings(client, key, messages);
  await putClusters(client, key, vectors, digested);
  await updateSession(client, key, { vectors: now });
  return true;
}

async function putEmbeddings(
  client: PoolClient,
  key: SessionKey,
  messages: ReadonlyMap<number, Buffer>,
): Promise<void> {
  const columns = "message_id AS id, encode(sha256(embedding), 'hex') AS hash";
  const rows = await rowsOfSession<{ id: number; hash: string | null }>(client, key, "messages", columns);
  const hashOf = (embedding: Buffer): string => createHash("sha256").update(embedding).digest("hex");
  const changed = rows.flatMap(({ id, hash }) => {
    const embedding = messages.get(id) ?? null;
    return (embedding && hashOf(embedding)) === hash ? [] : [{ id, embedding }];
  });
  for (let from = 0; from < changed.length; from += UPDATED_MAX) {
    const some = changed.slice(from, from + UPDATED_MAX);
    const tuples = some.map((_, index) => `($${2 * index + 3}::bigint, $${2 * index + 4}::bytea)`);
    await client.query(
      `UPDATE coppice.messages m SET embedding = v.embedding FROM (VALUES ${tuples.join(",")}) v (id, embedding)
       WHERE m.place = $1 AND m.session_no = $2 AND m.message_id = v.id`,
      [key.place, key.sessionNo, ...some.flatMap(({ id, embedding }) => [id, embedding])],
    );
  }
}

async function putClusters(
  client: PoolClient,
  key: SessionKey,
  { embedderId, dimension }: SessionVectors,
  clusters: readonly (PushedCluster & { digest: Buffer })[],
): Promise<void> {
  const { place, team, sessionNo } = key;
  const rows = await rowsOfSession<{ root: number; digest: Buffer }>(client, key, "clusters", "root, digest");
  const wanted = new Map(clusters.map(({ root, digest }) => [root, digest]));
  const ended = rows.filter(({ root, digest }) => !wanted.get(root)?.equals(digest)).map(({ root }) => root);
  await client.query("SELECT coppice.delete_clusters($1, $2, $3)", [place, sessionNo, ended]);
  const there = new Set(rows.map(({ root }) => root));
  for (const root of ended) there.delete(root);
  const added = clusters.filter(({ root }) => !there.has(root));
  const common = { place, session_no: sessionNo, team, embedder_id: embedderId, dimension };
  await insertRows(
    client,
    "clusters",
    added.map((cluster) => ({ ...common, ...cluster })),
  );
}
