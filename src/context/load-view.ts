import { StoreError } from "../core/errors.ts";
import { formatHandle } from "../core/handle.ts";
import { Coverage } from "../store/coverage.ts";
import type { Repositories } from "../store/repositories.ts";
import type { SessionState } from "../store/session-state.ts";
import type { DoneSummary } from "../store/summaries.ts";
import type { OverlapView, RenderView, SummaryView, ThemeView } from "./view.ts";

/** Uncovered steps that have left the window and are loaded, the newest first; the others are only counted. More would
 *  not fit into a context, and loading them would make the first render depend on the length of the history. */
const UNCOVERED_STEPS_MAX = 64;

/** The part of a view that only a move of the frontier changes. */
export type ColdView = Pick<RenderView, "themes" | "overlap">;

/** A theme on its way into the view. */
interface ThemeDraft {
  index: number;
  view: Omit<ThemeView, "uncovered">;
  summaries: DoneSummary[];
  uncoveredStepIds: number[];
}

/**
 * Read what a render needs of the cold part of a session.
 *
 * Work is bounded by the themes (at most `maxThemes`), the steps of the overlap and `UNCOVERED_STEPS_MAX`, whatever the
 * length of the session.
 */
export function loadColdView(repositories: Repositories, state: SessionState): ColdView {
  const { summaries, unions, messages, clusters } = repositories;
  const coverage = new Coverage(unions);

  const ordered = [...state.themes.values()].sort((left, right) => left.theme.seqFirst - right.theme.seqFirst);
  const drafts = new Map<number, ThemeDraft>();
  ordered.forEach(({ theme, logPosition }, index) => {
    drafts.set(theme.root, {
      index,
      view: {
        handle: formatHandle("theme", theme.root, logPosition),
        label: clusters.labelOf(theme.root),
        messageCount: theme.messageCount,
        tokenCount: theme.tokenCount,
        seqFirst: theme.seqFirst,
        seqLast: theme.seqLast,
        summaries: [],
        uncoveredCount: theme.messageCount,
      },
      summaries: [],
      uncoveredStepIds: [],
    });
  });
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
  for (const draft of drafts.values()) draft.view.summaries = draft.summaries.map(summaryView);

  const overlapSteps = new Map<number, number[]>();
  for (const { id, seq, stepId } of state.window) {
    if (seq >= state.graduatedSeq) break;
    const ids = overlapSteps.get(stepId);
    if (ids === undefined) overlapSteps.set(stepId, [id]);
    else ids.push(id);
  }
  const overlap = new Map<number, OverlapView>();
  // The steps of the overlap entered the forest last, so they come first; then the newest of what has left the window.
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

function summaryView(summary: DoneSummary): SummaryView {
  return {
    handle: formatHandle("theme", summary.rootId, summary.logPosition),
    title: summary.title,
    text: summary.text,
    messageCount: summary.messageCount,
    seqFirst: summary.seqFirst,
    seqLast: summary.seqLast,
  };
}
