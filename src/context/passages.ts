import { element, escapeText } from "../core/markup.ts";
import { cutAtGrapheme } from "../core/text.ts";
import { messageText } from "./message-element.ts";
import type { RecalledMessage, RecalledStep } from "./recalled.ts";

/** Characters of a message that only stands beside what was found, once its step is shortened: who it is and what about. */
const BESIDE_CHARS_MAX = 160;

const DAY_MS = 24 * 60 * 60 * 1_000;

/** One way to show a step in the evidence block. */
export interface Shown {
  step: RecalledStep;
  messages: RecalledMessage[];
  /** What stands after each message's tag, in the same order. */
  texts: string[];
}

/** A step with every word of it that can be written. */
export function showWhole(step: RecalledStep): Shown {
  return show(step, (message) => messageText(message));
}

/** A step with of each message the stretch that was found, or its beginning. */
export function showShortened(step: RecalledStep): Shown {
  return show(step, (message) => {
    const { text, whole } = messageText(message);
    const snippet = step.snippets.get(message.id)?.();
    const short = snippet ?? `${cutAtGrapheme(text, BESIDE_CHARS_MAX)} …`;
    return short.length < text.length ? { text: short, whole: false } : { text, whole };
  });
}

function show(
  step: RecalledStep,
  textOf: (message: RecalledStep["messages"][number]) => { text: string; whole: boolean },
): Shown {
  const messages: RecalledMessage[] = [];
  const texts = step.messages.map((message) => {
    const { text, whole } = textOf(message);
    messages.push({ message, how: whole ? "verbatim" : "shortened", cold: step.cold });
    return escapeText(text);
  });
  return { step, messages, texts };
}

/**
 * A step's messages, each after a tag that says whose it is and goes on up to the next tag: an end tag for each would cost a
 * twelfth of the block. @param isNamed  Whether the first says its id.
 */
export function linesOf({ messages, texts }: Shown, isNamed: boolean): string[] {
  return messages.map(({ message, how }, index) => {
    // Of the others, who wants more wants what stands around them, and that is the handle before them.
    const id = isNamed && index === 0 && how === "verbatim" ? message.id : undefined;
    const shortened = how === "shortened" ? message.id : undefined;
    return element("m", { id, by: message.name ?? message.role, shortened }) + texts[index]!;
  });
}

/** What one step's own passage costs beside its lines. */
export function passageFrame(shown: Shown): string {
  return passageElement([shown], shown.step, []);
}

/** What has the same key goes into one passage: a session's messages of one day, so that its time is said once. */
export function passageKey({ sessionId, messages }: RecalledStep): string {
  return `${Math.floor(messages[0]!.createdAtMs / DAY_MS)} ${sessionId}`;
}

/** Whether the handle of a passage, which is that of one of its steps, leads to another step, too. */
export function isReachedBy(named: RecalledStep, step: RecalledStep): boolean {
  return step === named || (step.handle !== null && step.handle === named.handle);
}

/** Sessions by the time of the first message shown, in each by seq. */
export function inOrder(shown: readonly Shown[]): Shown[] {
  const starts = new Map<string, number>();
  for (const { step } of shown) {
    const { createdAtMs } = step.messages[0]!;
    starts.set(step.sessionId, Math.min(createdAtMs, starts.get(step.sessionId) ?? createdAtMs));
  }
  return shown.toSorted((left, right) => {
    const [own, other] = [left.step, right.step];
    if (own.sessionId === other.sessionId) return own.messages[0]!.seq - other.messages[0]!.seq;
    const apart = starts.get(own.sessionId)! - starts.get(other.sessionId)!;
    return apart || (own.sessionId < other.sessionId ? -1 : 1);
  });
}

/** Passages as elements, one after the other. @param ordered  As `inOrder` gives it. */
export function passagesText(ordered: readonly Shown[]): string {
  const passages: Shown[][] = [];
  let key: string | undefined;
  for (const shown of ordered) {
    const next = passageKey(shown.step);
    if (next === key) passages.at(-1)!.push(shown);
    else passages.push([shown]);
    key = next;
  }
  return passages.map(passageText).join("\n");
}

function passageText(passage: readonly Shown[]): string {
  const best = passage.reduce((best, shown) => (shown.step.worth > best.step.worth ? shown : best)).step;
  const lines = passage.flatMap((shown) => linesOf(shown, !isReachedBy(best, shown.step)));
  return passageElement(passage, best, lines);
}

function passageElement(passage: readonly Shown[], named: RecalledStep, lines: readonly string[]): string {
  const messages = passage.flatMap(({ step }) => step.messages);
  const attributes = {
    ...(named.handle === null ? { message: named.messages[0]!.id } : { handle: named.handle }),
    seq: rangesOf(messages.map(({ seq }) => seq)),
    time: timeOf(messages[0]!.createdAtMs),
  };
  return element("passage", attributes, `\n${lines.join("\n")}\n`);
}

/** `3-4,7`. */
function rangesOf(seqs: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const seq of seqs.toSorted((left, right) => left - right)) {
    const last = ranges.at(-1);
    if (last !== undefined && seq === last[1] + 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** To the minute, in UTC: `2023-05-08T13:56Z`. */
function timeOf(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().replace(/:\d\d\.\d+Z$/, "Z");
}
