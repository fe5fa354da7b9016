import { element, escapeText } from "../../core/markup.ts";
import type { Message } from "../../core/message.ts";
import { cutAtGrapheme } from "../../core/text.ts";
import { minuteOf } from "../../core/times.ts";
import { plainMessageText } from "../message-element.ts";
import type { EvidenceMessage, EvidenceStep } from "./evidence.ts";

/** Characters that a shortened step keeps of a message that was not found itself. */
const NEIGHBOR_CHARS_MAX = 160;

const DAY_MS = 24 * 60 * 60 * 1_000;

export interface ShownStep {
  step: EvidenceStep;
  messages: EvidenceMessage[];
  /** The escaped text of each message, in the same order. */
  texts: string[];
}

export function showWhole(step: EvidenceStep): ShownStep {
  return showStep(step, plainMessageText);
}

/** Shows the snippet of each message that was found, and the beginning of each other message. */
export function showShortened(step: EvidenceStep): ShownStep {
  return showStep(step, (message) => {
    const { text, whole } = plainMessageText(message);
    const short = step.snippets.get(message.id)?.() ?? `${cutAtGrapheme(text, NEIGHBOR_CHARS_MAX)} …`;
    return short.length < text.length ? { text: short, whole: false } : { text, whole };
  });
}

function showStep(step: EvidenceStep, textOf: (message: Message) => { text: string; whole: boolean }): ShownStep {
  const texts = step.messages.map(textOf);
  const messages = step.messages.map((message, index): EvidenceMessage => {
    return { message, how: texts[index]!.whole ? "verbatim" : "shortened", cold: step.cold };
  });
  return { step, messages, texts: texts.map(({ text }) => escapeText(text)) };
}

/**
 * Writes a step's messages, each after a tag that names its speaker if another one spoke before. There are no end tags, because
 * they would take a twelfth of the block.
 *
 * @param isNamed  True to write the id of the first message.
 * @param speakerBefore  The speaker of the line before the step.
 */
export function stepLines({ messages, texts }: ShownStep, isNamed: boolean, speakerBefore?: string): string[] {
  let before = speakerBefore;
  return messages.map(({ message, how }, index) => {
    // Expanding the id of the passage, or that of the first message, gives the others.
    const id = isNamed && index === 0 && how === "verbatim" ? message.id : undefined;
    const shortened = how === "shortened" ? message.id : undefined;
    const speaker = speakerOf(message);
    const by = speaker === before ? undefined : speaker;
    before = speaker;
    return element("m", { id, by, shortened }) + texts[index]!;
  });
}

function speakerOf({ name, role }: Message): string {
  return name ?? role;
}

export function passageFrame(shown: ShownStep): string {
  return passageTag(shown, shown.step);
}

/** The messages of a session and day share a passage, so that the time is written once. */
export function passageKey({ sessionId, messages }: EvidenceStep): string {
  return `${Math.floor(messages[0]!.createdAtMs / DAY_MS)} ${sessionId}`;
}

/** Returns true if expanding `named` also gives `step`. */
export function isReachedBy(named: EvidenceStep, step: EvidenceStep): boolean {
  return step === named || (step.handle !== null && step.handle === named.handle);
}

/** Orders sessions by the time of their first shown message, and the steps of a session by seq. */
export function inPassageOrder(shown: readonly ShownStep[]): ShownStep[] {
  const starts = new Map<string, number>();
  for (const { step } of shown) {
    const { createdAtMs } = step.messages[0]!;
    starts.set(step.sessionId, Math.min(createdAtMs, starts.get(step.sessionId) ?? createdAtMs));
  }
  return shown.toSorted(({ step: left }, { step: right }) => {
    if (left.sessionId === right.sessionId) return left.messages[0]!.seq - right.messages[0]!.seq;
    const apart = starts.get(left.sessionId)! - starts.get(right.sessionId)!;
    return apart || (left.sessionId < right.sessionId ? -1 : 1);
  });
}

export function passagesText(ordered: readonly ShownStep[]): string {
  const passages: [ShownStep, ...ShownStep[]][] = [];
  let key: string | undefined;
  for (const shown of ordered) {
    const next = passageKey(shown.step);
    if (next === key) passages.at(-1)!.push(shown);
    else passages.push([shown]);
    key = next;
  }
  return passages.map(passageText).join("\n");
}

function passageText(passage: readonly [ShownStep, ...ShownStep[]]): string {
  const best = passage.reduce((best, shown) => (shown.step.worth > best.step.worth ? shown : best)).step;
  let before: string | undefined;
  const lines = passage.flatMap((shown) => {
    const own = stepLines(shown, !isReachedBy(best, shown.step), before);
    before = speakerOf(shown.messages.at(-1)!.message);
    return own;
  });
  return [passageTag(passage[0], best), ...lines].join("\n");
}

/** @param first  The first shown step. @param named  The step whose id the tag names. */
function passageTag(first: ShownStep, named: EvidenceStep): string {
  return element("passage", { id: named.messages[0]!.id, time: minuteOf(first.step.messages[0]!.createdAtMs) });
}
