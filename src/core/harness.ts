// Recognizes what the programs of agents write into messages. Importers mark it. Readers of other texts leave it out.

/** A piece of a text, which a program wrote, or not. */
export interface Piece {
  text: string;
  isInjected: boolean;
}

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
  "user-prompt-submit-hook",
  "user_instructions",
  "user_shell_command",
];

/** The opening tag of an element, or a line that only says that the user stopped the model. */
const OPENING = new RegExp(
  `<(${ELEMENTS.join("|")})(?:\\s[^<>]*)?>|^\\[Request interrupted by user[^\\]\\n]*\\][^\\S\\n]*$`,
  "gm",
);

/** A program may write this after an element. */
const NOTE = /\s*(?:Read the output file to retrieve the result|Full transcript available at): [^\n]*/y;

/** An editor writes this before the words of the user. */
const PREFACE = /^\s*# [^\n]*\n(?:[\s\S]*?\n)?## My request for Codex:[^\S\n]*(?:\n\s*|$)/;

/** Commands that steer the program. What stands behind them is for the program, too. */
const STEERING =
  "(?:add-dir|agents|bashes|bug|clear|compact|compress|config|context|copy|cost|diff|doctor|exit|export|extensions|fast|feedback|help|hooks|ide|keybindings|login|logout|mcp|memory|mention|model|new|output-style|permissions|plugin|privacy-settings|quit|release-notes|resume|rewind|settings|skills|stats|status|statusline|terminal-setup|theme|tools|undo|upgrade|usage|vim)";

/** Any text may follow these commands. */
const WITH_TEXT = "(?:add-dir|bug|compact|compress|copy|export|feedback|memory)";

/** Texts that are the program's, and commands without words for the model. */
const WHOLE = new RegExp(
  [
    "# AGENTS\\.md instructions",
    "# Context from my IDE setup:",
    "Caveat: The messages below were generated",
    "<skill>",
    "Base directory for this skill: ",
    "\\/(?:[\\w:.-]+\\s*)?$",
    `\\/${WITH_TEXT}[^\\S\\n][^\\n]*$`,
    // More words than these are a sentence about a page or a route.
    `\\/${STEERING}(?:[^\\S\\n]+\\S+){1,2}[^\\S\\n]*$`,
    `(?:<command-message>[^<]*<\\/command-message>\\s*)?<command-name>\\/?${STEERING}<\\/command-name>`,
  ]
    .map((text) => `^\\s*${text}`)
    .join("|"),
);

/** The pattern would take long for a long text without an end of the front matter. */
const FRONT_MATTER_CHARS = 8_000;
/** The file of a command begins so. */
const FRONT_MATTER = /^\s*---\n(?:[\w-]+:[^\n]*\n)*?description:[^\n]*\n(?:[^\n]*\n)*?---\s*/;

/** The file of a command that takes words of the user, and where they are in it. */
const TEMPLATE = /You (?:\*\*)?MUST(?:\*\*)? consider the user input/;
const TEMPLATE_INPUT = /(?:^|\n)(?:#+ +User Input|User input:|\*\*User input:?\*\*)[^\n]*\n+(`{3,})\w*\n/i;

/** The tags around what a user typed behind a command. */
const ARGUMENTS = /<\/?command-args>/g;

/** A program says this when one of its hooks has stopped the model. */
const FEEDBACK = /^\s*(?:Operation stopped by hook|Stop hook feedback):/;

/** Returns what a user says in a text, or in the beginning of one, without what a program wrote into it. */
export function ownWords(text: string): string {
  if (FEEDBACK.test(text)) return "";
  return saidIn(piecesOfUser(text)).replace(ARGUMENTS, " ");
}

/** Returns true if a text begins with an element of a program, such as one whose end was not read. */
export function opensElement(text: string): boolean {
  return text.search(OPENING) === 0;
}

/** Returns a text of anybody without the elements of programs. */
export function withoutElements(text: string): string {
  return saidIn(pieces(text, 0));
}

function saidIn(all: readonly Piece[]): string {
  return all.map((piece) => (piece.isInjected ? "" : piece.text)).join("");
}

/** Splits a text of a user, word for word, into what the user said and what a program wrote. */
export function piecesOfUser(text: string): Piece[] {
  const preface = (PREFACE.exec(text) ?? FRONT_MATTER.exec(text.slice(0, FRONT_MATTER_CHARS)))?.[0].length ?? 0;
  if (TEMPLATE.test(text)) return inTemplate(text);
  if (preface === 0 && WHOLE.test(text)) return [{ text, isInjected: true }];
  const found = pieces(text, preface);
  const isSaid = (piece: Piece): boolean => !piece.isInjected && /\S/.test(piece.text);
  return found.some(isSaid) || !found.some(({ isInjected }) => isInjected) ? found : [{ text, isInjected: true }];
}

/** Splits a text into the words from one index to another, and what is around them. */
export function around(text: string, from: number, to: number): Piece[] {
  const words = text.slice(from, to);
  if (words.trim() === "") return [{ text, isInjected: true }];
  return [
    { text: text.slice(0, from), isInjected: true },
    { text: words, isInjected: false },
    { text: text.slice(to), isInjected: true },
  ];
}

function inTemplate(text: string): Piece[] {
  const opening = TEMPLATE_INPUT.exec(text);
  if (opening === null) return [{ text, isInjected: true }];
  const from = opening.index + opening[0].length;
  const closing = new RegExp(`\\n?${opening[1]}[^\\S\\n]*(?:\\n|$)`, "g");
  closing.lastIndex = from;
  const to = closing.exec(text)?.index;
  if (to === undefined || text.slice(from, to).includes("$ARGUMENTS")) return [{ text, isInjected: true }];
  return around(text, from, to);
}

/** Splits a text at the blocks of programs, the first of which ends at `preface`. */
function pieces(text: string, preface: number): Piece[] {
  const found: Piece[] = [];
  let end = 0;
  for (const [from, to] of blocksIn(text, preface)) {
    if (from > end) found.push({ text: text.slice(end, from), isInjected: false });
    found.push({ text: text.slice(from, to), isInjected: true });
    end = to;
  }
  if (end < text.length) found.push({ text: text.slice(end), isInjected: false });
  return found;
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
