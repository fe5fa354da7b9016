import type { OpenCluster } from "../forest/cluster.ts";
import { replay } from "../forest/forest.ts";
import { GrowingForest, type GrowingTheme } from "../forest/growing-forest.ts";
import { type SubjectRow, subjectRoots } from "../forest/subjects.ts";
import type { StoredCluster } from "./cluster-rows.ts";
import { type DeriveOptions, type EnteringStep, enteringSteps } from "./features.ts";
import type { TitledMessage } from "./messages.ts";
import type { Repositories } from "./repositories.ts";
import type { SessionRow } from "./sessions.ts";
import type { UnionRow } from "./unions.ts";

export interface DerivedRows {
  /** Keyed by message id. Messages that are their own parents are missing. */
  parents: Map<number, number>;
  clusters: StoredCluster[];
  themes: GrowingTheme[];
}

/** Derives a session's rows by applying its log to its messages. If that is impossible, notes why. */
export function derive(
  { generations, unions, subjects, messages, paths }: Repositories,
  session: SessionRow,
  options: DeriveOptions,
  note: (text: string) => void,
): { unionCount: number; derived: DerivedRows | undefined } {
  const generation = generations.newest();
  const log = unions.ofSession(session.id, generation?.id ?? 0);
  const subjectLog = subjects.ofSession(session.id, generation?.id ?? 0);
  const steps = enteringSteps(messages.graduating(session.id, 0, session.graduatedSeq - 1), -1);
  const askedBefore = (id: number) => messages.askedBefore(options.titleTextChars, id);
  const dimension = generation?.dimension ?? 0;
  const derived = applyLog({ log, subjectLog, steps, dimension, askedBefore }, options, note);
  // Clusters that had settled before a fork are rows of the sessions that it shares.
  const sharedTo = paths.of(session.id).at(-2)?.logPosition ?? 0;
  const clusters = derived?.clusters.filter(({ settledAt }) => settledAt === null || settledAt > sharedTo);
  const unionCount = unions.own(session.id, generation?.id ?? 0).length + subjectLog.length;
  return { unionCount, derived: derived && { ...derived, clusters: clusters! } };
}

interface AppliedLog {
  log: readonly UnionRow[];
  subjectLog: readonly SubjectRow[];
  steps: readonly EnteringStep[];
  dimension: number;
  askedBefore: (id: number) => TitledMessage | undefined;
}

/** If the log and the steps disagree, notes why and returns undefined. */
function applyLog(
  { log, subjectLog, steps, dimension, askedBefore }: AppliedLog,
  { titleOf, titleTextChars }: DeriveOptions,
  note: (text: string) => void,
): DerivedRows | undefined {
  const { forest, refused } = replay(log);
  const assigned = subjectRoots(subjectLog);
  const impossible = refused ?? assigned.refused;
  if (impossible !== undefined) {
    note(`row ${impossible.row.id} of the log cannot have happened: ${impossible.reason}`);
    return undefined;
  }
  const stepOf = new Map(steps.map((step) => [step.features.id, step]));
  const entries = log.filter(({ kind }) => kind === "start" || kind === "join");
  const strangers = entries.filter(({ node }) => !stepOf.has(node));
  if (strangers.length > 0 || entries.length !== steps.length) {
    const counts = `${entries.length} steps entered the forest by the log, and ${steps.length} by the frontier`;
    note(`${counts}; ${strangers.length} steps of the log are unknown`);
    return undefined;
  }

  const growth = new GrowingForest(dimension);
  const clusters = new Map<
    number,
    { cluster: OpenCluster; logPosition: number; settledAt: number | null; messages: TitledMessage[] }
  >();
  for (const row of log) {
    const { id: position, kind, node, root } = row;
    const step = stepOf.get(node);
    growth.apply(row, step?.features);
    if (kind === "settle") clusters.get(root)!.settledAt = position;
    if (kind !== "start" && kind !== "join") continue;
    const known = clusters.get(root) ?? {
      cluster: growth.open.get(root)!,
      settledAt: null,
      messages: [] as TitledMessage[],
    };
    known.messages.push(...step!.messages.map(({ role, text }) => ({ role, text: text.slice(0, titleTextChars) })));
    clusters.set(root, { ...known, logPosition: position });
  }
  const parents = new Map<number, number>();
  for (const { features, messageIds } of steps) {
    const { cluster } = forest.find(features.id)!;
    for (const id of messageIds) parents.set(id, id === cluster ? forest.parentOf(cluster)! : cluster);
  }
  return {
    parents,
    clusters: [...clusters.values()].map(({ messages, ...state }) => ({
      ...state,
      label: titleOf(messages, askedBefore(state.cluster.root)),
      subjectRoot: assigned.roots.get(state.cluster.root) ?? null,
    })),
    themes: [...growth.themes.values()],
  };
}

/** Returns a cluster as text, to compare it. Labels are left out, because a later version may choose others. */
export function clusterLine({ cluster, label: _, ...state }: StoredCluster): string {
  return JSON.stringify([
    Object.entries({ ...cluster, sum: bytesOf(cluster.sum) }).sort(),
    Object.entries(state).sort(),
  ]);
}

export function themeLine({ theme, logPosition }: GrowingTheme): string {
  return JSON.stringify([Object.entries({ ...theme, sum: bytesOf(theme.sum) }).sort(), logPosition]);
}

function bytesOf(sum: Float32Array): string {
  return Buffer.from(sum.buffer, sum.byteOffset, sum.byteLength).toString("base64");
}
