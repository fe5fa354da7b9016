import type { RootInfo } from "../session/roots.ts";
import type { Session } from "../session/session.ts";
import { type Column, tableLines } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { formatCount, formatNumber, oneLine } from "./text.ts";

/** A session's forest, and the messages that are not in it. */
export interface ForestView {
  session: ReturnType<Session["info"]>;
  /** The themes, oldest first, each with its clusters. */
  themes: (Omit<RootInfo, "clusters"> & { clusters: RootInfo[] })[];
  /** The messages that have not entered the forest, without pinned ones; null if there are none. */
  hot: Extent | null;
  pinnedCount: number;
}

type Extent = Pick<RootInfo, "messageCount" | "tokenCount" | "seqFirst" | "seqLast">;

interface TreeRow {
  /** The lines of the drawing that lead to the row. */
  branch: string;
  name: string;
  isBold: boolean;
  handle: string;
  extent: Extent;
  state: string;
}

/** Draws the forest as a tree, in columns that fit the terminal. */
export function* forestLines(view: ForestView, terminal: Terminal): Generator<string> {
  const { id, title, project, messageCount, tokenCount } = view.session;
  yield terminal.style("bold", oneLine(title ?? id));
  const facts = [
    id,
    project === null ? "" : oneLine(project),
    formatCount(messageCount, "message"),
    formatCount(tokenCount, "token"),
    view.pinnedCount === 0 ? "" : `${formatNumber(view.pinnedCount)} pinned`,
  ];
  yield facts.filter(Boolean).join(" · ");
  const rows = rowsOf(view);
  if (rows.length > 0) yield* tableLines(columnsOf(terminal), rows, terminal, { isPicture: true });
  const [theme] = view.themes;
  if (theme !== undefined) terminal.hint(`Next: coppice expand ${theme.root}, for its messages word for word`);
}

function columnsOf(terminal: Terminal): Column<TreeRow>[] {
  return [
    {
      header: "",
      value: ({ branch, name }) => branch + name,
      widthMin: 28,
      paint: (cell, { branch, isBold }) => {
        const name = cell.slice(branch.length);
        return terminal.style("dim", branch) + (isBold ? terminal.style("bold", name) : name);
      },
    },
    { header: "handle", value: ({ handle }) => handle, paint: (cell) => terminal.style("cyan", cell) },
    { header: "messages", value: ({ extent }) => extent.messageCount },
    { header: "tokens", value: ({ extent }) => extent.tokenCount, expendable: true },
    { header: "from–to", value: ({ extent: { seqFirst, seqLast } }) => `#${seqFirst}–${seqLast}`, expendable: true },
    { header: "", value: ({ state }) => state, expendable: true },
  ];
}

function rowsOf({ themes, hot }: ForestView): TreeRow[] {
  const rows: TreeRow[] = [];
  themes.forEach((theme, index) => {
    const isLast = hot === null && index === themes.length - 1;
    const { mark, state } = stateOf(theme);
    const title = theme.summaries!.at(-1)?.title || theme.label || "(no words)";
    const name = `${mark} ${oneLine(title)}`;
    rows.push({ branch: isLast ? "└─ " : "├─ ", name, isBold: true, handle: theme.root, extent: theme, state });
    theme.clusters.forEach((cluster, clusterIndex) => {
      const branch = `${isLast ? "   " : "│  "}${clusterIndex === theme.clusters.length - 1 ? "└─ " : "├─ "}`;
      rows.push({
        branch,
        name: oneLine(cluster.label || "(no words)"),
        isBold: false,
        handle: cluster.root,
        extent: cluster,
        state: cluster.settled ? "" : "open",
      });
    });
  });
  if (hot !== null) {
    rows.push({ branch: "└─ ", name: "◆ hot window", isBold: true, handle: "", extent: hot, state: "word for word" });
  }
  return rows;
}

function stateOf({ uncoveredCount, messageCount, summaries }: ForestView["themes"][number]): {
  mark: string;
  state: string;
} {
  if (summaries!.length === 0) return { mark: "○", state: "no summary" };
  if (uncoveredCount === 0) return { mark: "●", state: "summarized" };
  return { mark: "◐", state: `${formatNumber(uncoveredCount!)} of ${formatNumber(messageCount)} dirty` };
}
