import { beginningThatFits } from "../lines.ts";
import type { Pace } from "../source-reader.ts";
import { citation, LABEL, UNVERIFIED } from "./citations.ts";
import type { GroundedClaim } from "./grounding.ts";

/** What a summary has to say, each list with the most important first. */
export interface GroundedAnswer {
  summary: GroundedClaim[];
  decisions: GroundedClaim[];
  openQuestions: GroundedClaim[];
  identifiers: GroundedClaim[];
  files: GroundedClaim[];
}

type Kind = keyof GroundedAnswer;

/** Where room is short, this is the order in which it is given: what happened can be looked up, what was decided must be known. */
const STATEMENTS = ["decisions", "openQuestions", "summary"] as const satisfies Kind[];
const LISTS = ["identifiers", "files"] as const satisfies Kind[];

const LINE_CHARS_MAX = 1_000;

const HAS_WORDS = /[\p{L}\p{N}]/u;

/**
 * The text of a summary: what happened in the order in which it did, what was decided, what is open, then the lists of names
 * and files. One statement a line, each with the seqs it rests on.
 *
 *     The login page answered 500 because LOGIN_DB_URL pointed at the old host. [1-3]
 *     Decided: The old host stays as a fallback for a week. [5]
 *     names: LOGIN_DB_URL [3]
 *     files: config/production.yaml [3], src/auth/login.ts [1]
 *
 * Statements are whole or left out: as many as fit, the most important first, unverified ones after all others, the lists last. Where
 * none fits, it is the beginning of the most important one with its mark and its seqs; "" where not even a letter fits.
 */
export async function writeSummary(
  answer: GroundedAnswer,
  fits: (text: string) => boolean,
  pace: Pace,
): Promise<string> {
  const candidates = candidatesOf(answer);
  const chosen = new Set<GroundedClaim>();
  for (const claim of candidates) {
    chosen.add(claim);
    const text = textWith(answer, chosen);
    if (!fits(text)) chosen.delete(claim);
    await pace.worked(text.length + candidates.length);
  }
  return textWith(answer, chosen) || beginningOf(candidates[0], fits);
}

/** The claim for which there is always room; undefined where there is none. */
export function mostImportant(answer: GroundedAnswer): GroundedClaim | undefined {
  return candidatesOf(answer)[0];
}

/** Without its mark, a claim would pass for a fact, and be evidence for the next summary. */
function beginningOf(claim: GroundedClaim | undefined, fits: (text: string) => boolean): string {
  if (claim === undefined) return "";
  const begun = (text: string): string => cited({ ...claim, text });
  const beginning = beginningThatFits(claim.text, LINE_CHARS_MAX, (text) => fits(begun(text)));
  return HAS_WORDS.test(beginning) ? begun(beginning) : "";
}

function candidatesOf(answer: GroundedAnswer): GroundedClaim[] {
  const statements = STATEMENTS.flatMap((kind) => answer[kind]);
  const verified = statements.filter(({ isVerified }) => isVerified);
  const others = statements.filter(({ isVerified }) => !isVerified);
  return [...verified, ...others, ...LISTS.flatMap((kind) => answer[kind])];
}

function textWith(answer: GroundedAnswer, chosen: ReadonlySet<GroundedClaim>): string {
  const lines = (kind: Kind, label: string): string[] =>
    inOrder(answer[kind].filter((claim) => chosen.has(claim))).map((claim) => label + cited(claim));
  const list = (kind: Kind, label: string): string[] => {
    const entries = answer[kind].filter((claim) => chosen.has(claim)).map(cited);
    return entries.length === 0 ? [] : [label + entries.join(", ")];
  };
  return [
    ...lines("summary", ""),
    ...lines("decisions", LABEL.decision),
    ...lines("openQuestions", LABEL.question),
    ...list("identifiers", LABEL.identifiers),
    ...list("files", LABEL.files),
  ].join("\n");
}

function cited({ text, seqs, isVerified }: GroundedClaim): string {
  return [text, isVerified ? "" : UNVERIFIED, citation(seqs)].filter((piece) => piece !== "").join(" ");
}

/** By the first message each rests on; what rests on none stays where it is among its equals, at the end. */
function inOrder(claims: readonly GroundedClaim[]): GroundedClaim[] {
  const firstOf = ({ seqs }: GroundedClaim): number =>
    seqs.reduce((min, seq) => Math.min(min, seq), Number.MAX_SAFE_INTEGER);
  return claims.toSorted((left, right) => firstOf(left) - firstOf(right));
}
