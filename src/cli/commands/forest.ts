import type { Session } from "../../session/session.ts";
import type { Command } from "../command.ts";
import { findSession, SESSION_MEANING } from "../find-session.ts";
import { type ForestView, forestLines } from "../forest-lines.ts";

export const forestCommand: Command = {
  usage: "forest <session>",
  summary: "Draw a session's forest: themes, their clusters, and the hot window.",
  details:
    "● is a theme that summaries cover, ◐ one that has grown since, ○ one without a summary. `expand` accepts every " +
    "handle. With --json: {session, themes, hot, pinnedCount}, each theme with its clusters.",
  argument: SESSION_MEANING,
  examples: ["488c5296", "488c5296 --json"],

  async run({ args: [typed], loadStores, terminal }) {
    const view = forestView(findSession((await loadStores()).openToRead(), typed!));
    return { value: view, lines: forestLines(view, terminal) };
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
  // Messages enter the forest in order, so the hot ones follow the last one in the forest.
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
