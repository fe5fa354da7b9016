import type { Message } from "../core/message.ts";

/** A summary that the frontier has accepted, and what it stands for. */
export interface SummaryView {
  /** `theme:123@456`: what the theme rooted at message 123 held at log position 456. Means the same for ever. */
  handle: string;
  title: string;
  text: string;
  /** Messages it covers, those still in the window included. */
  messageCount: number;
  seqFirst: number;
  seqLast: number;
}

/** One theme of the cold forest, as a context shows it. */
export interface ThemeView {
  /** `theme:123@456` at the position of the last union of the session. */
  handle: string;
  /** Its telling words, for a line that only names it. May be empty. */
  label: string;
  /** All members, covered or not, those still in the window included. */
  messageCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
  /** Disjoint: the newest accepted summaries of the theme's maximal covered subtrees, oldest first. */
  summaries: readonly SummaryView[];
  /** The newest members that no summary covers and that have left the window, in order: as many as are at hand, the
   *  rest (`uncoveredCount - uncovered.length`) is only counted. Whole steps. */
  uncovered: readonly Message[];
  /** Members that no summary covers and that have left the window. */
  uncoveredCount: number;
}

/** Where a message of the window that has already graduated stands in the forest. */
export interface OverlapView {
  /** Index into `themes`. */
  theme: number;
  /** Index into that theme's `summaries`, or undefined where no accepted summary covers the message. */
  summary: number | undefined;
}

/** Everything a render reads: a pure function of what is stored. */
export interface RenderView {
  sessionId: string;
  /** All messages of the session. */
  messageCount: number;
  /** System messages and those the caller pinned, in order, wherever they stand. They never enter the forest. */
  pinned: readonly Message[];
  /** The other messages from the frontier on, in order. Steps are whole. */
  window: readonly Message[];
  /** Ids of those whose results or arguments are cut down, see `normalWindow`; none where it is left out. */
  shortened?: ReadonlySet<number>;
  /** The setting of that name; its default where it is left out. */
  toolPreviewCharsMax?: number;
  /** seq of the first message that has not left the window. Everything before it is pinned or in a theme. */
  evictedSeq: number;
  /** By message id: the graduated part of `window`. */
  overlap: ReadonlyMap<number, OverlapView>;
  /** Oldest first, by `seqFirst`. */
  themes: readonly ThemeView[];
  /** The step to which results may still come, by its first message. Its calls are left open only at the very end. */
  openStepId: number | undefined;
}
