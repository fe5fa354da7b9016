import type { Told } from "./told.ts";

/** A choice. What was found, or is fixed, is none. */
const CHOICE =
  /\b(?:decid(?:e|ed|ing)|decision (?:is|was|to)|agreed?|chose(?:n)?|concluded?|opted (?:for|to)|settled (?:on|for)|(?:going|go|went) with|stick(?:ing)? (?:with|to)|the fix\b[^.]{0,40}(?::|\b(?:is|was))|(?:fixed|resolved|solved)\b[^.]{0,80}\bby\b)/i;
/** Closing words that tell what something is now also tell what was chosen. */
const REPLACEMENT = /\b(?:instead of|rather than)\b/i;
/** That something is done, or open. */
const STATE =
  /\b(?:is|was|are|were) (?:now |still |already )*(?:(?:fixed|resolved|solved)(?! by)|open|unknown|verified|complete|gone|green)\b|\bno decision\b|(?:\bnot|n['’]t) (?:yet )?(?:decided|found)\b/i;
const ANNOUNCEMENT = /^(?:now|next|first|let me|let['’]s|i['’]ll|i will|i need|continuing)\b|[:：?？]$/i;
const RULE = /\b(?:must|mustn['’]t|never|always|don['’]?t|do not|should not|shouldn['’]t|avoid|make sure)\b/i;
/** A rule for the next answer alone. One that is to last says so. */
const FOR_NOW =
  /\b(?:don['’]?t|do not) (?:change|make|modify|start|do|edit|touch|write|implement|fix|run|commit|push)\b[^.,;]*?\b(?:yet|for now|right now|code now|any changes|anything)\b(?=\s*(?:[.,;:!–—(-]|$))|\bjust (?:let me know|tell me|answer)\b/i;
const LASTING = /\b(?:always|never|ever|without|unless|before you|by hand)\b/i;
const SENTENCE_END = /(?<=[.!?]["'”’)*_]*)\s+/;

/** A longer message is a pasted document, whose rules are not the person's. */
const DOCUMENT_SENTENCES = 9;
/** The first sentences of closing words tell what came out, and the others give the details. */
const FIRST_SENTENCES = 2;

/** Returns the rules of users, and the choices that anybody tells. */
export function decisionsIn(told: readonly Told[]): Told[] {
  const counts = new Map<number, number>();
  const numbered = told.map((one) => {
    const index = counts.get(one.messageId) ?? 0;
    counts.set(one.messageId, index + 1);
    return { one, index };
  });
  return numbered.flatMap(({ one, index }) => {
    const isDocument = one.by === "user" && counts.get(one.messageId)! >= DOCUMENT_SENTENCES;
    return !isDocument && isDecision(one, index) ? [one] : [];
  });
}

function isDecision({ by, text, isOutcome }: Told, index: number): boolean {
  if (by === "commit" || by === "summary") return false;
  return text.split(SENTENCE_END).some((sentence) => {
    if (by === "user" && isLastingRule(sentence)) return true;
    return (
      isChoice(sentence) || (isOutcome && index < FIRST_SENTENCES && isMade(sentence) && REPLACEMENT.test(sentence))
    );
  });
}

/** Returns true if a sentence tells a choice. */
function isChoice(sentence: string): boolean {
  return CHOICE.test(sentence) && isMade(sentence);
}

function isMade(sentence: string): boolean {
  return !STATE.test(sentence) && !ANNOUNCEMENT.test(sentence);
}

function isLastingRule(sentence: string): boolean {
  return RULE.test(sentence) && !/[?？]$/.test(sentence) && (LASTING.test(sentence) || !FOR_NOW.test(sentence));
}
