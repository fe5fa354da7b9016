import { DamageError } from "../../core/damage.ts";
import { titledEnds } from "../../core/ends.ts";
import type { OpenCluster } from "../../forest/cluster.ts";
import { replay } from "../../forest/forest.ts";
import { GrowingForest, type GrowingTheme } from "../../forest/growing-forest.ts";
import { type SubjectRow, subjectRoots } from "../../forest/subjects.ts";
import type { StoredCluster } from "../derived/cluster-rows.ts";
import { type DeriveOptions, type EnteringStep, enteringSteps } from "../derived/past-forests.ts";
import type { UnionRow } from "../derived/unions.ts";
import type { SessionRow } from "../facts/sessions.ts";
import type { Repositories } from "../repositories.ts";

const STEPS_AT_ONCE = 50;

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
  const steps = new EnteredSteps(messages, session);
  const titleOf = (root: number, steps: readonly number[]): string => {
    const { titleTextChars } = options;
    const openings = messages.openingsOf(titleTextChars, titledEnds(steps));
    return options.titleOf(openings, messages.askedBefore(titleTextChars, root));
  };
  const dimension = generation?.dimension ?? 0;
  const derived = applyLog({ log, subjectLog, steps, dimension, titleOf }, note);
  // Clusters that had settled before a fork are rows of the sessions that it shares.
  const sharedTo = paths.sharedTo(session.id);
  const clusters = derived?.clusters.filter(({ settledAt }) => settledAt === null || settledAt > sharedTo);
  const unionCount = log.filter(({ id }) => id > sharedTo).length + subjectLog.length;
  return { unionCount, derived: derived && { ...derived, clusters: clusters! } };
}

/** Derives a session's rows. @throws {DamageError} if the log cannot be applied. */
export function derivedOf(repositories: Repositories, session: SessionRow, options: DeriveOptions): DerivedRows {
  const { derived } = derive(repositories, session, options, (reason) => {
    throw new DamageError(reason);
  });
  return derived!;
}

/** The steps that have entered a session's forest. Their texts and vectors are read in the order of the log, and not kept. */
class EnteredSteps {
  /** The ids of the steps' first messages. */
  readonly steps: ReadonlySet<number>;
  /** The step of each message. Two lists, because there may be many. */
  readonly #ids: number[] = [];
  readonly #stepOf: number[] = [];
  readonly #messages: Repositories["messages"];

  constructor(messages: Repositories["messages"], { id: sessionId, graduatedSeq }: SessionRow) {
    this.#messages = messages;
    const firstOf = new Map<number, number>();
    for (const { id, stepId } of messages.graduatingPlaces(sessionId, 0, graduatedSeq - 1)) {
      const first = firstOf.get(stepId) ?? id;
      if (first === id) firstOf.set(stepId, id);
      this.#ids.push(id);
      this.#stepOf.push(first);
    }
    this.steps = new Set(firstOf.values());
  }

  /** Returns what `parentOf` says of each message and its step. */
  parents(parentOf: (id: number, step: number) => number): Map<number, number> {
    const parents = new Map<number, number>();
    for (const [index, id] of this.#ids.entries()) parents.set(id, parentOf(id, this.#stepOf[index]!));
    return parents;
  }

  /** Yields a step for each row of the log by which one entered, in their order. */
  *enteredBy(entries: readonly UnionRow[]): Generator<EnteringStep | undefined> {
    for (let from = 0; from < entries.length; from += STEPS_AT_ONCE) {
      const nodes = entries.slice(from, from + STEPS_AT_ONCE).map(({ node }) => node);
      const steps = enteringSteps(this.#messages.graduatingOf(nodes), -1);
      const stepOf = new Map(steps.map((step) => [step.features.id, step]));
      for (const node of nodes) yield stepOf.get(node);
    }
  }
}

interface AppliedLog {
  log: readonly UnionRow[];
  subjectLog: readonly SubjectRow[];
  steps: EnteredSteps;
  dimension: number;
  titleOf: (root: number, steps: readonly number[]) => string;
}

interface GrownCluster {
  cluster: OpenCluster;
  logPosition: number;
  settledAt: number | null;
  /** Null until it settles. From then on `steps` is empty. */
  label: string | null;
  steps: number[];
}

/** If the log and the steps disagree, notes why and returns undefined. */
function applyLog(
  { log, subjectLog, steps, dimension, titleOf }: AppliedLog,
  note: (text: string) => void,
): DerivedRows | undefined {
  const { forest, refused } = replay(log);
  const assigned = subjectRoots(subjectLog);
  const impossible = refused ?? assigned.refused;
  if (impossible !== undefined) {
    note(`row ${impossible.row.id} of the log cannot have happened: ${impossible.reason}`);
    return undefined;
  }
  const entries = log.filter(({ kind }) => kind === "start" || kind === "join");
  const strangers = entries.filter(({ node }) => !steps.steps.has(node));
  if (strangers.length > 0 || entries.length !== steps.steps.size) {
    const counts = `${entries.length} steps entered the forest by the log, and ${steps.steps.size} by the frontier`;
    note(`${counts}; ${strangers.length} steps of the log are unknown`);
    return undefined;
  }

  const growth = new GrowingForest(dimension);
  const clusters = new Map<number, GrownCluster>();
  const entered = steps.enteredBy(entries);
  for (const row of log) {
    const { id: position, kind, node, root } = row;
    const isEntry = kind === "start" || kind === "join";
    const step: EnteringStep | undefined = isEntry ? entered.next().value : undefined;
    if (isEntry && step === undefined) {
      note(`step ${node}, which entered by row ${position} of the log, has another first message`);
      return undefined;
    }
    growth.apply(row, step?.features);
    if (kind === "settle") {
      const settled = clusters.get(root)!;
      clusters.set(root, { ...settled, settledAt: position, label: titleOf(root, settled.steps), steps: [] });
    }
    if (!isEntry) continue;
    const known = clusters.get(root);
    const held = known?.steps ?? [];
    held.push(node);
    const cluster = known?.cluster ?? growth.open.get(root)!;
    clusters.set(root, { cluster, steps: held, logPosition: position, settledAt: null, label: null });
  }
  return {
    parents: steps.parents((id, step) => {
      const { cluster } = forest.find(step)!;
      return id === cluster ? forest.parentOf(cluster)! : cluster;
    }),
    clusters: [...clusters.values()].map(({ cluster, logPosition, settledAt, label, steps }) => {
      const subjectRoot = assigned.roots.get(cluster.root) ?? null;
      return { cluster, logPosition, settledAt, label: label ?? titleOf(cluster.root, steps), subjectRoot };
    }),
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
