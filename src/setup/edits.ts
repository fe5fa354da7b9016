import { StoreError } from "../core/errors.ts";

/** What setup adds to one file of an agent. The file need not exist. */
export interface Edit {
  path: string;
  /** The text of a new file before the insertion. Empty by default. */
  blank?: string;
  /**
   * Returns what to add to the file's text, and where. Returns undefined if the file has it already.
   *
   * @throws {StoreError} `FILE_NOT_USABLE` if the text has no place for it.
   */
  insertionInto(text: string): Insertion | undefined;
}

export interface Insertion {
  at: number;
  text: string;
}

/** Makes an edit for a file that belongs to Coppice alone. */
export function ownFile(path: string, content: string): Edit {
  return {
    path,
    insertionInto(text) {
      if (text === "") return { at: 0, text: content };
      if (text === content) return undefined;
      const reason = "there is another file of this name, which `coppice setup` did not write";
      throw new StoreError("FILE_NOT_USABLE", { path, reason, fix: "Move or delete it, then run setup again." });
    },
  };
}

export function ownJsonFile(path: string, content: object): Edit {
  return ownFile(path, `${JSON.stringify(content, null, 2)}\n`);
}

const TOKEN = /\/\/.*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

interface Token {
  text: string;
  end: number;
}

/**
 * Adds `"name": value` to the object at `container`, a member of the document, in JSON with or without comments. Everything else
 * in the file stays as it is. If there is a member of this name already, nothing is added.
 */
export function jsonMember(path: string, container: string, name: string, value: object): Edit {
  const member = `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
  return {
    path,
    blank: `{\n\t${JSON.stringify(container)}: {}\n}\n`,
    insertionInto(text) {
      const refuse = (reason: string): StoreError =>
        new StoreError("FILE_NOT_USABLE", { path, reason, fix: `Add this to "${container}" by hand: ${member}` });
      const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "\t";
      const inner = `\n${indent}${indent}${member}`;
      const whole = `\n${indent}${JSON.stringify(container)}: {${inner}\n${indent}}`;
      const tokens = tokensOf(text);
      // The file may hold only a comment, which ends with its line.
      const start = text === "" || text.endsWith("\n") ? "" : "\n";
      if (tokens.length === 0) return { at: text.length, text: `${start}{${whole}\n}\n` };
      if (tokens[0]!.text !== "{" || tokens.at(-1)!.text !== "}") throw refuse("it is not a JSON object");
      const found = memberAt(tokens, 1, container);
      if (found === undefined) return inserted(tokens, 0, whole, "\n");
      if (tokens[found]!.text !== "{") throw refuse(`its "${container}" is not an object`);
      if (memberAt(tokens, found + 1, name) !== undefined) return undefined;
      return inserted(tokens, found, inner, `\n${indent}`);
    },
  };
}

/** Puts a member at the beginning of the object that opens at a token. */
function inserted(
  tokens: readonly Token[],
  open: number,
  member: string,
  ending: string,
): { at: number; text: string } {
  const isEmpty = tokens[open + 1]!.text === "}";
  return { at: tokens[open]!.end, text: isEmpty ? member + ending : `${member},` };
}

/** Returns the index of a member's value in the object whose first token is at `start`. */
function memberAt(tokens: readonly Token[], start: number, name: string): number | undefined {
  let depth = 0;
  for (let index = start; index < tokens.length && depth >= 0; index += 1) {
    const { text } = tokens[index]!;
    if (text === "{" || text === "[") depth += 1;
    else if (text === "}" || text === "]") depth -= 1;
    else if (depth === 0 && tokens[index + 1]?.text === ":" && text === JSON.stringify(name)) return index + 2;
  }
  return undefined;
}

function tokensOf(text: string): Token[] {
  const tokens = [...text.matchAll(TOKEN)].map(({ 0: token, index }) => ({ text: token, end: index + token.length }));
  return tokens.filter((token) => !token.text.startsWith("//") && !token.text.startsWith("/*"));
}
