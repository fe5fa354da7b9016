import { IMPORTANT, takeCitations, withShortCitations } from "../core/citations.ts";
import { StoreError } from "../core/errors.ts";
import { addTo, groupedBy } from "../core/groups.ts";
import { formatHandle } from "../core/handle.ts";
import type { Message } from "../core/message.ts";
import { type DoneSummary, type Repositories, type SessionState, ThemeRoots } from "../store/index.ts";
import type { BlockedMessage } from "./digest/blocks.ts";

/** A line of a summary. */
export interface Statement {
  /** With its citations, shortened. */
  text: string;
  isImportant: boolean;
  /** The seqs that it cites. */
  seqs: readonly number[];
  /** The first of them; without citations, the first one that its summary covers. */
  seq: number;
  /** The log position of the frontier move that accepted it; 0 for a span. */
  shownFrom: number;
}

/** A summary that the frontier has accepted. */
export interface SummaryView {
  /** `cluster:123@456` names what the cluster with root 123 held at log position 456. */
  handle: string;
  /** In order. */
  statements: readonly Statement[];
  /** The number of messages it covers, including those still in the window. */
  messageCount: number;
  seqFirst: number;
  seqLast: number;
}

export interface ThemeView {
  /** `theme:123@456`, at the position of the session's last union. */
  handle: string;
  /** A few words that describe the theme in a pointer line. May be empty. */
  label: string;
  /** The number of all members, including those still in the window. */
  messageCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
  /** The accepted summaries of its clusters. No two cover the same message. */
  summaries: readonly SummaryView[];
  /** The number of members that have left the window and that no summary covers. */
  uncoveredCount: number;
}

export interface ThemePlace {
  /** Index into `themes`. */
  theme: number;
  /** Index into the theme's `summaries`; undefined if no accepted summary covers the message. */
  summary: number | undefined;
}

export interface RenderView {
  sessionId: string;
  messageCount: number;
  /** System messages and messages that the caller pinned, in order. They never enter the forest. */
  pinned: readonly Message[];
  /** The other messages from the frontier on, in order and in whole steps. */
  window: readonly Message[];
  /** Ids of the window's messages that `normalWindow` has cut. */
  shortened?: ReadonlySet<number>;
  /**
   * The messages before the frontier that filled a large budget when the frontier moved last, and the first seq after them. Some of
   * them are no longer in `window`.
   */
  filledAtMove?: readonly Message[];
  filledUntil?: number;
  /** The tokens at which messages leave the window. */
  windowTokensMax: number;
  /** The tokens that the window will probably have when messages leave it. */
  expectedTokens?: number;
  /** The first seq of the step that was the newest when the start of the window last moved. */
  anchorSeq: number;
  /** The first seq that has not left the window. Each message before it is pinned or in a theme. */
  evictedSeq: number;
  /** The themes of the window's graduated messages, by message id. */
  overlap: ReadonlyMap<number, ThemePlace>;
  /** Oldest first, by `seqFirst`. */
  themes: readonly ThemeView[];
  /** The overview that the frontier has accepted. */
  overview: OverviewView | undefined;
  /** True if one running summary stands for all that the window does not have. */
  isSpan: boolean;
  /** The id of the first message in `themes`. */
  firstColdId: number | undefined;
  /** The newest messages before the window that are not pinned, in order. */
  past: readonly BlockedMessage[];
  /** Older ones of them, of which a context that keeps its prefix quotes the same while the frontier moves on. */
  lastingPast?: readonly BlockedMessage[];
  /** Returns a message of the window in blocks. */
  blocksOf: (message: Message) => BlockedMessage;
  /** Returns the theme that holds a message of the past. */
  placeOf: (message: { stepId: number; seq: number }) => ThemePlace;
  /** The id of the step to which results may still come. */
  openStepId: number | undefined;
}

/** A summary of everything up to a message, made of statements. It covers no message: statements and pointers name them. */
export interface OverviewView {
  /** `span:12@480`, from the first message to the last. */
  handle: string;
  statements: readonly Statement[];
  seqFirst: number;
  seqLast: number;
}

/** The part of a view that only a move of the frontier changes. */
export type ColdView = Pick<RenderView, "themes" | "overview" | "firstColdId" | "overlap" | "placeOf">;

type SummaryDraft = SummaryView & Pick<DoneSummary, "rootId" | "logPosition">;

/** Reads the part of a session before the window. It reads the summaries that are shown, of a limited number of clusters. A large cluster has many. */
export function loadColdView(repositories: Repositories, state: SessionState): ColdView {
  const { unions, clusters } = repositories;
  const roots = new ThemeRoots(repositories.unions, state.sessionId);
  const ordered = [...state.themes.values()].sort((left, right) => left.theme.seqFirst - right.theme.seqFirst);
  const drafts = ordered.map(({ theme, logPosition }, index) => {
    const { root, messageCount, tokenCount, seqFirst, seqLast } = theme;
    const handle = formatHandle("theme", root, logPosition);
    const view = {
      handle,
      label: clusters.byRoot(state.sessionId, root).label,
      messageCount,
      tokenCount,
      seqFirst,
      seqLast,
    };
    return { root, index, view, summaries: [] as SummaryDraft[], uncoveredCount: messageCount };
  });
  const draftByRoot = new Map(drafts.map((draft) => [draft.root, draft]));
  const draftOf = (clusterRoot: number) => {
    const draft = draftByRoot.get(roots.themeOf(clusterRoot));
    if (draft !== undefined) return draft;
    const reason = `a theme of session "${state.sessionId}" is missing`;
    throw new StoreError("STORE_CORRUPT", { path: repositories.database.path, reason });
  };

  const shown = repositories.summaries.shown({ sessionId: state.sessionId });
  for (const rows of groupedBy(shown, ({ rootId }) => rootId).values()) {
    const { rootId, logPosition, title } = rows.at(-1)!;
    const draft = draftOf(rootId);
    const messageCount = rows.reduce((count, row) => count + row.messageCount, 0);
    draft.summaries.push({
      ...{ rootId, logPosition },
      handle: formatHandle("cluster", rootId, logPosition),
      statements: rows.flatMap(statementsOf),
      messageCount,
      seqFirst: Math.min(...rows.map(({ seqFirst }) => seqFirst)),
      seqLast: Math.max(...rows.map(({ seqLast }) => seqLast)),
    });
    draft.uncoveredCount -= messageCount;
    if (rootId === draft.root && title !== "") draft.view.label = title;
  }

  const overlapSteps = new Map<number, number[]>();
  for (const { id, seq, stepId } of state.window) {
    if (seq >= state.graduatedSeq) break;
    addTo(overlapSteps, stepId, id);
  }
  const draftPlace = (root: number, position: number) => {
    const draft = draftOf(root);
    const summary = draft.summaries.findIndex((other) => other.rootId === root && position <= other.logPosition);
    return { draft, summary: summary === -1 ? undefined : summary };
  };
  const overlap = new Map<number, ThemePlace>();
  const entered = new Map(
    unions.newestEntered(state.sessionId, overlapSteps.size).map((entry) => [entry.stepId, entry]),
  );
  for (const [stepId, windowIds] of overlapSteps) {
    // If the first step of a cluster was forgotten, the next one has its place in the log, which may be earlier.
    const entry = entered.get(stepId) ?? unions.entered({ sessionId: state.sessionId, stepId });
    if (entry === undefined) {
      const reason = `the log does not say when steps of session "${state.sessionId}" entered the forest`;
      throw new StoreError("STORE_CORRUPT", { path: repositories.database.path, reason });
    }
    const { clusterRoot, position } = entry;
    const { draft, summary } = draftPlace(clusterRoot, position);
    for (const id of windowIds) overlap.set(id, { theme: draft.index, summary });
    if (summary === undefined) draft.uncoveredCount -= windowIds.length;
  }

  const themes = drafts.map(({ view, summaries, uncoveredCount }): ThemeView => {
    return { ...view, summaries, uncoveredCount };
  });
  const places = new Map<number, ThemePlace>();
  const placeOf = ({ stepId, seq }: { stepId: number; seq: number }): ThemePlace => {
    const known = places.get(stepId);
    if (known !== undefined) return known;
    const entry = unions.entered({ sessionId: state.sessionId, stepId });
    if (entry === undefined) {
      const reason = `message ${seq} of session "${state.sessionId}" has left the window but is in no theme`;
      throw new StoreError("STORE_CORRUPT", { path: repositories.database.path, reason });
    }
    const { draft, summary } = draftPlace(entry.clusterRoot, entry.position);
    const place = { theme: draft.index, summary };
    places.set(stepId, place);
    return place;
  };
  const newest = repositories.summaries.shownOverview(state.sessionId);
  const overview = newest && {
    handle: formatHandle("span", newest.rootId, newest.logPosition),
    statements: statementsOf(newest),
    seqFirst: newest.seqFirst,
    seqLast: newest.seqLast,
  };
  return { overlap, themes, overview, firstColdId: repositories.spans.firstOf(state.sessionId), placeOf };
}

/** Splits the text of a summary. A summarizer writes a statement on each line. */
export function statementsOf({
  text,
  seqFirst,
  shownFrom,
}: Pick<DoneSummary, "text" | "seqFirst" | "shownFrom">): Statement[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const isImportant = line.startsWith(IMPORTANT);
    const { seqs } = takeCitations(line);
    return {
      text: withShortCitations(isImportant ? line.slice(IMPORTANT.length) : line),
      isImportant,
      seqs,
      seq: seqs.length > 0 ? Math.min(...seqs) : seqFirst,
      shownFrom: shownFrom ?? 0,
    };
  });
}
