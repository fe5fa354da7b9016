import type { OpenCluster } from "../forest/cluster.ts";
import { GrowingForest, type GrowingTheme } from "../forest/growing-forest.ts";
import { replay } from "../forest/replay.ts";
import { type SubjectRow, subjectRoots } from "../forest/subjects.ts";
import type { StoredCluster } from "./clusters.ts";
import { type EnteringStep, enteringSteps } from "./features.ts";
import type { Repositories } from "./repositories.ts";
import type { SessionRow } from "./sessions.ts";
import type { UnionRow } from "./unions.ts";

export interface DeriveOptions {
  /** The telling words of a cluster's members. */
  labelOf: (texts: readonly string[]) => string;
  /** Characters of each member that `labelOf` reads. */
  labelTextChars: number;
}

/** What the log says the derived rows are. */
export interface DerivedRows {
  /** By message id: the parent of every message that is not its own. */
  parents: Map<number, number>;
  clusters: StoredCluster[];
  themes: GrowingTheme[];
}

/** Apply the log to the messages. Nothing, and a note, where the two do not fit. */
export function derive(
  repositories: Repositories,
  session: SessionRow,
  options: DeriveOptions,
  note: (text: string) => void,
): { unionCount: number; derived: DerivedRows | undefined } {
  const generation = repositories.generations.newest()?.id ?? 0;
  const log = repositories.unions.ofSession(session.id, generation);
  const places = repositories.subjects.ofSession(session.id, generation);
  const derived = applied(repositories, session, log, places, options, note);
  return { unionCount: log.length + places.length, derived };
}

function applied(
  repositories: Repositories,
  session: SessionRow,
  log: readonly UnionRow[],
  places: readonly SubjectRow[],
  { labelOf, labelTextChars }: DeriveOptions,
  note: (text: string) => void,
): DerivedRows | undefined {
  const { messages, generations } = repositories;
  const steps = enteringSteps(messages.graduating(session.id, 0, session.graduatedSeq - 1), -1);
  return applyLog(
    { log, places, steps, dimension: generations.newest()!.dimension },
    { labelOf, labelTextChars },
    note,
  );
}

/** A session's log, what it says of subjects, and the steps that it lets in. */
export interface AppliedLog {
  log: readonly UnionRow[];
  places: readonly SubjectRow[];
  steps: readonly EnteringStep[];
  dimension: number;
}

/** What a log makes of its steps. Undefined, and a note, where the two do not fit. */
export function applyLog(
  { log, places, steps, dimension }: AppliedLog,
  { labelOf, labelTextChars }: DeriveOptions,
  note: (text: string) => void,
): DerivedRows | undefined {
  const { forest, refused } = replay(log);
  const placing = subjectRoots(places);
  for (const impossible of [refused, placing.refused]) {
    if (impossible === undefined) continue;
    note(`row ${impossible.row.id} of the log cannot have happened: ${impossible.reason}`);
    return undefined;
  }
  const stepOf = new Map(steps.map((step) => [step.features.id, step]));
  const entries = log.filter(({ kind }) => kind === "start" || kind === "join");
  const strangers = entries.filter(({ node }) => !stepOf.has(node));
  if (strangers.length > 0 || entries.length !== steps.length) {
    note(
      `the log lets ${entries.length} steps into the forest, the frontier ${steps.length}; ${strangers.length} of the log's are unknown`,
    );
    return undefined;
  }

  const growth = new GrowingForest(dimension);
  const clusters = new Map<
    number,
    { cluster: OpenCluster; logPosition: number; settledAt: number | null; texts: string[] }
  >();
  for (const { id: position, kind, node, root } of log) {
    if (kind === "settle") {
      growth.settle(root);
      clusters.get(root)!.settledAt = position;
    } else if (kind === "unite") {
      growth.unite(root, node, position);
    } else {
      const { features, texts } = stepOf.get(node)!;
      if (kind === "start") growth.start(features, position);
      else growth.join(features, root, position);
      const entry = clusters.get(root) ?? {
        cluster: growth.open.get(root)!,
        logPosition: 0,
        settledAt: null,
        texts: [],
      };
      entry.logPosition = position;
      entry.texts.push(...texts.map((text) => text.slice(0, labelTextChars)));
      clusters.set(root, entry);
    }
  }
  const parents = new Map<number, number>();
  for (const { features, messageIds } of steps) {
    const { cluster } = forest.find(features.id)!;
    for (const id of messageIds) parents.set(id, id === cluster ? forest.parentOf(cluster)! : cluster);
  }
  return {
    parents,
    clusters: [...clusters.values()].map(({ texts, ...state }) => ({
      ...state,
      label: labelOf(texts),
      subjectRoot: placing.roots.get(state.cluster.root) ?? null,
    })),
    themes: [...growth.themes.values()],
  };
}

/** All that a row of `clusters` says, to be compared. Labels are left out: a later version may choose other words, and nothing depends on them. */
export function clusterLine({ cluster, label: _, ...state }: StoredCluster): string {
  return JSON.stringify([
    Object.entries({ ...cluster, sum: bytesOf(cluster.sum) }).sort(),
    Object.entries(state).sort(),
  ]);
}

/** All that a row of `themes` says, to be compared. */
export function themeLine({ theme, logPosition }: GrowingTheme): string {
  return JSON.stringify([Object.entries({ ...theme, sum: bytesOf(theme.sum) }).sort(), logPosition]);
}

function bytesOf(sum: Float32Array): string {
  return Buffer.from(sum.buffer, sum.byteOffset, sum.byteLength).toString("base64");
}
