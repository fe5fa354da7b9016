/** The features of a text that may make it an answer. */
export interface Shape {
  endsInQuestion: boolean;
  hasQuestion: boolean;
  /** True for "yesterday", "last May", "2023", "two weeks ago". */
  hasTime: boolean;
  hasNumber: boolean;
  /** True for "in Paris". */
  hasPlace: boolean;
  /** True for "Hey" or "Thanks" at the beginning. */
  isGreeting: boolean;
  /** Words that begin with a capital and do not begin a sentence: at most 3. */
  capitals: number;
  /** "I", "my", "we": at most 2. */
  selves: number;
}

/** Only the beginning of a long text is read. */
const READ_CHARS = 2_000;

const TIME = 1;
const NUMBER = 2;
const SELF = 4;
/** A word such as "last", after which the name of a period is a time. */
const WHICH = 8;
const PERIOD = 16;
/** A word such as "in", after which a name is a place. */
const WHERE_TO = 32;
const ARTICLE = 64;

const WORDS: readonly (readonly [bits: number, words: string])[] = [
  [
    TIME,
    `yesterday today tonight tomorrow ago since recently just weekend days weeks months years
    january february march april june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday`,
  ],
  [
    NUMBER,
    `two three four five six seven eight nine ten eleven twelve couple dozen several few once twice first second third
    hundred thousand`,
  ],
  [SELF, "i i'm i've i'd my we our we're me"],
  [WHICH, "last next this past"],
  [
    PERIOD,
    "night week weekend month year morning summer winter spring fall autumn mon tue tues wed thu thurs fri sat sun",
  ],
  [WHERE_TO, "in at from to near around visit visited visiting"],
  [ARTICLE, "the"],
];

const BITS = new Map<string, number>();
for (const [bits, words] of WORDS) {
  for (const word of words.trim().split(/\s+/)) BITS.set(word, (BITS.get(word) ?? 0) | bits);
}

const GREETING =
  /^(?:hey|hi|hello|wow|thanks|thank you|that's|awesome|great|sounds|congrat|glad|yeah|cool|bye|take care|no problem|absolutely|definitely|amazing)\b/i;
const QUESTION = /[?？؟]/;
const QUESTION_AT_END = /[?？؟]\s*$/;
export function shapeOf(whole: string): Shape {
  const text = whole.slice(0, READ_CHARS);
  let seen = 0;
  let [capitals, selves] = [0, 0];
  let [before, placeBefore] = [0, 0];
  let hasPlace = false;
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = start;
    while (isInWord(text.charCodeAt(end))) end += 1;
    if (end === start) continue;
    const word = text.slice(start, end);
    const first = word.charCodeAt(0);
    const isCapital = first >= 65 && first <= 90;
    let bits = BITS.get(isCapital ? word.toLowerCase() : word) ?? 0;
    if (first >= 48 && first <= 57) bits |= NUMBER | (/^(?:19|20)\d\d$/.test(word) ? TIME : 0);
    if ((bits & PERIOD) !== 0 && (before & WHICH) !== 0) bits |= TIME;
    if ((bits & SELF) !== 0) selves += 1;
    if (isCapital && word.length > 1) {
      if (((before | placeBefore) & WHERE_TO) !== 0) hasPlace = true;
      if (word.length > 2 && isInSentence(text, start)) capitals += 1;
    }
    seen |= bits;
    placeBefore = (bits & ARTICLE) === 0 ? 0 : before;
    before = bits;
  }
  return {
    endsInQuestion: QUESTION_AT_END.test(whole.slice(-20)),
    hasQuestion: QUESTION.test(text),
    hasTime: (seen & TIME) !== 0,
    hasNumber: (seen & NUMBER) !== 0,
    hasPlace,
    isGreeting: GREETING.test(text),
    capitals: Math.min(3, capitals),
    selves: Math.min(2, selves),
  };
}

/** Returns true for letters, digits and the apostrophe. NaN, the code after the end, is in no word. */
function isInWord(code: number): boolean {
  return (
    (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 39 || code > 191
  );
}

/** Returns true if the word at `start` follows a word or a comma. */
function isInSentence(text: string, start: number): boolean {
  const before = text.charCodeAt(start - 2);
  return text[start - 1] === " " && ((before >= 97 && before <= 122) || before === 44);
}

/** The kinds of answer that a question asks for. */
export interface Wanted {
  time: boolean;
  place: boolean;
  number: boolean;
}

const WHEN = /\bwhen\b|\b(?:what|which) (?:date|day|month|year|time)\b|\bhow long ago\b/i;
const WHERE = /\bwhere\b|\b(?:what|which) (?:city|country|place|state)\b/i;
const HOW_MANY = /\bhow (?:many|much|often|long|old|far)\b|\bnumber of\b/i;

export function wantedBy(question: string): Wanted {
  return { time: WHEN.test(question), place: WHERE.test(question), number: HOW_MANY.test(question) };
}
