import type { Told } from "./told.ts";

/** A choice that is made. "The fix is to …" tells one, and "the fix is simple" does not. */
const CHOICE =
  /\b(?:decided (?:to|on|against|that|not)|decision (?:is|was|to)|agreed|agree (?:to|on)|(?<!\bwhy\b.{0,40})(?:chose|chosen)|concluded|opted (?:for|to)|settled (?:on|for)|(?<!\bwhere )(?:let['’]s|we['’](?:ll|re)|i['’](?:ll|m)|we|i) (?:going|go|went) with|stick(?:ing)? (?:with|to)|the fix\b[^.:]{0,40}(?::|\b(?:is|was) (?:to|an?|(?!working|passing)\w+ing)\b)|(?<!\bnot (?:\w+ )?)(?:fixed|resolved|solved)\b[^.]{0,80}\bby\b)/i;
/** Closing words that tell what something is now also tell what was chosen. */
const REPLACEMENT = /\b(?:instead of|rather than)\b/i;
/** What is only so, proposed, or open. */
const STATE =
  /\b(?:is|was|are|were) (?:now |still |already )*(?:(?:fixed|resolved|solved)(?! by)|open|unknown|verified|complete|gone|green)\b|\b(?:no decision|(?:is|was|are|were) still|still (?:says?|has|have|needs?)|consider|suggests?|might|we should)\b|(?:\bnot|n['’]t) (?:yet )?(?:decided|found)\b/i;
const ANNOUNCEMENT =
  /^(?:now|next|first|when|let me|let['’]s (?!go with|stick)|i['’]ll (?!go with|stick)|i will|i need|continuing)\b|[:：?？]$/i;
/** A rule is a clause that commands, or tells what people must do or want. */
const RULE =
  /(?:^|[,;:(–—] *| - |\.\.\. *|\b(?:and|but|so|please|then|also) )(?:please )?(?:never|always|don['’]?t|do not|avoid|make sure|let['’]s make sure)\b|\b(?:we|you|it|they|this|that|there)\b[^.,;]{0,40}?\b(?:must|mustn['’]t|should(?: not|n['’]t)|don['’]?t want|do not want|never want|always want)\b/i;
/** What somebody feels or knows, and what is so, is no rule. */
const NO_RULE =
  /\b(?:i (?:really )?(?:don['’]?t|do not) (?:know|see|think|like|understand|remember|have|get)|should(?: not|n['’]t) (?:be (?:too |that |so )?(?:hard|difficult|a problem|an issue|there|happening|possible)|happen|have)|don['’]?t need)\b/i;
/** A line of a file or of a program's output. */
const PRINTED = /\S:\d+:\S|^\d+→/;
/** A rule for the next answer alone. One that is to last says so. */
const FOR_NOW =
  /\b(?:don['’]?t|do not) (?:change|make|modify|start|do|edit|touch|write|implement|fix|run|commit|push)\b[^.,;]*?(?:\b(?:yet|for now|right now|code now|any changes|anything)\b(?=\s*(?:[.,;:!–—(-]|$))|(?<=commit|push)[.!]?$)|\bjust (?:let me know|tell me|answer)\b|\bmake sure\b(?!.*\b(?:everywhere|whenever|every)\b)/i;
const LASTING = /\b(?:always|never|ever|without|unless|before you (?:commit|push|merge)|by hand)\b/i;
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
  if (by === "commit" || by === "summary" || PRINTED.test(text)) return false;
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
  if (!RULE.test(sentence) || NO_RULE.test(sentence) || /[?？]/.test(sentence)) return false;
  return LASTING.test(sentence) || !FOR_NOW.test(sentence);
}
