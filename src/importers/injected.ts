import type { Part, TextPart } from "../core/message.ts";

/** Elements that the programs of agents write into the user's message: states, listings, outputs and notices that nobody typed. */
const ELEMENTS = [
  "(?:[a-z]+[-_])+(?:caveat|notification|reminder|stderr|stdout)",
  "bash-input",
  "command-args(?=>\\s*</command-args>)",
  "command-message",
  "command-name",
  "coppice-memory",
  "environment_context",
  "environment_details",
  "hook_context",
  "ide_(?:diagnostics|opened_file|selection)",
  "session_context",
  "teammate-message",
  "turn_aborted",
  "user_instructions",
  "user_shell_command",
];

/** The opening tag of an element, or a line that only says that the user stopped the model. */
const OPENING = new RegExp(
  `<(${ELEMENTS.join("|")})(?:\\s[^<>]*)?>|^\\[Request interrupted by user[^\\]\\n]*\\][^\\S\\n]*$`,
  "gm",
);

/** What a program writes behind an element. */
const NOTE = /\s*(?:Read the output file to retrieve the result|Full transcript available at): [^\n]*/y;

/** What an editor tells before the words of the user. */
const PREFACE = /^\s*# [^\n]*\n(?:[\s\S]*?\n)?## My request for Codex:[^\S\n]*(?:\n\s*|$)/;

/** Commands that steer the program. What stands behind them is for the program, too. */
const STEERING =
  "(?:add-dir|agents|bashes|bug|clear|compact|compress|config|context|copy|cost|diff|doctor|exit|export|extensions|fast|feedback|help|hooks|ide|keybindings|login|logout|mcp|memory|mention|model|new|output-style|permissions|plugin|privacy-settings|quit|release-notes|resume|rewind|settings|skills|stats|status|statusline|terminal-setup|theme|tools|undo|upgrade|usage|vim)";

/** Texts that are the program's, and commands without words for the model. */
const WHOLE = new RegExp(
  [
    "# AGENTS\\.md instructions",
    "# Context from my IDE setup:",
    "Caveat: The messages below were generated",
    "<skill>",
    "\\/(?:[\\w:.-]+\\s*)?$",
    `\\/${STEERING}[^\\S\\n][^\\n]*$`,
    `(?:<command-message>[^<]*<\\/command-message>\\s*)?<command-name>\\/?${STEERING}<\\/command-name>`,
  ]
    .map((text) => `^\\s*${text}`)
    .join("|"),
);

/** The file of a command begins so. */
const FRONT_MATTER = /^\s*---\n(?:[\w-]+:[^\n]*\n)*?description:[^\n]*\n(?:[^\n]*\n)*?---\s*/;

/** The file of a command that takes words of the user, and where they are in it. */
const TEMPLATE = /You (?:\*\*)?MUST(?:\*\*)? consider the user input/;
const TEMPLATE_INPUT =
  /(?:^|\n)(?:#+ +User Input|User input:|\*\*User input:?\*\*)[^\n]*\n+(`{3,})\w*\n([\s\S]*?)\n?\1[^\S\n]*(?:\n|$)/i;

/** Marks parts that a program put into a conversation. */
export function injected(parts: readonly Part[]): Part[] {
  return parts.map((part) => ({ ...part, injected: true }));
}

/** Marks what stands around the words of the user, which are in an element of this name, word for word. */
export function wordsWithin(element: string, part: Part): Part[] {
  if (part.type !== "text") return [part];
  const opening = part.text.indexOf(`<${element}>`);
  const closing = part.text.lastIndexOf(`</${element}>`);
  if (opening === -1 || closing < opening) return [part];
  return around(part, opening + element.length + 2, closing);
}

/** Marks a text but for the words of the user, from one index to another. */
function around(part: TextPart, from: number, to: number): Part[] {
  const [before, words, after] = [part.text.slice(0, from), part.text.slice(from, to), part.text.slice(to)];
  if (words.trim() === "") return injected([part]);
  return [...injected([{ ...part, text: before }]), { ...part, text: words }, ...injected([{ ...part, text: after }])];
}

/** Marks what a program wrote into a message of the user. A text that is the user's in part is split, word for word. */
export function markedParts(parts: readonly Part[]): Part[] {
  return parts.flatMap((part) => (part.type !== "text" || part.injected === true ? [part] : markedText(part)));
}

function markedText(part: TextPart): Part[] {
  const preface = (PREFACE.exec(part.text) ?? FRONT_MATTER.exec(part.text))?.[0].length ?? 0;
  if (TEMPLATE.test(part.text)) return inTemplate(part);
  if (preface === 0 && WHOLE.test(part.text)) return injected([part]);
  const pieces: Part[] = [];
  let end = 0;
  const add = (text: string, isInjected: boolean): void => {
    if (text !== "") pieces.push(isInjected ? { ...part, text, injected: true } : { ...part, text });
  };
  for (const [from, to] of blocksIn(part.text, preface)) {
    add(part.text.slice(end, from), false);
    add(part.text.slice(from, to), true);
    end = to;
  }
  if (end === 0) return [part];
  add(part.text.slice(end), false);
  const isSaid = pieces.some((piece) => piece.injected !== true && /\S/.test(String(piece.text)));
  return isSaid ? pieces : injected([part]);
}

/** Marks the text of a command but for the words of the user in it. */
function inTemplate(part: TextPart): Part[] {
  const found = TEMPLATE_INPUT.exec(part.text);
  if (found === null || found[2]!.includes("$ARGUMENTS")) return injected([part]);
  const [whole, fence, words] = [found[0], found[1]!, found[2]!];
  const from = part.text.indexOf("\n", found.index + whole.indexOf(fence)) + 1;
  return around(part, from, from + words.length);
}

/** Yields where each block begins, and where it ends with the white space after it. The first one ends at `preface`. */
function* blocksIn(text: string, preface: number): Generator<[from: number, to: number]> {
  const unclosed = new Set<string>();
  let end = preface;
  if (preface > 0) yield [0, preface];
  for (const { 0: opening, 1: name, index } of text.matchAll(OPENING)) {
    if (index < end || unclosed.has(name!)) continue;
    const closing = name === undefined ? "" : `</${name}>`;
    const close = text.indexOf(closing, index + opening.length);
    if (close === -1) {
      unclosed.add(name!);
      continue;
    }
    end = close + closing.length;
    NOTE.lastIndex = end;
    if (NOTE.test(text)) end = NOTE.lastIndex;
    while (end < text.length && /\s/.test(text[end]!)) end += 1;
    yield [index, end];
  }
}
