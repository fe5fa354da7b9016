import { DamageError } from "../core/damage.ts";
import { StoreError } from "../core/errors.ts";
import { formatHandle } from "../core/handle.ts";
import type { Role } from "../core/message.ts";
import { joinCluster, startCluster } from "../forest/cluster.ts";
import { fitOf } from "../forest/placement.ts";
import { type Repositories, soundSteps } from "../store/index.ts";

/** Why a step is in its cluster. */
export interface Placement {
  /** The cluster as it was when the step had entered it. */
  cluster: string;
  kind: "start" | "join";
  seqFirst: number;
  seqLast: number;
  /** The role of the first message. */
  speaker: Role;
  /** The score by which the step joined; null if it starts the cluster, or joins by the structure of work with tools. */
  score: number | null;
  /** The mean cosine of the step with the cluster's messages; null if one of the two has no vector, or if there is no score. */
  similarity: number | null;
  /** True if the cluster held the previous step; null for a start, as what follows. */
  isAdjacent: boolean | null;
  /** True if the cluster's last step belonged to the same turn. */
  isSameTurn: boolean | null;
}

/** @throws {StoreError} `OPTION_INVALID` if no step of the session entered the forest at this log position. */
export function placementAt(repositories: Repositories, sessionId: string, position: number): Placement {
  const { messages, unions, generations } = repositories;
  const row = unions.at(position);
  const { kind } = row ?? {};
  if (row?.sessionId !== sessionId || row.level !== "cluster" || (kind !== "start" && kind !== "join")) {
    const expected = "the log position at which a step of the session entered the forest";
    throw new StoreError("OPTION_INVALID", { option: "position", expected, actual: position });
  }
  const isByStructure = row.score === null; // then only the newest step of the cluster counts
  const before = { sessionId, root: row.root, from: 0, position: position - 1 };
  const entries = kind === "start" ? [] : unions.lastEntriesOf(before, isByStructure ? 1 : -1);
  const stepIds = [...entries.map(({ stepId }) => stepId), row.node];
  const stepOf = new Map(soundSteps(messages, stepIds).map((step) => [step.features.id, step]));
  const lost = stepIds.find((stepId) => !stepOf.has(stepId));
  if (lost !== undefined) throw new DamageError(`step ${lost} of the log has no messages`);
  const { features, role: speaker } = stepOf.get(row.node)!;
  const { seqFirst, seqLast } = features;
  const cluster = formatHandle("cluster", row.root, position);
  const place = { cluster, kind, seqFirst, seqLast, speaker, score: row.score };
  if (kind === "start") return { ...place, similarity: null, isAdjacent: null, isSameTurn: null };
  const [first, ...others] = entries.map(({ stepId }) => stepOf.get(stepId)!.features);
  if (first === undefined) throw new DamageError(`the log lacks the start of cluster ${row.root}`);
  const held = startCluster(first, generations.newest()!.dimension);
  for (const entered of others) joinCluster(held, entered);
  const seqBefore = messages.seqBefore(sessionId, seqFirst);
  const { similarity = null, ...structure } = fitOf({ ...features, seqBefore }, held);
  return { ...place, similarity: isByStructure ? null : similarity, ...structure };
}
