import type { Part, TextPart } from "../core/message.ts";

/** What the programs of agents write into the user's message: states, listings and outputs that nobody typed. */
const OPENING =
  /<(command-args(?=>\s*<\/command-args>)|system-reminder|hook_context|session_context|ide_opened_file|ide_selection|local-command-caveat|local-command-stdout|local-command-stderr|command-name|command-message|environment_context|user_instructions|turn_aborted|coppice-memory)>/g;

/** Texts that are the program's, and commands that only steer it. */
const WHOLE =
  /^\s*(?:# AGENTS\.md instructions|Caveat: The messages below were generated|<skill>|\/(?:clear|compact|exit|quit)\s*$)/;

/** Marks parts that a program put into a conversation. */
export function injected(parts: readonly Part[]): Part[] {
  return parts.map((part) => ({ ...part, injected: true }));
}

/** Marks what a program wrote into a message of the user. A text that is the user's in part is split, word for word. */
export function markedParts(parts: readonly Part[]): Part[] {
  return parts.flatMap((part) => (part.type !== "text" || part.injected === true ? [part] : markedText(part)));
}

function markedText(part: TextPart): Part[] {
  if (WHOLE.test(part.text)) return injected([part]);
  const pieces: Part[] = [];
  let end = 0;
  const add = (text: string, isInjected: boolean): void => {
    if (text !== "") pieces.push(isInjected ? { ...part, text, injected: true } : { ...part, text });
  };
  for (const [from, to] of blocksIn(part.text)) {
    add(part.text.slice(end, from), false);
    add(part.text.slice(from, to), true);
    end = to;
  }
  if (end === 0) return [part];
  add(part.text.slice(end), false);
  const isSaid = pieces.some((piece) => piece.injected !== true && /\S/.test(String(piece.text)));
  return isSaid ? pieces : injected([part]);
}

/** Yields where each block begins, and where it ends with the white space after it. */
function* blocksIn(text: string): Generator<[from: number, to: number]> {
  const unclosed = new Set<string>();
  let end = 0;
  for (const { 0: opening, 1: name, index } of text.matchAll(OPENING)) {
    if (index < end || unclosed.has(name!)) continue;
    const closing = `</${name}>`;
    const close = text.indexOf(closing, index + opening.length);
    if (close === -1) {
      unclosed.add(name!);
      continue;
    }
    end = close + closing.length;
    while (end < text.length && /\s/.test(text[end]!)) end += 1;
    yield [index, end];
  }
}

/** Returns parts as they were before anything was marked, for comparison with those that an older version stored. */
export function unmarkedParts(parts: readonly Part[]): Part[] {
  const whole: Part[] = [];
  for (const { injected: _, ...part } of parts) {
    const last = whole.at(-1);
    if (part.type === "text" && last?.type === "text") last.text = `${last.text}${part.text}`;
    else whole.push({ ...part } as Part);
  }
  return whole;
}
