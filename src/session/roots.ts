import { DamageError } from "../core/damage.ts";
import { TITLE_CHARS_MAX } from "../core/ends.ts";
import { formatHandle } from "../core/handle.ts";
import { type DoneSummary, type Repositories, ThemeRoots } from "../store/index.ts";

/** What themes and clusters of a session have in common. */
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
