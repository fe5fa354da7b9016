import { projectNamer } from "../../session/project-meant.ts";
import type { RootInfo } from "../../session/roots.ts";
import type { Session } from "../../session/session.ts";
import { sessionName } from "../../session/session-name.ts";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { headline } from "../headline.ts";
import { type Column, tableLines } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount, formatNumber, oneLine } from "../text.ts";

export interface ForestView {
  session: ReturnType<Session["info"]>;
  /** Oldest first. */
  themes: (Omit<RootInfo, "clusters"> & { clusters: RootInfo[] })[];
  /** Messages that have not entered the forest, without pinned ones; null if there are none. */
  hot: Extent | null;
  pinnedCount: number;
}

type Extent = Pick<RootInfo, "messageCount" | "tokenCount" | "seqFirst" | "seqLast">;

interface TreeRow {
  /** The lines of the drawing before the name. */
  branch: string;
  name: string;
  isBold: boolean;
  handle: string;
  extent: Extent;
  state: string;
}

/** The marks of themes. */
const MARKS = {
  "○": "not summarized by a model, so contexts quote it",
  "◐": "summarized in part",
  "●": "summarized",
};

export const forestCommand: Command = {
  usage: "forest <session>",
  summary: "Draw a session's forest: themes, their clusters, and the hot window.",
  details:
    "● is a theme that summaries of a model cover, ◐ one that they cover in part, ○ one without. `expand` accepts every " +
    "handle. With --json: {session, themes, hot, pinnedCount}, each theme with its clusters.",
  argument: SESSION_MEANING,
  paged: true,
  examples: ["488c5296", "488c5296 --json"],

  async run({ args: [typed], loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const view = forestView(findSession(store, typed!));
    const session = { ...view.session, project: projectNamer(store)(view.session.project) };
    return { value: view, lines: forestLines({ ...view, session }, terminal) };
  },
};

function forestView(session: Session): ForestView {
  const overview = session.info();
  const clusters = new Map(session.roots({ level: "cluster" }).map((cluster) => [cluster.root, cluster]));
  const themes = session.roots().map((theme) => ({
    ...theme,
    clusters: theme.clusters!.map((handle) => clusters.get(handle)!),
  }));
  const coldCount = themes.reduce((count, { messageCount }) => count + messageCount, 0);
  // Messages enter the forest in order, so hot messages come after all others.
  const seqFrom = themes.reduce((seq, { seqLast }) => Math.max(seq, seqLast + 1), 0);
  const newest = session.messages({ seqFrom }).filter(({ pinned }) => !pinned);
  const hot = {
    messageCount: newest.length,
    tokenCount: newest.reduce((sum, { tokenCount }) => sum + tokenCount, 0),
    seqFirst: newest[0]?.seq ?? 0,
    seqLast: newest.at(-1)?.seq ?? 0,
  };
  return {
    session: overview,
    themes,
    hot: newest.length === 0 ? null : hot,
    pinnedCount: overview.messageCount - coldCount - newest.length,
  };
}

export function* forestLines(view: ForestView, terminal: Terminal): Generator<string> {
  const { id, project, messageCount, tokenCount } = view.session;
  yield headline(sessionName(view.session) ?? id, terminal);
  const facts = [
    id,
    oneLine(project ?? ""),
    formatCount(messageCount, "message"),
    formatCount(tokenCount, "token"),
    view.pinnedCount === 0 ? "" : `${formatNumber(view.pinnedCount)} pinned`,
  ];
  yield facts.filter(Boolean).join(" · ");
  const columns: Column<TreeRow>[] = [
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
  const rows = rowsOf(view);
  if (rows.length > 0) yield* tableLines(columns, rows, terminal, { isPicture: true });
  const marks = new Set(view.themes.map((one) => stateOf(one).mark));
  const legend = Object.entries(MARKS).filter(([mark]) => marks.has(mark));
  if (legend.length > 0) terminal.hint(legend.map(([mark, meaning]) => `${mark} ${meaning}`).join(" · "));
  const [theme] = view.themes;
  if (theme !== undefined) terminal.hint(`Next: coppice expand ${theme.root}, for its messages word for word`);
}

function rowsOf({ themes, hot }: ForestView): TreeRow[] {
  const rows: TreeRow[] = [];
  themes.forEach((theme, index) => {
    const isLast = hot === null && index === themes.length - 1;
    const { mark, state } = stateOf(theme);
    const title = theme.label || "(no words)";
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
  if (summaries!.length === 0) return { mark: "○", state: "" };
  if (uncoveredCount === 0) return { mark: "●", state: "summarized" };
  return {
    mark: "◐",
    state: `${formatNumber(messageCount - uncoveredCount!)} of ${formatNumber(messageCount)} summarized`,
  };
}
