import { DamageError } from "../../core/damage.ts";
import { groupedBy } from "../../core/groups.ts";
import type { Role } from "../../core/message.ts";
import type { StepFeatures } from "../../forest/cluster.ts";
import type { GraduatingMessage, TitledMessage } from "../facts/messages.ts";

/** The length of the part of a message that may name the person addressed. */
const OPENING_CHARS = 500;

/** How clusters get their titles. */
export interface DeriveOptions {
  /** Returns the title of a cluster. `asked` is the user's message that began the turn of its root. */
  titleOf: (messages: readonly TitledMessage[], asked: TitledMessage | undefined) => string;
  /** How many characters of each message `titleOf` reads. */
  titleTextChars: number;
}

/** A step that is about to enter the forest. */
export interface EnteringStep {
  features: StepFeatures;
  /** The role of the first message. */
  role: Role;
  messageIds: number[];
  messages: TitledMessage[];
}

/**
 * Groups messages into steps, in order.
 *
 * @param rows  Whole steps, in order of seq, without pinned messages.
 * @param seqBefore  The seq of the last message that entered the forest before them; -1 if none did.
 */
export function enteringSteps(rows: readonly GraduatingMessage[], seqBefore: number): EnteringStep[] {
  for (const { id, text } of rows) {
    if (typeof text !== "string") throw new DamageError(`message ${id} has no text`); // its checksum is not compared
  }
  let before = seqBefore;
  return [...groupedBy(rows, ({ stepId }) => stepId).values()].map((messages) => {
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
      goesOn: first.isRepeated === 1 || first.isSummary === 1,
      speaker: first.name ?? undefined,
      text: first.text.slice(0, OPENING_CHARS),
      createdAtMs: first.createdAtMs,
    };
    before = last.seq;
    const titled = messages.map(({ teller, told }) => ({ role: teller, text: told }));
    return { features, role: first.role, messageIds: messages.map(({ id }) => id), messages: titled };
  });
}
