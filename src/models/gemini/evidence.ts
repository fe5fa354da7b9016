import { words } from "../words.ts";
import { statementsIn, takeCitations } from "./citations.ts";
import { hintOf, patternOf } from "./names.ts";
import type { PromptTexts } from "./prompt.ts";

/** A text that a claim may rest on. */
export class Piece {
  /** Messages it is from; of a line of an earlier summary those it cites, which may be none. */
  readonly seqs: readonly number[];
  readonly text: string;
  readonly lowerText: string;
  #words: ReadonlySet<string> | undefined;

  constructor(seqs: readonly number[], text: string) {
    this.seqs = seqs;
    this.text = text;
    this.lowerText = text.toLowerCase();
  }

  /** Characters that have to be read for its words: none once that is done. */
  get unreadChars(): number {
    return this.#words === undefined ? this.text.length : 0;
  }

  get words(): ReadonlySet<string> {
    this.#words ??= new Set(words(this.text));
    return this.#words;
  }
}

/**
 * What the model was given, as what its claims may rest on: each message, and each line of an earlier summary with the
 * messages that it cites. A line that was marked as unverified is no evidence, or one summary would launder it for the next.
 */
export function evidenceOf({ previous, sources }: PromptTexts): Piece[] {
  const lines = previous
    .flatMap(({ title, text }) => [title, ...text.split("\n")])
    .flatMap(statementsIn)
    .map(takeCitations)
    .filter(({ isMarked, text }) => !isMarked && text !== "");
  return [
    ...lines.map(({ seqs, text }) => new Piece(seqs, text)),
    ...sources.map(({ seq, text, name = "" }) => new Piece([seq], `${name} ${text}`)),
  ];
}

/** Pieces that name a name, with the spelling in which they do: in that of the name if there are any, else in any case. */
export function piecesNaming(pieces: readonly Piece[], name: string): { piece: Piece; spelling: string }[] {
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

/** Share of a statement's words that a piece has, from 0 to 1. */
export function overlap(statement: ReadonlySet<string>, piece: Piece): number {
  if (statement.size === 0) return 0;
  let shared = 0;
  for (const word of statement) if (piece.words.has(word)) shared++;
  return shared / statement.size;
}
