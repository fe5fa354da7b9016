import { opensElement, ownWords } from "../core/harness.ts";

/** `go on`, `looks good`. Three words can name a new matter: `login page broken` */
const SHORT_WORDS = 2;
/** In a longer message, a word such as `it` mostly points at something in the message itself. */
const POINTING_WORDS = 14;
/** A longer message that begins with a word such as `so` or `why` mostly tells of something else. */
const ANSWER_WORDS = 24;
/** `yes` and `no` answer in a paragraph, too. A longer text is a matter of its own. */
const REPLY_WORDS = 60;
/** A character of a script without spaces counts as half a word. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/gu;
const WORD = /[\p{L}\p{N}][\p{L}\p{N}'’_-]*/gu;

/** Agents that continue a compacted session begin so. A mark such as `[Request interrupted by user]` asks for nothing. */
const CONTINUED = /^(?:This session is being continued from a previous conversation|\[[^\]]*\]$)/;
/** Something is to be made: `Add dark mode`, `OK next task: build a page` */
const MAKES =
  /^(?:(?:ok(?:ay)?|so|then|and|now|next|please|can you|could you|let['’]?s|(?:the )?(?:next|new) (?:task|step|thing|one))(?:[ ,.:;!–—-]+|$))*(?:add|build|create|design|develop|draft|fix|implement|introduce|make|migrate|port|refactor|remove|rename|replace|rewrite|set up|write)(?![\w'’-]| (?:it|this|that|these|those|them)\b)/i;
/** A name of something: code, a path, a link, a number of a ticket, a name with capitals inside. */
const NAMED = /`|https?:|\w\/\w|\w\.[a-z]{1,4}\b|\w_\w|[a-z][A-Z]|#\d|\b[A-Z]+-\d/;
/** An answer to what was asked or proposed, a correction, or more of the same: `yes, but …`, `option 2`, `no, the other one` */
const ANSWERS =
  /^(?:yes|yeah|yep|yup|no|nope|nah|ok(?:ay)?|sure|right|exactly|correct|perfect|great|good|nice|cool|lgtm|thanks|thank you|hm+|ah|oh|ugh|sorry|wait|actually|instead|rather|still|again|but|and|also|so|then|or|same|neither|both|option|let['’]?s (?:do|try|go|address|leave|fix (?:that|this|it))|go (?:on|ahead|for)|continue|proceed|do (?:it|that|so|the)|why|what about|how about|what if|one (?:more|last)|thinking again|taking a step back|quick follow|going back|I (?:still|mean|meant|think|don['’]t)|(?:that|this|it)(?:['’]s)?(?: is| was| still| does| did| should| looks| works| fails| seems)?)(?![\p{L}\p{N}_])|^\(?\d\)?[.,:)]?(?: |$)/iu;
/** Only an answer begins so, however long it is. */
const REPLIES =
  /^(?:yes|yeah|yep|yup|y|no|nope|nah|n|not|but|so\.\.+|uh+|hm+|actually|sorry|wait|oh|ah|ugh|I (?:mean|meant|said)|you (?:said|wrote|also said|missed|forgot)|that['’]s|exactly|agreed|correct)(?![\w'’-])/i;
/** The commonest replies of other languages. */
const FOREIGN_REPLIES =
  /^(?:ja|jawohl|nein|doch|genau|(?:mach )?weiter|oui|non|d['’]accord|continue[zr]?|vas-y|sí|adelante|de acuerdo|contin[uú]a|sim|não|sì|avanti|tak|nie|да|нет|давай|продолжай|はい|いいえ|(?:続けて|進めて|そうして)(?:ください)?|お願いします|了解|好的?|是的?|不是?|对|可以|继续|繼續|네|예|아니요?|계속(?:해 ?줘)?)(?![\p{L}\p{N}])/iu;
/** A review of what was done, or a step that ends it. */
const FOLLOWS =
  /^(?:(?:now|please|then|and|can you|could you|can we|could we|should we|let['’]?s|do we|are there|is there)[, ]+)*(?:(?:also|just|now|quickly|please) )*(?:commit|push|merge|rebase|squash|revert|undo|proof ?read|re-?check|(?:double[- ])?check (?:again|once|it|that|this|the (?:change|fix|test|result|last)|all|if|we)|run (?:it|the|all|tests?|lint)|try (?:it )?again|test (?:it|this|that)|retry|fix (?:it|this|that|them|the (?:test|error|lint|build|rest|failing))|(?:add|write|have|need|any|enough) (?:[a-z]+ ){0,3}tests?|open (?:a |the )?p(?:ull request|r)\b|create (?:a |the )?p(?:ull request|r)\b|summari[sz]e|explain|give me|respond to|update the (?:docs|readme|changelog|tests?))\b/i;
/** Words that point at what was just said or done. */
const POINTS =
  /\b(?:it|this|these|those|again|above|too|instead|either|that(?=$| (?:is|was|does|too|first|again|in|to|with|for|now)\b|[?.!,])|(?:the|your) (?:changes?|tests?|fix|fixes|output|results?|comments?|plan|idea|diff|first|second|third|latest)|you(?:['’]ve| have| just)? (?:did|do|made|said|wrote|added|changed|removed|missed|forgot))\b/i;
/** Behind one of these, a word such as `it` mostly means something in the same sentence. */
const CLAUSE = /\b(?:when|if|until|before|after|because|since|so that|which|who)\b/i;

/**
 * Returns true if a user's message goes on with what was asked before it: an answer, a correction, a review of what was just done. Such a
 * message is short and points back, or it is no person's. Everything else may be something new that the user wants.
 *
 * @param text  The message or its beginning.
 */
export function isContinuation(text: string): boolean {
  const said = ownWords(text).trim().replace(/\s+/g, " ");
  if (said === "" || CONTINUED.test(said) || opensElement(said)) return true;
  const count = wordCount(said);
  if (count <= REPLY_WORDS && (REPLIES.test(said) || FOREIGN_REPLIES.test(said))) return true;
  const points = count <= POINTING_WORDS && POINTS.test(said.split(CLAUSE)[0]!);
  const answers = count <= ANSWER_WORDS && ANSWERS.test(said) && (points || !MAKES.test(said));
  if (NAMED.test(said)) return answers;
  if (points || (count <= POINTING_WORDS && FOLLOWS.test(said))) return true;
  return answers || (count <= SHORT_WORDS && !MAKES.test(said));
}

function wordCount(text: string): number {
  const unspaced = text.match(UNSPACED)?.length ?? 0;
  return unspaced / 2 + (text.replace(UNSPACED, " ").match(WORD)?.length ?? 0);
}
