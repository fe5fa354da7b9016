import { StoreError } from "../core/errors.ts";
import { formatHandle } from "../core/handle.ts";
import { Coverage } from "../store/coverage.ts";
import type { Repositories } from "../store/repositories.ts";
import type { SessionState } from "../store/session-state.ts";
import type { DoneSummary } from "../store/summaries.ts";
import { type RenderView, summaryViewOf, type ThemePlace, type ThemeView } from "./view.ts";

/** Most uncovered steps that are loaded, the newest first. The others are only counted: a context has no room for more, and
 *  loading them would make the first render as slow as the history is long. */
const UNCOVERED_STEPS_MAX = 64;

/** The part of a view that only a move of the frontier changes. */
export type ColdView = Pick<RenderView, "themes" | "overlap">;

/** A theme of the view that is being built. */
interface ThemeDraft {
  index: number;
  view: Omit<ThemeView, "uncovered">;
  summaries: DoneSummary[];
  uncoveredStepIds: number[];
}

/**
 * Reads the cold part of a session for a render: its themes, and the window's graduated messages in them.
 *
 * The work is bounded by the themes (at most `maxThemes`), the steps of the overlap and `UNCOVERED_STEPS_MAX`, not by the
 * length of the session.
 */
export function loadColdView(repositories: Repositories, state: SessionState): ColdView {
  const { summaries, unions, messages, clusters } = repositories;
  const coverage = new Coverage(unions);

  const ordered = [...state.themes.values()].sort((left, right) => left.theme.seqFirst - right.theme.seqFirst);
  const drafts = new Map<number, ThemeDraft>();
  for (const [index, { theme, logPosition }] of ordered.entries()) {
    const { root, messageCount, tokenCount, seqFirst, seqLast } = theme;
    const handle = formatHandle("theme", root, logPosition);
    const label = clusters.labelOf(root);
    const counts = { messageCount, tokenCount, seqFirst, seqLast, uncoveredCount: messageCount };
    drafts.set(root, { index, view: { handle, label, ...counts, summaries: [] }, summaries: [], uncoveredStepIds: [] });
  }
  const themeDraft = (root: number): ThemeDraft => {
    const draft = drafts.get(coverage.themeOf(root));
    if (draft !== undefined) return draft;
    const reason = `a theme of session "${state.sessionId}" is missing`;
    throw new StoreError("STORE_CORRUPT", { path: repositories.database.path, reason });
  };
  for (const summary of coverage.standing(summaries.shown(state.sessionId))) {
    const draft = themeDraft(summary.rootId);
    draft.summaries.push(summary);
    draft.view.uncoveredCount -= summary.messageCount;
  }
  for (const { view, summaries } of drafts.values()) {
    view.summaries = summaries.map((summary) =>
      summaryViewOf(formatHandle("theme", summary.rootId, summary.logPosition), summary),
    );
  }

  const overlapSteps = new Map<number, number[]>();
  for (const { id, seq, stepId } of state.window) {
    if (seq >= state.graduatedSeq) break;
    const ids = overlapSteps.get(stepId);
    if (ids === undefined) overlapSteps.set(stepId, [id]);
    else ids.push(id);
  }
  const overlap = new Map<number, ThemePlace>();
  // The steps of the overlap entered the forest last, so they come first, before the newest that have left the window.
  for (const entry of unions.newestEntered(state.sessionId, overlapSteps.size + UNCOVERED_STEPS_MAX)) {
    const draft = themeDraft(entry.clusterRoot);
    const index = draft.summaries.findIndex((summary) => coverage.covers(summary, entry.clusterRoot, entry.position));
    const summary = index === -1 ? undefined : index;
    const windowIds = overlapSteps.get(entry.stepId);
    if (windowIds !== undefined) {
      for (const id of windowIds) overlap.set(id, { theme: draft.index, summary });
      if (summary === undefined) draft.view.uncoveredCount -= windowIds.length;
    } else if (summary === undefined) {
      draft.uncoveredStepIds.push(entry.stepId);
    }
  }

  return {
    overlap,
    themes: [...drafts.values()].map(({ view, uncoveredStepIds }) => ({
      ...view,
      uncovered: uncoveredStepIds.length === 0 ? [] : messages.ofSteps(uncoveredStepIds),
    })),
  };
}
