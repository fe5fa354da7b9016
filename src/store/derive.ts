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

const STEPS_AT_ONCE = 500;

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
  const askedBefore = (id: number) => messages.askedBefore(options.titleTextChars, id);
  const dimension = generation?.dimension ?? 0;
  const derived = applyLog({ log, subjectLog, steps, dimension, askedBefore }, options, note);
  // Clusters that had settled before a fork are rows of the sessions that it shares.
  const sharedTo = paths.of(session.id).at(-2)?.logPosition ?? 0;
  const clusters = derived?.clusters.filter(({ settledAt }) => settledAt === null || settledAt > sharedTo);
  const unionCount = unions.own(session.id, generation?.id ?? 0).length + subjectLog.length;
  return { unionCount, derived: derived && { ...derived, clusters: clusters! } };
}

/** The steps that have entered a session's forest. Their texts and vectors are read in the order of the log, and not kept. */
class EnteredSteps {
  /** The messages of each step, by the id of its first message. */
  readonly messageIds = new Map<number, number[]>();
  readonly #messages: Repositories["messages"];

  constructor(messages: Repositories["messages"], { id: sessionId, graduatedSeq }: SessionRow) {
    this.#messages = messages;
    const byStep = new Map<number, number[]>();
    for (const { id, stepId } of messages.graduatingPlaces(sessionId, 0, graduatedSeq - 1)) {
      const step = byStep.get(stepId);
      if (step === undefined) byStep.set(stepId, [id]);
      else step.push(id);
    }
    for (const ids of byStep.values()) this.messageIds.set(ids[0]!, ids);
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
  askedBefore: (id: number) => TitledMessage | undefined;
}

interface GrownCluster {
  cluster: OpenCluster;
  logPosition: number;
  settledAt: number | null;
  /** Null until it settles. From then on `messages` is empty. */
  label: string | null;
  messages: TitledMessage[];
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
  const { messageIds } = steps;
  const entries = log.filter(({ kind }) => kind === "start" || kind === "join");
  const strangers = entries.filter(({ node }) => !messageIds.has(node));
  if (strangers.length > 0 || entries.length !== messageIds.size) {
    const counts = `${entries.length} steps entered the forest by the log, and ${messageIds.size} by the frontier`;
    note(`${counts}; ${strangers.length} steps of the log are unknown`);
    return undefined;
  }

  const growth = new GrowingForest(dimension);
  const clusters = new Map<number, GrownCluster>();
  const titled = ({ cluster, messages }: GrownCluster) => titleOf(messages, askedBefore(cluster.root));
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
      clusters.set(root, { ...settled, settledAt: position, label: titled(settled), messages: [] });
    }
    if (!isEntry) continue;
    const { cluster, messages }: Pick<GrownCluster, "cluster" | "messages"> = clusters.get(root) ?? {
      cluster: growth.open.get(root)!,
      messages: [],
    };
    for (const { role, text } of step!.messages) messages.push({ role, text: text.slice(0, titleTextChars) });
    clusters.set(root, { cluster, messages, logPosition: position, settledAt: null, label: null });
  }
  const parents = new Map<number, number>();
  for (const [step, ids] of messageIds) {
    const { cluster } = forest.find(step)!;
    for (const id of ids) parents.set(id, id === cluster ? forest.parentOf(cluster)! : cluster);
  }
  return {
    parents,
    clusters: [...clusters.values()].map((grown) => {
      const { cluster, logPosition, settledAt, label } = grown;
      const subjectRoot = assigned.roots.get(cluster.root) ?? null;
      return { cluster, logPosition, settledAt, label: label ?? titled(grown), subjectRoot };
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
