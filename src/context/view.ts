import type { Message } from "../core/message.ts";

/** A summary that the frontier has accepted. */
export interface SummaryView {
  /** `theme:123@456` names what the theme with root 123 held at log position 456. */
  handle: string;
  title: string;
  text: string;
  /** The number of messages it covers, including those still in the window. */
  messageCount: number;
  seqFirst: number;
  seqLast: number;
}

/** @param handle  Names what the summary covers. */
export function summaryViewOf(
  handle: string,
  { title, text, messageCount, seqFirst, seqLast }: Omit<SummaryView, "handle">,
): SummaryView {
  return { handle, title, text, messageCount, seqFirst, seqLast };
}

/** One theme, as a context shows it. */
export interface ThemeView {
  /** `theme:123@456`, at the position of the session's last union. */
  handle: string;
  /** A few words that describe the theme in a pointer line. May be empty. */
  label: string;
  /** The number of all members, covered or not, including those still in the window. */
  messageCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
  /** The newest accepted summaries, oldest first. No two cover the same message. */
  summaries: readonly SummaryView[];
  /** The newest members that have left the window and that no summary covers, in order and in whole steps. Only some of
   *  the `uncoveredCount` members are loaded. */
  uncovered: readonly Message[];
  /** The number of members that have left the window and that no summary covers. */
  uncoveredCount: number;
}

/** The theme of a message, and the summary that covers it. */
export interface ThemePlace {
  /** Index into `themes`. */
  theme: number;
  /** Index into the theme's `summaries`; undefined if no accepted summary covers the message. */
  summary: number | undefined;
}

/** The data of a session that a render reads. */
export interface RenderView {
  sessionId: string;
  /** The number of all messages of the session. */
  messageCount: number;
  /** System messages and messages that the caller pinned, in order. They never enter the forest. */
  pinned: readonly Message[];
  /** The other messages from the frontier on, in order and in whole steps. */
  window: readonly Message[];
  /** Ids of the window's messages that `normalWindow` has cut. */
  shortened?: ReadonlySet<number>;
  /** The session's setting; the default if left out. */
  toolPreviewCharsMax?: number;
  /** The first seq that has not left the window. Each message before it is pinned or in a theme. */
  evictedSeq: number;
  /** The themes of the window's graduated messages, by message id. */
  overlap: ReadonlyMap<number, ThemePlace>;
  /** Oldest first, by `seqFirst`. */
  themes: readonly ThemeView[];
  /** The id of the step to which results may still come. */
  openStepId: number | undefined;
}
