/** Words of documentation and tests. A text that contains one is not a secret. */
const PLACEHOLDER =
  /example|placeholder|redacted|your[_-]|change_?-?me|dummy|xxxx|0{12}|\.\.\.|^(?:password|secret|passwd|postgres|mysql|admin)\d*$/i;

/**
 * A value that tests and documentation make up: only such words and numbers. The group in the lookahead is taken once and not tried again,
 * because the ways to divide a long row of digits into numbers cannot be counted.
 */
const MADE_UP =
  /^(?:(?=((?:p[a@]ssw[o0]rd|test(?:ing)?|fake|mock|sample|demo|temp|default|wrong|correct|(?:in)?valid|bad|good|new|old|my|some|the|abcd?e?f?|foo|bar|baz|qux|user(?:name)?|admin|root|local|dev|pass(?:word|wd)?|pw|secret|token|bearer|api|key|auth|access|refresh|session|bot|app|value|string|letmein|qwerty|super|strong|secure|hunter|\d{1,10})[-_.! ]?))\1)+$/i;

/** A value that a program gives, not a person: a name, a call, a path, a number, or words of plain language. */
const NO_VALUE =
  /^(?:[a-z][a-zA-Z]*|[A-Z][a-z]+(?:[A-Z][a-z]+)*|[A-Z]+(?:_[A-Z]+)*|[a-z]+(?:[_-][a-z]+)+|[a-zA-Z_]+(?:\.[a-zA-Z_]+)+|(?:~|\.{1,2})?\/.*|[\w.]+\(.*\)?|[a-z]+:\/\/.*|[\d.,:]+|\*+|•+|[^a-zA-Z\d]+|[\w.+-]+@[\w-]+\.[\w.]+|%\w.*|@.*)$/;

/** A name of a program, such as `token2` or `req.body.password`. */
const IDENTIFIER = /^[A-Za-z_$][\w$]*(?:\.[\w$]+)*$/;
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

/** The least length of a random value, and how often letters and digits follow each other in it. */
const RANDOM_CHARS_MIN = 12;
const RANDOM_CHANGES_MIN = 3;

export function isPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text);
}

/** Returns true if a person wrote this value, and it stands for nothing else. */
export function isLiteral(value: string): boolean {
  return !NO_VALUE.test(value) && !PLACEHOLDER.test(value) && !MADE_UP.test(value);
}

/** Returns true if a value looks random: no name, no version and no words with numbers look like it. */
export function isRandom(value: string): boolean {
  if (value.length < RANDOM_CHARS_MIN || UUID.test(value)) return false;
  let changes = 0;
  for (const _ of value.matchAll(/(?<=[a-zA-Z])(?=\d)|(?<=\d)(?=[a-zA-Z])/g)) {
    if (++changes === RANDOM_CHANGES_MIN) return entropyOf(value) >= 3;
  }
  return false;
}

export function isIdentifier(value: string): boolean {
  return IDENTIFIER.test(value);
}

const COUNTS = new Uint32Array(2 ** 16);

/** Returns the entropy of a text, in bits per character. */
export function entropyOf(text: string): number {
  for (let index = 0; index < text.length; index++) COUNTS[text.charCodeAt(index)]! += 1;
  let bits = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const share = COUNTS[code]! / text.length;
    if (share > 0) bits -= share * Math.log2(share);
    COUNTS[code] = 0;
  }
  return bits;
}
