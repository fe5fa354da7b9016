import { BlockCache } from "../../src/context/digest/blocks.ts";
import { type RenderView, type SummaryView, statementsOf, type ThemeView } from "../../src/context/view.ts";
import type { Message } from "../../src/core/message.ts";
import { openStepIdOf } from "./render-model.ts";

/** A session of nothing, to be filled in by the test. */
export function viewOf(fields: Partial<RenderView>): RenderView {
  const { pinned = [], window = [] } = fields;
  const openStepId = openStepIdOf([...pinned, ...window]);
  const blocks = new BlockCache();
  const view = {
    openStepId,
    sessionId: "s1",
    pinned: [],
    window: [],
    evictedSeq: 0,
    windowTokensMax: 8_000,
    anchorSeq: window[0]?.seq ?? 0,
    past: [],
    blocksOf: (message: Message) => blocks.of(message),
    placeOf: () => ({ theme: 0, summary: undefined }),
    overlap: new Map(),
    themes: [],
    overview: undefined,
    isSpan: false,
    firstColdId: 1_000,
    ...fields,
  };
  const cold = view.themes.reduce((sum, theme) => sum + theme.messageCount, 0) - view.overlap.size;
  return { ...view, messageCount: view.pinned.length + view.window.length + cold };
}

/** Members that no summary covers are counted, not at hand. */
export function themeOf(root: number, messageCount: number, fields: Partial<ThemeView> = {}): ThemeView {
  const summaries = fields.summaries ?? [];
  const covered = summaries.reduce((sum, summary) => sum + summary.messageCount, 0);
  return {
    handle: `theme:${root}@99`,
    label: `label ${root}`,
    messageCount,
    tokenCount: 0,
    seqFirst: root,
    seqLast: root + messageCount - 1,
    summaries,
    uncoveredCount: messageCount - covered,
    ...fields,
  };
}

export function summaryOf(root: number, messageCount: number, text = `Summary of ${root}.`): SummaryView {
  return {
    handle: `cluster:${root}@50`,
    statements: statementsOf({ text, seqFirst: root, shownFrom: 50 }),
    messageCount,
    seqFirst: root,
    seqLast: root + messageCount - 1,
  };
}
