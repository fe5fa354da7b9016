import { searchStem, searchWords } from "../models/search-words.ts";

/** A sentence that gives something a value: what it is about, and the value. */
export interface ValueStatement {
  subject: ReadonlySet<string>;
  value: ReadonlySet<string>;
  /** The value that held before, if the sentence names it. */
  before: ReadonlySet<string>;
  isNegated: boolean;
  /** True if it says that the value is new. */
  isChange: boolean;
}

const SUBJECT_WORDS_MAX = 6;
const VALUE_WORDS_MAX = 8;

const LEAD =
  /^(?:(?:(?:i|we) (?:checked|confirmed|noted|decided|agreed)(?= that\b|[:,])(?: that)?|ok(?:ay)?|so|and|but|note|noted|done|update|(?:small )?change of plan|decision|decided|correction|please|pls|actually|also|just|now|as of (?:now|today)|from now on)\b[\s,:.!–—-]*)+/i;
const MARKS = /[*_`"“”]+/g;
/** What follows tells why, or goes on. */
const REST =
  /(?:[,;(]|\s[–—-]\s|[.:]\s|\s(?:because|since|so that|so|as (?:you|we|i|it|they)|but|while|when|if|after|before|until)\s).*$/i;
const DETERMINERS =
  /\b(?:the|an?|our|my|your|its|this|that|these|those|current(?:ly)?|now|new|still|already|also|just)\b/gi;
const OPENING =
  "(?:(?:we|i|let['’]?s|you|they)(?:['’](?:ve|ll|d))? )?(?:(?:have|has|had|will|must|should|can|now|just|also|always|only|all) )*";
const CHANGED =
  "(?:switch|mov|chang|migrat|renam|rais|lower|bump|increas|decreas|reduc|updat|revert)(?:e|es|ed|ing|s)?";
const BEFORE = "(?: from (?<before>[^,;]{1,60}?))?";
/** The forms in which people say what holds, the most exact first. */
const FORMS: readonly (readonly [isChange: boolean, form: RegExp])[] = [
  [true, new RegExp(`^${OPENING}${CHANGED} (?<subject>[^,;:]{2,80}?)${BEFORE} to (?<value>[^,;]{1,60})$`, "i")],
  [
    true,
    new RegExp(
      `^(?<subject>[^,;:]{2,80}?) (?:(?:has|have|had|was|were|is|are|been|now) )*${CHANGED}${BEFORE} to (?<value>[^,;]{1,60})$`,
      "i",
    ),
  ],
  [true, /^(?<subject>[^,;:]{2,80}?) (?:has |have |was )?changed: (?:it|they) (?:is|are) (?<value>[^,;]{1,60})$/i],
  [false, new RegExp(`^${OPENING}set (?<subject>[^,;:]{2,80}?) to (?<value>[^,;]{1,60})$`, "i")],
  [false, new RegExp(`^${OPENING}us(?:e|es|ed|ing) (?<value>[^,;]{1,60}?) (?:as|for) (?<subject>[^,;:]{2,80})$`, "i")],
  [false, new RegExp(`^${OPENING}(?:need|want|prefer) (?<subject>[^,;:]{2,80}?) in (?<value>[^,;]{1,60})$`, "i")],
  [
    false,
    /^(?<subject>[^,;:]{2,80}?)(?: (?:is|are|will be|must be|should be)(?<not> not|n['’]t| no longer)?|\s?=) (?<value>[^,;]{1,60})$/i,
  ],
];
const INSTEAD =
  /(?:,? (?:instead of|rather than|and no longer|and not)|, (?:no longer|not)) (?<before>[^,;.]{1,60}?)(?=[,;.]|$)|,? instead(?=[,;.]|$)/i;
const SAYS_CHANGE = /\bnow\b|\bno longer\b|\binstead\b|\brather than\b|\b(?:change of plan|as of|from now on)\b/i;
const NOT_YET = /\bnot\b.*\byet\b/i;

/** Sentences about such things are about another one each time. */
const ANYTHING =
  /^(?:it|this|that|these|those|there|here|they|he|she|we|you|i|what|which|who|how|where|when|why|if|unless|all|some|none|no|not|both|each|every\w*|any\w*|nothing|something|one|another|let)\b/i;
const ANY_MATTER =
  /\b(?:issues?|problems?|bugs?|errors?|failures?|fix(?:es)?|causes?|reasons?|answers?|questions?|results?|outputs?|goals?|ideas?|plans?|tasks?|steps?|differences?|changes?|things?|points?|part|case|way|rest|next|first|second|last|other|only|same|status|tests?|job|work|it|you|i|they|that|which|what)\b/i;

/** Returns what a sentence says that holds; undefined if it does not give one thing a value. Read by English words. */
export function valueStatementIn(sentence: string): ValueStatement | undefined {
  const plain = sentence.replace(MARKS, "").replace(/\s+/g, " ").trim();
  const said = plain.replace(LEAD, "");
  const isSaid = SAYS_CHANGE.test(plain);
  const before = INSTEAD.exec(said)?.groups?.before ?? "";
  const told = cut(said.replace(INSTEAD, ""));
  for (const [isChange, form] of FORMS) {
    const found = form.exec(told)?.groups;
    if (found === undefined) continue;
    const about = found.subject!.trim();
    if (ANYTHING.test(about) || ANY_MATTER.test(about)) return undefined;
    const [subject, value] = [stemsOf(about), stemsOf(found.value!)];
    if (subject.size === 0 || subject.size > SUBJECT_WORDS_MAX || value.size === 0 || value.size > VALUE_WORDS_MAX)
      return undefined;
    const isNegated = found.not !== undefined || NOT_YET.test(told);
    return {
      subject,
      value,
      before: stemsOf(found.before ?? before),
      isNegated,
      isChange: isChange || isSaid,
    };
  }
  return undefined;
}

/** Returns true if both say the same of one thing with another value. */
export function givesAnotherValue(newer: ValueStatement, older: ValueStatement): boolean {
  const ofNewer = new Set([...newer.subject, ...newer.value]);
  const ofOlder = new Set([...older.subject, ...older.value]);
  if (![...newer.subject].every((stem) => ofOlder.has(stem))) return false;
  if (![...older.subject].every((stem) => ofNewer.has(stem))) return false;
  const [gained, lost] = [without(newer.value, ofOlder), without(older.value, ofNewer)];
  if (newer.isNegated !== older.isNegated) {
    // "not on the hub yet", and then "now live on the hub".
    return newer.isChange && [...newer.value].some((stem) => older.value.has(stem));
  }
  if (newer.before.size > 0) return without(newer.before, newer.value).some((stem) => older.value.has(stem));
  return gained.length > 0 && lost.length > 0;
}

function cut(said: string): string {
  const [begin, end] = [said.slice(0, 8), said.slice(8)];
  return `${begin}${end
    .replace(/:\s(?=(?:it|they) (?:is|are) )/i, "§")
    .replace(REST, "")
    .replace("§", ": ")}`.replace(/[\s.!]+$/, "");
}

function stemsOf(text: string): Set<string> {
  const bare = text.replace(DETERMINERS, " ");
  return new Set([...searchWords(bare).map(searchStem), ...(bare.match(/(?<![\w.])\d+(?:\.\d+)*/g) ?? [])]);
}

function without(stems: ReadonlySet<string>, others: ReadonlySet<string>): string[] {
  return [...stems].filter((stem) => !others.has(stem));
}
