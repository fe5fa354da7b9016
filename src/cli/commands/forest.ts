import { everyMessage } from "../../session/aids/every-message.ts";
import { projectNamer } from "../../session/aids/project-meant.ts";
import type { ClusterInfo, ThemeInfo } from "../../session/roots.ts";
import type { Session } from "../../session/session.ts";
import type { Command } from "../command.ts";
import { type Column, tableLines } from "../screen/table.ts";
import type { Format, Terminal } from "../screen/terminal.ts";
import { formatCount, formatNumber, oneLine } from "../screen/text.ts";
import { headline } from "../screen/topic-lines.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";

export interface ForestView {
  session: ReturnType<Session["info"]>;
  /** Oldest first. */
  themes: (Omit<ThemeInfo, "clusters"> & { clusters: ClusterInfo[] })[];
  /** Messages that have not entered the forest, without pinned ones; null if there are none. */
  hot: Extent | null;
  pinnedCount: number;
}

type Extent = Pick<ThemeInfo, "messageCount" | "tokenCount" | "seqFirst" | "seqLast">;

interface TreeRow {
  /** The lines of the drawing before the name. */
  branch: string;
  name: string;
  /** The color of a theme. */
  color?: Format | undefined;
  handle: string;
  extent: Extent;
  state: string;
}

/** A message, and the first message of its theme. */
export interface MessagePlace {
  seq: number;
  theme: number | null;
}

const PLACES = `
  SELECT m.seq, t.theme_id AS theme FROM session_messages m
  LEFT JOIN theme_members t ON t.message_id = m.message_id AND t.session_id = m.session_id
  WHERE m.session_id = ? ORDER BY m.seq`;

/** Colors of themes, in the order in which they began. */
const COLORS = [
  ...["green", "yellow", "blue", "magenta", "cyan", "red"],
  ...["greenBright", "yellowBright", "blueBright", "magentaBright", "cyanBright", "redBright"],
] as Format[];

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
    const places = store.query(PLACES, [view.session.id]) as unknown as MessagePlace[];
    return { value: view, lines: forestLines({ ...view, session }, places, terminal) };
  },
};

function forestView(session: Session): ForestView {
  const overview = session.info();
  const clusters = new Map(session.roots({ level: "cluster" }).map((cluster) => [cluster.root, cluster]));
  const themes = session.roots().map((theme) => ({
    ...theme,
    clusters: theme.clusters.map((handle) => clusters.get(handle)!),
  }));
  const coldCount = themes.reduce((count, { messageCount }) => count + messageCount, 0);
  // Messages enter the forest in order, so hot messages come after all others.
  const seqFrom = themes.reduce((seq, { seqLast }) => Math.max(seq, seqLast + 1), 0);
  const newest = [...everyMessage(session, { seqFrom })].filter(({ pinned }) => !pinned);
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

export function* forestLines(view: ForestView, places: readonly MessagePlace[], terminal: Terminal): Generator<string> {
  const { id, project, messageCount, tokenCount } = view.session;
  yield headline(view.session.name ?? id, terminal);
  const facts = [
    id,
    oneLine(project ?? ""),
    formatCount(messageCount, "message"),
    formatCount(tokenCount, "token"),
    view.pinnedCount === 0 ? "" : `${formatNumber(view.pinnedCount)} pinned`,
  ];
  yield facts.filter(Boolean).join(" · ");
  const strip = stripOf(view, places, terminal);
  if (strip !== undefined) yield strip;
  const columns: Column<TreeRow>[] = [
    {
      header: "",
      value: ({ branch, name }) => branch + name,
      widthMin: 28,
      paint: (cell, { branch, color }) => {
        const name = cell.slice(branch.length);
        return terminal.style("dim", branch) + (color === undefined ? name : terminal.style(color, name));
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

/** A block for each stretch of the session, in the color of the theme that has most of it. Undefined without colors. */
function stripOf({ themes }: ForestView, places: readonly MessagePlace[], terminal: Terminal): string | undefined {
  if (!terminal.hasColors || themes.length === 0) return undefined;
  const colors = new Map(themes.map(({ root }, index) => [Number(/\d+/.exec(root)), COLORS[index % COLORS.length]!]));
  const width = Math.min(terminal.width ?? places.length, places.length);
  return Array.from({ length: width }, (_, column) => {
    const from = Math.floor((column * places.length) / width);
    const stretch = places.slice(from, Math.floor(((column + 1) * places.length) / width));
    const color = colors.get(mostOf(stretch.map(({ theme }) => theme ?? 0)));
    return color === undefined ? terminal.style("dim", "░") : terminal.style(color, "█");
  }).join("");
}

function mostOf(themes: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const theme of themes) counts.set(theme, (counts.get(theme) ?? 0) + 1);
  return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

function rowsOf({ themes, hot }: ForestView): TreeRow[] {
  const rows: TreeRow[] = [];
  themes.forEach((theme, index) => {
    const isLast = hot === null && index === themes.length - 1;
    const { mark, state } = stateOf(theme);
    const title = theme.label || "(no words)";
    const name = `${mark} ${oneLine(title)}`;
    const color = COLORS[index % COLORS.length];
    rows.push({ branch: isLast ? "└─ " : "├─ ", name, color, handle: theme.root, extent: theme, state });
    if (theme.clusters.length === 1) return; // it is the theme
    theme.clusters.forEach((cluster, clusterIndex) => {
      const branch = `${isLast ? "   " : "│  "}${clusterIndex === theme.clusters.length - 1 ? "└─ " : "├─ "}`;
      rows.push({
        branch,
        name: oneLine(cluster.label || "(no words)"),
        handle: cluster.root,
        extent: cluster,
        state: cluster.settled ? "" : "open",
      });
    });
  });
  if (hot !== null) {
    rows.push({ branch: "└─ ", name: "◆ hot window", handle: "", extent: hot, state: "word for word" });
  }
  return rows;
}

function stateOf({ uncoveredCount, messageCount, summaries }: ForestView["themes"][number]): {
  mark: string;
  state: string;
} {
  if (summaries.length === 0) return { mark: "○", state: "" };
  if (uncoveredCount === 0) return { mark: "●", state: "summarized" };
  return {
    mark: "◐",
    state: `${formatNumber(messageCount - uncoveredCount)} of ${formatNumber(messageCount)} summarized`,
  };
}
