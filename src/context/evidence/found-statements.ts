import { type OfferedStatement, offeredStatements } from "../layout/memory.ts";
import type { RenderView, Statement } from "../view.ts";
import type { EvidenceStep } from "./evidence.ts";

/** A statement of the rendered session that cites evidence. */
export interface FoundStatement extends OfferedStatement {
  /** The worth of the best step that the statement cites. */
  worth: number;
}

/**
 * Returns the statements that cite steps of the session, in order. One without citations stands for all that its summary covers.
 *
 * @param steps  Best first.
 * @param shown  Statements that are left out.
 */
export function foundStatements(
  view: RenderView,
  steps: readonly EvidenceStep[],
  shown: readonly Statement[],
): FoundStatement[] {
  const own = steps.filter(({ sessionId }) => sessionId === view.sessionId);
  const worths = new Map<number, number>();
  for (const { messages, worth } of own.toReversed()) for (const { seq } of messages) worths.set(seq, worth);
  const worthOf = ({ seqs, of }: OfferedStatement): number =>
    seqs.length > 0
      ? Math.max(...seqs.map((seq) => worths.get(seq) ?? 0))
      : (own.find(({ cold }) => cold?.theme === of.theme && cold.summary === of.summary)?.worth ?? 0);
  const shownTexts = new Set(shown.map(({ text }) => text));
  return offeredStatements(view)
    .filter(({ text }) => !shownTexts.has(text))
    .map((statement) => ({ ...statement, worth: worthOf(statement) }))
    .filter(({ worth }) => worth > 0);
}
