import { LABEL, statementsIn, takeCitations } from "../../core/citations.ts";
import { cutLine } from "../lines.ts";
import type { Pace } from "../pace.ts";
import { replyLine } from "../prompt-text.ts";
import { words } from "../words.ts";
import { hintOf, isShortFigure, namesIn, patternOf } from "./names.ts";
import type { PromptTexts } from "./prompt.ts";
import type { Claim } from "./reply.ts";

/** A claim after its check against the sources. */
export interface GroundedClaim {
  text: string;
  /** The seqs of the sources. A message with such a seq was sent, or an earlier summary that was sent cites it. */
  seqs: number[];
  /** From 1 to 3, if the model gave one. */
  importance?: number;
  /** True if the claim has a source, and every name in the claim occurs in the sources. */
  isVerified: boolean;
}

const STATEMENT_CHARS_MAX = 1_000;
const NAME_CHARS_MAX = 200;
/** If a statement cites nothing, its source must contain this share of the statement's words. */
const OVERLAP_MIN = 0.5;
/** A day, a month or a year of our time. */
const DATE = /^(?:19|20)\d\d(?:-\d\d){0,2}$/;
const LOOK_CHARS = 4; // looking for a name in one text takes as long as reading this many characters

const WRAPPING = /^[`"']+|(?:\(\))?[`"']*$/g;
const LABELS = new RegExp(`^(?:${Object.values(LABEL).join("|")})`, "i");

/**
 * Checks a statement and corrects its sources:
 *
 * - Citations of messages that were not sent are dropped.
 * - If no cited text contains a name of the statement, the closest text that contains it becomes a source.
 * - Names, except numbers, are spelled as in their sources.
 * - If a statement has no source, the text that shares most of its words becomes the source, if it has at least half of them.
 * - A number of one or two digits must occur in the statement's own sources. In a long conversation, such a number occurs
 *   somewhere by chance.
 * - A date such as `2024-03-01` need not occur, because the prompt asks for it in place of "yesterday".
 *
 * A statement without a source, or with a name that occurs nowhere, is kept but not verified. Changing it could change its
 * meaning, and dropping it could lose a decision.
 *
 * @returns undefined for a statement without words.
 */
export async function groundStatement(
  claim: Claim,
  pieces: readonly SourcePiece[],
  pace: Pace,
): Promise<GroundedClaim | undefined> {
  const { text: written, seqs } = withoutCitations(claim, STATEMENT_CHARS_MAX);
  await pace.worked(claim.text.length + pieces.length);
  if (!/[\p{L}\p{N}]/u.test(written)) return undefined;
  const cited = new Set(pieces.filter((piece) => piece.seqs.some((seq) => seqs.has(seq))));
  const added = new Set<SourcePiece>();
  const statementWords = new Set(words(written));
  const names = namesIn(written).filter((name) => !DATE.test(name));
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
    if (!having.some((piece) => cited.has(piece))) added.add((await closestTo(statementWords, having, pace))!);
    const spelling = naming[0]!.spelling;
    // Numbers keep the spelling of the statement, because commas and units are a matter of style.
    if (spelling.toLowerCase() === name.toLowerCase()) spellings.set(name, spelling);
  }
  if (cited.size === 0 && added.size === 0) {
    const closest = await closestTo(statementWords, pieces, pace);
    if (closest !== undefined && wordShare(statementWords, closest) >= OVERLAP_MIN) added.add(closest);
  }
  const sources = [...cited, ...added];
  if (!names.filter(isShortFigure).every((figure) => piecesNaming(sources, figure).length > 0)) isVerified = false;
  const kept = seqsOf([...cited]).filter((seq) => seqs.has(seq));
  return {
    text: respelled(written, names, spellings),
    seqs: [...new Set([...kept, ...seqsOf([...added])])],
    ...(claim.importance !== undefined && { importance: claim.importance }),
    isVerified: isVerified && sources.length > 0,
  };
}

/**
 * Finds the sources of an identifier or a path: the cited messages that contain it, or else the first message that does.
 *
 * @returns undefined if no message contains it.
 */
export async function groundName(
  claim: Claim,
  pieces: readonly SourcePiece[],
  pace: Pace,
): Promise<GroundedClaim | undefined> {
  const { text: written, seqs } = withoutCitations(claim, NAME_CHARS_MAX);
  const text = written.replace(WRAPPING, "");
  // Commas separate the entries of a list.
  if (text === "" || text.includes(", ")) return undefined;
  const naming = piecesNaming(pieces, text);
  await pace.worked(claim.text.length + LOOK_CHARS * pieces.length);
  const [first] = naming;
  if (first === undefined) return undefined;
  const cited = seqsOf(naming.map(({ piece }) => piece)).filter((seq) => seqs.has(seq));
  return { text: first.spelling, seqs: cited.length > 0 ? cited : [...first.piece.seqs], isVerified: true };
}

export function isGrounded(text: string, pieces: readonly SourcePiece[]): boolean {
  return namesIn(text).every((name) => piecesNaming(pieces, name).length > 0);
}

/** Removes the citations and labels that the model wrote into a claim. Returns the text, and all cited seqs. */
function withoutCitations(claim: Claim, charsMax: number): { text: string; seqs: Set<number> } {
  const { text, seqs } = takeCitations(replyLine(claim.text));
  return { text: cutLine(text.replace(LABELS, ""), charsMax), seqs: new Set([...claim.seqs, ...seqs]) };
}

/** Replaces all names at once, longest first, so that no name is replaced inside a longer one. */
function respelled(text: string, names: readonly string[], spellings: ReadonlyMap<string, string>): string {
  if ([...spellings].every(([name, spelling]) => name === spelling)) return text;
  const longestFirst = names.toSorted((left, right) => right.length - left.length);
  const pattern = new RegExp(longestFirst.map((name) => patternOf(name, "u").source).join("|"), "gu");
  return text.replace(pattern, (name) => spellings.get(name) ?? name);
}

async function closestTo(
  statement: ReadonlySet<string>,
  pieces: readonly SourcePiece[],
  pace: Pace,
): Promise<SourcePiece | undefined> {
  let best: SourcePiece | undefined;
  let bestShare = -1;
  for (const piece of pieces) {
    await pace.worked(piece.unreadChars + statement.size);
    const share = wordShare(statement, piece);
    if (share <= bestShare) continue;
    best = piece;
    bestShare = share;
  }
  return best;
}

function seqsOf(pieces: readonly SourcePiece[]): number[] {
  return [...new Set(pieces.flatMap(({ seqs }) => seqs))];
}

export class SourcePiece {
  /** The seq of the message. For a line of an earlier summary, the seqs that the line cites, possibly none. */
  readonly seqs: readonly number[];
  readonly text: string;
  readonly lowerText: string;
  #words: ReadonlySet<string> | undefined;

  constructor(seqs: readonly number[], text: string) {
    this.seqs = seqs;
    this.text = text;
    this.lowerText = text.toLowerCase();
  }

  /** The number of characters that `words` would have to read now. */
  get unreadChars(): number {
    return this.#words === undefined ? this.text.length : 0;
  }

  get words(): ReadonlySet<string> {
    this.#words ??= new Set(words(this.text));
    return this.#words;
  }
}

/** Returns the texts that can be sources: messages, and lines of earlier summaries that are not marked as unverified. */
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

/** Returns the pieces that contain a name, with its spelling there. Case is only ignored if no piece has the same case. */
function piecesNaming(pieces: readonly SourcePiece[], name: string): { piece: SourcePiece; spelling: string }[] {
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

function wordShare(statement: ReadonlySet<string>, piece: SourcePiece): number {
  if (statement.size === 0) return 0;
  let shared = 0;
  for (const word of statement) if (piece.words.has(word)) shared++;
  return shared / statement.size;
}
