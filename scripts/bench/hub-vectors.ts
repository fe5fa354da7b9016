import { grantTeam, initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { nearMembers } from "../../src/hub/near.ts";
import { vectorText } from "../../src/hub/pgvector.ts";
import { insertRows } from "../../src/hub/places.ts";
import { decodeEmbedding, encodeEmbedding } from "../../src/vector/codec.ts";
import { addInto, dot, normalize } from "../../src/vector/vector.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { median, randomFrom } from "./messages.ts";

const DIMENSION = 384;
const EMBEDDER = "bench-384";
const K = 50;
const QUERIES = 30;
const CLUSTERS_PER_SESSION = 100;

/**
 * Searches the vectors of a hub as a role that row-level security filters. The vectors are random around random centers, so they have
 * less to cluster than those of texts.
 *
 * @returns `hubVectorShare`: the share of the 50 nearest messages that the members of the nearest clusters have. `hubVectorMs`:
 *   milliseconds to fetch and compare them, median.
 */
export async function measureHubVectors(clusterCount: number, messageCount: number): Promise<Record<string, number>> {
  const server = await startPostgres({ isDurable: false });
  try {
    const admin = await HubConnection.to(server.url);
    if (!(await initHub(admin)).hasPgvector) return {};
    await grantTeam(admin, "postgres", "web", "write");
    await admin.transaction((client) => client.query("CREATE ROLE reader LOGIN"));
    await grantTeam(admin, "reader", "web", "read");
    const vectors = await fill(admin, clusterCount, messageCount);
    await admin.close();
    const url = new URL(server.url);
    url.username = "reader";
    const hub = await HubConnection.to(url.href);
    const random = randomFrom(7);
    const times: number[] = [];
    let share = 0;
    for (let number = 0; number < QUERIES; number++) {
      const embedding = near(vectors[Math.floor(random() * vectors.length)]!, 0.6, random);
      const startedAt = performance.now();
      const members = await hub.transaction((client) =>
        nearMembers(client, "web", { embedderId: EMBEDDER, embedding }),
      );
      const found = nearestOf(
        members.map(({ messageId, vector }) => ({ id: messageId, vector })),
        embedding,
      );
      times.push(performance.now() - startedAt);
      const exact = new Set(
        nearestOf(
          vectors.map((vector, index) => ({ id: index + 1, vector })),
          embedding,
        ),
      );
      share += found.filter((id) => exact.has(id)).length / K / QUERIES;
    }
    await hub.close();
    return {
      hubVectorShare: Math.round(1_000 * share) / 1_000,
      hubVectorMs: Math.round(median(times.sort((a, b) => a - b))),
    };
  } finally {
    await server.remove();
  }
}

/** Returns the vectors of the messages 1, 2 and so on. */
async function fill(hub: HubConnection, clusterCount: number, messageCount: number): Promise<Float32Array[]> {
  const random = randomFrom(1);
  const nothing = new Float32Array(DIMENSION);
  const subjects = Array.from({ length: Math.ceil(clusterCount / 40) }, () => near(nothing, 0, random));
  const vectors: Float32Array[] = [];
  const common = { place: 1, team: "coppice_team_web" };
  await hub.transaction((client) => insertRows(client, "places", [{ team: common.team, project: "web" }]));
  for (let from = 0; from < clusterCount; from += CLUSTERS_PER_SESSION) {
    await hub.transaction(async (client) => {
      const session = from / CLUSTERS_PER_SESSION + 1;
      const key = { ...common, session_no: session };
      const [messages, clusters]: Record<string, unknown>[][] = [[], []];
      for (let cluster = from; cluster < Math.min(clusterCount, from + CLUSTERS_PER_SESSION); cluster++) {
        const center = near(subjects[Math.floor(random() * subjects.length)]!, 0.6, random);
        const sum = new Float32Array(DIMENSION);
        const members: number[] = [];
        while (vectors.length < ((cluster + 1) * messageCount) / clusterCount) {
          const embedding = encodeEmbedding(near(center, 0.75, random));
          const vector = decodeEmbedding(embedding);
          addInto(sum, vector);
          const id = vectors.push(vector);
          members.push(id);
          const place = {
            seq: id,
            step_id: id,
            turn_seq: id,
            role: 1,
            pinned: false,
            token_count: 1,
            created_at_ms: 1,
          };
          messages!.push({
            ...key,
            message_id: id,
            ...place,
            digest: Buffer.of(0),
            body: Buffer.alloc(400),
            embedding,
          });
        }
        const centroid = vectorText(normalize(sum));
        const of = { embedder_id: EMBEDDER, dimension: DIMENSION, members, digest: Buffer.of(0), centroid };
        clusters!.push({ ...key, root: members[0], ...of });
      }
      const id = "00000000-0000-4000-8000-000000000000";
      const marked = { marked_id: vectors.length, embedder_id: EMBEDDER, dimension: DIMENSION };
      await insertRows(client, "sessions", [{ ...key, origin: id, holder: id, session_id: `${session}`, ...marked }]);
      await insertRows(client, "messages", messages!);
      await insertRows(client, "clusters", clusters!);
    });
  }
  await hub.transaction((client) => client.query("ANALYZE coppice.messages, coppice.clusters, coppice.sessions"));
  return vectors;
}

function near(center: Float32Array, share: number, random: () => number): Float32Array {
  const noise = normalize(Float32Array.from(center, () => random() + random() + random() - 1.5));
  return normalize(center.map((value, index) => share * value + Math.sqrt(1 - share * share) * noise[index]!));
}

function nearestOf(all: readonly { id: number; vector: Float32Array }[], query: Float32Array): number[] {
  const compared = all.map(({ id, vector }) => ({ id, similarity: dot(vector, query) }));
  compared.sort((left, right) => right.similarity - left.similarity || left.id - right.id);
  return compared.slice(0, K).map(({ id }) => id);
}
