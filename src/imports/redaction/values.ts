/** Words of documentation and tests. A text that contains one is not a secret. */
const PLACEHOLDER =
  /example|placeholder|redacted|your[_-]|change_?-?me|dummy|xxxx|0{12}|\.\.\.|^(?:password|secret|passwd|postgres|mysql|admin)\d*$/i;

/** A value that tests and documentation make up: only such words and numbers. */
const MADE_UP =
  /^(?:(?:test(?:ing)?|fake|mock|sample|demo|temp|default|wrong|correct|(?:in)?valid|bad|good|new|old|my|some|the|abcd?e?f?|foo|bar|baz|qux|user(?:name)?|admin|root|local|dev|pass(?:word|wd)?|pw|secret|token|bearer|api|key|auth|access|refresh|session|bot|app|value|string|letmein|qwerty|super|strong|secure|hunter|p[a@]ssw[o0]rd|\d{1,10})[-_.! ]?)+$/i;

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
  const changes = value.match(/(?<=[a-zA-Z])(?=\d)|(?<=\d)(?=[a-zA-Z])/g)?.length ?? 0;
  return changes >= RANDOM_CHANGES_MIN && entropyOf(value) >= 3;
}

export function isIdentifier(value: string): boolean {
  return IDENTIFIER.test(value);
}

/** Returns the entropy of a text, in bits per character. */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
