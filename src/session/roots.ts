import { DamageError } from "../core/damage.ts";
import { TITLE_CHARS_MAX } from "../core/ends.ts";
import { StoreError } from "../core/errors.ts";
import { formatHandle } from "../core/handle.ts";
import type { Role } from "../core/message.ts";
import { joinCluster, startCluster } from "../forest/cluster.ts";
import { fitOf } from "../forest/placement.ts";
import { type DoneSummary, namesOfProjects, type Repositories, soundSteps, ThemeRoots } from "../store/index.ts";

interface Root {
  /** The handle at the log position of the root's last change. */
  root: string;
  sessionId: string;
  messageCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
  /**
   * The title of a cluster, in words of its messages, and a number if an earlier cluster has the same. A theme has the label of one of
   * its clusters. May be empty.
   */
  label: string;
}

export interface ClusterInfo extends Root {
  level: "cluster";
  stepCount: number;
  /** True if it takes no more steps. */
  settled: boolean;
}

export interface ThemeInfo extends Root {
  level: "theme";
  /** The handles of its clusters, oldest first. */
  clusters: string[];
  /** The finished summaries of its clusters, those of the oldest messages first. Contexts may not show all of them yet. */
  summaries: RootSummary[];
  /** The number of messages that no summary covers. */
  uncoveredCount: number;
}

export type RootInfo = ThemeInfo | ClusterInfo;

type RootSize = Pick<Root, "messageCount" | "tokenCount" | "seqFirst" | "seqLast">;

export interface RootSummary {
  /** The cluster as it was when the summary was made. Earlier summaries of the cluster cover its earlier messages. */
  root: string;
  title: string;
  text: string;
  /** The number of messages that were read. */
  messageCount: number;
  tokenCount: number;
  summarizerId: string;
  /** True if contexts show it. */
  shown: boolean;
}

/** Returns the clusters of a session, oldest first. */
export function clustersOf({ clusters }: Repositories, sessionId: string): ClusterInfo[] {
  return toldApart(clusters.withThemes(sessionId)).map((cluster) => {
    const { rootId, logPosition, label, stepCount, settledAt } = cluster;
    const root = formatHandle("cluster", rootId, logPosition);
    return { root, level: "cluster", sessionId, ...sizeOf(cluster), label, stepCount, settled: settledAt !== null };
  });
}

/** Returns the themes of a session, oldest first. */
export function themesOf(repositories: Repositories, sessionId: string): ThemeInfo[] {
  const { clusters, themes, summaries, unions } = repositories;
  const withThemes = toldApart(clusters.withThemes(sessionId));
  const themeRows = themes.ofSession(sessionId).toSorted((left, right) => left.theme.seqFirst - right.theme.seqFirst);
  const roots = new ThemeRoots(unions, sessionId);
  const standing = summaries.standing({ sessionId });
  return themeRows.map(({ theme, logPosition }) => {
    const members = withThemes.filter(({ themeRoot }) => themeRoot === theme.root);
    const first = members.find(({ rootId }) => rootId === theme.root);
    if (first === undefined) throw new DamageError(`cluster ${theme.root} has no row`);
    const parts = standing.filter(({ rootId }) => roots.themeOf(rootId) === theme.root);
    return {
      root: formatHandle("theme", theme.root, logPosition),
      level: "theme",
      sessionId,
      ...sizeOf(theme),
      label: first.label,
      clusters: members.map(({ rootId, logPosition: at }) => formatHandle("cluster", rootId, at)),
      summaries: parts.sort((left, right) => left.seqFirst - right.seqFirst).map(rootSummary),
      uncoveredCount: parts.reduce((count, part) => count - part.messageCount, theme.messageCount),
    };
  });
}

/** Numbers the clusters of a session that have the title of an earlier one: `Oil the gate (2)`. They must be oldest first. */
function toldApart<T extends { label: string }>(clusters: readonly T[]): T[] {
  const counts = new Map<string, number>();
  return clusters.map((cluster) => {
    const count = (counts.get(cluster.label) ?? 0) + 1;
    counts.set(cluster.label, count);
    if (count === 1) return cluster;
    const mark = ` (${count})`;
    const room = TITLE_CHARS_MAX - mark.length;
    const end = cluster.label.length > room ? cluster.label.lastIndexOf(" ", room) : room;
    return { ...cluster, label: cluster.label.slice(0, end > 0 ? end : room) + mark };
  });
}

function sizeOf({ messageCount, tokenCount, seqFirst, seqLast }: RootSize): RootSize {
  return { messageCount, tokenCount, seqFirst, seqLast };
}

function rootSummary(summary: DoneSummary): RootSummary {
  const { title, text, messageCount, tokenCount, summarizerId } = summary;
  const root = formatHandle("cluster", summary.rootId, summary.logPosition);
  return { root, title, text, messageCount, tokenCount, summarizerId, shown: summary.shownFrom !== null };
}

/** Why a step is in its cluster. */
export interface Placement {
  /** The cluster as it was when the step had entered it. */
  cluster: string;
  kind: "start" | "join";
  seqFirst: number;
  seqLast: number;
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

/** A project as lists show it. */
export interface ProjectInfo {
  /** What tells it apart: the full path of its folder, or the name that a program gave it. Options named `project` take it. */
  project: string;
  /** Its name for people. No other project of the store has it now; it may change when a project comes. */
  name: string;
  sessionCount: number;
}

/** In the order of their names. */
export function projectsOf(repositories: Repositories): ProjectInfo[] {
  const names = namesOfProjects(repositories);
  return repositories.sessions
    .projects()
    .map(({ project, sessionCount }) => ({ project, name: names.get(project)!, sessionCount }))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}
