import { cutLine } from "../lines.ts";
import { replyLine } from "../prompt-text.ts";
import type { Pace } from "../source-reader.ts";
import { words } from "../words.ts";
import type { Claim } from "./answer.ts";
import { LABEL, takeCitations } from "./citations.ts";
import { overlap, type Piece, piecesNaming } from "./evidence.ts";
import { isShortFigure, namesIn, patternOf } from "./names.ts";

/** A claim and what was found of it in what the model was given. */
export interface GroundedClaim {
  text: string;
  /** Messages it rests on: every one was given, or is cited by an earlier summary that was. */
  seqs: number[];
  /** Whether all that it names stands somewhere in what was given, and it rests on something. */
  isVerified: boolean;
}

const STATEMENT_CHARS_MAX = 1_000;
const NAME_CHARS_MAX = 200;
/** Share of its words that a text must have to be taken for the source of a statement that cites none. */
const OVERLAP_MIN = 0.5;
/** Looking for a name in one text takes about as long as reading so many characters. */
const LOOK_CHARS = 4;

/** What models put around a name: quotes, and the parentheses of a call. */
const WRAPPING = /^[`"']+|(?:\(\))?[`"']*$/g;
const LABELS = new RegExp(`^(?:${Object.values(LABEL).join("|")})`, "i");

/**
 * A statement with its sources mended. Citations of messages that were not given are dropped; a name that stands in none of
 * the cited texts brings in the closest text that has it, in the spelling it has there; a statement without any source is
 * given the text that shares most of its words, if that is half of them. Figures of one or two digits stand in any long
 * conversation by chance, so they have to stand in one of the statement's own sources.
 *
 * A statement that names what stands nowhere, or that nothing speaks for, is kept and not verified. Taking the name out would
 * leave a sentence that says something else, and taking the sentence out would lose a decision over a number that the model
 * worked out: marked, the reader is warned and can look it up.
 *
 * @returns undefined for a statement without words.
 */
export async function groundStatement(
  claim: Claim,
  pieces: readonly Piece[],
  pace: Pace,
): Promise<GroundedClaim | undefined> {
  const { text: written, seqs } = textOf(claim, STATEMENT_CHARS_MAX);
  await pace.worked(claim.text.length + pieces.length);
  if (!/[\p{L}\p{N}]/u.test(written)) return undefined;
  const cited = new Set(pieces.filter((piece) => piece.seqs.some((seq) => seqs.has(seq))));
  const broughtIn = new Set<Piece>();
  const statementWords = new Set(words(written));
  const names = namesIn(written);
  const spellings = new Map<string, string>();
  let isVerified = true;
  for (const name of names.filter((other) => !isShortFigure(other))) {
    const naming = piecesNaming(pieces, name);
    await pace.worked(LOOK_CHARS * pieces.length);
    if (naming.length === 0) {
      isVerified = false;
      continue;
    }
    const having = naming.map(({ piece }) => piece);
    if (!having.some((piece) => cited.has(piece))) broughtIn.add((await closestTo(statementWords, having, pace))!);
    const spelling = naming[0]!.spelling;
    // Not a figure, whose commas and unit are a matter of style.
    if (spelling.toLowerCase() === name.toLowerCase()) spellings.set(name, spelling);
  }
  if (cited.size === 0 && broughtIn.size === 0) {
    const closest = await closestTo(statementWords, pieces, pace);
    if (closest !== undefined && overlap(statementWords, closest) >= OVERLAP_MIN) broughtIn.add(closest);
  }
  const sources = [...cited, ...broughtIn];
  if (!names.filter(isShortFigure).every((figure) => piecesNaming(sources, figure).length > 0)) isVerified = false;
  const kept = seqsOf([...cited]).filter((seq) => seqs.has(seq));
  return {
    text: respelled(written, names, spellings),
    seqs: [...new Set([...kept, ...seqsOf([...broughtIn])])],
    isVerified: isVerified && sources.length > 0,
  };
}

/**
 * An identifier or a path with the messages that name it: the cited ones that do, or the first that does.
 *
 * @returns undefined for what stands nowhere, and is left out: there is nothing to it but the name.
 */
export async function groundName(
  claim: Claim,
  pieces: readonly Piece[],
  pace: Pace,
): Promise<GroundedClaim | undefined> {
  const { text: written, seqs } = textOf(claim, NAME_CHARS_MAX);
  const text = written.replace(WRAPPING, "");
  // A list is read back by its commas.
  if (text === "" || text.includes(", ")) return undefined;
  const naming = piecesNaming(pieces, text);
  await pace.worked(claim.text.length + LOOK_CHARS * pieces.length);
  const [first] = naming;
  if (first === undefined) return undefined;
  const cited = seqsOf(naming.map(({ piece }) => piece)).filter((seq) => seqs.has(seq));
  return { text: first.spelling, seqs: cited.length > 0 ? cited : [...first.piece.seqs], isVerified: true };
}

/** Whether all that a title names stands somewhere. */
export function isGrounded(text: string, pieces: readonly Piece[]): boolean {
  return namesIn(text).every((name) => piecesNaming(pieces, name).length > 0);
}

/** Models write citations into the text, too, and repeat the labels they were shown. */
function textOf(claim: Claim, charsMax: number): { text: string; seqs: Set<number> } {
  const { text, seqs } = takeCitations(replyLine(claim.text));
  return { text: cutLine(text.replace(LABELS, ""), charsMax), seqs: new Set([...claim.seqs, ...seqs]) };
}

/** All names at once and the longest first, so that no name is changed within a longer one. */
function respelled(text: string, names: readonly string[], spellings: ReadonlyMap<string, string>): string {
  if ([...spellings].every(([name, spelling]) => name === spelling)) return text;
  const longestFirst = names.toSorted((left, right) => right.length - left.length);
  const pattern = new RegExp(longestFirst.map((name) => patternOf(name, "u").source).join("|"), "gu");
  return text.replace(pattern, (name) => spellings.get(name) ?? name);
}

async function closestTo(
  statement: ReadonlySet<string>,
  pieces: readonly Piece[],
  pace: Pace,
): Promise<Piece | undefined> {
  let best: Piece | undefined;
  let bestOverlap = -1;
  for (const piece of pieces) {
    await pace.worked(piece.unreadChars + statement.size);
    const share = overlap(statement, piece);
    if (share <= bestOverlap) continue;
    best = piece;
    bestOverlap = share;
  }
  return best;
}

function seqsOf(pieces: readonly Piece[]): number[] {
  return [...new Set(pieces.flatMap(({ seqs }) => seqs))];
}
