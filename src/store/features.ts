import type { StepFeatures } from "../forest/cluster.ts";
import type { GraduatingMessage } from "./messages.ts";

/** Characters of a step's first message in which whoever is addressed is looked for. */
const OPENING_CHARS = 500;

/** A step as it enters the forest. */
export interface EnteringStep {
  features: StepFeatures;
  /** In order. */
  messageIds: number[];
  /** Of its messages, in order. */
  texts: string[];
}

/**
 * The steps of consecutive messages, in order of their first message.
 *
 * @param rows  In order of seq, pinned ones left out; every step whole.
 * @param seqBefore  Place of the last message that entered the forest before them; -1 if none did.
 */
export function enteringSteps(rows: readonly GraduatingMessage[], seqBefore: number): EnteringStep[] {
  const byStep = new Map<number, GraduatingMessage[]>();
  for (const row of rows) {
    const step = byStep.get(row.stepId);
    if (step === undefined) byStep.set(row.stepId, [row]);
    else step.push(row);
  }
  let before = seqBefore;
  return [...byStep.values()].map((messages) => {
    const first = messages[0]!;
    const last = messages.at(-1)!;
    const features: StepFeatures = {
      id: first.id,
      seqFirst: first.seq,
      seqLast: last.seq,
      seqBefore: before,
      messageCount: messages.length,
      tokenCount: messages.reduce((sum, { tokenCount }) => sum + tokenCount, 0),
      embeddings: messages.map(({ embedding }) => embedding ?? undefined),
      turn: first.turnSeq,
      speaker: first.name ?? undefined,
      text: first.text.slice(0, OPENING_CHARS),
      createdAtMs: first.createdAtMs,
    };
    before = last.seq;
    return { features, messageIds: messages.map(({ id }) => id), texts: messages.map(({ text }) => text) };
  });
}
