import { DamageError } from "../core/damage.ts";
import { formatHandle, type SessionLevel } from "../core/handle.ts";
import { type DoneSummary, type Repositories, ThemeRoots } from "../store/index.ts";

/** A theme or a cluster of a session. */
export interface RootInfo {
  /** The handle at the log position of the root's last change. */
  root: string;
  level: SessionLevel;
  sessionId: string;
  messageCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
  /** The title of a cluster, in words of its messages. A theme has the label of one of its clusters. May be empty. */
  label: string;
  /** For a theme: the handles of its clusters, oldest first. */
  clusters?: string[];
  /** For a cluster: the number of its steps. */
  stepCount?: number;
  /** For a cluster: true if it takes no more steps. */
  settled?: boolean;
  /** For a theme: the finished summaries of its clusters, those of the oldest messages first. Contexts may not show all of them yet. */
  summaries?: RootSummary[];
  /** For a theme: the number of messages that no summary covers. */
  uncoveredCount?: number;
}

type RootSize = Pick<RootInfo, "messageCount" | "tokenCount" | "seqFirst" | "seqLast">;

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

export function rootsOf(repositories: Repositories, sessionId: string, level: SessionLevel): RootInfo[] {
  const { clusters, themes, summaries, unions } = repositories;
  const sizeOf = ({ messageCount, tokenCount, seqFirst, seqLast }: RootSize) => {
    return { level, sessionId, messageCount, tokenCount, seqFirst, seqLast };
  };
  const withThemes = clusters.withThemes(sessionId).map((cluster) => {
    return { ...cluster, handle: formatHandle("cluster", cluster.rootId, cluster.logPosition) };
  });
  const themeRows = themes.ofSession(sessionId).toSorted((left, right) => left.theme.seqFirst - right.theme.seqFirst);
  if (level === "cluster") {
    return withThemes.map((cluster) => {
      const { handle, label, stepCount, settledAt } = cluster;
      return { root: handle, ...sizeOf(cluster), label, stepCount, settled: settledAt !== null };
    });
  }
  const roots = new ThemeRoots(unions, sessionId);
  const standing = summaries.standing({ sessionId });
  return themeRows.map(({ theme, logPosition }) => {
    const members = withThemes.filter(({ themeRoot }) => themeRoot === theme.root);
    const first = members.find(({ rootId }) => rootId === theme.root);
    if (first === undefined) throw new DamageError(`cluster ${theme.root} has no row`);
    const parts = standing.filter(({ rootId }) => roots.themeOf(rootId) === theme.root);
    return {
      root: formatHandle("theme", theme.root, logPosition),
      ...sizeOf(theme),
      label: first.label,
      clusters: members.map(({ handle }) => handle),
      summaries: parts.sort((left, right) => left.seqFirst - right.seqFirst).map(rootSummary),
      uncoveredCount: parts.reduce((count, part) => count - part.messageCount, theme.messageCount),
    };
  });
}

function rootSummary(summary: DoneSummary): RootSummary {
  const { title, text, messageCount, tokenCount, summarizerId } = summary;
  const root = formatHandle("cluster", summary.rootId, summary.logPosition);
  return { root, title, text, messageCount, tokenCount, summarizerId, shown: summary.shownFrom !== null };
}
