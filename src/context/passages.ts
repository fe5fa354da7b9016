import { element, escapeText } from "../core/markup.ts";
import type { Message } from "../core/message.ts";
import { cutAtGrapheme } from "../core/text.ts";
import { minuteOf } from "../core/times.ts";
import type { EvidenceMessage, EvidenceStep } from "./evidence.ts";
import { messageText } from "./message-element.ts";

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
  return showStep(step, messageText);
}

/** Shows the snippet of each message that was found, and the beginning of each other message. */
export function showShortened(step: EvidenceStep): ShownStep {
  return showStep(step, (message) => {
    const { text, whole } = messageText(message);
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
 * Writes a step's messages, each after a tag that names its speaker. There are no end tags, because they would take a twelfth
 * of the block.
 *
 * @param isNamed  True to write the id of the first message.
 */
export function stepLines({ messages, texts }: ShownStep, isNamed: boolean): string[] {
  return messages.map(({ message, how }, index) => {
    // Expanding the handle of the passage, or the id of the first message, gives the others.
    const id = isNamed && index === 0 && how === "verbatim" ? message.id : undefined;
    const shortened = how === "shortened" ? message.id : undefined;
    return element("m", { id, by: message.name ?? message.role, shortened }) + texts[index]!;
  });
}

export function passageFrame(shown: ShownStep): string {
  return passageElement([shown], shown.step, []);
}

/** The messages of a session and day share a passage, so that the time is written once. */
export function passageKey({ sessionId, messages }: EvidenceStep): string {
  return `${Math.floor(messages[0]!.createdAtMs / DAY_MS)} ${sessionId}`;
}

/** Returns true if the handle of `named` also leads to `step`. */
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
  const passages: ShownStep[][] = [];
  let key: string | undefined;
  for (const shown of ordered) {
    const next = passageKey(shown.step);
    if (next === key) passages.at(-1)!.push(shown);
    else passages.push([shown]);
    key = next;
  }
  return passages.map(passageText).join("\n");
}

function passageText(passage: readonly ShownStep[]): string {
  const best = passage.reduce((best, shown) => (shown.step.worth > best.step.worth ? shown : best)).step;
  const lines = passage.flatMap((shown) => stepLines(shown, !isReachedBy(best, shown.step)));
  return passageElement(passage, best, lines);
}

function passageElement(passage: readonly ShownStep[], named: EvidenceStep, lines: readonly string[]): string {
  const messages = passage.flatMap(({ step }) => step.messages);
  const attributes = {
    ...(named.handle === null ? { message: named.messages[0]!.id } : { handle: named.handle }),
    seq: rangesOf(messages.map(({ seq }) => seq)),
    time: minuteOf(messages[0]!.createdAtMs),
  };
  return element("passage", attributes, `\n${lines.join("\n")}\n`);
}

/** Writes seqs as ranges: `3-4,7`. */
function rangesOf(seqs: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const seq of seqs.toSorted((left, right) => left - right)) {
    const last = ranges.at(-1);
    if (last !== undefined && seq === last[1] + 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}
