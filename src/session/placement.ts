import { DamageError } from "../core/damage.ts";
import { StoreError } from "../core/errors.ts";
import { formatHandle } from "../core/handle.ts";
import { joinCluster, type OpenCluster, type StepFeatures, startCluster } from "../forest/cluster.ts";
import { fitOf } from "../forest/placement.ts";
import { enteringSteps, type Repositories } from "../store/index.ts";

/** Why a step is in its cluster. */
export interface Placement {
  /** The cluster as it was when the step had entered it. */
  cluster: string;
  kind: "start" | "join";
  seqFirst: number;
  seqLast: number;
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
  const { unions, generations } = repositories;
  const row = unions.at(position);
  const { kind } = row ?? {};
  if (row?.sessionId !== sessionId || row.level !== "cluster" || (kind !== "start" && kind !== "join")) {
    const expected = "the log position at which a step of the session entered the forest";
    throw new StoreError("OPTION_INVALID", { option: "position", expected, actual: position });
  }
  const step = stepOf(repositories, sessionId, row.node);
  const cluster = formatHandle("cluster", row.root, position);
  const place = { cluster, kind, seqFirst: step.seqFirst, seqLast: step.seqLast, score: row.score };
  if (kind === "start") return { ...place, similarity: null, isAdjacent: null, isSameTurn: null };
  const dimension = generations.newest()!.dimension;
  let before: OpenCluster | undefined;
  const entries = unions.entriesOf({ sessionId, root: row.root, from: 0, position: position - 1 });
  const isByStructure = row.score === null; // then only the newest step of the cluster counts
  for (const { stepId } of isByStructure ? entries.slice(-1) : entries) {
    const entered = stepOf(repositories, sessionId, stepId);
    if (before === undefined) before = startCluster(entered, dimension);
    else joinCluster(before, entered);
  }
  if (before === undefined) throw new DamageError(`the log lacks the start of cluster ${row.root}`);
  const { similarity = null, ...structure } = fitOf(step, before);
  return { ...place, similarity: isByStructure ? null : similarity, ...structure };
}

function stepOf({ messages }: Repositories, sessionId: string, stepId: number): StepFeatures {
  const seqs = messages.byIds(messages.idsOfSteps([stepId])).map(({ seq }) => seq);
  const [first, last] = [Math.min(...seqs), Math.max(...seqs)];
  const rows = messages.graduating(sessionId, first, last).filter((row) => row.stepId === stepId);
  const [step] = enteringSteps(rows, messages.seqBefore(sessionId, first));
  if (step === undefined) throw new DamageError(`step ${stepId} of the log has no messages`);
  return step.features;
}
