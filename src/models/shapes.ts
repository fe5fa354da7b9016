// These functions classify a line by its shape. The words that they look for are English.

const LINE_CHARS_MAX = 2_000;

const CODE = anyOf("", [
  /[;{}]\s*$/,
  /=>|:=/,
  /^\s*\d+\s*[→│|:]/,
  /^[^\s:]*\.\w+[:-]\d+[:-](?!\d+:?\s)/,
  /^\s*[+-]?\s*(?:\/\/|\/\*|\*\/|\* |#!|@@)/,
  /^\s*[{}()\]<"]/,
  // An array, but not a tag before a message: `[lint] 0 issues.`
  /^\s*\[(?![A-Za-z][^\]"',]*\] )/,
  /^[+-](?=[\s\w])/,
  // Sentences may begin with the same words. Before a bracket they have a space, and their `;` and `:` come after several words.
  /^\s*(?:import|export|const|let|var|func|function|def|class|return|if|for|package|public|private)(?![\w'’-])(?:\s*[({]|.*(?:=|\w[({]|[;:]\s*$)|(?:\s+\S+){0,2}[;:]\s)/,
]);

const ERROR = anyOf("u", [
  /^(?:[\w.]*(?:Error|Exception)|error|fatal|panic|FAIL(?:ED|URE)?|not ok|Traceback)\b/,
  /^[✗✘✖×]/,
  /\.\w+(?::\d+:\d+|\(\d+,\d+\)):? \p{L}/u,
  /--- FAIL: /,
  /\b(?:command not found|No such file or directory|Permission denied)\b/,
  /\bexit(?:ed)?(?: with)? (?:code|status):? [1-9]/,
]);

const OUTCOME = anyOf("i", [
  /\b\d+ (?:(?:tests?|specs?|checks?|files?|suites?) )?(?:passed|passing|failed|failing|errors?|warnings?|issues?|problems?|vulnerabilit\w+)\b/,
  /\b\d+ files? changed\b/,
  /^(?:tests?|test files|test suites)\b.*\d/,
  /\b(?:build|tests?|lint\w*) (?:succeeded|passed|failed)\b/,
  // `git commit`
  /^\[[^\]\s]+ (?:\([^)]*\) )?[0-9a-f]{7,}\] /,
]);

const PLAIN_WORD = /^["'“‘(*_`]*[\p{L}\p{M}'’-]+[.,:;!?)"'”’*_`]*$/u;
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]{4}/u;

/** Returns true for code, a listing, a diff or data. Very long lines count as data. */
export function isCode(line: string): boolean {
  return line.length > LINE_CHARS_MAX || CODE.test(line);
}

/** Returns true for an error of a compiler, test runner, interpreter or shell. Call `isCode` first: code may mention errors. */
export function isError(line: string): boolean {
  return ERROR.test(line);
}

/** Returns true for a count or verdict of tests, a linter, a build or a commit. */
export function isOutcome(line: string): boolean {
  return OUTCOME.test(line);
}

/** Returns true for sentences: at least half of the line is plain words, or the line has a script without spaces. */
export function isProse(line: string): boolean {
  if (UNSPACED.test(line)) return true;
  if (isCode(line)) return false;
  const tokens = line.split(" ");
  const plain = tokens.filter((token) => PLAIN_WORD.test(token)).length;
  return plain >= 2 && plain * 2 >= tokens.length;
}

/** Returns a pattern that matches what one of the patterns does. */
export function anyOf(flags: string, patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => `(?:${source})`).join("|"), flags);
}
