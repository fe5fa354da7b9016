import { citation, IMPORTANT, LABEL, UNVERIFIED } from "../../core/citations.ts";
import { beginningThatFits } from "../lines.ts";
import type { Pace } from "../pace.ts";
import type { GroundedClaim } from "./grounding.ts";

/** The checked claims of an answer, in each list the most important first. */
export interface GroundedAnswer {
  summary: GroundedClaim[];
  decisions: GroundedClaim[];
  openQuestions: GroundedClaim[];
  identifiers: GroundedClaim[];
  files: GroundedClaim[];
}

type Kind = keyof GroundedAnswer;

/** The order in which claims get room. Events come last, because they can be looked up. */
const STATEMENTS = ["decisions", "openQuestions", "summary"] as const satisfies Kind[];
const LISTS = ["identifiers", "files"] as const satisfies Kind[];

const LINE_CHARS_MAX = 1_000;
/** The importance of a claim that the model gave none. More important ones are marked. */
const IMPORTANCE = 2;

const HAS_WORDS = /[\p{L}\p{N}]/u;

/**
 * Writes the text of a summary: events in order, decisions, open questions, then the lists of names and files. Each line
 * holds one statement with its seqs. `! ` begins the most important ones.
 *
 *     ! The login page answered 500 because LOGIN_DB_URL pointed at the old host. [1-3]
 *     Decided: The old host stays as a fallback for a week. [5]
 *     names: LOGIN_DB_URL [3]
 *     files: config/production.yaml [3], src/auth/login.ts [1]
 *
 * Statements are kept whole or left out. As many as fit are kept: the most important first, of equal ones decisions before questions before events, unverified ones after all others,
 * and the lists last. If none fits, the text is the beginning of the most important one with its mark and seqs, or "" if not
 * even a letter fits.
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

export function mostImportant(answer: GroundedAnswer): GroundedClaim | undefined {
  return candidatesOf(answer)[0];
}

/** Returns a beginning of a claim that fits. It keeps the mark, so that the next summary does not take the claim as true. */
function beginningOf(claim: GroundedClaim | undefined, fits: (text: string) => boolean): string {
  if (claim === undefined) return "";
  const begun = (text: string): string => cited({ ...claim, text });
  const beginning = beginningThatFits(claim.text, LINE_CHARS_MAX, (text) => fits(begun(text)));
  return HAS_WORDS.test(beginning) ? begun(beginning) : "";
}

function candidatesOf(answer: GroundedAnswer): GroundedClaim[] {
  const statements = STATEMENTS.flatMap((kind) => answer[kind]).sort(byImportance);
  const verified = statements.filter(({ isVerified }) => isVerified);
  const others = statements.filter(({ isVerified }) => !isVerified);
  return [...verified, ...others, ...LISTS.flatMap((kind) => answer[kind])];
}

function textWith(answer: GroundedAnswer, chosen: ReadonlySet<GroundedClaim>): string {
  const lines = (kind: Kind, label: string): string[] =>
    inOrder(answer[kind].filter((claim) => chosen.has(claim))).map((claim) => markOf(claim) + label + cited(claim));
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

function byImportance(left: GroundedClaim, right: GroundedClaim): number {
  return (right.importance ?? IMPORTANCE) - (left.importance ?? IMPORTANCE);
}

function markOf({ importance = IMPORTANCE }: GroundedClaim): string {
  return importance > IMPORTANCE ? IMPORTANT : "";
}

/** Sorts claims by their first source. Claims without a source come last. */
function inOrder(claims: readonly GroundedClaim[]): GroundedClaim[] {
  const firstOf = ({ seqs }: GroundedClaim): number =>
    seqs.reduce((min, seq) => Math.min(min, seq), Number.MAX_SAFE_INTEGER);
  return claims.toSorted((left, right) => firstOf(left) - firstOf(right));
}
