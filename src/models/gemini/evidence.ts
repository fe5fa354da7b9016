import { words } from "../words.ts";
import { statementsIn, takeCitations } from "./citations.ts";
import { hintOf, patternOf } from "./names.ts";
import type { PromptTexts } from "./prompt.ts";

/** A source text for claims. */
export class SourcePiece {
  /** The seq of its message. For a line of an earlier summary, the seqs that it cites, possibly none. */
  readonly seqs: readonly number[];
  readonly text: string;
  readonly lowerText: string;
  #words: ReadonlySet<string> | undefined;

  constructor(seqs: readonly number[], text: string) {
    this.seqs = seqs;
    this.text = text;
    this.lowerText = text.toLowerCase();
  }

  /** The characters that must be read before `words` is known; 0 afterwards. */
  get unreadChars(): number {
    return this.#words === undefined ? this.text.length : 0;
  }

  get words(): ReadonlySet<string> {
    this.#words ??= new Set(words(this.text));
    return this.#words;
  }
}

/**
 * Returns the texts that can be sources of claims: each message, and each line of an earlier summary. Lines marked as
 * unverified are left out; otherwise the next summary would present them as verified.
 */
export function sourcePieces({ previous, sources }: PromptTexts): SourcePiece[] {
  const lines = previous
    .flatMap(({ title, text }) => [title, ...text.split("\n")])
    .flatMap(statementsIn)
    .map(takeCitations)
    .filter(({ isMarked, text }) => !isMarked && text !== "");
  return [
    ...lines.map(({ seqs, text }) => new SourcePiece(seqs, text)),
    ...sources.map(({ seq, text, name = "" }) => new SourcePiece([seq], `${name} ${text}`)),
  ];
}

/** Returns the pieces that contain a name, with its spelling there. Case counts, unless no piece matches it. */
export function piecesNaming(pieces: readonly SourcePiece[], name: string): { piece: SourcePiece; spelling: string }[] {
  const hint = hintOf(name);
  const candidates = pieces.filter(({ lowerText }) => lowerText.includes(hint));
  if (candidates.length === 0) return [];
  for (const pattern of [patternOf(name, "u"), patternOf(name, "iu")]) {
    const naming = candidates.flatMap((piece) => {
      const found = pattern.exec(piece.text);
      return found === null ? [] : [{ piece, spelling: found[0] }];
    });
    if (naming.length > 0) return naming;
  }
  return [];
}

/** Returns the share of a statement's words that a piece contains, from 0 to 1. */
export function wordShare(statement: ReadonlySet<string>, piece: SourcePiece): number {
  if (statement.size === 0) return 0;
  let shared = 0;
  for (const word of statement) if (piece.words.has(word)) shared++;
  return shared / statement.size;
}
